//! Integers in groups, written as compressed-tensors packs them.

use std::fs;
use std::path::Path;

use blockscale::format::{ScaleElement, Shape};
use blockscale::int::{IntFormat, IntLayout, IntPartsMut, IntRule, encode};
use blockscale_convert::{ConvertOptions, VerifyOptions};
use blockscale_model::Dtype;
use blockscale_model::catalog::{Encoding, PartRole};
use blockscale_model::recipe::{Recipe, Target};
use serde_json::json;

use crate::checkpoint::{NewTensor, noise, write_single};
use crate::files::json as read_json;
use crate::run::{Opened, comparison, converted, to};

/// A recipe of one rule for everything.
fn rule(lines: &str) -> Recipe {
    let text = format!("version = 1\nname = \"r\"\n[[rule]]\nmatch = [\"*\"]\n{lines}");
    Recipe::parse(&text).unwrap_or_else(|error| panic!("{error}"))
}

fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|w| w.to_le_bytes()).collect()
}

/// A folder with a config that says which type the model has.
fn folder(dtype: &str, tensors: &[NewTensor]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_single(dir.path(), tensors);
    let config = json!({ "model_type": "llama", "dtype": dtype }).to_string();
    fs::write(dir.path().join("config.json"), config).unwrap();
    dir
}

fn converted_by(source: &Path, recipe: &Recipe) -> (Opened, tempfile::TempDir) {
    let out = tempfile::tempdir().unwrap();
    let (_, output) = converted(source, recipe, out.path());
    let report = Opened::new(source).verify(&output, &VerifyOptions::default());
    assert!(report.passed(), "{:?}", report.failures);
    (output, out)
}

#[test]
fn four_bits_are_packed_by_hand_as_by_the_program() {
    // Scales 1 and 2: the largest magnitude is 7.5 steps, which end at -8 and 7.
    let values = [
        [-7.5, -3.0, -1.0, 0.0, 1.0, 2.0, 3.0, 7.0],
        [15.0, -15.0, 1.0, 3.0, -1.0, 0.0, 4.0, -4.0],
    ];
    let source = folder(
        "float32",
        &[NewTensor::f32("a.weight", &[2, 8], values.as_flattened())],
    );
    let (output, _out) = converted_by(source.path(), &rule("to = \"int4\"\ngroup = 8"));
    assert_eq!(
        output.tensor_names(),
        ["a.weight_packed", "a.weight_scale", "a.weight_shape"]
    );
    // Eight is added to each; the first column is in the low bits.
    let codes = words(&[0xfba9_8750, 0x6a88_a80f]);
    assert_eq!(output.bytes("a.weight_packed"), codes);
    assert_eq!(output.f32s("a.weight_scale"), [1.0, 2.0]);
    let shape = [2_i64, 8].map(i64::to_le_bytes).concat();
    assert_eq!(output.bytes("a.weight_shape"), shape);
    let expected = [
        [-8.0, -3.0, -1.0, 0.0, 1.0, 2.0, 3.0, 7.0],
        [14.0, -16.0, 0.0, 4.0, 0.0, 0.0, 4.0, -4.0],
    ];
    assert_eq!(output.decode("a.weight"), expected.as_flattened());
}

#[test]
fn zero_points_of_rows_share_words_and_move_the_codes() {
    let values = [
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 15.0],
        [-5.0, 10.0, 0.0, -1.0, 2.0, 3.0, -4.0, 9.0],
    ];
    let source = folder(
        "float32",
        &[NewTensor::f32("a.weight", &[2, 8], values.as_flattened())],
    );
    let recipe = rule("to = \"int4\"\ngroup = 8\nzero_points = true");
    let (output, out) = converted_by(source.path(), &recipe);
    assert_eq!(
        output.bytes("a.weight_packed"),
        words(&[0xf654_3210, 0xe187_45f0])
    );
    assert_eq!(output.f32s("a.weight_scale"), [1.0, 1.0]);
    assert_eq!(output.bytes("a.weight_zero_point"), words(&[0x50]));
    assert_eq!(output.decode("a.weight"), values.as_flattened());
    let config = read_json(&out.path().join("config.json"));
    let weights = &config["quantization_config"]["config_groups"]["group_0"]["weights"];
    assert_eq!(weights["symmetric"], false);
}

#[test]
fn config_speaks_of_integers_as_llm_compressor_does() {
    let tensors = [
        NewTensor::noise("model.layers.0.mlp.up_proj.weight", &[64, 256]),
        NewTensor::noise("lm_head.weight", &[64, 256]),
        NewTensor::noise("model.norm.weight", &[256]),
    ];
    let source = folder("bfloat16", &tensors);
    let cases = [
        (to(Target::Int4), json!("group"), json!(128), 4),
        (to(Target::Int8), json!("channel"), json!(null), 8),
    ];
    for (recipe, strategy, group_size, bits) in cases {
        let (output, out) = converted_by(source.path(), &recipe);
        let config = read_json(&out.path().join("config.json"));
        assert_eq!(config["model_type"], "llama");
        let section = &config["quantization_config"];
        assert_eq!(section["quant_method"], "compressed-tensors");
        assert_eq!(section["format"], "pack-quantized");
        assert_eq!(section["ignore"], json!(["lm_head"]));
        let group = &section["config_groups"]["group_0"];
        assert_eq!(group["targets"], json!(["Linear"]));
        assert_eq!(group["input_activations"], json!(null));
        let weights = json!({
            "num_bits": bits, "type": "int", "symmetric": true, "strategy": strategy,
            "dynamic": false, "group_size": group_size, "actorder": null,
        });
        assert_eq!(group["weights"], weights);
        // Scales are of the type that the model has.
        let scale = output
            .checkpoint
            .tensor("model.layers.0.mlp.up_proj.weight_scale");
        assert_eq!(scale.unwrap().dtype, Dtype::BF16);
    }
}

/// The planes of a whole weight by the core alone.
fn encoded(format: &IntFormat, rule: IntRule, shape: Shape, values: &[f32]) -> [Vec<u8>; 3] {
    let zeros = (rule == IntRule::Affine).then(|| format.zero_bytes(shape).unwrap());
    let mut codes = vec![0; format.code_bytes(shape).unwrap()];
    let mut scales = vec![0; format.scale_bytes(shape).unwrap()];
    let mut zeros = zeros.map(|bytes| vec![0; bytes]);
    let parts = IntPartsMut {
        codes: &mut codes,
        scales: &mut scales,
        zeros: zeros.as_deref_mut(),
    };
    encode(format, rule, shape, values, parts).unwrap();
    [codes, scales, zeros.unwrap_or_default()]
}

#[test]
fn planes_are_those_of_the_core_however_many_runs_it_takes() {
    // Rows of which neither runs nor words of zero points are a multiple.
    let (rows, cols) = (333, 192);
    let values = noise(11, rows * cols);
    let source = folder(
        "float32",
        &[NewTensor::f32("a.weight", &[rows, cols], &values)],
    );
    let opened = Opened::new(source.path());
    for (bits, group_cols) in [(4, 32), (4, 192), (4, 0), (8, 64), (8, 0)] {
        for (key, int_rule) in [
            ("", IntRule::SymmetricFull),
            ("zero_points = true", IntRule::Affine),
        ] {
            let format = IntFormat {
                bits,
                group_cols,
                scale: ScaleElement::F32,
                layout: IntLayout::CompressedTensors,
            };
            let lines = format!("to = \"int{bits}\"\ngroup = {group_cols}\n{key}");
            let plan = opened.plan(&rule(&lines));
            let shape = Shape::new(rows, cols);
            let expected = encoded(&format, int_rule, shape, &values);
            for max_memory in [1 << 20, 1 << 30] {
                let out = tempfile::tempdir().unwrap();
                let options = ConvertOptions {
                    max_memory,
                    ..ConvertOptions::default()
                };
                let manifest = opened.convert(&plan, out.path(), &options).unwrap();
                let output = Opened::new(out.path());
                let weight = output.catalog.weight("a.weight");
                assert!(weight.is_some(), "{:?}", output.catalog.refusals);
                let weight = weight.unwrap();
                assert_eq!(weight.encoding, Encoding::Grouped(format), "{lines}");
                assert_eq!(
                    weight.part(PartRole::ZeroPoint).is_some(),
                    int_rule == IntRule::Affine
                );
                assert_eq!(output.bytes("a.weight_packed"), expected[0], "{lines}");
                assert_eq!(output.bytes("a.weight_scale"), expected[1], "{lines}");
                if int_rule == IntRule::Affine {
                    assert_eq!(output.bytes("a.weight_zero_point"), expected[2], "{lines}");
                }
                let compared = comparison(&manifest, "a.weight");
                let by = compared.encoded_by.as_deref();
                assert_eq!(
                    by == Some("zero points"),
                    int_rule == IntRule::Affine,
                    "{by:?}"
                );
            }
        }
    }
}

#[test]
fn noise_keeps_the_sqnr_that_integers_reach() {
    let source = folder("bfloat16", &[NewTensor::noise("a.weight", &[256, 512])]);
    for (lines, range) in [
        ("to = \"int4\"", 18.5..20.5),
        ("to = \"int4\"\ngroup = 32", 20.5..23.0),
        ("to = \"int4\"\nzero_points = true", 19.0..21.5),
        ("to = \"int8\"", 40.0..46.0),
    ] {
        let out = tempfile::tempdir().unwrap();
        let (manifest, _) = converted(source.path(), &rule(lines), out.path());
        let sqnr = comparison(&manifest, "a.weight").sqnr_db.unwrap();
        assert!(range.contains(&sqnr), "{lines}: {sqnr}");
    }
}

#[test]
fn integers_of_the_same_width_and_groups_are_copied() {
    let source = folder("bfloat16", &[NewTensor::noise("a.weight", &[64, 256])]);
    let recipe = rule("to = \"int4\"\nzero_points = true");
    let (first, dir) = converted_by(source.path(), &recipe);
    let (second, _out) = converted_by(dir.path(), &rule("to = \"int4\""));
    assert_eq!(first.tensor_names(), second.tensor_names());
    for name in first.tensor_names() {
        assert_eq!(first.bytes(name), second.bytes(name), "{name}");
    }
    let (other, _out) = converted_by(dir.path(), &rule("to = \"int4\"\ngroup = 64"));
    let weight = other.catalog.weight("a.weight").unwrap();
    assert_eq!(weight.part(PartRole::ZeroPoint), None);
}

#[test]
fn every_scaled_form_becomes_integers_and_comes_back() {
    let source = folder("bfloat16", &[NewTensor::noise("a.weight", &[96, 256])]);
    for target in Target::CONVERSIONS {
        let (_, dir) = converted_by(source.path(), &to(target));
        let (packed, out) = converted_by(dir.path(), &rule("to = \"int8\"\ngroup = 64"));
        assert!(matches!(
            packed.catalog.weights[0].encoding,
            Encoding::Grouped(IntFormat { bits: 8, .. })
        ));
        converted_by(out.path(), &to(target));
    }
}

#[test]
fn stacks_and_partial_groups_stay_plain_and_are_told_of() {
    let tensors = [
        NewTensor::noise("a.weight", &[8, 256]),
        NewTensor::noise("odd.weight", &[8, 200]),
        NewTensor::noise("experts.up_proj", &[2, 8, 256]),
    ];
    let source = folder("bfloat16", &tensors);
    let out = tempfile::tempdir().unwrap();
    let (manifest, output) = converted(source.path(), &to(Target::Int4), out.path());
    for (name, words) in [
        ("odd.weight", "no whole groups of 128"),
        ("experts.up_proj", "one matrix a tensor"),
    ] {
        let weight = output.catalog.weight(name).unwrap();
        assert_eq!(weight.encoding, Encoding::Plain(Dtype::BF16), "{name}");
        let finding = manifest
            .findings
            .iter()
            .find(|f| f.tensor.as_deref() == Some(name))
            .unwrap_or_else(|| panic!("{name}: {:?}", manifest.findings));
        assert_eq!(finding.code, "kept-as-it-is");
        assert!(finding.message.contains(words), "{}", finding.message);
    }
    let config = read_json(&out.path().join("config.json"));
    assert_eq!(
        config["quantization_config"]["ignore"],
        json!(["experts.up_proj", "odd"])
    );
}
