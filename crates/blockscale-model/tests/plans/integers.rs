//! Integers in groups: tensors, configs, and what cannot be packed.

use blockscale::format::ScaleElement;
use blockscale::int::{IntFormat, IntLayout, IntRule};
use blockscale_model::catalog::PartRole;
use blockscale_model::dialect::Dialect;
use blockscale_model::plan::{Expectation, Origin, Plan, PlanError, Step};
use blockscale_model::recipe::{Recipe, Target, generic};
use blockscale_model::{Checkpoint, Dtype, NewTensor};
use serde_json::{Value, json};

use crate::common::{checkpoint, nvfp4, tensor};
use crate::{document, plan, tensors, try_plan, weight};

fn rule(lines: &str) -> Recipe {
    let text = format!("version = 1\nname = \"r\"\n[[rule]]\nmatch = [\"*\"]\n{lines}");
    Recipe::parse(&text).unwrap()
}

fn one(dtype: Dtype, shape: &[usize]) -> Checkpoint {
    let config = json!({ "dtype": "bfloat16" });
    checkpoint(config, &[&[tensor("a.weight", dtype, shape)]])
}

fn planned(shape: &[usize], lines: &str) -> Plan {
    plan(&one(Dtype::BF16, shape), &rule(lines))
}

#[test]
fn int4_is_planned_with_the_names_dtypes_and_shapes_of_pack_quantized() {
    let plan = planned(&[33, 256], "to = \"int4\"");
    let mut written = tensors(&plan);
    written.sort_unstable_by_key(|(name, ..)| *name);
    let expected: [(&str, Dtype, &[usize]); 3] = [
        ("a.weight_packed", Dtype::I32, &[33, 32]),
        ("a.weight_scale", Dtype::BF16, &[33, 2]),
        ("a.weight_shape", Dtype::I64, &[2]),
    ];
    assert_eq!(written, expected);
    let packed = weight(&plan, "a.weight");
    let to = IntFormat {
        bits: 4,
        group_cols: 128,
        scale: ScaleElement::Bf16,
        layout: IntLayout::CompressedTensors,
    };
    let rule = IntRule::SymmetricFull;
    assert_eq!(packed.step, Step::EncodeInt { to, rule });
    let stated = [33_u64, 256].map(u64::to_le_bytes).concat();
    let shape = packed.tensor(PartRole::StatedShape).unwrap();
    assert_eq!(shape.origin, Origin::Given(stated));
}

#[test]
fn zero_points_are_words_along_the_rows() {
    let plan = planned(&[33, 256], "to = \"int8\"\ngroup = 64\nzero_points = true");
    let zeros = weight(&plan, "a.weight").tensor(PartRole::ZeroPoint);
    let zeros = zeros.unwrap();
    assert_eq!(zeros.name, "a.weight_zero_point");
    assert_eq!((zeros.dtype, &zeros.shape[..]), (Dtype::I32, &[9, 4][..]));
}

#[test]
fn bounds_follow_bits_and_groups() {
    let bound = |lines: &str| weight(&planned(&[32, 256], lines), "a.weight").expectation;
    for (lines, db) in [
        ("to = \"int4\"", 10.0),
        ("to = \"int4\"\ngroup = 256", 6.0),
        ("to = \"int4\"\ngroup = 0", 6.0),
        ("to = \"int8\"\ngroup = 128", 34.0),
        ("to = \"int8\"", 24.0),
    ] {
        assert_eq!(bound(lines), Expectation::AtLeastDb(db), "{lines}");
    }
}

fn refusal(shape: &[usize], lines: &str) -> PlanError {
    try_plan(&one(Dtype::BF16, shape), &rule(lines)).unwrap_err()
}

#[test]
fn rows_that_are_no_whole_groups_or_words_are_refused() {
    let error = refusal(&[8, 200], "to = \"int4\"");
    assert!(
        matches!(
            error,
            PlanError::PartialGroup {
                cols: 200,
                group: 128,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("`group`"), "{error}");
    // 200 is five groups of 40, whatever the words; but a row alone has to end with one.
    planned(&[8, 200], "to = \"int4\"\ngroup = 40");
    planned(&[8, 200], "to = \"int4\"\ngroup = 0");
    let error = refusal(&[8, 204], "to = \"int4\"\ngroup = 0");
    assert!(
        matches!(error, PlanError::PartialBlock { block: 8, .. }),
        "{error}"
    );
    planned(&[8, 204], "to = \"int8\"");
}

#[test]
fn stacks_and_vectors_are_refused() {
    for shape in [&[2, 8, 256][..], &[256]] {
        let error = refusal(shape, "to = \"int4\"");
        assert!(matches!(error, PlanError::NotOneMatrix { .. }), "{error}");
        assert!(error.to_string().contains("one matrix a tensor"), "{error}");
    }
}

#[test]
fn only_compressed_tensors_packs_them() {
    for dialect in Dialect::WRITTEN {
        let mut recipe = generic(Target::Int4, vec![], vec![]);
        recipe.dialect = Some(dialect);
        let result = try_plan(&one(Dtype::BF16, &[8, 128]), &recipe);
        match result {
            Ok(_) => assert_eq!(dialect, Dialect::CompressedTensors),
            Err(error) => assert!(matches!(error, PlanError::NotInDialect { .. }), "{error}"),
        }
    }
}

fn awq(config: Value) -> Checkpoint {
    let tensors: Vec<NewTensor> = vec![
        tensor("a.qweight", Dtype::I32, &[64, 4]),
        tensor("a.qzeros", Dtype::I32, &[2, 4]),
        tensor("a.scales", Dtype::F16, &[2, 32]),
        tensor("b.weight", Dtype::BF16, &[32, 64]),
    ];
    checkpoint(config, &[&tensors])
}

fn awq_config() -> Value {
    json!({ "quantization_config": {
        "quant_method": "awq", "bits": 4, "group_size": 32, "version": "gemm", "zero_point": true,
    } })
}

#[test]
fn integers_that_are_kept_keep_their_config() {
    let plan = plan(&awq(awq_config()), &rule("to = \"keep\""));
    assert_eq!(document(&plan, "config.json"), awq_config());
}

#[test]
fn kept_integers_beside_another_scaled_form_are_a_mix_that_no_config_describes() {
    for to in ["nvfp4", "int4"] {
        let text = format!(
            "version = 1\nname = \"r\"\n[[rule]]\nmatch = [\"b.weight\"]\nto = \"{to}\"\n{}\
             [[rule]]\nmatch = [\"*\"]\nto = \"keep\"",
            if to == "int4" { "group = 32\n" } else { "" }
        );
        let error = try_plan(&awq(awq_config()), &Recipe::parse(&text).unwrap()).unwrap_err();
        assert!(matches!(error, PlanError::MixedFormats { .. }), "{error}");
    }
}

#[test]
fn decoded_checkpoint_of_mlx_is_described_as_quantised_no_more() {
    let tensors = [
        tensor("a.weight", Dtype::U32, &[32, 8]),
        tensor("a.scales", Dtype::F16, &[32, 2]),
        tensor("a.biases", Dtype::F16, &[32, 2]),
    ];
    let config = json!({ "model_type": "llama", "quantization": { "bits": 4, "group_size": 32 } });
    let plan = plan(
        &checkpoint(config, &[&tensors]),
        &generic(Target::Bf16, vec![], vec![]),
    );
    let expected = json!({ "model_type": "llama" });
    assert_eq!(document(&plan, "config.json"), expected);
}

#[test]
fn config_is_written_also_where_the_source_has_none() {
    let source = checkpoint(Value::Null, &[&[tensor("a.weight", Dtype::F32, &[8, 128])]]);
    let plan = plan(&source, &rule("to = \"int4\""));
    let config = document(&plan, "config.json");
    assert_eq!(config.as_object().unwrap().len(), 1);
    let groups = &config["quantization_config"]["config_groups"];
    assert_eq!(groups["group_0"]["weights"]["num_bits"], 4);
}

#[test]
fn heads_in_a_block_format_do_not_stay_beside_integers() {
    let mut tensors = nvfp4("lm_head", [64, 128]).to_vec();
    tensors.push(tensor("layers.0.up_proj.weight", Dtype::BF16, &[64, 128]));
    let source = checkpoint(json!({}), &[&tensors]);
    let plan = plan(&source, &generic(Target::Int4, vec![], vec![]));
    let head = weight(&plan, "lm_head.weight");
    assert_eq!(head.step, Step::Decode(Dtype::BF16));
    let section = &document(&plan, "config.json")["quantization_config"];
    assert_eq!(section["format"], "pack-quantized");
    assert_eq!(section["ignore"], json!(["lm_head"]));
}
