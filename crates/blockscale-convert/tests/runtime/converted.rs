//! A DeepSeek-V4 checkpoint that was converted for its runtime.

use blockscale::runtime::Runtime;
use blockscale_convert::{Baked, RuntimeReport};

use crate::checkpoint::{Opened, sample};

/// Weights of the operands that a filter takes, sorted.
fn names(report: &RuntimeReport, layout: &str) -> Vec<Vec<String>> {
    let weights = report.weights.iter().filter(|w| w.layout == layout);
    let mut names: Vec<_> = weights.map(|w| w.weights.clone()).collect();
    names.sort_unstable();
    names
}

#[test]
fn deepseek_v4_passes_for_every_runtime_and_each_weight_is_read_or_explained() {
    let (_source, output) = sample(3, "deepseek-v4");
    let output = Opened::new(output.path());
    let mut seen = Vec::new();
    for runtime in Runtime::ALL {
        let report = output.check(runtime);
        assert!(report.passed(), "{report:#?}");
        let read = report.weights.iter().flat_map(|w| w.weights.clone());
        let skipped = report.skipped.iter().map(|s| s.weight.clone());
        let mut all: Vec<_> = read.chain(skipped).collect();
        all.sort_unstable();
        assert!(all.is_sorted_by(|a, b| a < b), "{runtime}: {all:?}");
        seen.push(all);
    }
    assert!(seen.iter().all(|all| *all == seen[0] && !all.is_empty()));
}

#[test]
fn wo_a_is_a_stack_of_groups_for_the_fp8_product() {
    let (_source, output) = sample(1, "deepseek-v4");
    let output = Opened::new(output.path());
    for runtime in [Runtime::DeepGemmSm90, Runtime::DeepGemmSm100] {
        let report = output.check(runtime);
        let is_wo_a = |name: &String| name == "layers.0.attn.wo_a.weight";
        let found = report
            .weights
            .iter()
            .find(|w| w.weights.iter().any(is_wo_a));
        let wo_a = found.unwrap();
        assert_eq!((wo_a.matrices, wo_a.shape), (2, [128, 256]));
        assert_eq!((wo_a.rows, wo_a.baked), (128, Baked::Whole));
        let stays = report
            .skipped
            .iter()
            .find(|s| s.weight == "layers.0.ffn.experts.0.w1.weight");
        let reason = stays.unwrap().reason.to_string();
        assert!(reason.contains("this is NVFP4"), "{reason}");
    }
}

#[test]
fn wo_a_of_the_bf16_recipe_has_powers_of_two_and_packs() {
    let (_source, output) = sample(1, "deepseek-v4-bf16");
    let report = Opened::new(output.path()).check(Runtime::DeepGemmSm100);
    assert!(report.passed(), "{report:#?}");
    let wo_a = &report.weights[0];
    assert_eq!((wo_a.format.as_str(), wo_a.matrices), ("FP8 128x128", 2));
}

#[test]
fn experts_are_read_as_w13_and_w2() {
    let (_source, output) = sample(1, "deepseek-v4");
    let report = Opened::new(output.path()).check(Runtime::TrtllmMoe);
    let layers = ["layers.0", "mtp.0"].into_iter();
    let experts: Vec<String> = layers
        .flat_map(|layer| (0..3).map(move |expert| format!("{layer}.ffn.experts.{expert}")))
        .collect();
    let of = |part: &str| {
        experts
            .iter()
            .map(|e| format!("{e}.{part}.weight"))
            .collect::<Vec<_>>()
    };
    let pairs: Vec<_> = of("w1")
        .into_iter()
        .zip(of("w3"))
        .map(|(w1, w3)| vec![w1, w3])
        .collect();
    assert_eq!(names(&report, "trtllm-moe-w13"), pairs);
    let downs: Vec<_> = of("w2").into_iter().map(|w2| vec![w2]).collect();
    assert_eq!(names(&report, "trtllm-moe-w2"), downs);
    let w13 = report
        .weights
        .iter()
        .find(|w| w.weights.len() == 2)
        .unwrap();
    assert_eq!((w13.shape, w13.rows), ([256, 256], 64));
}

#[test]
fn the_published_checkpoint_is_read_under_the_names_of_hugging_face_too() {
    let (source, _output) = sample(3, "deepseek-v4");
    let report = Opened::new(source.path()).check(Runtime::TrtllmMoe);
    assert!(report.passed(), "{report:#?}");
    let pair = ["gate_proj", "up_proj"].map(|p| format!("model.layers.0.mlp.experts.1.{p}.weight"));
    assert!(names(&report, "trtllm-moe-w13").contains(&pair.to_vec()));
    // The heads of the indexer are too few rows for a tile of 128.
    let reasons: Vec<_> = report
        .skipped
        .iter()
        .map(|s| s.reason.to_string())
        .collect();
    assert_eq!(reasons.len(), 1, "{reasons:?}");
    assert!(
        reasons[0].contains("multiple of 32 rows, found 4"),
        "{reasons:?}"
    );
}
