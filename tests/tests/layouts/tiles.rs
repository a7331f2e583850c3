//! Scales in tiles of 128 x 4: torchao, FlashInfer and vLLM write the same bytes.

use blockscale::ScaleElement;
use blockscale::decode::{Rows, decode_rows};
use blockscale::layout::{
    ScaleLayout, Stack, crop_cutlass_codes, cutlass_code_shape, pad_cutlass_codes,
};
use blockscale::runtime::{Kernel, Operand};
use blockscale::{Format, Shape};

use crate::common::{Vectors, check, matrix_sizes, memory_sizes, stack_of, unpermute};

pub(crate) const TESTS: [fn(); 5] = [
    torchao_to_blocked,
    flashinfer_block_scale_interleave,
    vllm_swizzle_blockscale,
    vllm_pad_nvfp4_weight_for_cutlass,
    flashinfer_e2m1_and_ufp8sf_scale_to_float,
];

fn check_family(vectors: &Vectors, family: &str, input: &str, output: &str) -> usize {
    let cases = vectors.cases(family, input);
    for case in &cases {
        let input = vectors.get(&format!("{case}.{input}"));
        let expected = &vectors.get(&format!("{case}.{output}")).data;
        let (layout, stack) = (ScaleLayout::Tiles128x4, stack_of(input));
        for element in [ScaleElement::E4m3Fn, ScaleElement::E8m0Fnu] {
            check(case, layout, stack, element, &input.data, expected);
        }
    }
    cases.len()
}

#[test]
fn torchao_to_blocked() {
    let vectors = Vectors::layouts();
    assert_eq!(
        check_family(&vectors, "blocked_128x4.", "input", "torchao"),
        6
    );
    let vectors = Vectors::runtime("torchao");
    assert_eq!(check_family(&vectors, "blocked_", "input", "out"), 5);
}

#[test]
fn flashinfer_block_scale_interleave() {
    let vectors = Vectors::runtime("flashinfer");
    assert_eq!(check_family(&vectors, "interleave_", "input", "out"), 6);
}

#[test]
fn vllm_swizzle_blockscale() {
    let vectors = Vectors::runtime("vllm");
    assert_eq!(check_family(&vectors, "swizzle_", "input", "out"), 5);
    for case in vectors.cases("swizzle_", "input") {
        let stack = stack_of(vectors.get(&format!("{case}.input")));
        let memory = ScaleLayout::Tiles128x4.scale_memory(stack, ScaleElement::E4m3Fn);
        let out = vectors.get(&format!("{case}.out"));
        assert_eq!(memory_sizes(memory.unwrap()), matrix_sizes(out), "{case}");
    }
}

#[test]
fn vllm_pad_nvfp4_weight_for_cutlass() {
    let vectors = Vectors::runtime("vllm");
    let cases = vectors.cases("cutlass_pad_", "input");
    assert_eq!(cases.len(), 2);
    for case in cases {
        let input = vectors.get(&format!("{case}.input"));
        let expected = vectors.get(&format!("{case}.out"));
        let shape = stack_of(input).shape;
        assert_eq!(cutlass_code_shape(shape), Some(stack_of(expected).shape));
        let mut padded = vec![0xa5; expected.data.len()];
        pad_cutlass_codes(shape, &input.data, &mut padded).unwrap();
        assert_eq!(padded, expected.data, "{case}");
        let mut back = vec![0xa5; input.data.len()];
        crop_cutlass_codes(shape, &padded, &mut back).unwrap();
        assert_eq!(back, input.data, "{case}");
    }
}

/// FlashInfer's dequantiser finds the scales of 9 rows in order and in tiles.
#[test]
fn flashinfer_e2m1_and_ufp8sf_scale_to_float() {
    let vectors = Vectors::runtime("flashinfer");
    let shape = Shape::new(9, 128);
    let layouts = [
        ("dequant_0", ScaleLayout::Linear, Kernel::TrtllmMoeW2),
        ("dequant_1", ScaleLayout::Tiles128x4, Kernel::Cutlass),
    ];
    assert_eq!(vectors.cases("dequant_", "out").len(), layouts.len());
    for (case, layout, kernel) in layouts {
        let get = |field: &str| vectors.get(&format!("{case}.{field}"));
        let (codes, stored) = (&get("q").data, &get("scale").data);
        let stack = Stack::single(Shape::new(9, 8));
        let scales = &unpermute(layout, stack, ScaleElement::E4m3Fn, stored);
        let global = 0.0625;
        let mut values = vec![0.0; 9 * 128];
        let rows = Rows {
            codes,
            scales,
            global,
        };
        decode_rows(&Format::NVFP4, shape, rows, &mut values).unwrap();
        let expected = get("out").f32s();
        assert_eq!(values, expected, "{case}");

        let globals = [global];
        let operand = Operand::activations(kernel, 1, shape, codes, stored, &globals).unwrap();
        for (i, value) in expected.into_iter().enumerate() {
            assert_eq!(operand.value_at(0, i / 128, i % 128), Some(value), "{case}");
        }
    }
}
