//! NVFP4 MoE weights as FlashInfer's kernels take them.

use blockscale::layout::{Codes, RowShuffle, ScaleLayout, Stack, unpermute_codes};
use blockscale::{ScaleElement, Shape};
use blockscale_tests::Tensor;

use crate::common::{Vectors, check, permute_code_bytes, stack_of};

pub(crate) const TESTS: [fn(); 2] = [
    first_and_second_moe_weight,
    scales_of_the_first_moe_weight_are_reordered_then_tiled,
];

/// The vectors begin at [w3; w1], checkpoints at [w1; w3].
fn swap_halves(tensor: &Tensor) -> Vec<u8> {
    let (w3, w1) = tensor.data.split_at(tensor.data.len() / 2);
    [w1, w3].concat()
}

fn check_codes(case: &str, layout: ScaleLayout, stack: Stack, linear: &[u8], expected: &[u8]) {
    assert_eq!(
        permute_code_bytes(layout, stack, linear),
        expected,
        "{case}"
    );
    let mut back = vec![0xa5; linear.len()];
    let codes = Codes {
        layout,
        bytes: expected,
    };
    unpermute_codes(stack, codes, &mut back).unwrap();
    assert_eq!(back, linear, "{case}");
}

#[test]
fn first_and_second_moe_weight() {
    let vectors = Vectors::runtime("flashinfer");
    let mut compared = 0;
    for (family, layouts) in [
        (
            "trtllm_w13_",
            &[ScaleLayout::TrtllmMoeW13(RowShuffle::By32)][..],
        ),
        (
            "trtllm_w2_",
            &[
                ScaleLayout::TrtllmMoeW2(RowShuffle::By32),
                ScaleLayout::TrtllmLinear(RowShuffle::By32),
            ],
        ),
    ] {
        for case in vectors.cases(family, "weight") {
            for &layout in layouts {
                let get = |field: &str| vectors.get(&format!("{case}.{field}"));
                let linear = |tensor: &Tensor| match layout {
                    ScaleLayout::TrtllmMoeW13(_) => swap_halves(tensor),
                    _ => tensor.data.clone(),
                };
                let (weight, scale) = (get("weight"), get("scale"));
                check_codes(
                    case,
                    layout,
                    stack_of(weight),
                    &linear(weight),
                    &get("out_weight").data,
                );
                check(
                    case,
                    layout,
                    stack_of(scale),
                    ScaleElement::E4m3Fn,
                    &linear(scale),
                    &get("out_scale").data,
                );
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 2 + 2 * 2);
}

/// FlashInfer's row order and torchao's tiles, one after the other.
#[test]
fn scales_of_the_first_moe_weight_are_reordered_then_tiled() {
    let vectors = Vectors::layouts();
    let case = "trtllm_w13_scale.256x12";
    let linear = swap_halves(vectors.get(&format!("{case}.input")));
    let expected = &vectors.get(&format!("{case}.composed")).data;
    let layout = ScaleLayout::TrtllmMoeW13(RowShuffle::By32);
    let stack = Stack::single(Shape::new(256, 12));
    check(case, layout, stack, ScaleElement::E4m3Fn, &linear, expected);
}
