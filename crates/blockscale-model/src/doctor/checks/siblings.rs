//! Weights that hold the numbers of another one.

use std::collections::{BTreeMap, HashMap};

use super::super::rules::{NEAR_COPY, SIBLINGS_EXCHANGED};
use super::super::subject::common_name;
use super::super::{Diagnosis, Subject};
use crate::catalog::Weight;

/// Cosine of two rows that are one row.
const SAME: f64 = 0.98;

/// Cosine of a row and what was made of it: also after rounding to FP4.
const RELATED: f64 = 0.8;

/// Numbers that it takes for a cosine to say something.
const ENOUGH: usize = 64;

/// Matrices of one kind that are compared with one.
const COMPARED: usize = 32;

/// The kind of a matrix, and where the two largest numbers of a row lie.
type Likeness = (String, [usize; 2]);

/// Matrices of one kind, in different layers or experts, that are nearly equal.
pub(super) fn near_copies(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    // Equal rows have their two largest numbers in the same places.
    let mut alike: HashMap<Likeness, Vec<(&Weight, &[f32])>> = HashMap::new();
    for (weight, evidence) in subject.measured() {
        let sketch = evidence.sketch.as_slice();
        let is_matrix = weight.shape.len() > 1 && weight.matrices().shape.rows > 1;
        let Some(largest) = two_largest(sketch).filter(|_| is_matrix && sketch.len() >= ENOUGH)
        else {
            continue;
        };
        let key = (kind_of(&weight.name), largest);
        let seen = alike.entry(key).or_default();
        let close = seen
            .iter()
            .rev()
            .take(COMPARED)
            .map(|(other, theirs)| (*other, cosine(sketch, theirs)))
            .find(|(other, cosine)| *cosine > SAME && other.shape == weight.shape);
        if let Some((other, cosine)) = close {
            let message = format!(
                "it is nearly `{}`: cosine {cosine:.4} over {} values of a row",
                other.name,
                sketch.len()
            );
            found.push(
                Diagnosis::new(&NEAR_COPY, message)
                    .of_tensor(&weight.name)
                    .in_file(subject.file_of(weight)),
            );
        }
        seen.push((weight, sketch));
    }
}

/// Weights that are another one in the reference.
pub(super) fn exchanged(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    if !subject.has_reference() {
        return;
    }
    let mut siblings: BTreeMap<(String, &[usize]), Vec<&Weight>> = BTreeMap::new();
    for (weight, _) in subject.measured() {
        let module = parent(&weight.name);
        siblings
            .entry((module, &weight.shape))
            .or_default()
            .push(weight);
    }
    for weights in siblings.values().filter(|weights| weights.len() > 1) {
        for weight in weights {
            found.extend(other_in_reference(subject, weight, weights));
        }
    }
}

fn other_in_reference(
    subject: &Subject<'_>,
    weight: &Weight,
    siblings: &[&Weight],
) -> Option<Diagnosis> {
    let ours = &subject.evidence(&weight.name)?.sketch;
    if ours.len() < ENOUGH {
        return None;
    }
    let like = |other: &Weight| {
        let theirs = subject.reference_sketch(&other.name)?;
        Some(cosine(ours, theirs))
    };
    let own = like(weight)?;
    let others = siblings.iter().filter(|other| other.name != weight.name);
    let (other, cosine) = others
        .filter_map(|other| Some((other, like(other)?)))
        .max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    (own < RELATED / 2.0 && cosine > RELATED).then(|| {
        let message = format!(
            "it is `{}` of the reference: cosine {cosine:.4}, and {own:.4} with its own",
            other.name
        );
        Diagnosis::new(&SIBLINGS_EXCHANGED, message)
            .of_tensor(&weight.name)
            .in_file(subject.file_of(weight))
    })
}

/// A name with `*` for its numbers.
pub(super) fn kind_of(name: &str) -> String {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let parts = name.split('.').map(|p| if is_number(p) { "*" } else { p });
    parts.collect::<Vec<_>>().join(".")
}

/// The module above the one that holds a weight, in the spelling that checkpoints share.
fn parent(name: &str) -> String {
    let name = common_name(name);
    let module = name.strip_suffix(".weight").unwrap_or(&name);
    module
        .rsplit_once('.')
        .map_or("", |(parent, _)| parent)
        .to_owned()
}

fn two_largest(values: &[f32]) -> Option<[usize; 2]> {
    let largest = |but: Option<usize>| {
        let others = values.iter().enumerate().filter(|(i, _)| Some(*i) != but);
        others
            .max_by(|(_, a), (_, b)| a.abs().total_cmp(&b.abs()))
            .map(|(i, _)| i)
    };
    let first = largest(None)?;
    let second = largest(Some(first))?;
    Some([first.min(second), first.max(second)])
}

/// 0 where one of the two is zero or not finite.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let mut sums = [0.0_f64; 3];
    for (&a, &b) in a.iter().zip(b) {
        let (a, b) = (f64::from(a), f64::from(b));
        sums[0] += a * b;
        sums[1] += a * a;
        sums[2] += b * b;
    }
    let norms = (sums[1] * sums[2]).sqrt();
    match norms.is_finite() && norms > 0.0 && a.len() == b.len() {
        true => sums[0] / norms,
        false => 0.0,
    }
}
