//! Bytes that other implementations lay out, among them the runtimes' own kernels on a GPU.
//!
//! `data/conformance/layouts/README.md` and `data/conformance/runtime/README.md` say what made them.

mod common;
mod deepgemm;
mod field;
mod formula;
mod marlin;
mod quantised;
mod row_orders;
mod tiles;
mod trtllm;

use std::collections::BTreeSet;

/// Every case of the runtimes' own code belongs to a family that one of these modules compares.
#[test]
fn no_runtime_vector_is_left_out() {
    let families = [
        (
            "deepgemm",
            35,
            &[
                "mn_f32",
                "packed",
                "broadcast_packed",
                "k_grouped",
                "cast",
                "token_fp4",
                "mega_moe",
            ][..],
        ),
        (
            "flashinfer",
            21,
            &[
                "shuffle",
                "w3_w1",
                "interleave",
                "trtllm_w13",
                "trtllm_w2",
                "dequant",
            ],
        ),
        (
            "vllm",
            32,
            &[
                "swizzle",
                "cutlass_pad",
                "marlin_weight",
                "marlin_scale",
                "marlin_mx_scale",
                "requant",
                "packed_activation",
            ],
        ),
        ("torchao", 5, &["blocked"]),
    ];
    for (group, count, families) in families {
        let vectors = common::Vectors::runtime(group);
        let cases: BTreeSet<&str> = vectors.all_cases().into_iter().collect();
        assert_eq!(cases.len(), count, "{group}");
        for case in cases {
            let family = families.iter().any(|family| {
                let rest = case
                    .strip_prefix(family)
                    .and_then(|rest| rest.strip_prefix('_'));
                rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            });
            assert!(family, "{group}: `{case}`");
        }
    }
}
