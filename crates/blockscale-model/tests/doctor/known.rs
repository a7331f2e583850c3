//! Findings and refusals under the rules that they break.

use blockscale_model::catalog::{Refusal, ScaleProblem};
use blockscale_model::{Dtype, Finding, Severity};

fn code(problem: ScaleProblem) -> &'static str {
    let refusal = Refusal {
        tensor: "a.weight".to_owned(),
        file: "model.safetensors".to_owned(),
        problem,
    };
    let diagnosis = refusal.diagnosis();
    assert_eq!(diagnosis.tensor.as_deref(), Some("a.weight"));
    assert_eq!(diagnosis.file.as_deref(), Some("model.safetensors"));
    diagnosis.rule.code
}

fn of_shape(expected: &[usize], found: &[usize]) -> &'static str {
    code(ScaleProblem::Shape {
        scale: "a.weight_scale".to_owned(),
        expected: vec![expected.to_vec()],
        found: found.to_vec(),
    })
}

#[test]
fn a_plane_of_the_wrong_shape_is_told_by_what_it_was_meant_to_be() {
    assert_eq!(of_shape(&[12, 56], &[56, 12]), "BS015");
    assert_eq!(of_shape(&[12, 56], &[]), "BS016");
    assert_eq!(of_shape(&[12, 56], &[1]), "BS016");
    assert_eq!(of_shape(&[130, 5], &[256, 8]), "BS018");
    assert_eq!(of_shape(&[4, 130, 5], &[4, 256, 8]), "BS018");
    assert_eq!(of_shape(&[12, 56], &[12, 55]), "BS014");
    assert_eq!(of_shape(&[12, 56], &[672]), "BS014");
    // Whole tiles already: nothing was padded.
    assert_eq!(of_shape(&[128, 8], &[128, 4]), "BS014");
}

#[test]
fn a_stack_is_transposed_matrix_by_matrix() {
    assert_eq!(of_shape(&[3, 12, 56], &[3, 56, 12]), "BS015");
    assert_eq!(of_shape(&[3, 12, 56], &[56, 12, 3]), "BS014");
}

#[test]
fn other_refusals_have_rules_of_their_own() {
    let missing = ScaleProblem::Missing {
        dtype: Dtype::F8_E4M3,
        looked_for: Vec::new(),
    };
    assert_eq!(code(missing), "BS011");
    let doubled = ScaleProblem::Contradicting { scales: Vec::new() };
    assert_eq!(code(doubled), "BS012");
    let unsaid = ScaleProblem::Unsaid {
        what: "how",
        key: "bits",
    };
    assert_eq!(code(unsaid), "BS053");
}

#[test]
fn a_finding_keeps_its_severity_and_its_words() {
    let finding = Finding {
        severity: Severity::Info,
        code: "index-total-size",
        file: Some("index".to_owned()),
        tensor: None,
        message: "odd".to_owned(),
    };
    let diagnosis = finding.diagnosis().unwrap();
    assert_eq!(diagnosis.rule.code, "BS006");
    assert_eq!(diagnosis.to_string(), "info[BS006]: odd");
    let json = serde_json::to_value(&finding).unwrap();
    assert_eq!(json["rule"], "BS006");
    assert_eq!(json["code"], "index-total-size");
    let unknown = Finding {
        code: "of-another-program",
        ..finding
    };
    assert_eq!(unknown.diagnosis(), None);
}
