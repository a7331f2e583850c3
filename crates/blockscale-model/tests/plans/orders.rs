//! The order of gate and up in what is written, and experts in the layouts of runtimes.

use blockscale::layout::{RowShuffle, ScaleLayout};
use blockscale_model::catalog::{Axes, Catalog, GateUp, RowOrder};
use blockscale_model::dialect::Dialect;
use blockscale_model::plan::{Origin, Plan, PlanError, PlanOptions, Step};
use blockscale_model::recipe::{Naming, Recipe, Target, generic};
use blockscale_model::{Checkpoint, Dtype, NewTensor};
use serde_json::{Value, json};

use crate::common::{checkpoint, nvfp4, tensor};
use crate::{plan, tensors, try_plan, weight};

const STACK: &str = "model.layers.0.mlp.experts.gate_up_proj";
const W13: ScaleLayout = ScaleLayout::TrtllmMoeW13(RowShuffle::By32);
const W2: ScaleLayout = ScaleLayout::TrtllmMoeW2(RowShuffle::By32);

/// gpt-oss with two experts, 8 rows of gate and up, 64 columns.
fn gpt_oss() -> Checkpoint {
    let tensors = [
        tensor(&format!("{STACK}_blocks"), Dtype::U8, &[2, 8, 2, 16]),
        tensor(&format!("{STACK}_scales"), Dtype::U8, &[2, 8, 2]),
        tensor(&format!("{STACK}_bias"), Dtype::BF16, &[2, 8]),
    ];
    let config = json!({
        "model_type": "gpt_oss",
        "quantization_config": { "quant_method": "mxfp4" },
    });
    checkpoint(config, &[&tensors])
}

fn to(target: Target, dialect: Dialect) -> Recipe {
    Recipe {
        dialect: Some(dialect),
        ..generic(target, vec!["*experts*proj*".parse().unwrap()], Vec::new())
    }
}

fn plan_in(
    checkpoint: &Checkpoint,
    recipe: &Recipe,
    layout: ScaleLayout,
) -> Result<Plan, PlanError> {
    let options = PlanOptions {
        layout,
        ..PlanOptions::default()
    };
    Plan::build(checkpoint, &Catalog::of(checkpoint), recipe, &options)
}

#[test]
fn other_dialects_than_gpt_oss_have_the_gate_first_in_weights_and_biases() {
    let found = plan(&gpt_oss(), &to(Target::Mxfp4, Dialect::CompressedTensors));
    let stack = weight(&found, STACK);
    assert_eq!(stack.gate_up, GateUp::Ordered(RowOrder::GateFirst));
    assert_eq!(stack.pieces[0].order, Some(RowOrder::GateFirst));
    assert!(stack.tensors.iter().all(|t| t.origin == Origin::Computed));
    let bias = weight(&found, &format!("{STACK}_bias"));
    assert_eq!(bias.pieces[0].order, Some(RowOrder::GateFirst));
    assert_eq!(
        (&bias.step, &bias.tensors[0].origin),
        (&Step::Copy, &Origin::Computed)
    );
}

#[test]
fn what_stays_in_its_dialect_or_is_kept_is_copied() {
    for recipe in [
        to(Target::Mxfp4, Dialect::GptOss),
        to(Target::Keep, Dialect::GptOss),
    ] {
        let found = plan(&gpt_oss(), &recipe);
        let stack = weight(&found, STACK);
        assert_eq!(stack.gate_up, GateUp::Ordered(RowOrder::Interleaved));
        let all = found.weights.iter().flat_map(|w| &w.tensors);
        assert!(
            all.clone().all(|t| !t.copied_from().is_empty()),
            "{found:?}"
        );
    }
}

#[test]
fn plain_numbers_of_gpt_oss_are_written_as_its_class_has_them() {
    let found = plan(&gpt_oss(), &generic(Target::Bf16, Vec::new(), Vec::new()));
    let stack = weight(&found, STACK);
    assert_eq!((stack.axes, &stack.shape), (Axes::InOut, &vec![2, 8, 64]));
    assert_eq!(stack.gate_up, GateUp::Ordered(RowOrder::Interleaved));
    assert!(tensors(&found).contains(&(STACK, Dtype::BF16, &[2, 64, 8])));
}

#[test]
fn an_unknown_order_stops_what_needs_it_and_says_what_to_pass() {
    let stack = [tensor("a.experts.gate_up_proj", Dtype::BF16, &[2, 64, 64])];
    let source = checkpoint(Value::Null, &[&stack]);
    let to_gpt_oss = try_plan(&source, &to(Target::Mxfp4, Dialect::GptOss));
    let laid_out = plan_in(&source, &to(Target::Nvfp4, Dialect::Modelopt), W13);
    for error in [to_gpt_oss.unwrap_err(), laid_out.unwrap_err()] {
        assert!(
            matches!(error, PlanError::UnknownRowOrder { .. }),
            "{error}"
        );
        let text = error.to_string();
        assert!(text.contains("a.experts.gate_up_proj"), "{text}");
        assert!(
            text.contains("--gate-up gate-first, up-first or interleaved"),
            "{text}"
        );
    }
    // Other dialects and plain numbers take it as it is.
    let kept = plan(&source, &to(Target::Mxfp4, Dialect::CompressedTensors));
    assert_eq!(kept.weights[0].gate_up, GateUp::Unknown);
    assert_eq!(kept.weights[0].pieces[0].order, None);
}

#[test]
fn rows_that_share_scales_are_not_moved() {
    let name = "a.experts.gate_up_proj";
    let tensors = [
        tensor(name, Dtype::F8_E4M3, &[2, 256, 128]),
        tensor(&format!("{name}_scales_inv"), Dtype::F32, &[2, 2, 1]),
    ];
    let mut source = Catalog::of(&checkpoint(Value::Null, &[&tensors]));
    source.state_gate_up(RowOrder::Interleaved);
    let recipe = to(Target::Fp8Block, Dialect::Deepseek);
    let options = PlanOptions::default();
    let checkpoint = checkpoint(Value::Null, &[&tensors]);
    let error = Plan::build(&checkpoint, &source, &recipe, &options).unwrap_err();
    assert!(
        matches!(error, PlanError::RowsShareScales { .. }),
        "{error}"
    );
}

#[test]
fn experts_of_an_interleaved_stack_are_every_second_row() {
    let mut recipe = to(Target::Mxfp4, Dialect::CompressedTensors);
    recipe.naming = Naming::DeepseekV4HfPerExpert;
    let found = plan(&gpt_oss(), &recipe);
    for expert in 0..2 {
        for (half, first) in [("gate_proj", 0), ("up_proj", 4)] {
            let name = format!("model.layers.0.mlp.experts.{expert}.{half}.weight");
            let part = weight(&found, &name);
            let [piece] = part.pieces.as_slice() else {
                panic!("{part:?}")
            };
            let start = expert * 8 + first;
            assert_eq!(piece.rows, start..start + 4, "{name}");
            assert_eq!(piece.order, Some(RowOrder::GateFirst), "{name}");
            let shapes: Vec<_> = part.tensors.iter().map(|t| t.shape.as_slice()).collect();
            assert_eq!(shapes, [[4, 32], [4, 2]], "{name}");
        }
    }
}

#[test]
fn experts_of_gpt_oss_are_not_stacked_as_plain_numbers_of_another_model() {
    let mut tensors = Vec::new();
    for half in ["gate_proj", "up_proj", "down_proj"] {
        tensors.extend(nvfp4(
            &format!("model.layers.0.mlp.experts.0.{half}"),
            [64, 64],
        ));
    }
    let mut recipe = generic(Target::Bf16, Vec::new(), Vec::new());
    recipe.naming = Naming::DeepseekV4Hf;
    let gpt_oss = checkpoint(json!({ "model_type": "gpt_oss" }), &[&tensors]);
    let error = try_plan(&gpt_oss, &recipe).unwrap_err();
    assert!(matches!(error, PlanError::StacksGptOss { .. }), "{error}");
    let other = checkpoint(Value::Null, &[&tensors]);
    let stack = weight(&plan(&other, &recipe), STACK).clone();
    assert_eq!((stack.axes, &stack.shape), (Axes::OutIn, &vec![1, 128, 64]));
    assert_eq!(stack.gate_up, GateUp::Ordered(RowOrder::GateFirst));
}

/// Two experts in NVFP4, one linear layer.
fn experts(names: [&str; 3]) -> Vec<NewTensor> {
    let mut all = nvfp4("q_proj", [128, 64]).to_vec();
    for expert in 0..2 {
        for name in names {
            all.extend(nvfp4(&format!("mlp.experts.{expert}.{name}"), [128, 128]));
        }
    }
    all
}

#[test]
fn gate_and_up_become_one_weight_in_a_layout_of_experts() {
    for (names, both) in [
        (["w1", "w3", "w2"], "w13"),
        (["gate_proj", "up_proj", "down_proj"], "gate_up_proj"),
    ] {
        let source = checkpoint(Value::Null, &[&experts(names)]);
        let recipe = generic(Target::Nvfp4, Vec::new(), Vec::new());
        for asked in [W13, W2] {
            let found = plan_in(&source, &recipe, asked).unwrap();
            let joined = weight(&found, &format!("mlp.experts.1.{both}.weight"));
            assert_eq!((joined.layout, &joined.shape), (W13, &vec![256, 128]));
            assert_eq!(joined.gate_up, GateUp::Ordered(RowOrder::GateFirst));
            let members: Vec<_> = joined.members.iter().map(|m| m.name.clone()).collect();
            let halves = [names[0], names[1]];
            assert_eq!(members, halves.map(|n| format!("mlp.experts.1.{n}.weight")));
            let inputs = halves.map(|n| format!("mlp.experts.1.{n}.input_scale"));
            let found_tensors: Vec<_> = joined.tensors.iter().map(|t| t.name.clone()).collect();
            assert_eq!(found_tensors[3..], inputs);
            let down = weight(&found, &format!("mlp.experts.1.{}.weight", names[2]));
            assert_eq!(down.layout, W2);
            assert_eq!(weight(&found, "q_proj.weight").layout, ScaleLayout::Linear);
            assert_eq!(found.weights.len(), 5);
        }
    }
}

#[test]
fn half_a_pair_and_unlike_halves_are_not_laid_out() {
    let recipe = generic(Target::Nvfp4, Vec::new(), Vec::new());
    for gone in ["w1", "w3"] {
        let mut tensors = experts(["w1", "w3", "w2"]);
        tensors.retain(|t| !t.name.starts_with(&format!("mlp.experts.1.{gone}.")));
        match plan_in(&checkpoint(Value::Null, &[&tensors]), &recipe, W13) {
            Err(PlanError::IncompleteModule { module, missing }) => {
                assert_eq!(module, "mlp.experts.1.w13.weight");
                assert_eq!(missing, format!("mlp.experts.1.{gone}.weight"));
            }
            other => panic!("{other:?}"),
        }
    }
    let mut tensors = nvfp4("experts.0.w1", [128, 64]).to_vec();
    tensors.extend(nvfp4("experts.0.w3", [256, 64]));
    let error = plan_in(&checkpoint(Value::Null, &[&tensors]), &recipe, W13).unwrap_err();
    assert!(matches!(error, PlanError::UnlikeHalves { .. }), "{error}");
}

#[test]
fn a_layout_of_experts_without_experts_is_refused() {
    let source = checkpoint(Value::Null, &[&nvfp4("q_proj", [128, 64])]);
    let recipe = generic(Target::Nvfp4, Vec::new(), Vec::new());
    let error = plan_in(&source, &recipe, W13).unwrap_err();
    assert!(matches!(error, PlanError::NoExperts(W13)), "{error}");
}

#[test]
fn a_joined_pair_is_named_as_the_spelling_names_its_halves() {
    let mut tensors = Vec::new();
    for part in ["w1", "w3", "w2"] {
        tensors.extend(nvfp4(&format!("layers.0.ffn.experts.0.{part}"), [128, 128]));
    }
    let source = checkpoint(Value::Null, &[&tensors]);
    let mut recipe = generic(Target::Nvfp4, Vec::new(), Vec::new());
    for (naming, name, member) in [
        (
            Naming::DeepseekV4,
            "layers.0.ffn.experts.0.w13.weight",
            "layers.0.ffn.experts.0.w1.weight",
        ),
        (
            Naming::DeepseekV4HfPerExpert,
            "model.layers.0.mlp.experts.0.gate_up_proj.weight",
            "model.layers.0.mlp.experts.0.gate_proj.weight",
        ),
    ] {
        recipe.naming = naming;
        let found = plan_in(&source, &recipe, W13).unwrap();
        assert_eq!(weight(&found, name).members[0].name, member);
    }
}
