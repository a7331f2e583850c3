//! Stacks of experts that hold gate and up in one.

use blockscale::runtime::Runtime;
use blockscale_convert::SkipReason;
use blockscale_model::Dtype;
use blockscale_model::catalog::{ROWS_KEY, RowOrder};
use serde_json::json;
use std::collections::HashMap;

use crate::checkpoint::{NewTensor, Opened, nvfp4, write};

const NAME: &str = "experts.gate_up_proj";

/// Two experts of 256 rows, said to be in an order, or in none.
fn stack(order: Option<RowOrder>) -> (tempfile::TempDir, Opened) {
    let codes: Vec<u8> = (0..=250).collect();
    let scales: Vec<u8> = (0x20..0x7f).collect();
    let name = |part: &str| format!("{NAME}.{part}");
    let tensors = [
        NewTensor::new(name("weight"), Dtype::U8, &[2, 256, 64], &codes),
        NewTensor::new(name("weight_scale"), Dtype::F8_E4M3, &[2, 256, 8], &scales),
        NewTensor::new(
            name("weight_scale_2"),
            Dtype::F32,
            &[],
            &0.5_f32.to_le_bytes(),
        ),
    ];
    let said = order.map(|order| {
        let facts = json!({ name("weight"): { "gate_up": order } });
        HashMap::from([(ROWS_KEY.to_owned(), facts.to_string())])
    });
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &tensors, said);
    let opened = Opened::new(dir.path());
    (dir, opened)
}

#[test]
fn a_stack_in_any_known_order_is_given_to_the_kernel_gate_first() {
    for order in RowOrder::ALL {
        let (_dir, opened) = stack(Some(order));
        let report = opened.check(Runtime::TrtllmMoe);
        assert!(report.passed(), "{order}: {report:#?}");
        let [operand] = report.weights.as_slice() else {
            panic!("{report:#?}")
        };
        assert_eq!(operand.weights, ["experts.gate_up_proj.weight"]);
        assert_eq!(
            (operand.layout, operand.shape),
            ("trtllm-moe-w13", [256, 128])
        );
        assert_eq!((operand.matrices, operand.rows), (2, 128));
    }
}

#[test]
fn a_stack_in_an_unknown_order_is_skipped_with_what_to_pass() {
    let (_dir, opened) = stack(None);
    for runtime in [Runtime::TrtllmMoe, Runtime::Cutlass] {
        let report = opened.check(runtime);
        assert!(!report.passed() && report.weights.is_empty(), "{report:#?}");
        assert_eq!(report.skipped[0].reason, SkipReason::UnknownRowOrder);
        let text = report.skipped[0].reason.to_string();
        assert!(text.contains("--gate-up gate-first"), "{text}");
    }
}

#[test]
fn one_expert_with_both_in_one_is_an_operand_of_two_halves() {
    let tensors = nvfp4("experts.0.w13", 256, 64, 0.5);
    let facts = json!({ "experts.0.w13.weight": { "gate_up": "up-first" } });
    let said = HashMap::from([(ROWS_KEY.to_owned(), facts.to_string())]);
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &tensors, Some(said));
    let report = Opened::new(dir.path()).check(Runtime::TrtllmMoe);
    assert!(report.passed(), "{report:#?}");
    assert_eq!(report.weights[0].shape, [256, 64]);
}
