//! The two recipes for DeepSeek-V4 on a sample with the structure of DeepSeek-V4-Pro.

use std::path::Path;

use crate::process::{blockscale, convert, run, sample, verify};

/// Layers of DeepSeek-V4-Pro.
const LAYERS: usize = 61;

fn assert_lines(text: &str, expected: &[&str]) {
    for line in expected {
        assert!(
            text.lines().any(|found| found == *line),
            "no line `{line}` in\n{text}"
        );
    }
}

#[test]
fn summaries_count_what_deepseek_v4_pro_has() {
    let dir = tempfile::tempdir().unwrap();
    let source = sample(dir.path(), LAYERS);
    for (recipe, attention) in [("deepseek-v4", "FP8"), ("deepseek-v4-bf16", "BF16")] {
        let output = dir.path().join(recipe);
        let converted = run(convert(&source, &output).args(["--recipe", recipe])).ok();
        assert_lines(
            &converted.stdout,
            &[
                "61 wo_a NVFP4 -> FP8",
                &format!("305 attention/shared modules -> {attention}"),
                "91 compressors -> BF16 (61 main + 30 indexer)",
                "0 BF16 -> FP8",
            ],
        );
        let verified = run(&mut verify(&source, &output)).ok();
        assert!(
            verified.stdout.contains("0 below their bound"),
            "{}",
            verified.stdout
        );
    }
}

#[test]
fn the_models_own_recipe_is_the_default() {
    let dir = tempfile::tempdir().unwrap();
    let source = sample(dir.path(), 1);
    let plan = run(blockscale()
        .args(["convert", "--dry-run", "--json"])
        .arg(source))
    .json();
    assert_eq!(plan["recipe"], "deepseek-v4");
}

#[test]
fn fused_compressors_are_one_tensor_each_and_verify() {
    let dir = tempfile::tempdir().unwrap();
    let source = sample(dir.path(), 4);
    let [split, fused] = ["split", "fused"].map(|name| dir.path().join(name));
    let recipe = ["--recipe", "deepseek-v4-bf16"];
    run(convert(&source, &split).args(recipe)).ok();
    run(convert(&source, &fused).args(recipe).arg("--fuse")).ok();
    run(&mut verify(&source, &fused)).ok();

    let [split, fused] = [split, fused].map(|output| compressor_rows(&output));
    assert_eq!(split.len(), 2 * fused.len());
    assert_eq!(split.iter().sum::<u64>(), fused.iter().sum::<u64>());
}

/// Rows of every projection of a compressor in a checkpoint.
fn compressor_rows(checkpoint: &Path) -> Vec<u64> {
    let listing = run(blockscale().args(["inspect", "--json"]).arg(checkpoint)).json();
    let weights = listing["weights"].as_array().unwrap().iter();
    weights
        .filter(|weight| {
            let name = weight["name"].as_str().unwrap();
            name.contains("compressor.") && (name.contains("wkv") || name.contains("wgate"))
        })
        .map(|weight| weight["shape"][0].as_u64().unwrap())
        .collect()
}
