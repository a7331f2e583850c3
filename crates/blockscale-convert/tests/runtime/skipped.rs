//! Weights that a runtime cannot take as they are, and the reason given.

use std::collections::HashMap;

use blockscale::layout::ScaleLayout;
use blockscale::runtime::Runtime;
use blockscale_convert::{Baked, RuntimeReport, SkipReason};
use blockscale_model::catalog::BAKED_KEY;
use blockscale_model::deepseek_v4::DeepSeekV4;
use serde_json::json;

use crate::checkpoint::{Opened, fp8_block, nvfp4, sample, write, written};

fn reason<'a>(report: &'a RuntimeReport, weight: &str) -> &'a SkipReason {
    let skipped = report.skipped.iter().find(|s| s.weight == weight);
    &skipped
        .unwrap_or_else(|| panic!("`{weight}` was not skipped: {report:?}"))
        .reason
}

#[test]
fn scales_that_are_not_powers_of_two_are_for_sm90_alone() {
    let (_dir, opened) = written(&fp8_block("a", &[256, 256], &[1.0, 0.5, 2.0, 1.5]), None);
    assert!(opened.check(Runtime::DeepGemmSm90).passed());
    let report = opened.check(Runtime::DeepGemmSm100);
    assert!(!report.passed());
    assert_eq!(reason(&report, "a.weight"), &SkipReason::NotPowerOfTwo);
    let text = reason(&report, "a.weight").to_string();
    assert!(
        text.contains("requantise with `convert --to fp8-block-ue8m0`"),
        "{text}"
    );
}

#[test]
fn powers_of_two_in_f32_are_packed_whatever_the_shape() {
    for shape in [&[256, 256][..], &[72, 200], &[3, 200, 136]] {
        let (_dir, opened) = written(&fp8_block("a", shape, &[1.0, 0.5, 0.125, 4.0, 8.0]), None);
        for runtime in [Runtime::DeepGemmSm90, Runtime::DeepGemmSm100] {
            let report = opened.check(runtime);
            assert!(report.passed(), "{runtime} {shape:?}: {report:?}");
        }
    }
}

#[test]
fn formats_of_other_kernels_are_named() {
    let tensors = [
        fp8_block("a", &[128, 128], &[1.0]),
        nvfp4("b", 128, 64, 0.5),
    ]
    .concat();
    let (_dir, opened) = written(&tensors, None);
    let report = opened.check(Runtime::Cutlass);
    let text = reason(&report, "a.weight").to_string();
    assert_eq!(
        text,
        "the kernel multiplies with NVFP4, this is FP8 128x128"
    );
    let report = opened.check(Runtime::DeepGemmSm100);
    let text = reason(&report, "b.weight").to_string();
    assert_eq!(
        text,
        "the kernel multiplies with FP8 128x128 UE8M0, this is NVFP4"
    );
}

#[test]
fn rows_that_no_tile_holds_are_for_cutlass_alone() {
    let (_dir, opened) = written(&nvfp4("a", 96, 64, 0.5), None);
    assert!(opened.check(Runtime::Cutlass).passed());
    let report = opened.check(Runtime::TrtllmMoe);
    let text = reason(&report, "a.weight").to_string();
    assert!(
        text.contains("needs a multiple of 128 rows, found 96"),
        "{text}"
    );
}

#[test]
fn wo_a_needs_groups_of_whole_blocks() {
    let (source, _output) = sample(1, "deepseek-v4");
    let text = std::fs::read_to_string(source.path().join("config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&text).unwrap();
    config
        .as_object_mut()
        .unwrap()
        .remove("quantization_config");
    assert_eq!(DeepSeekV4::from_config(&config).unwrap().o_groups, 2);
    let name = "layers.0.attn.wo_a";
    let check = |rows, config: &serde_json::Value| {
        let tensors = fp8_block(name, &[rows, 256], &[1.0, 2.0, 0.5]);
        let (_dir, opened) = written(&tensors, Some(config));
        opened.check(Runtime::DeepGemmSm100)
    };
    assert_eq!(check(256, &config).weights[0].matrices, 2);

    let report = check(384, &config);
    let groups = SkipReason::GroupRows {
        rows: 384,
        groups: 2,
    };
    assert_eq!(reason(&report, "layers.0.attn.wo_a.weight"), &groups);

    config["o_groups"] = json!("two");
    let report = check(256, &config);
    assert_eq!(
        reason(&report, "layers.0.attn.wo_a.weight"),
        &SkipReason::NoGroups
    );

    let report = check(256, &json!({ "model_type": "llama" }));
    assert_eq!(report.weights[0].matrices, 1);
}

#[test]
fn what_is_laid_out_already_is_read_as_it_lies_or_not_at_all() {
    let entry = json!({ "a.weight": {
        "layout": "tiles-128x4",
        "format": "NVFP4",
        "shape": [128, 64],
        "tensors": [
            ["codes", "a.weight"],
            ["block-scale", "a.weight_scale"],
            ["global-scale", "a.weight_scale_2"],
        ],
    }});
    let dir = tempfile::tempdir().unwrap();
    let metadata = HashMap::from([(BAKED_KEY.to_owned(), entry.to_string())]);
    write(dir.path(), &nvfp4("a", 128, 64, 0.5), Some(metadata));
    let opened = Opened::new(dir.path());
    let report = opened.check(Runtime::Cutlass);
    assert!(report.passed(), "{report:#?}");
    assert_eq!(report.weights[0].baked, Baked::Stored);

    // Another runtime would lay it out once more.
    let report = opened.check(Runtime::TrtllmMoe);
    assert!(!report.passed());
    let layout = ScaleLayout::Tiles128x4;
    assert_eq!(reason(&report, "a.weight"), &SkipReason::LaidOut { layout });
}

#[test]
fn a_check_that_finds_nothing_to_read_does_not_pass() {
    let (source, _output) = sample(1, "deepseek-v4");
    let report = Opened::new(source.path()).check(Runtime::DeepGemmSm90);
    assert!(report.weights.is_empty() && !report.skipped.is_empty());
    assert!(!report.passed());
}
