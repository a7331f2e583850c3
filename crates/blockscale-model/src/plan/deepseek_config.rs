//! `config.json` and `hf_quant_config.json` of DeepSeek-V4 in native names.
//!
//! With NVFP4 experts the form is the one of NVIDIA's releases: method `fp8` as
//! the publisher has it, and the experts named beside it. vLLM and SGLang take
//! the expert format from `moe_quant_algo`.

use std::collections::BTreeSet;

use blockscale::format::Block;
use serde_json::{Map, Value, json};

use super::config_out::{Configs, Outcome, fp8_ue8m0_keys, producer};
use super::summary::family;
use crate::catalog::Encoding;
use crate::deepseek_v4::{NativeName, Part, parse, released_config_keys, to_native};
use crate::recipe::Rule;

const GROUP: u64 = 16;

/// Whether the released form can describe the output: block formats other than
/// FP8 in square blocks are the experts' alone, and it has no integers.
pub(super) fn describes(outcome: &Outcome<'_>) -> bool {
    outcome.weights.iter().all(|weight| {
        let format = match outcome.encoding(weight) {
            Encoding::Block(format) => format,
            Encoding::Grouped(_) => return false,
            _ => return true,
        };
        let square = matches!(format.block, Block::Grid { rows, .. } if rows > 1);
        square || native(&weight.name).is_some_and(|name| name.part.is_routed_expert())
    })
}

pub(super) fn configs(outcome: &Outcome<'_>) -> Configs {
    let experts = nvfp4_experts(outcome);
    let exclude = exclude(&experts);
    let plain = plain_linears(outcome);
    let Some(source) = &outcome.checkpoint.config else {
        return Configs {
            config: None,
            hf_quant_config: None,
        };
    };
    // A config that lacks what the architecture needs was reported by the shape
    // check; its keys are passed on as they are.
    let mut config = released_config_keys(source)
        .unwrap_or_else(|_| source.as_object().cloned().unwrap_or_default());
    let mut section = fp8_ue8m0_keys();
    if !experts.is_empty() {
        mark_experts(&mut section, &experts, &exclude, &plain);
        config.insert("expert_dtype".to_owned(), json!("fp4"));
    }
    if !plain.is_empty() {
        section.insert("modules_to_not_convert".to_owned(), json!(plain));
    }
    config.insert("quantization_config".to_owned(), Value::Object(section));
    let hf_quant_config =
        (!experts.is_empty()).then(|| hf_quant_config(&experts, &exclude, &plain));
    Configs {
        config: Some(Value::Object(config)),
        hf_quant_config,
    }
}

fn native(name: &str) -> Option<NativeName> {
    parse(&to_native(name)?)
}

/// Expert modules (`layers.3.ffn.experts`) that are NVFP4 in the output.
fn nvfp4_experts(outcome: &Outcome<'_>) -> Vec<String> {
    let mut modules = BTreeSet::new();
    for weight in outcome.weights {
        let Some(name) = native(&weight.name) else {
            continue;
        };
        if name.part.is_routed_expert() && family(&outcome.encoding(weight)) == "NVFP4" {
            modules.insert(name.layer);
        }
    }
    modules
        .into_iter()
        .map(|layer| format!("{layer}ffn.experts"))
        .collect()
}

/// What the NVFP4 description does not speak of, in the patterns of the releases.
fn exclude(experts: &[String]) -> Vec<String> {
    let mut exclude = vec!["*.attn.*", "*.ffn.shared_experts.*", "head"];
    if experts.iter().any(|m| m.starts_with("mtp.")) {
        exclude.extend(["mtp.*.e_proj", "mtp.*.h_proj"]);
    } else {
        exclude.push("mtp.*");
    }
    exclude.into_iter().map(str::to_owned).collect()
}

/// Linears that a release has in FP8 and this output has in plain numbers, under
/// their own names and under those of the modules that a runtime joins them into.
fn plain_linears(outcome: &Outcome<'_>) -> Vec<String> {
    let mut plain = BTreeSet::new();
    for weight in outcome.weights {
        let Some(name) = native(&weight.name) else {
            continue;
        };
        if !is_fp8_in_release(name.part) || outcome.encoding(weight).format().is_some() {
            continue;
        }
        plain.insert(crate::catalog::module_of(&weight.name).to_owned());
        let rule: &Rule = &outcome.recipe.rules[weight.rule];
        if let Some(member) = rule.member(&weight.name) {
            plain.insert(crate::catalog::module_of(&member.joined).to_owned());
        }
    }
    plain.into_iter().collect()
}

fn is_fp8_in_release(part: Part) -> bool {
    matches!(
        part,
        Part::WqA
            | Part::WqB
            | Part::Wkv
            | Part::WoA
            | Part::WoB
            | Part::IndexerWqB
            | Part::SharedW1
            | Part::SharedW2
            | Part::SharedW3
            | Part::EProj
            | Part::HProj
    )
}

fn quantized_layers(experts: &[String]) -> Value {
    let layers: Map<String, Value> = experts
        .iter()
        .map(|m| {
            (
                m.clone(),
                json!({ "quant_algo": "NVFP4", "group_size": GROUP }),
            )
        })
        .collect();
    Value::Object(layers)
}

fn mark_experts(
    section: &mut Map<String, Value>,
    experts: &[String],
    exclude: &[String],
    plain: &[String],
) {
    let fp4 = json!({ "dynamic": false, "group_size": GROUP, "num_bits": 4, "type": "float" });
    let keys = [
        ("moe_quant_algo", json!("NVFP4")),
        ("quant_algo", json!("MIXED_PRECISION")),
        ("kv_cache_quant_algo", Value::Null),
        ("group_size", json!(GROUP)),
        (
            "config_groups",
            json!({ "group_0": {
                "input_activations": fp4,
                "weights": fp4,
                "targets": ["Linear"],
            } }),
        ),
        ("quantized_layers", quantized_layers(experts)),
        ("ignore", json!([exclude, plain].concat())),
        ("producer", producer()),
    ];
    for (key, value) in keys {
        section.insert(key.to_owned(), value);
    }
}

fn hf_quant_config(experts: &[String], exclude: &[String], plain: &[String]) -> Value {
    let exclude_modules = [exclude, plain].concat();
    json!({
        "producer": producer(),
        "quantization": {
            "quant_algo": "MIXED_PRECISION",
            "kv_cache_quant_algo": null,
            "group_size": GROUP,
            "quantized_layers": quantized_layers(experts),
            "exclude_modules": exclude_modules,
        },
    })
}
