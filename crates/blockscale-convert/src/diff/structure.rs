//! Names, shapes, formats, layouts.

use std::collections::HashSet;

use blockscale_model::Comparable;

use super::{Side, StructureDifference};
use crate::verify;
use crate::weights::Weights;

/// Weights that only one checkpoint has.
pub(super) fn only_in_one(a: &[Comparable], b: &[Comparable]) -> Vec<StructureDifference> {
    let names = |all: &[Comparable]| all.iter().map(|c| c.name.clone()).collect::<HashSet<_>>();
    let (in_a, in_b) = (names(a), names(b));
    let missing = |all: &[Comparable], other: &HashSet<String>, side| {
        let missing = all.iter().filter(|c| !other.contains(&c.name));
        missing
            .map(|c| StructureDifference::OnlyIn {
                side,
                name: c.name.clone(),
            })
            .collect::<Vec<_>>()
    };
    let mut found = missing(a, &in_b, Side::A);
    found.extend(missing(b, &in_a, Side::B));
    found
}

/// Weights that cannot be read on one side.
pub(super) fn unreadable(a: Weights<'_>, b: Weights<'_>) -> Vec<StructureDifference> {
    let refused = |weights: Weights<'_>, side| {
        let refusals = weights.catalog.refusals.iter();
        refusals
            .map(|refusal| StructureDifference::Unreadable {
                side,
                name: refusal.tensor.clone(),
                reason: refusal.problem.to_string(),
            })
            .collect::<Vec<_>>()
    };
    let mut found = refused(a, Side::A);
    found.extend(refused(b, Side::B));
    found
}

/// How one weight is stored on both sides.
pub(super) fn of_weight(a: &verify::Side<'_>, b: &verify::Side<'_>) -> Vec<StructureDifference> {
    let name = || a.rows.name.clone();
    let shape = |side: &verify::Side<'_>| [side.rows.rows.len(), side.cols()];
    let mut found = Vec::new();
    if shape(a) != shape(b) {
        found.push(StructureDifference::Shape {
            name: name(),
            a: shape(a),
            b: shape(b),
        });
    }
    let (ours, theirs) = (a.weight(), b.weight());
    if ours.encoding != theirs.encoding {
        found.push(StructureDifference::Format {
            name: name(),
            a: ours.encoding.to_string(),
            b: theirs.encoding.to_string(),
        });
    }
    if ours.layout != theirs.layout {
        found.push(StructureDifference::Layout {
            name: name(),
            a: ours.layout.to_string(),
            b: theirs.layout.to_string(),
        });
    }
    found
}
