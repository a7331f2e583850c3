//! The way from a stored format to another: exact where it can be.

use blockscale::encode::ScaleRule;
use blockscale::format::Format;
use blockscale_model::catalog::PartRole;
use blockscale_model::dialect::Dialect;
use blockscale_model::plan::{Expectation, Origin, Plan, PlannedWeight, Step};
use blockscale_model::recipe::{EncodeBy, Recipe, Target, generic};
use blockscale_model::{Dtype, NewTensor};
use serde_json::{Value, json};

use crate::common::{Field, checkpoint, nvfp4, tensor};
use crate::{plan, weight};

fn plan_of(tensors: &[NewTensor], rule: &str) -> Plan {
    let text = format!("version = 1\nname = \"r\"\n[[rule]]\nmatch = [\"*\"]\n{rule}");
    plan(
        &checkpoint(Value::Null, &[tensors]),
        &Recipe::parse(&text).unwrap(),
    )
}

/// What becomes of the weight `a.weight`.
fn planned(tensors: &[NewTensor], rule: &str) -> PlannedWeight {
    weight(&plan_of(tensors, rule), "a.weight").clone()
}

fn step(tensors: &[NewTensor], to: Target) -> Step {
    planned(tensors, &format!("to = \"{to}\"")).step
}

fn fp8(shape: [usize; 2], scale: Dtype, scale_shape: &[usize]) -> [NewTensor; 2] {
    [
        tensor("a.weight", Dtype::F8_E4M3, &shape),
        tensor("a.weight_scale", scale, scale_shape),
    ]
}

fn block() -> [NewTensor; 2] {
    fp8([256, 256], Dtype::F32, &[2, 2])
}

fn block_ue8m0() -> [NewTensor; 2] {
    fp8([256, 256], Dtype::F8_E8M0, &[2, 2])
}

const SCALE_RULE_POWER_OF_TWO: &str = "to = \"fp8-block\"\nscale_rule = \"power-of-two\"";

#[test]
fn what_is_there_already_is_copied_under_the_names_of_its_dialect() {
    let cases: [(&[NewTensor], Target, &[&str]); 5] = [
        (
            &[tensor("a.weight", Dtype::BF16, &[4, 8])],
            Target::Bf16,
            &["a.weight"],
        ),
        (
            &[tensor("a.weight", Dtype::F32, &[4, 8])],
            Target::F32,
            &["a.weight"],
        ),
        (
            &block(),
            Target::Fp8Block,
            &["a.weight", "a.weight_scale_inv"],
        ),
        (
            &block_ue8m0(),
            Target::Fp8BlockUe8m0,
            &["a.weight", "a.weight_scale_inv"],
        ),
        (
            &nvfp4("a", [4, 64]),
            Target::Nvfp4,
            &[
                "a.input_scale",
                "a.weight",
                "a.weight_scale",
                "a.weight_scale_2",
            ],
        ),
    ];
    for (tensors, to, expected) in cases {
        let planned = planned(tensors, &format!("to = \"{to}\""));
        assert_eq!(planned.step, Step::Copy, "{to}");
        assert_eq!(planned.expectation, Expectation::Exact);
        let mut names: Vec<&str> = planned.tensors.iter().map(|t| t.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, expected, "{to}");
        let copied = planned.tensors.iter().all(|t| !t.copied_from().is_empty());
        assert!(copied, "{to}");
    }
}

#[test]
fn copied_plane_takes_the_name_and_dtype_of_its_format() {
    let rule = "to = \"fp8-block-ue8m0\"\nscale_name = \".scale\"";
    let planned = planned(&fp8([256, 256], Dtype::U8, &[2, 2]), rule);
    assert_eq!(planned.step, Step::Copy);
    let scale = planned.tensor(PartRole::BlockScale).unwrap();
    assert_eq!(
        (scale.name.as_str(), scale.dtype),
        ("a.scale", Dtype::F8_E8M0)
    );
    assert_eq!(scale.copied_from().len(), 1);
}

#[test]
fn tensor_scale_is_spread_over_the_grid() {
    let planned = planned(&fp8([130, 129], Dtype::F32, &[]), "to = \"fp8-block\"");
    assert_eq!(
        planned.step,
        Step::SpreadScale {
            to: Format::FP8_BLOCK
        }
    );
    assert_eq!(planned.expectation, Expectation::Exact);
    let scale = planned.tensor(PartRole::BlockScale).unwrap();
    assert_eq!(
        (scale.dtype, scale.shape.as_slice()),
        (Dtype::F32, &[2, 2][..])
    );
    assert_eq!(scale.name, "a.weight_scale_inv");

    // A tensor scale is rarely a power of two.
    let tensors = fp8([130, 129], Dtype::F32, &[]);
    assert!(matches!(
        step(&tensors, Target::Fp8BlockUe8m0),
        Step::Encode { .. }
    ));
}

#[test]
fn float_scales_are_rounded_up_to_powers_of_two() {
    let to = Format::FP8_BLOCK_UE8M0;
    assert_eq!(
        step(&block(), Target::Fp8BlockUe8m0),
        Step::RoundScalesUp { to }
    );
    let planned = planned(&block(), SCALE_RULE_POWER_OF_TWO);
    assert_eq!(
        planned.step,
        Step::RoundScalesUp {
            to: Format::FP8_BLOCK
        }
    );
    assert_eq!(planned.expectation, Expectation::AtLeastDb(24.0));
}

#[test]
fn power_of_two_scales_are_widened_to_f32() {
    let to = Format::FP8_BLOCK;
    for rule in ["to = \"fp8-block\"", SCALE_RULE_POWER_OF_TWO] {
        let planned = planned(&block_ue8m0(), rule);
        assert_eq!(planned.step, Step::WidenScales { to });
        assert_eq!(planned.expectation, Expectation::Exact);
        assert_eq!(
            planned.tensor(PartRole::BlockScale).unwrap().dtype,
            Dtype::F32
        );
    }
    let bf16 = fp8([256, 256], Dtype::BF16, &[2, 2]);
    assert_eq!(step(&bf16, Target::Fp8Block), Step::WidenScales { to });
}

#[test]
fn other_blocks_and_elements_are_encoded_anew() {
    let sources: [&[NewTensor]; 5] = [
        &fp8([256, 256], Dtype::F32, &[256, 1]),
        &fp8([256, 256], Dtype::F8_E8M0, &[256, 8]),
        &nvfp4("a", [256, 256]),
        &[
            tensor("a.weight", Dtype::I8, &[256, 128]),
            tensor("a.scale", Dtype::F8_E8M0, &[256, 8]),
        ],
        &[
            tensor("a.weight", Dtype::F8_E5M2, &[256, 256]),
            tensor("a.weight_scale", Dtype::F32, &[2, 2]),
        ],
    ];
    for tensors in sources {
        for to in [Target::Fp8Block, Target::Fp8Tensor] {
            let format = to.format().unwrap();
            match step(tensors, to) {
                Step::Encode { to, .. } => assert_eq!(to, format),
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn mxfp4_is_cast_on_its_codes_where_scales_are_finer_or_powers_of_two() {
    let mxfp4 = [
        tensor("a.weight", Dtype::I8, &[256, 128]),
        tensor("a.scale", Dtype::F8_E8M0, &[256, 8]),
    ];
    for to in [Target::Nvfp4, Target::Fp8BlockUe8m0] {
        let format = to.format().unwrap();
        assert_eq!(step(&mxfp4, to), Step::CastMxfp4 { to: format });
    }
}

#[test]
fn nvfp4_of_the_other_dialect_has_its_global_scale_restated() {
    let divisor = [
        tensor("a.weight_packed", Dtype::U8, &[4, 32]),
        tensor("a.weight_scale", Dtype::F8_E4M3, &[4, 4]),
        tensor("a.weight_global_scale", Dtype::F32, &[1]),
    ];
    let planned = planned(&divisor, "to = \"nvfp4\"");
    assert_eq!(planned.step, Step::RestateGlobal { to: Format::NVFP4 });
    let global = planned.tensor(PartRole::GlobalScale).unwrap();
    assert_eq!(global.name, "a.weight_scale_2");
    assert!(matches!(global.origin, Origin::Reciprocal(_)));
}

#[test]
fn block_size_of_the_source_that_differs_is_encoded_anew() {
    let config = json!({ "quantization_config": { "weight_block_size": [64, 64] } });
    let tensors = fp8([256, 256], Dtype::F32, &[4, 4]);
    let checkpoint = checkpoint(config, &[&tensors]);
    let plan = plan(&checkpoint, &generic(Target::Fp8Block, vec![], vec![]));
    assert!(matches!(
        plan.weights[0].step,
        Step::Encode {
            to: Format::FP8_BLOCK,
            ..
        }
    ));
}

#[test]
fn scale_rule_follows_the_recipe_and_otherwise_the_format() {
    let plain = [tensor("a.weight", Dtype::BF16, &[256, 256])];
    let rule = |lines: &str| match planned(&plain, lines).step {
        Step::Encode {
            by: EncodeBy::Rule(rule),
            ..
        } => rule,
        other => panic!("{other:?}"),
    };
    assert_eq!(rule("to = \"fp8-block\""), ScaleRule::Amax);
    assert_eq!(rule(SCALE_RULE_POWER_OF_TWO), ScaleRule::RceilMin1e4);
    assert_eq!(rule("to = \"fp8-block-ue8m0\""), ScaleRule::RceilMin1e4);
    assert_eq!(
        rule("to = \"nvfp4\"\nscale_rule = \"amax\""),
        ScaleRule::Amax
    );
}

#[test]
fn plain_numbers_are_rounded_once_and_f32_holds_them_all() {
    let f32 = [tensor("a.weight", Dtype::F32, &[4, 8])];
    for (to, dtype) in [(Target::Bf16, Dtype::BF16), (Target::F16, Dtype::F16)] {
        let planned = planned(&f32, &format!("to = \"{to}\""));
        assert_eq!(planned.step, Step::Decode(dtype));
        assert_eq!(planned.expectation, Expectation::AtLeastDb(50.0));
        assert_eq!(planned.tensors.len(), 1);
        assert_eq!(planned.tensors[0].dtype, dtype);
    }
    for source in [&nvfp4("a", [4, 64])[..], &block()] {
        let planned = planned(source, "to = \"f32\"");
        assert_eq!(planned.step, Step::Decode(Dtype::F32));
        assert_eq!(planned.expectation, Expectation::Exact);
    }
}

#[test]
fn bounds_follow_from_what_a_wrong_layout_would_reach() {
    let plain = [tensor("a.weight", Dtype::BF16, &[256, 256])];
    let bound =
        |tensors: &[NewTensor], to: &str| planned(tensors, &format!("to = \"{to}\"")).expectation;
    assert_eq!(bound(&plain, "nvfp4"), Expectation::AtLeastDb(19.0));
    assert_eq!(bound(&plain, "fp8-block"), Expectation::AtLeastDb(30.0));
    assert_eq!(
        bound(&nvfp4("a", [256, 256]), "fp8-block-ue8m0"),
        Expectation::AtLeastDb(24.0)
    );
}

#[test]
fn nvfp4_is_written_as_modelopt_names_and_shapes_it() {
    let planned = planned(
        &[tensor("a.weight", Dtype::BF16, &[8, 64])],
        "to = \"nvfp4\"",
    );
    let written: Vec<_> = planned
        .tensors
        .iter()
        .map(|t| (t.name.as_str(), t.dtype, t.shape.as_slice()))
        .collect();
    let expected: [(&str, Dtype, &[usize]); 3] = [
        ("a.weight", Dtype::U8, &[8, 32]),
        ("a.weight_scale", Dtype::F8_E4M3, &[8, 4]),
        ("a.weight_scale_2", Dtype::F32, &[]),
    ];
    assert_eq!(written, expected);
}

#[test]
fn stacked_matrices_keep_their_leading_axes() {
    let planned = planned(
        &[tensor("a.weight", Dtype::BF16, &[3, 200, 256])],
        "to = \"fp8-block\"",
    );
    let scale = planned.tensor(PartRole::BlockScale).unwrap();
    assert_eq!(scale.shape, [3, 2, 2]);
    assert_eq!(
        planned.tensor(PartRole::Codes).unwrap().shape,
        [3, 200, 256]
    );
}

#[test]
fn siblings_that_runtimes_join_share_a_global_scale() {
    let names = ["q_proj", "k_proj", "v_proj", "o_proj"];
    let tensors: Vec<NewTensor> = (0..2)
        .flat_map(|layer| {
            let attention = names.map(|name| format!("layers.{layer}.self_attn.{name}.weight"));
            let mlp = ["gate_proj", "up_proj", "down_proj"];
            let mlp = mlp.map(|name| format!("layers.{layer}.mlp.{name}.weight"));
            attention.into_iter().chain(mlp)
        })
        .map(|name| tensor(&name, Dtype::BF16, &[64, 64]))
        .collect();
    let checkpoint = checkpoint(Value::Null, &[&tensors]);
    let plan = plan(&checkpoint, &generic(Target::Nvfp4, vec![], vec![]));
    let group = |name: &str| weight(&plan, &format!("layers.{name}.weight")).global_group;
    let attention = group("0.self_attn.q_proj");
    assert!(attention.is_some());
    assert_eq!(group("0.self_attn.k_proj"), attention);
    assert_eq!(group("0.self_attn.v_proj"), attention);
    assert_eq!(group("0.self_attn.o_proj"), None);
    assert_eq!(group("0.mlp.down_proj"), None);
    let mlp = group("0.mlp.gate_proj");
    assert_eq!(group("0.mlp.up_proj"), mlp);
    let distinct = [
        attention,
        mlp,
        group("1.self_attn.q_proj"),
        group("1.mlp.up_proj"),
    ];
    for (i, one) in distinct.iter().enumerate() {
        assert!(
            one.is_some() && !distinct[..i].contains(one),
            "{distinct:?}"
        );
    }
}

#[test]
fn fp8_of_modelopt_becomes_blocks_without_a_rounding() {
    let checkpoint = Field::ModeloptFp8Llama.checkpoint();
    let plan = plan(&checkpoint, &generic(Target::Fp8Block, vec![], vec![]));
    let spread = Step::SpreadScale {
        to: Format::FP8_BLOCK,
    };
    assert_eq!(plan.weights.iter().filter(|w| w.step == spread).count(), 7);
    assert_eq!(plan.summary.copied, 5);
    assert_eq!(plan.dropped.len(), 7);
}

#[test]
fn global_scale_is_not_inverted_where_it_is_applied_the_same_way() {
    let rule = "to = \"nvfp4\"\nscale_rule = \"power-of-two\"";
    let planned = planned(&nvfp4("a", [4, 64]), rule);
    assert!(
        matches!(planned.step, Step::Encode { .. }),
        "{:?}",
        planned.step
    );
}

#[test]
fn named_rules_and_schemes_are_followed_wherever_scales_are_chosen() {
    let mxfp4 = [
        tensor("a.weight", Dtype::I8, &[256, 128]),
        tensor("a.scale", Dtype::F8_E8M0, &[256, 8]),
    ];
    let step = |tensors: &[NewTensor], lines: &str| planned(tensors, lines).step;
    let encodes = |step: Step| matches!(step, Step::Encode { .. });
    // The exact steps, where nothing else is asked for.
    for named in ["scale_rule = \"amax\"", "scheme = \"default\""] {
        let lines = format!("to = \"nvfp4\"\n{named}");
        let to = Format::NVFP4;
        assert_eq!(step(&mxfp4, &lines), Step::CastMxfp4 { to }, "{named}");
    }
    let rounded = "to = \"fp8-block-ue8m0\"\nscale_rule = \"rceil\"";
    let to = Format::FP8_BLOCK_UE8M0;
    assert_eq!(step(&block(), rounded), Step::RoundScalesUp { to });
    // And not where a library or another rule chooses.
    for lines in [
        "to = \"nvfp4\"\nscheme = \"torchao-nvfp4\"",
        "to = \"nvfp4\"\nscale_rule = \"four-over-six\"",
    ] {
        assert!(encodes(step(&mxfp4, lines)), "{lines}");
    }
    for lines in [
        "to = \"fp8-block-ue8m0\"\nscale_rule = \"floor\"",
        "to = \"fp8-block-ue8m0\"\nscheme = \"deepgemm-fp8-ue8m0\"",
        "to = \"fp8-block\"\nscale_rule = \"nearest\"",
    ] {
        assert!(encodes(step(&block(), lines)), "{lines}");
    }
    // What is there already is no choice.
    for lines in [
        "to = \"fp8-block\"\nscheme = \"deepgemm-fp8\"",
        "to = \"fp8-block\"\nscale_rule = \"mse-search\"",
    ] {
        assert_eq!(step(&block(), lines), Step::Copy, "{lines}");
    }
}

#[test]
fn scales_of_fp8_are_not_rounded_to_the_dtype_of_the_model() {
    let config = json!({ "dtype": "bfloat16" });
    let mut recipe = generic(Target::Fp8Block, vec![], vec![]);
    recipe.dialect = Some(Dialect::CompressedTensors);
    let step = |tensors: &[NewTensor]| {
        let plan = plan(&checkpoint(config.clone(), &[tensors]), &recipe);
        weight(&plan, "a.weight").step
    };
    let to = Format::FP8_BLOCK;
    assert_eq!(step(&block_ue8m0()), Step::WidenScales { to });
    assert_eq!(step(&block()), Step::Copy);
    let single = fp8([256, 256], Dtype::F32, &[]);
    assert_eq!(step(&single), Step::SpreadScale { to });
}
