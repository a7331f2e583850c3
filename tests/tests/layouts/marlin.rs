//! Marlin's weights and scales, against vLLM's repacking kernel and helpers.

use blockscale::ScaleElement;
use blockscale::layout::marlin::{Activation, global_scale, multiply_scales, scale_factor};
use blockscale::layout::{Codes, ScaleLayout, unpermute_codes};

use crate::common::{
    Vectors, check, matrix_sizes, memory_sizes, permute, permute_code_bytes, stack_of, unpermute,
};

pub(crate) const TESTS: [fn(); 3] = [
    gptq_marlin_repack,
    nvfp4_marlin_process_scales,
    mxfp4_marlin_process_scales,
];

#[test]
fn gptq_marlin_repack() {
    let vectors = Vectors::runtime("vllm");
    let cases = vectors.cases("marlin_weight_", "input");
    assert_eq!(cases.len(), 5);
    for case in cases {
        let input = vectors.get(&format!("{case}.input"));
        let out = vectors.get(&format!("{case}.out"));
        let expected = &out.data;
        for layout in [ScaleLayout::MarlinNvfp4, ScaleLayout::MarlinMxfp4] {
            let stack = stack_of(input);
            let memory = layout.code_memory(stack).unwrap();
            assert_eq!(memory_sizes(memory), matrix_sizes(out), "{case}");
            assert_eq!(
                permute_code_bytes(layout, stack, &input.data),
                *expected,
                "{case}"
            );
            let mut back = vec![0xa5; input.data.len()];
            let bytes = expected;
            unpermute_codes(stack, Codes { layout, bytes }, &mut back).unwrap();
            assert_eq!(back, input.data, "{case}");
        }
    }
}

#[test]
fn nvfp4_marlin_process_scales() {
    let vectors = Vectors::runtime("vllm");
    let mut compared = 0;
    for (activation, suffix) in [
        (Activation::Bf16, "_bfloat16"),
        (Activation::F16, "_float16"),
    ] {
        for case in vectors.cases("marlin_scale_", "input") {
            if !case.ends_with(suffix) {
                continue;
            }
            let input = vectors.get(&format!("{case}.input"));
            let factor = scale_factor(activation, &input.data);
            let expected = if case == "marlin_scale_0_bfloat16" {
                256.0
            } else {
                1.0
            };
            assert_eq!(factor, expected, "{case}");

            let mut scales = input.data.clone();
            multiply_scales(factor, &mut scales);
            let stack = stack_of(input);
            let (layout, element) = (ScaleLayout::MarlinNvfp4, ScaleElement::E4m3Fn);
            let stored = &vectors.get(&format!("{case}.out")).data;
            assert_eq!(permute(layout, stack, element, &scales), *stored, "{case}");
            // Subnormal scales are lost, all others come back.
            for scale in &mut scales {
                *scale = if *scale < 8 { 0 } else { *scale };
            }
            assert_eq!(unpermute(layout, stack, element, stored), scales, "{case}");

            let global = vectors.get(&format!("{case}.global_out")).f32s();
            assert_eq!(global, [global_scale(activation, 0.0003, factor)], "{case}");
            compared += 1;
        }
    }
    assert_eq!(compared, 10);
}

#[test]
fn mxfp4_marlin_process_scales() {
    let vectors = Vectors::runtime("vllm");
    let cases = vectors.cases("marlin_mx_scale_", "input");
    assert_eq!(cases.len(), 4);
    for case in cases {
        let input = vectors.get(&format!("{case}.input"));
        let out = vectors.get(&format!("{case}.out"));
        let expected = &out.data;
        let (layout, element) = (ScaleLayout::MarlinMxfp4, ScaleElement::E8m0Fnu);
        let memory = layout.scale_memory(stack_of(input), element).unwrap();
        assert_eq!(memory_sizes(memory), matrix_sizes(out), "{case}");
        check(
            case,
            layout,
            stack_of(input),
            element,
            &input.data,
            expected,
        );
    }
}
