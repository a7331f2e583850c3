//! Configs that say something else than the tensors do.

use blockscale_model::{Dtype, NewTensor};
use serde_json::{Value, json};

use super::super::documents::Document;
use super::super::tensors::Tensor;
use super::recode::{WQ_B, find, renamed, values};
use super::{Fault, How};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "ignored-quantised",
        rule: "BS080",
        how: &[How::Documents(|documents| {
            edit(documents, |config| {
                let ignored = json!(["re:.*attn\\.(wq_b|q_b_proj)$"]);
                config["quantization_config"]["ignore"] = ignored;
            })
        })],
    },
    Fault {
        name: "quantisation-unannounced",
        rule: "BS081",
        how: &[How::Documents(|documents| {
            documents.retain(|document| document.name != "hf_quant_config.json");
            edit(documents, |config| {
                if let Some(config) = config.as_object_mut() {
                    config.remove("quantization_config");
                }
            })
        })],
    },
    Fault {
        name: "group-size",
        rule: "BS082",
        how: &[How::Documents(|documents| {
            edit(documents, |config| {
                let groups = &mut config["quantization_config"]["config_groups"];
                groups["group_0"]["weights"]["group_size"] = json!(32);
            })
        })],
    },
    Fault {
        name: "head-tied",
        rule: "BS083",
        how: &[How::Documents(|documents| {
            edit(documents, |config| {
                config["tie_word_embeddings"] = json!(true);
            })
        })],
    },
    Fault {
        name: "other-dialect",
        rule: "BS084",
        how: &[How::Documents(|documents| {
            edit(documents, |config| {
                config["quantization_config"]["quant_method"] = json!("mxfp4");
            })
        })],
    },
    Fault {
        name: "plain-not-ignored",
        rule: "BS085",
        how: &[How::Tensors(to_plain)],
    },
    Fault {
        name: "pre-quant-scale",
        rule: "BS086",
        how: &[How::Tensors(|tensors| {
            let Some(scale) = find(tensors, WQ_B, ".input_scale") else {
                return false;
            };
            let name = scale.entry.name.replace(".input_scale", ".pre_quant_scale");
            let copy = renamed(scale, name);
            tensors.push(copy);
            true
        })],
    },
    Fault {
        name: "integers-of-another-tool",
        rule: "BS087",
        how: &[
            How::Tensors(add_awq),
            How::Documents(|documents| {
                edit(documents, |config| {
                    config["quantization_config"]["quant_method"] = json!("gptq");
                })
            }),
        ],
    },
];

/// Changes `config.json`.
pub(super) fn edit(documents: &mut [Document], change: impl FnOnce(&mut Value)) -> bool {
    let config = documents.iter_mut().find(|d| d.name == "config.json");
    let Some(config) = config else { return false };
    let Ok(mut content) = serde_json::from_slice(&config.bytes) else {
        return false;
    };
    change(&mut content);
    config.bytes = format!("{content:#}\n").into_bytes();
    true
}

/// A weight decoded to F32.
fn to_plain(tensors: &mut Vec<Tensor>) -> bool {
    let Some((name, shape, values)) = values(tensors, WQ_B) else {
        return false;
    };
    tensors.retain(|tensor| tensor.weight != WQ_B);
    tensors.push(Tensor {
        weight: WQ_B,
        is_scale: false,
        entry: NewTensor {
            name,
            dtype: Dtype::F32,
            shape: vec![shape.rows, shape.cols],
        },
        bytes: values.iter().flat_map(|v| v.to_le_bytes()).collect(),
    });
    true
}

/// A weight of 128 x 128 as AutoAWQ stores it.
fn add_awq(tensors: &mut Vec<Tensor>) -> bool {
    let Some(codes) = find(tensors, WQ_B, ".weight") else {
        return false;
    };
    let module = codes.entry.name.trim_end_matches(".weight").to_owned();
    let parts = [
        ("qweight", Dtype::I32, [128, 16], 4),
        ("qzeros", Dtype::I32, [1, 16], 4),
        ("scales", Dtype::F16, [1, 128], 2),
    ];
    for (part, dtype, shape, size) in parts {
        tensors.push(Tensor {
            weight: WQ_B,
            is_scale: part != "qweight",
            entry: NewTensor {
                name: format!("{module}_awq.{part}"),
                dtype,
                shape: shape.to_vec(),
            },
            bytes: vec![0; shape[0] * shape[1] * size],
        });
    }
    true
}
