//! Weights whose scales cannot be used, and scales that no weight uses.

use blockscale_model::catalog::{Catalog, Refusal, ScaleProblem};
use blockscale_model::{Dtype, NewTensor, Severity};
use serde_json::{Value, json};

use crate::common::{checkpoint, nvfp4, tensor};

fn refusal_with(config: Value, tensors: &[NewTensor]) -> Refusal {
    let catalog = Catalog::of(&checkpoint(config, &[tensors]));
    assert_eq!(catalog.weights, []);
    assert_eq!(catalog.findings, []);
    let [refusal] = catalog.refusals.as_slice() else {
        panic!("{:?}", catalog.refusals)
    };
    refusal.clone()
}

fn refusal(tensors: &[NewTensor]) -> Refusal {
    refusal_with(Value::Null, tensors)
}

#[test]
fn codes_without_a_scale_are_refused_by_name() {
    for dtype in [Dtype::F8_E4M3, Dtype::F8_E5M2, Dtype::F4] {
        let refusal = refusal(&[tensor("layers.0.attn.wo_b.weight", dtype, &[4, 8])]);
        let looked_for = ["weight_scale", "weight_scale_inv", "scale", "scales"]
            .map(|suffix| format!("layers.0.attn.wo_b.{suffix}"))
            .to_vec();
        assert_eq!(refusal.problem, ScaleProblem::Missing { dtype, looked_for });
        let message = refusal.to_string();
        assert!(message.starts_with("`layers.0.attn.wo_b.weight` in `model.safetensors`: "));
        assert!(
            message.contains("`layers.0.attn.wo_b.weight_scale_inv`"),
            "{message}"
        );
    }
}

#[test]
fn fp8_under_a_name_that_no_scale_goes_with_is_refused() {
    let stacked = [
        tensor("experts.gate_up_proj", Dtype::F8_E4M3, &[2, 8, 8]),
        tensor("experts.gate_up_proj_bias", Dtype::F32, &[2, 8]),
    ];
    let catalog = Catalog::of(&checkpoint(Value::Null, &[&stacked]));
    let refused: Vec<&str> = catalog.refusals.iter().map(|r| r.tensor.as_str()).collect();
    assert_eq!(refused, ["experts.gate_up_proj"]);
}

#[test]
fn bytes_without_a_scale_are_refused_where_the_config_speaks_of_fp4() {
    let configs = [
        json!({ "quantization_config": { "quant_algo": "NVFP4" } }),
        json!({ "quantization_config": { "quant_algo": "W4A16_NVFP4" } }),
        json!({ "quantization_config": { "quant_method": "mxfp4" } }),
        json!({ "quantization_config": {
            "quant_method": "fp8", "quant_algo": "MIXED_PRECISION", "moe_quant_algo": "NVFP4",
        } }),
        json!({ "quantization_config": {
            "quant_method": "compressed-tensors", "format": "nvfp4-pack-quantized",
        } }),
        json!({ "expert_dtype": "fp4" }),
    ];
    for config in configs {
        for dtype in [Dtype::U8, Dtype::I8] {
            let refusal = refusal_with(config.clone(), &[tensor("w1.weight", dtype, &[4, 8])]);
            assert!(
                matches!(refusal.problem, ScaleProblem::Missing { .. }),
                "{config}"
            );
        }
    }
}

#[test]
fn packed_weight_without_a_scale_is_refused_whatever_the_config() {
    let refusal = refusal(&[tensor("w1.weight_packed", Dtype::U8, &[4, 8])]);
    assert_eq!(refusal.tensor, "w1.weight_packed");
    assert!(matches!(refusal.problem, ScaleProblem::Missing { .. }));
}

#[test]
fn two_scales_of_one_weight_are_refused_naming_both() {
    let refusal = refusal(&[
        tensor("wo_b.weight", Dtype::F8_E4M3, &[4, 8]),
        tensor("wo_b.weight_scale", Dtype::F32, &[1, 1]),
        tensor("wo_b.weight_scale_inv", Dtype::F32, &[1, 1]),
    ]);
    assert_eq!(
        refusal.to_string(),
        "`wo_b.weight` in `model.safetensors`: `wo_b.weight_scale`, `wo_b.weight_scale_inv` all \
         claim to be its scale; remove the wrong ones"
    );
}

#[test]
fn two_global_scales_are_refused_naming_both() {
    let mut tensors = nvfp4("down", [4, 64]).to_vec();
    tensors.push(tensor("down.weight_global_scale", Dtype::F32, &[1]));
    let scales = vec![
        "down.weight_scale_2".to_owned(),
        "down.weight_global_scale".to_owned(),
    ];
    assert_eq!(
        refusal(&tensors).problem,
        ScaleProblem::Contradicting { scales }
    );
}

#[test]
fn nvfp4_without_its_global_scale_is_refused() {
    let refusal = refusal(&[
        tensor("down.weight", Dtype::U8, &[4, 32]),
        tensor("down.weight_scale", Dtype::F8_E4M3, &[4, 4]),
    ]);
    assert_eq!(
        refusal.problem,
        ScaleProblem::MissingGlobal {
            scale: "down.weight_scale".to_owned(),
            looked_for: vec![
                "down.weight_scale_2".to_owned(),
                "down.weight_global_scale".to_owned()
            ],
        }
    );
}

#[test]
fn global_scale_beside_a_format_without_one_is_refused() {
    let weights = [
        [
            tensor("a.weight", Dtype::F8_E4M3, &[256, 256]),
            tensor("a.weight_scale", Dtype::F32, &[2, 2]),
        ],
        [
            tensor("a.weight", Dtype::U8, &[4, 32]),
            tensor("a.weight_scale", Dtype::F8_E8M0, &[4, 2]),
        ],
    ];
    for weight in weights {
        let mut tensors = weight.to_vec();
        tensors.push(tensor("a.weight_scale_2", Dtype::F32, &[]));
        let problem = refusal(&tensors).problem;
        assert!(
            matches!(&problem, ScaleProblem::UnexpectedGlobal { global, .. } if global == "a.weight_scale_2"),
            "{problem:?}"
        );
    }
}

#[test]
fn scale_plane_of_the_wrong_shape_is_refused_with_what_was_expected() {
    let cases: [(&[usize], &[usize]); 4] = [
        // Transposed, one block short, blocks of 64, of another stack.
        (&[256, 384], &[3, 2]),
        (&[256, 384], &[2, 2]),
        (&[256, 384], &[4, 6]),
        (&[5, 256, 384], &[2, 3]),
    ];
    for (weight, scale) in cases {
        let refusal = refusal(&[
            tensor("a.weight", Dtype::F8_E4M3, weight),
            tensor("a.weight_scale_inv", Dtype::F32, scale),
        ]);
        let lead = &weight[..weight.len() - 2];
        let expected = vec![[lead, &[2, 3]].concat(), [lead, &[256, 1]].concat(), vec![]];
        let found = scale.to_vec();
        let scale = "a.weight_scale_inv".to_owned();
        assert_eq!(
            refusal.problem,
            ScaleProblem::Shape {
                scale,
                expected,
                found
            }
        );
    }
}

#[test]
fn transposed_nvfp4_plane_is_refused() {
    let refusal = refusal(&[
        tensor("a.weight", Dtype::U8, &[32, 64]),
        tensor("a.weight_scale", Dtype::F8_E4M3, &[8, 32]),
        tensor("a.weight_scale_2", Dtype::F32, &[]),
    ]);
    assert_eq!(
        refusal.problem.to_string(),
        "scale `a.weight_scale` has shape [8, 32], expected [32, 8]"
    );
}

#[test]
fn power_of_two_plane_is_not_taken_for_a_tensor_scale() {
    let refusal = refusal(&[
        tensor("a.weight", Dtype::F8_E4M3, &[256, 384]),
        tensor("a.scale", Dtype::F8_E8M0, &[1]),
    ]);
    assert!(matches!(refusal.problem, ScaleProblem::Shape { .. }));
}

#[test]
fn scale_of_another_dtype_is_refused() {
    let fp8 = refusal(&[
        tensor("a.weight", Dtype::F8_E4M3, &[256, 384]),
        tensor("a.weight_scale_inv", Dtype::I32, &[2, 3]),
    ]);
    assert_eq!(
        fp8.problem.to_string(),
        "scale `a.weight_scale_inv` is I32, expected F32, BF16, F16, F8_E8M0 or U8"
    );
    let int8 = refusal(&[
        tensor("a.weight", Dtype::I8, &[4, 32]),
        tensor("a.weight_scale", Dtype::BF16, &[4, 1]),
    ]);
    assert!(matches!(
        int8.problem,
        ScaleProblem::Dtype {
            found: Dtype::BF16,
            ..
        }
    ));
}

#[test]
fn global_scale_is_one_f32_for_each_matrix() {
    let with_global = |dtype, shape: &[usize]| {
        refusal(&[
            tensor("a.weight", Dtype::U8, &[4, 32]),
            tensor("a.weight_scale", Dtype::F8_E4M3, &[4, 4]),
            tensor("a.weight_scale_2", dtype, shape),
        ])
        .problem
    };
    assert!(matches!(
        with_global(Dtype::BF16, &[]),
        ScaleProblem::Dtype { scale, expected: "F32", .. } if scale == "a.weight_scale_2"
    ));
    assert!(matches!(
        with_global(Dtype::F32, &[4]),
        ScaleProblem::Shape { scale, .. } if scale == "a.weight_scale_2"
    ));
}

#[test]
fn scale_without_a_weight_is_a_finding_and_stays() {
    let orphans = [
        ("wq_a.weight_scale_inv", Dtype::F32, "wq_a.weight"),
        ("wq_a.weight_scale", Dtype::BF16, "wq_a.weight"),
        ("wq_a.weight_scale_2", Dtype::F32, "wq_a.weight"),
        ("wq_a.scale", Dtype::F8_E8M0, "wq_a.weight"),
    ];
    for (orphan, dtype, missing) in orphans {
        let tensors = [
            tensor("wo_b.weight", Dtype::F8_E4M3, &[4, 8]),
            tensor("wo_b.weight_scale_inv", Dtype::F32, &[1, 1]),
            tensor(orphan, dtype, &[1, 1]),
        ];
        let catalog = Catalog::of(&checkpoint(Value::Null, &[&tensors]));
        assert_eq!(catalog.refusals, []);
        assert!(catalog.weight(orphan).is_some());
        let [finding] = catalog.findings.as_slice() else {
            panic!("{orphan}: {:?}", catalog.findings)
        };
        assert_eq!(finding.code, "scale-without-weight");
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.tensor.as_deref(), Some(orphan));
        assert!(finding.message.contains(missing), "{finding}");
        assert!(finding.message.contains(orphan), "{finding}");
    }
}

#[test]
fn scale_beside_a_weight_that_is_not_quantised_is_a_finding() {
    let tensors = [
        tensor("a.weight", Dtype::BF16, &[4, 8]),
        tensor("a.weight_scale", Dtype::F32, &[]),
    ];
    let catalog = Catalog::of(&checkpoint(Value::Null, &[&tensors]));
    let codes: Vec<&str> = catalog.findings.iter().map(|f| f.code).collect();
    assert_eq!(codes, ["scale-without-weight"]);
    assert!(
        catalog
            .weight("a.weight")
            .unwrap()
            .encoding
            .is_plain_float()
    );
}
