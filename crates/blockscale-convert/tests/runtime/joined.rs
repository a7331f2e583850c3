//! Gate and up of an expert, which kernels read as one operand.

use blockscale::runtime::Runtime;
use blockscale_convert::SkipReason;

use crate::checkpoint::{nvfp4, written};

const RUNTIMES: [Runtime; 2] = [Runtime::TrtllmMoe, Runtime::Cutlass];

#[test]
fn the_global_scale_of_the_gate_stands_for_the_up_too() {
    let gate = || nvfp4("experts.4.w1", 64, 64, 0.5);
    let equal = [gate(), nvfp4("experts.4.w3", 64, 64, 0.5)].concat();
    let unlike = [gate(), nvfp4("experts.4.w3", 64, 64, 0.75)].concat();
    for runtime in RUNTIMES {
        let (_dir, opened) = written(&equal, None);
        assert!(opened.check(runtime).passed(), "{runtime}");

        let (_dir, opened) = written(&unlike, None);
        let report = opened.check(runtime);
        assert!(!report.passed(), "{runtime}");
        let found = report.weights[0].difference.as_ref().unwrap();
        assert_eq!(
            (found.weight.as_str(), found.matrix, found.row),
            ("experts.4.w3.weight", 0, 0)
        );
        assert_eq!(found.stored, found.read * 1.5);
    }
}

#[test]
fn a_gate_without_its_up_is_skipped_and_so_is_an_up_without_its_gate() {
    let gate = nvfp4("mlp.experts.0.gate_proj", 64, 64, 0.5);
    let up = nvfp4("mlp.experts.1.up_proj", 64, 64, 0.5);
    let (_dir, opened) = written(&[gate, up].concat(), None);
    for runtime in RUNTIMES {
        let report = opened.check(runtime);
        assert!(report.weights.is_empty() && !report.passed(), "{report:?}");
        let reasons: Vec<_> = report.skipped.iter().map(|s| &s.reason).collect();
        let missing = |name: &str| SkipReason::NoSibling {
            name: name.to_owned(),
        };
        let gate = missing("mlp.experts.1.gate_proj.weight");
        let up = missing("mlp.experts.0.up_proj.weight");
        assert!(
            reasons.contains(&&gate) && reasons.contains(&&up),
            "{reasons:?}"
        );
    }
}

#[test]
fn gate_and_up_of_unlike_shapes_are_skipped() {
    let gate = nvfp4("experts.0.w1", 64, 64, 0.5);
    let up = nvfp4("experts.0.w3", 128, 64, 0.5);
    let (_dir, opened) = written(&[gate, up].concat(), None);
    let report = opened.check(Runtime::TrtllmMoe);
    let unlike =
        |s: &blockscale_convert::SkippedWeight| matches!(s.reason, SkipReason::OtherSibling { .. });
    assert_eq!(report.skipped.len(), 2);
    assert!(report.skipped.iter().all(unlike), "{report:?}");
}

#[test]
fn shared_experts_are_linear_layers() {
    let gate = nvfp4("shared_experts.w1", 128, 64, 0.5);
    let up = nvfp4("shared_experts.w3", 128, 64, 0.75);
    let (_dir, opened) = written(&[gate, up].concat(), None);
    let report = opened.check(Runtime::TrtllmMoe);
    assert!(report.passed(), "{report:?}");
    let layouts: Vec<_> = report.weights.iter().map(|w| w.layout).collect();
    assert_eq!(layouts, ["trtllm-linear"; 2]);
}
