//! Conversions that are refused, and what is only reported.

use blockscale_model::plan::{PlanError, Step};
use blockscale_model::recipe::{Recipe, Target, builtin, generic};
use blockscale_model::{Checkpoint, Dtype};
use serde_json::{Value, json};

use crate::common::{Field, checkpoint, nvfp4, tensor};
use crate::model::{hf_config, hf_tensors, small_pro};
use crate::{plan, try_plan, weight};

fn refusal(checkpoint: &Checkpoint, recipe: &Recipe) -> PlanError {
    match try_plan(checkpoint, recipe) {
        Err(error) => error,
        Ok(plan) => panic!("planned:\n{}", plan.summary),
    }
}

/// A recipe of these rules.
fn rules(rules: &str) -> Recipe {
    Recipe::parse(&format!("version = 1\nname = \"r\"\n{rules}")).unwrap()
}

fn to(target: &str) -> Recipe {
    rules(&format!("[[rule]]\nmatch = [\"*\"]\nto = \"{target}\""))
}

#[test]
fn main_compressor_under_the_name_of_the_indexers_is_refused() {
    let arch = small_pro();
    let main = nvfp4(
        "model.layers.2.self_attn.compressor.indexer.kv_proj",
        [1024, 7168],
    );
    let mut tensors = hf_tensors(&arch);
    tensors.retain(|t| main.iter().all(|m| m.name != t.name));
    tensors.extend(main);
    let checkpoint = checkpoint(hf_config(&arch), &[&tensors]);
    for recipe in ["deepseek-v4", "deepseek-v4-bf16"] {
        match refusal(&checkpoint, &builtin(recipe).unwrap()) {
            PlanError::WrongShape {
                weight,
                source_name,
                expected,
                found,
            } => {
                assert_eq!(weight, "layers.2.attn.indexer.compressor.wkv.weight");
                assert_eq!(
                    source_name,
                    "model.layers.2.self_attn.compressor.indexer.kv_proj.weight"
                );
                assert_eq!(expected, [256, 7168]);
                assert_eq!(found, [1024, 7168]);
            }
            other => panic!("{other}"),
        }
    }
}

#[test]
fn successor_model_is_refused_with_the_reason_whatever_the_recipe() {
    let config = json!({ "model_type": "deepseek_v41" });
    let checkpoint = checkpoint(config, &[&[tensor("a.weight", Dtype::BF16, &[4, 4])]]);
    for recipe in [
        builtin("deepseek-v4").unwrap(),
        generic(Target::F32, vec![], vec![]),
    ] {
        let error = refusal(&checkpoint, &recipe);
        assert!(
            matches!(error, PlanError::UnsupportedModel { .. }),
            "{error}"
        );
        let message = error.to_string();
        assert!(
            message.contains("`deepseek_v41`") && message.contains("32x32"),
            "{message}"
        );
    }
}

#[test]
fn recipe_of_another_model_is_refused() {
    let llama = Field::ModeloptFp8Llama.checkpoint();
    let nameless = checkpoint(Value::Null, &[&[tensor("a.weight", Dtype::BF16, &[4, 4])]]);
    for (checkpoint, found) in [(llama, Some("llama")), (nameless, None)] {
        let error = refusal(&checkpoint, &builtin("deepseek-v4").unwrap());
        let message = error.to_string();
        assert!(message.contains("`deepseek_v4`"), "{message}");
        match error {
            PlanError::OtherModel { found: model, .. } => assert_eq!(model.as_deref(), found),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn weight_that_cannot_be_read_is_refused_even_where_it_would_be_kept() {
    let tensors = [
        tensor("layers.0.attn.wo_b.weight", Dtype::F8_E4M3, &[4, 8]),
        tensor("norm.weight", Dtype::BF16, &[8]),
    ];
    let error = refusal(&checkpoint(Value::Null, &[&tensors]), &to("keep"));
    assert!(
        error
            .to_string()
            .starts_with("`layers.0.attn.wo_b.weight` in `model.safetensors`")
    );
}

#[test]
fn many_refused_weights_are_counted_not_all_listed() {
    let name = |i: usize| format!("layers.{i}.weight");
    let tensors: Vec<_> = (0..20)
        .map(|i| tensor(&name(i), Dtype::F8_E4M3, &[4, 8]))
        .collect();
    let message = refusal(&checkpoint(Value::Null, &[&tensors]), &to("keep")).to_string();
    assert_eq!(message.lines().count(), 9);
    assert!(message.ends_with("and 12 more"), "{message}");
}

#[test]
fn rule_that_decides_nothing_is_refused_unless_optional() {
    let tensors = [tensor("a.weight", Dtype::BF16, &[4, 4])];
    let checkpoint = checkpoint(Value::Null, &[&tensors]);
    let with = |optional: bool| {
        rules(&format!(
            "[[rule]]\nmatch = [\"a.*\"]\nto = \"keep\"\n\
             [[rule]]\nmatch = [\"a.weight\", \"b.*\"]\nto = \"f32\"\noptional = {optional}"
        ))
    };
    match refusal(&checkpoint, &with(false)) {
        PlanError::RuleMatchesNothing { rule, patterns, .. } => {
            assert_eq!(rule, 2);
            assert_eq!(patterns, ["a.weight", "b.*"]);
        }
        other => panic!("{other}"),
    }
    plan(&checkpoint, &with(true));
}

#[test]
fn last_rule_that_keeps_the_rest_may_find_nothing_left() {
    let tensors = [tensor("a.weight", Dtype::BF16, &[4, 4])];
    let checkpoint = checkpoint(Value::Null, &[&tensors]);
    let ending_in = |to: &str| {
        rules(&format!(
            "[[rule]]\nmatch = [\"a.*\"]\nto = \"f32\"\n[[rule]]\nmatch = [\"*\"]\nto = \"{to}\""
        ))
    };
    plan(&checkpoint, &ending_in("keep"));
    let error = refusal(&checkpoint, &ending_in("bf16"));
    assert!(
        matches!(error, PlanError::RuleMatchesNothing { rule: 2, .. }),
        "{error}"
    );
}

#[test]
fn pattern_of_the_command_line_that_matches_nothing_is_refused() {
    let checkpoint = Field::ModeloptFp8Llama.checkpoint();
    let typo = || vec!["*.self_atn.*".parse().unwrap()];
    for recipe in [
        generic(Target::F32, typo(), vec![]),
        generic(Target::F32, vec![], typo()),
    ] {
        let message = refusal(&checkpoint, &recipe).to_string();
        assert!(message.contains("`*.self_atn.*`"), "{message}");
    }
}

#[test]
fn weight_without_a_rule_is_refused() {
    let tensors = [
        tensor("a.weight", Dtype::BF16, &[4, 4]),
        tensor("b.weight", Dtype::BF16, &[4, 4]),
    ];
    let recipe = rules("[[rule]]\nmatch = [\"a.*\"]\nto = \"keep\"");
    let error = refusal(&checkpoint(Value::Null, &[&tensors]), &recipe);
    assert!(
        matches!(&error, PlanError::NoRule { weight, .. } if weight == "b.weight"),
        "{error}"
    );
}

#[test]
fn weight_stored_otherwise_than_its_rule_accepts_is_refused() {
    let arch = small_pro();
    let mut tensors = hf_tensors(&arch);
    let expert = "model.layers.5.mlp.experts.1.up_proj";
    tensors.retain(|t| !t.name.starts_with(expert));
    let name = format!("{expert}.weight");
    tensors.push(tensor(&name, Dtype::BF16, &[3072, 7168]));
    let checkpoint = checkpoint(hf_config(&arch), &[&tensors]);
    match refusal(&checkpoint, &builtin("deepseek-v4").unwrap()) {
        PlanError::NotAccepted {
            weight,
            expected,
            found,
        } => {
            assert_eq!(weight, name);
            assert_eq!(
                (expected.as_str(), found.as_str()),
                ("nvfp4, mxfp4, fp8", "BF16")
            );
        }
        other => panic!("{other}"),
    }
}

#[test]
fn integers_cannot_become_floats() {
    let tensors = [tensor("tid2eid", Dtype::I64, &[256, 256])];
    let checkpoint = checkpoint(Value::Null, &[&tensors]);
    for target in Target::CONVERSIONS {
        let error = refusal(&checkpoint, &to(target.name()));
        assert!(
            matches!(&error, PlanError::NotNumbers { weight, .. } if weight == "tid2eid"),
            "{error}"
        );
    }
}

#[test]
fn block_scales_need_a_matrix_of_whole_blocks() {
    let vector = checkpoint(Value::Null, &[&[tensor("a", Dtype::BF16, &[256])]]);
    let ragged = checkpoint(Value::Null, &[&[tensor("a", Dtype::BF16, &[8, 40])]]);
    for target in [Target::Fp8Block, Target::Fp8BlockUe8m0, Target::Nvfp4] {
        let error = refusal(&vector, &to(target.name()));
        assert!(matches!(error, PlanError::NotAMatrix { .. }), "{error}");
    }
    match refusal(&ragged, &to("nvfp4")) {
        PlanError::PartialBlock { cols, block, .. } => assert_eq!((cols, block), (40, 16)),
        other => panic!("{other}"),
    }
    // Blocks of 128x128 may be short at the edges.
    plan(&ragged, &to("fp8-block"));
}

#[test]
fn weight_that_the_command_line_cannot_fit_is_kept_and_reported() {
    let tensors = [
        tensor("a.weight", Dtype::BF16, &[8, 40]),
        tensor("b.weight", Dtype::BF16, &[8, 48]),
    ];
    let checkpoint = checkpoint(Value::Null, &[&tensors]);
    let plan = plan(&checkpoint, &generic(Target::Nvfp4, vec![], vec![]));
    assert_eq!(weight(&plan, "a.weight").step, Step::Copy);
    assert!(matches!(
        weight(&plan, "b.weight").step,
        Step::Encode { .. }
    ));
    let [finding] = plan.findings.as_slice() else {
        panic!("{:?}", plan.findings)
    };
    assert_eq!(
        (finding.code, finding.tensor.as_deref()),
        ("kept-as-it-is", Some("a.weight"))
    );
}

#[test]
fn two_spellings_of_one_weight_are_refused_naming_both() {
    let arch = small_pro();
    let mut tensors = hf_tensors(&arch);
    tensors.push(tensor(
        "model.layers.0.self_attn.norm.weight",
        Dtype::F32,
        &[512],
    ));
    let checkpoint = checkpoint(hf_config(&arch), &[&tensors]);
    match refusal(&checkpoint, &builtin("deepseek-v4").unwrap()) {
        PlanError::SameName {
            name,
            first,
            second,
        } => {
            assert_eq!(name, "layers.0.attn.kv_norm.weight");
            let mut sources = [first.as_str(), second.as_str()];
            sources.sort_unstable();
            assert_eq!(
                sources,
                [
                    "model.layers.0.self_attn.kv_norm.weight",
                    "model.layers.0.self_attn.norm.weight"
                ]
            );
        }
        other => panic!("{other}"),
    }
}

#[test]
fn formats_that_no_config_describes_together_are_refused() {
    let checkpoint = Field::ModeloptFp8Llama.checkpoint();
    let only = vec!["*.q_proj.weight".parse().unwrap()];
    match refusal(&checkpoint, &generic(Target::Nvfp4, only, vec![])) {
        PlanError::MixedFormats { formats } => {
            assert_eq!(formats, ["FP8 per tensor", "NVFP4"]);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn unknown_name_is_kept_and_reported() {
    let arch = small_pro();
    let mut tensors = hf_tensors(&arch);
    tensors.push(tensor(
        "model.layers.0.self_attn.rotary.inv_freq",
        Dtype::F32,
        &[32],
    ));
    let checkpoint = checkpoint(hf_config(&arch), &[&tensors]);
    let plan = plan(&checkpoint, &builtin("deepseek-v4").unwrap());
    let [finding] = plan.findings.as_slice() else {
        panic!("{:?}", plan.findings)
    };
    assert_eq!(finding.code, "unknown-name");
    assert!(
        finding
            .message
            .contains("`model.layers.0.self_attn.rotary.inv_freq`"),
        "{finding}"
    );
    let kept = weight(&plan, "model.layers.0.self_attn.rotary.inv_freq");
    assert_eq!(kept.step, Step::Copy);
}

#[test]
fn weights_that_the_config_promises_and_nobody_stores_are_reported() {
    let arch = small_pro();
    let mut tensors = hf_tensors(&arch);
    tensors.retain(|t| !t.name.starts_with("model.layers.7.mlp.experts.0."));
    let checkpoint = checkpoint(hf_config(&arch), &[&tensors]);
    let plan = plan(&checkpoint, &builtin("deepseek-v4").unwrap());
    let [finding] = plan.findings.as_slice() else {
        panic!("{:?}", plan.findings)
    };
    assert_eq!(finding.code, "weights-missing");
    assert_eq!(
        finding.tensor.as_deref(),
        Some("layers.7.ffn.experts.0.w1.weight")
    );
    assert!(finding.message.contains("3 weights"), "{finding}");
    assert!(
        finding
            .message
            .contains("`layers.7.ffn.experts.0.w1.weight`"),
        "{finding}"
    );
}

#[test]
fn config_without_dimensions_is_reported() {
    let arch = small_pro();
    let mut config = hf_config(&arch);
    config.as_object_mut().unwrap().remove("q_lora_rank");
    let checkpoint = checkpoint(config, &[&hf_tensors(&arch)]);
    let plan = plan(&checkpoint, &builtin("deepseek-v4").unwrap());
    let [finding] = plan.findings.as_slice() else {
        panic!("{:?}", plan.findings)
    };
    assert_eq!(finding.code, "config-incomplete");
    assert!(finding.message.contains("`q_lora_rank`"), "{finding}");
}

#[test]
fn findings_of_checkpoint_and_catalog_are_those_of_the_plan_too() {
    let tensors = [
        tensor("a.weight", Dtype::BF16, &[4, 4]),
        tensor("b.weight_scale_inv", Dtype::F32, &[1, 1]),
    ];
    let plan = plan(&checkpoint(Value::Null, &[&tensors]), &to("keep"));
    let codes: Vec<&str> = plan.findings.iter().map(|f| f.code).collect();
    assert_eq!(codes, ["scale-without-weight"]);
}

#[test]
fn one_name_for_two_tensors_is_refused_wherever_they_lie() {
    // A scale that belongs to no weight is kept under the name that the new scales will have.
    let weight = tensor("a.weight", Dtype::BF16, &[128, 128]);
    let stray = tensor("a.weight_scale_inv", Dtype::I64, &[3]);
    for shards in [
        vec![vec![weight.clone(), stray.clone()]],
        vec![vec![weight], vec![stray]],
    ] {
        let shards: Vec<&[_]> = shards.iter().map(Vec::as_slice).collect();
        match refusal(
            &checkpoint(Value::Null, &shards),
            &rules(
                "[[rule]]\nmatch = [\"a.weight\"]\nto = \"fp8-block\"\n[[rule]]\nmatch = [\"*\"]\nto = \"keep\"",
            ),
        ) {
            PlanError::NameTwice { tensor, .. } => assert_eq!(tensor, "a.weight_scale_inv"),
            other => panic!("{other}"),
        }
    }
}
