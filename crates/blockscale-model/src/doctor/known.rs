//! What reading a checkpoint has noticed, as diagnoses: findings and refusals.

use super::rules::{
    CONFIG_DISAGREES, GLOBAL_MISSING, GLOBAL_UNEXPECTED, LAYOUT_REFUSED, SCALE_DOUBLED,
    SCALE_DTYPE, SCALE_MISSING, SCALE_PADDED, SCALE_PER_TENSOR, SCALE_SHAPE, SCALE_TRANSPOSED,
    WEIGHT_REFUSED,
};
use super::{Diagnosis, Rule, Subject};
use crate::catalog::{Refusal, ScaleProblem};
use crate::finding::Finding;

impl Finding {
    /// This finding under the rule of its name, if there is one.
    pub fn diagnosis(&self) -> Option<Diagnosis> {
        let mut diagnosis = Diagnosis::new(self.rule()?, &self.message).as_severe_as(self.severity);
        diagnosis.file.clone_from(&self.file);
        diagnosis.tensor.clone_from(&self.tensor);
        Some(diagnosis)
    }
}

impl Refusal {
    /// This refusal under the rule that its problem breaks.
    pub fn diagnosis(&self) -> Diagnosis {
        Diagnosis::new(rule_of(&self.problem), self.problem.to_string())
            .in_file(&self.file)
            .of_tensor(&self.tensor)
    }
}

/// Findings of assembling and cataloguing, and refused weights.
pub(super) fn noticed(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    let findings = subject.checkpoint.findings.iter();
    found.extend(
        findings
            .chain(&subject.catalog.findings)
            .filter_map(Finding::diagnosis),
    );
    let refusals = subject.catalog.refusals.iter();
    found.extend(refusals.map(Refusal::diagnosis));
}

fn rule_of(problem: &ScaleProblem) -> &'static Rule {
    match problem {
        ScaleProblem::Missing { .. } => &SCALE_MISSING,
        ScaleProblem::Contradicting { .. } => &SCALE_DOUBLED,
        ScaleProblem::MissingGlobal { .. } => &GLOBAL_MISSING,
        ScaleProblem::UnexpectedGlobal { .. } => &GLOBAL_UNEXPECTED,
        ScaleProblem::Shape {
            expected, found, ..
        } => rule_of_shape(expected, found),
        ScaleProblem::Layout { .. } => &LAYOUT_REFUSED,
        ScaleProblem::Disagrees { .. } => &CONFIG_DISAGREES,
        ScaleProblem::Dtype { .. } => &SCALE_DTYPE,
        _ => &WEIGHT_REFUSED,
    }
}

/// What a plane of the wrong shape was most likely meant to be.
fn rule_of_shape(expected: &[Vec<usize>], found: &[usize]) -> &'static Rule {
    let any = |is: &dyn Fn(&[usize]) -> bool| expected.iter().any(|shape| is(shape));
    let several = any(&|shape| shape.iter().product::<usize>() > 1);
    if several && found.iter().product::<usize>() == 1 {
        &SCALE_PER_TENSOR
    } else if any(&|shape| exchanged(shape).as_deref() == Some(found)) {
        &SCALE_TRANSPOSED
    } else if any(&|shape| padded(shape).is_some_and(|tiles| tiles == found && tiles != shape)) {
        &SCALE_PADDED
    } else {
        &SCALE_SHAPE
    }
}

fn exchanged(shape: &[usize]) -> Option<Vec<usize>> {
    let (lead, last) = shape.split_last_chunk::<2>()?;
    Some([lead, &[last[1], last[0]]].concat())
}

/// Whole tiles of 128 x 4.
fn padded(shape: &[usize]) -> Option<Vec<usize>> {
    let (lead, [rows, cols]) = shape.split_last_chunk::<2>()?;
    let tiles = [
        rows.checked_next_multiple_of(128)?,
        cols.checked_next_multiple_of(4)?,
    ];
    Some([lead, &tiles].concat())
}
