//! Checkpoints written by the quantisation tools themselves, against what these tools decode them to.
//!
//! The files and their makers are in `tests/data/checkpoints`.

use std::path::{Path, PathBuf};

use blockscale_convert::VerifyOptions;
use blockscale_model::catalog::Encoding;
use blockscale_model::deepseek_v4::to_native;
use blockscale_model::recipe::{Target, builtin};

use crate::checkpoint::bf16_bytes;
use crate::files::{data, json, sha256};
use crate::run::{Opened, comparison, converted, to};

const DEEPSEEK_V4: [&str; 3] = ["dsv4-official", "dsv4-nvfp4", "modelopt-nvfp4-dsv4"];
const LLAMA: [&str; 2] = ["modelopt-nvfp4-llama", "modelopt-fp8-llama"];

fn checkpoint(folder: &str) -> PathBuf {
    data("checkpoints").join(folder)
}

/// The values with -0 as +0, which is how the producers' hashes count it.
fn positive_zeros(values: &[f32]) -> Vec<f32> {
    values
        .iter()
        .map(|v| if *v == 0.0 { 0.0 } else { *v })
        .collect()
}

#[test]
fn every_weight_decodes_to_the_producers_values() {
    for folder in DEEPSEEK_V4.into_iter().chain(LLAMA) {
        let opened = Opened::new(&checkpoint(folder));
        assert_eq!(opened.catalog.refusals, [], "{folder}");
        let expected = json(&data(&format!("checkpoints/{folder}.expected.json")));
        let expected = expected.as_object().unwrap();
        let stored = opened.catalog.weights.iter();
        let quantised = stored.filter(|w| w.encoding.format().is_some()).count();
        assert_eq!(quantised, expected.len(), "{folder}");
        for (name, weight) in expected {
            let values = positive_zeros(&opened.decode(name));
            let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            assert_eq!(sha256(&bytes), weight["sha256_f32"], "{folder}: {name}");
            assert_eq!(
                sha256(&bf16_bytes(&values)),
                weight["sha256_bf16"],
                "{folder}: {name}"
            );
        }
    }
}

/// Converts a DeepSeek-V4 checkpoint, verifies the result and returns both.
fn deepseek(folder: &str, recipe: &str, out: &Path) -> (Opened, Opened) {
    let source = Opened::new(&checkpoint(folder));
    let (manifest, output) = converted(&checkpoint(folder), &builtin(recipe).unwrap(), out);
    assert_eq!(
        manifest.summary.bf16_to_fp8,
        manifest_bf16_to_fp8(folder),
        "{folder}"
    );
    let report = source.verify(&output, &VerifyOptions::default());
    assert!(report.passed(), "{folder} by {recipe}: {report:?}");
    assert_eq!(report.only_in_output, [""; 0], "{folder} by {recipe}");
    (source, output)
}

/// ModelOpt leaves the grouped `o_a_proj` in BF16; everything else arrives quantised.
fn manifest_bf16_to_fp8(folder: &str) -> usize {
    usize::from(folder == "modelopt-nvfp4-dsv4")
}

#[test]
fn deepseek_v4_converts_by_both_recipes_and_verifies() {
    for folder in DEEPSEEK_V4 {
        for recipe in ["deepseek-v4", "deepseek-v4-bf16"] {
            let out = tempfile::tempdir().unwrap();
            let (_, output) = deepseek(folder, recipe, out.path());
            for name in output.catalog.weights.iter().map(|w| w.name.as_str()) {
                assert_eq!(
                    to_native(name).as_deref(),
                    Some(name),
                    "{folder} by {recipe}"
                );
            }
        }
    }
}

#[test]
fn routed_experts_stay_byte_for_byte() {
    for folder in DEEPSEEK_V4 {
        let out = tempfile::tempdir().unwrap();
        let (source, output) = deepseek(folder, "deepseek-v4", out.path());
        let mut experts = 0;
        for weight in &source.catalog.weights {
            let native = to_native(&weight.name).unwrap();
            if !native.contains(".ffn.experts.") {
                continue;
            }
            let copy = output.catalog.weight(&native).unwrap();
            assert_eq!(copy.encoding, weight.encoding, "{folder}: {native}");
            assert_eq!(copy.parts.len(), weight.parts.len(), "{folder}: {native}");
            for (from, to) in weight.parts.iter().zip(&copy.parts) {
                let from = &source.checkpoint.tensors[from.tensor].name;
                let to = &output.checkpoint.tensors[to.tensor].name;
                assert_eq!(source.bytes(from), output.bytes(to), "{folder}: {from}");
            }
            experts += 1;
        }
        let layers = if folder == "dsv4-official" { 3 } else { 1 };
        assert_eq!(experts, 3 * 3 * layers, "{folder}");
    }
}

#[test]
fn published_deepseek_v4_passes_through_unchanged() {
    let out = tempfile::tempdir().unwrap();
    let (source, output) = deepseek("dsv4-official", "deepseek-v4", out.path());
    assert_eq!(source.tensor_names(), output.tensor_names());
    for name in source.tensor_names() {
        assert_eq!(source.bytes(name), output.bytes(name), "{name}");
    }
}

#[test]
fn modelopts_short_attention_norm_is_the_kv_norm() {
    let out = tempfile::tempdir().unwrap();
    let (source, output) = deepseek("modelopt-nvfp4-dsv4", "deepseek-v4", out.path());
    let norm = source.decode("model.layers.0.self_attn.norm.weight");
    assert_eq!(output.decode("layers.0.attn.kv_norm.weight"), norm);
    assert!(!output.tensor_names().contains(&"layers.0.attn.norm.weight"));
}

#[test]
fn llama_becomes_bf16_as_it_decodes() {
    for folder in LLAMA {
        let out = tempfile::tempdir().unwrap();
        let (_, output) = converted(&checkpoint(folder), &to(Target::Bf16), out.path());
        let source = Opened::new(&checkpoint(folder));
        for weight in &source.catalog.weights {
            let direct = bf16_bytes(&source.decode(&weight.name));
            assert_eq!(
                output.bytes(&weight.name),
                direct,
                "{folder}: {}",
                weight.name
            );
        }
        assert_eq!(
            output.catalog.weights.len(),
            source.catalog.weights.len(),
            "{folder}"
        );
        let config = json(&out.path().join("config.json"));
        assert!(config.get("quantization_config").is_none(), "{folder}");
    }
}

#[test]
fn llama_converts_to_every_block_format_and_verifies() {
    for folder in LLAMA {
        let source = Opened::new(&checkpoint(folder));
        for target in [Target::Fp8Block, Target::Fp8BlockUe8m0, Target::Nvfp4] {
            let out = tempfile::tempdir().unwrap();
            let (_, output) = converted(&checkpoint(folder), &to(target), out.path());
            let report = source.verify(&output, &VerifyOptions::default());
            assert!(report.passed(), "{folder} to {target}: {report:?}");
            for weight in source
                .catalog
                .weights
                .iter()
                .filter(|w| w.encoding.format().is_some())
            {
                let written = output.catalog.weight(&weight.name).unwrap().encoding;
                let expected = Encoding::Block(target.format().unwrap());
                assert_eq!(written, expected, "{folder}: {}", weight.name);
            }
        }
    }
}

#[test]
fn fp8_per_tensor_becomes_blocks_without_a_change() {
    let out = tempfile::tempdir().unwrap();
    let (manifest, _) = converted(
        &checkpoint("modelopt-fp8-llama"),
        &to(Target::Fp8Block),
        out.path(),
    );
    let exact = manifest.weights.iter().filter(|w| w.exact).count();
    assert_eq!(exact, 7);
    assert_eq!(manifest.weights.len(), 7);
}

#[test]
fn siblings_keep_one_nvfp4_global_scale_when_encoded_from_fp8() {
    let out = tempfile::tempdir().unwrap();
    let (manifest, output) = converted(
        &checkpoint("modelopt-fp8-llama"),
        &to(Target::Nvfp4),
        out.path(),
    );
    let global = |module: &str| output.f32s(&format!("model.layers.0.{module}.weight_scale_2"));
    assert_eq!(global("self_attn.q_proj"), global("self_attn.k_proj"));
    assert_eq!(global("self_attn.q_proj"), global("self_attn.v_proj"));
    assert_eq!(global("mlp.gate_proj"), global("mlp.up_proj"));
    assert_ne!(global("self_attn.q_proj"), global("mlp.down_proj"));
    let q_proj = comparison(&manifest, "model.layers.0.self_attn.q_proj.weight");
    assert!(q_proj.sqnr_db.unwrap() > 19.0, "{q_proj:?}");
    let dropped: Vec<_> = manifest.dropped.iter().map(|d| d.tensor.as_str()).collect();
    assert_eq!(dropped.len(), 7, "{dropped:?}");
}
