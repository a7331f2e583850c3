//! Checkpoints that broke real converters, with values computed by other code.
//!
//! The files and their stories are in `tests/data/cases`.

use std::path::PathBuf;

use blockscale_model::catalog::ScaleProblem;
use blockscale_model::plan::PlanError;
use blockscale_model::recipe::{Recipe, Target};
use serde_json::Value;

use crate::checkpoint::bf16_bytes;
use crate::files::{data, json, names, sha256};
use crate::run::{Opened, comparison, converted, everything_to, to};

fn case(folder: &str) -> PathBuf {
    data("cases").join(folder)
}

fn expected(section: &str, folder: &str) -> Value {
    json(&data("cases/expected.json"))[section][folder].clone()
}

fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// The number at a place of the expected values; JSON has no word for NaN.
fn number(value: &Value) -> f32 {
    match value.as_f64() {
        Some(number) => number as f32,
        None => f32::NAN,
    }
}

/// Decodes every expected weight of `folder` and holds its bytes against the hashes.
fn assert_decodes(folder: &str) {
    let opened = Opened::new(&case(folder));
    let expected = expected("decoded", folder);
    for (name, weight) in expected.as_object().unwrap() {
        let shape: Vec<usize> = serde_json::from_value(weight["shape"].clone()).unwrap();
        assert_eq!(
            opened.catalog.weight(name).unwrap().shape,
            shape,
            "{folder}: {name}"
        );
        let values = opened.decode(name);
        assert_eq!(
            sha256(&f32_bytes(&values)),
            weight["sha256_f32"],
            "{folder}: {name}"
        );
        assert_eq!(
            sha256(&bf16_bytes(&values)),
            weight["sha256_bf16"],
            "{folder}: {name}"
        );
    }
}

/// Converts `folder` and holds the written bytes of every expected weight against the hashes.
fn assert_converts(folder: &str) {
    for (target, hash) in [(Target::F32, "sha256_f32"), (Target::Bf16, "sha256_bf16")] {
        let out = tempfile::tempdir().unwrap();
        let (_, output) = converted(&case(folder), &everything_to(target), out.path());
        for (name, weight) in expected("decoded", folder).as_object().unwrap() {
            assert_eq!(
                sha256(&output.bytes(name)),
                weight[hash],
                "{folder}: {name} to {target}"
            );
        }
    }
}

#[test]
fn nvfp4_global_scale_multiplies_in_one_convention_and_divides_in_the_other() {
    for folder in ["C01/modelopt", "C01/compressed"] {
        assert_decodes(folder);
        assert_converts(folder);
    }
}

#[test]
fn nvfp4_with_an_inexact_scale_is_off_by_one_unit_in_the_last_place_at_most() {
    let folder = "C01/modelopt-inexact";
    let name = "model.layers.0.mlp.down_proj.weight";
    let values = Opened::new(&case(folder)).decode(name);
    let expected = expected("decoded", folder)[name]["values"].clone();
    let expected = expected.as_array().unwrap();
    assert_eq!(values.len(), expected.len());
    for (found, expected) in values.iter().zip(expected.iter().map(number)) {
        let apart = found.to_bits().abs_diff(expected.to_bits());
        assert!(apart <= 1, "{found} for {expected}");
    }
}

#[test]
fn e2m1_first_element_lies_in_the_low_nibble() {
    assert_decodes("C02");
    assert_converts("C02");
    let values = Opened::new(&case("C02")).decode("blk.weight");
    let magnitudes = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0_f32];
    let all = magnitudes.iter().copied().chain(magnitudes.map(|m| -m));
    let bits = |values: Vec<f32>| -> Vec<u32> { values.iter().map(|v| v.to_bits()).collect() };
    assert_eq!(bits(values), bits(all.collect()));
}

#[test]
fn e4m3_has_two_nan_codes_and_the_report_says_where() {
    let out = tempfile::tempdir().unwrap();
    let (manifest, output) = converted(&case("C03"), &to(Target::F32), out.path());
    let expected = expected("decoded", "C03")["lin.weight"]["values"].clone();
    let values = output.decode("lin.weight");
    for (code, (found, expected)) in values.iter().zip(expected.as_array().unwrap()).enumerate() {
        let expected = number(expected);
        let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
        assert!(same, "{found} for code {code:#04x}");
    }
    let weight = comparison(&manifest, "lin.weight");
    assert_eq!(weight.nan, 2);
    assert_eq!(weight.nan_at, [[7, 15], [15, 15]]);
    let finding = manifest
        .findings
        .iter()
        .find(|f| f.code == "non-finite-values")
        .unwrap();
    assert!(
        finding.message.contains("row 7, column 15"),
        "{}",
        finding.message
    );
}

#[test]
fn fp8_blocks_at_ragged_edges_are_short_not_smaller() {
    assert_decodes("C06");
    assert_converts("C06");
    let name = "model.layers.0.self_attn.kv_a_proj.weight";
    let values = Opened::new(&case("C06")).decode(name);
    for probe in expected("decoded", "C06")[name]["probes"]
        .as_array()
        .unwrap()
    {
        let [row, col] = [0, 1].map(|i| probe[0][i].as_u64().unwrap() as usize);
        assert_eq!(
            values[row * 272 + col],
            number(&probe[1]),
            "at {row}, {col}"
        );
    }
}

#[test]
fn scale_in_another_shard_is_found_and_leaves_the_output() {
    assert_decodes("C07");
    let out = tempfile::tempdir().unwrap();
    let (_, output) = converted(&case("C07"), &to(Target::Bf16), out.path());
    for (name, weight) in expected("decoded", "C07").as_object().unwrap() {
        assert_eq!(sha256(&output.bytes(name)), weight["sha256_bf16"], "{name}");
    }
    let expected_names = [
        "model.layers.0.input_layernorm.weight",
        "model.layers.0.self_attn.k_proj.weight",
        "model.layers.0.self_attn.q_proj.weight",
    ];
    assert_eq!(output.tensor_names(), expected_names);
    let index = json(&out.path().join("model.safetensors.index.json"));
    assert_eq!(index["metadata"]["total_size"], 416);
    let listed: Vec<_> = index["weight_map"].as_object().unwrap().keys().collect();
    assert_eq!(listed, expected_names);
    assert_eq!(
        json(&out.path().join("config.json")),
        serde_json::json!({ "model_type": "tiny" })
    );
}

#[test]
fn every_spelling_of_a_scale_multiplies() {
    for folder in ["dot-scale", "scale-inv", "weight-scale", "bf16-scale"] {
        let folder = format!("C08/{folder}");
        assert_decodes(&folder);
        assert_converts(&folder);
        assert_eq!(Opened::new(&case(&folder)).catalog.findings, [], "{folder}");
    }
}

/// What stops the plan of a case that must not be converted.
fn refusal(folder: &str) -> (ScaleProblem, String) {
    let opened = Opened::new(&case(folder));
    let error = opened.plan_with(&to(Target::Bf16), 1 << 30).unwrap_err();
    let text = error.to_string();
    let PlanError::Refused(refusals) = error else {
        panic!("{folder}: {text}");
    };
    (refusals[0].problem.clone(), text)
}

#[test]
fn fp8_without_a_scale_is_refused_by_name() {
    let (problem, text) = refusal("C08/no-scale");
    assert!(matches!(problem, ScaleProblem::Missing { .. }), "{text}");
    assert!(text.contains("`layers.0.attn.wo_b.weight`"), "{text}");
}

#[test]
fn two_scales_are_refused_and_both_named() {
    let (problem, text) = refusal("C08/two-scales");
    assert!(
        matches!(problem, ScaleProblem::Contradicting { .. }),
        "{text}"
    );
    for name in [
        "`layers.0.attn.wo_b.weight_scale`",
        "`layers.0.attn.wo_b.weight_scale_inv`",
    ] {
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn scale_without_a_weight_is_reported_and_the_rest_converted() {
    assert_decodes("C08/orphan-scale");
    let out = tempfile::tempdir().unwrap();
    let (manifest, _) = converted(&case("C08/orphan-scale"), &to(Target::Bf16), out.path());
    let orphan = manifest
        .findings
        .iter()
        .find(|f| f.code == "scale-without-weight")
        .unwrap();
    assert_eq!(
        orphan.tensor.as_deref(),
        Some("layers.0.attn.wq_a.weight_scale_inv")
    );
}

#[test]
fn per_tensor_scale_fills_the_block_grid() {
    assert_decodes("C09");
    let out = tempfile::tempdir().unwrap();
    let (manifest, output) = converted(&case("C09"), &to(Target::Fp8Block), out.path());
    let expected = expected("converted", "C09");
    let name = "layers.0.attn.wo_a.weight";
    assert_eq!(sha256(&output.bytes(name)), expected["payload_sha256"]);
    let scales = output
        .checkpoint
        .tensor("layers.0.attn.wo_a.weight_scale_inv")
        .unwrap();
    assert_eq!(scales.shape, [2, 2]);
    assert_eq!(
        serde_json::json!(output.f32s(&scales.name)),
        expected["scale_values"]
    );
    assert!(comparison(&manifest, name).exact);
}

#[test]
fn scale_rounded_up_to_a_power_of_two_rounds_its_codes_again() {
    let source = Opened::new(&case("C10"));
    let out = tempfile::tempdir().unwrap();
    let (manifest, output) = converted(&case("C10"), &to(Target::Fp8BlockUe8m0), out.path());
    let expected = expected("converted", "C10");
    assert_eq!(
        serde_json::json!(output.bytes("lin.weight_scale_inv")),
        expected["scale_codes"]
    );
    let (before, after) = (source.bytes("lin.weight"), output.bytes("lin.weight"));
    assert_eq!(sha256(&after), expected["payload_sha256"]);
    let changed = |block: usize| {
        let pairs = before.iter().zip(&after).enumerate();
        pairs
            .filter(|(i, (a, b))| i % 256 / 128 == block && a != b)
            .count()
    };
    assert_eq!(changed(0) + changed(1), expected["payload_bytes_changed"]);
    assert_eq!(changed(1), expected["bytes_changed_in_block_1"]);
    for probe in expected["payload_probes"].as_array().unwrap() {
        let at = probe[0][0].as_u64().unwrap() * 256 + probe[0][1].as_u64().unwrap();
        assert_eq!(before[at as usize], probe[1], "{probe}");
        assert_eq!(after[at as usize], probe[2], "{probe}");
    }
    let comparison = comparison(&manifest, "lin.weight");
    assert_eq!(comparison.max_abs_error, expected["max_abs_error_after"]);
}

/// Kv rows on top of gate rows, as the runtimes want their compressors.
fn fusing(target: Target) -> Recipe {
    let text = format!(
        r#"
        version = 1
        name = "fused compressors"

        [[rule]]
        match = ["*.compressor.{{kv_proj,gate_proj}}.weight", "*.indexer.{{kv_proj,gate_proj}}.weight"]
        to = "{target}"
        modules = [{{ name = "fused", rows = ["kv_proj", "gate_proj"] }}]
        fuse = true
        "#
    );
    Recipe::parse(&text).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn fused_halves_are_decoded_each_with_its_own_global_scale() {
    let source = Opened::new(&case("C14"));
    for (target, hash) in [(Target::F32, "sha256_f32"), (Target::Bf16, "sha256_bf16")] {
        let out = tempfile::tempdir().unwrap();
        let (manifest, output) = converted(&case("C14"), &fusing(target), out.path());
        let expected = expected("decoded", "C14");
        let expected = expected.as_object().unwrap();
        assert_eq!(output.catalog.weights.len(), expected.len());
        for (name, weight) in expected {
            assert_eq!(sha256(&output.bytes(name)), weight[hash], "{name}");
            assert_eq!(comparison(&manifest, name).nan, 0, "{name}");
        }
        let fused = output.decode("model.layers.2.attn.compressor.indexer.fused.weight");
        let gate = source.decode("model.layers.2.attn.compressor.indexer.gate_proj.weight");
        assert_eq!(fused[fused.len() / 2..], gate, "gate is the lower half");
    }
}

#[test]
fn one_file_model_stays_one_file_without_an_index() {
    let out = tempfile::tempdir().unwrap();
    converted(&case("C03"), &to(Target::F32), out.path());
    assert_eq!(
        names(out.path()),
        ["blockscale-manifest.json", "model.safetensors"]
    );
}
