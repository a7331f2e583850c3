//! What runtimes quantise themselves: activations, and weights whose scales must be powers of two.
//!
//! GPU builds of PyTorch divide by a constant by multiplying with its reciprocal, so their F32
//! scales are `amax * (1 / 448)`. Codes come of `x * (1 / scale)`.

use blockscale::decode::{Rows, decode_rows};
use blockscale::element::E8m0Fnu;
use blockscale::encode::{
    ScaleRule, Scheme, amax, choose_scales, encode_codes, encode_codes_with, encode_rows_with,
};
use blockscale::layout::ScaleLayout;
use blockscale::{Block, Format, ScaleElement, Shape, bf16};
use blockscale_tests::Tensor;

use crate::common::{Vectors, permute, stack_of};

pub(crate) const TESTS: [fn(); 4] = [
    casts_of_blocks_and_of_rows_to_fp8,
    casts_of_rows_to_fp4,
    requant_weight_ue8m0_inplace,
    per_token_group_fp8_quant_packed,
];

fn bf16s(tensor: &Tensor) -> Vec<f32> {
    let bits = tensor.bf16_bits().into_iter();
    bits.map(|bits| bf16::from_bits(bits).to_f32()).collect()
}

/// The values of each block of `rows` x `cols`, in the order of their scales, with the index of
/// each.
fn blocks(shape: Shape, rows: usize, cols: usize) -> Vec<Vec<usize>> {
    let (down, across) = (shape.rows.div_ceil(rows), shape.cols.div_ceil(cols));
    let block = |i: usize| {
        let (top, left) = (i / across * rows, i % across * cols);
        (top..(top + rows).min(shape.rows))
            .flat_map(|row| {
                (left..(left + cols).min(shape.cols)).map(move |col| row * shape.cols + col)
            })
            .collect()
    };
    (0..down * across).map(block).collect()
}

#[test]
fn casts_of_blocks_and_of_rows_to_fp8() {
    let vectors = Vectors::runtime("deepgemm");
    let cases = vectors.cases("cast_", "input");
    assert_eq!(cases.len(), 3);
    for case in cases {
        let input = vectors.get(&format!("{case}.input"));
        let (values, shape) = (bf16s(input), stack_of(input).shape);
        for (name, rows) in [("block", 128), ("token", 1)] {
            let get = |field: &str| vectors.get(&format!("{case}.{name}_{field}"));
            let format = Format {
                block: Block::Grid { rows, cols: 128 },
                ..Format::FP8_BLOCK
            };
            // The F32 scales of a GPU are stated here, since the scheme divides.
            let scales: Vec<u8> = blocks(shape, rows, 128)
                .into_iter()
                .flat_map(|block| {
                    let of_block: Vec<f32> = block.into_iter().map(|at| values[at]).collect();
                    (amax(&of_block).max(1e-4) * (1.0 / 448.0)).to_le_bytes()
                })
                .collect();
            assert_eq!(scales, get("f32_scale").data, "{case} {name}");
            let scheme = Scheme::DEEPGEMM_FP8;
            let mut codes = vec![0; values.len()];
            encode_codes_with(&format, &scheme, shape, &values, &scales, 1.0, &mut codes).unwrap();
            assert_eq!(codes, get("f32_q").data, "{case} {name}");

            let scheme = Scheme::DEEPGEMM_FP8_UE8M0;
            let mut scales = vec![0; format.scale_bytes(shape).unwrap()];
            let (codes_of, scales_of) = (&mut codes[..], &mut scales[..]);
            encode_rows_with(&format, &scheme, shape, &values, 1.0, codes_of, scales_of).unwrap();
            assert_eq!(scales, get("ue8m0_scale").data, "{case} {name}");
            assert_eq!(codes, get("ue8m0_q").data, "{case} {name}");
        }
    }
}

/// DeepGEMM rounds E2M1 midpoints towards zero and drops the sign of what becomes zero.
#[test]
fn casts_of_rows_to_fp4() {
    let vectors = Vectors::runtime("deepgemm");
    let cases = vectors.cases("token_fp4_", "input");
    assert_eq!(cases.len(), 2);
    for case in cases {
        let input = vectors.get(&format!("{case}.input"));
        let (values, shape) = (bf16s(input), stack_of(input).shape);
        let format = Format {
            scale: ScaleElement::F32,
            ..Format::MXFP4
        };
        let mut scales = vec![0; format.scale_bytes(shape).unwrap()];
        let mut codes = vec![0; format.code_bytes(shape).unwrap()];
        let scheme = Scheme::DEEPGEMM_FP4;
        let (codes_of, scales_of) = (&mut codes[..], &mut scales[..]);
        encode_rows_with(&format, &scheme, shape, &values, 1.0, codes_of, scales_of).unwrap();
        assert_eq!(scales, vectors.get(&format!("{case}.scale")).data, "{case}");
        assert_eq!(codes, vectors.get(&format!("{case}.q")).data, "{case}");
    }
}

/// Values are decoded in F32 and encoded anew under powers of two.
#[test]
fn requant_weight_ue8m0_inplace() {
    let vectors = Vectors::runtime("vllm");
    let cases = vectors.cases("requant_", "q");
    assert_eq!(cases.len(), 3);
    for case in cases {
        let get = |field: &str| vectors.get(&format!("{case}.{field}"));
        let stack = stack_of(get("q"));
        let (format, shape) = (Format::FP8_BLOCK, stack.shape);
        let (code_bytes, scale_bytes) = (
            format.code_bytes(shape).unwrap(),
            format.scale_bytes(shape).unwrap(),
        );
        for i in 0..stack.matrices {
            let codes_of = |field| &get(field).data[i * code_bytes..][..code_bytes];
            let scales_of = |field| &get(field).data[i * scale_bytes..][..scale_bytes];
            let rows = Rows {
                codes: codes_of("q"),
                scales: scales_of("scale"),
                global: 1.0,
            };
            let mut values = vec![0.0_f32; code_bytes];
            decode_rows(&format, shape, rows, &mut values).unwrap();

            let mut scales = vec![0; scale_bytes];
            let rule = ScaleRule::RceilMin1e4;
            choose_scales(&format, rule, shape, &values, 1.0, &mut scales).unwrap();
            let mut codes = vec![0; code_bytes];
            encode_codes(&format, shape, &values, &scales, 1.0, &mut codes).unwrap();
            assert_eq!(scales, scales_of("out_scale"), "{case} {i}");
            assert_eq!(codes, codes_of("out_q"), "{case} {i}");
        }
    }
}

/// vLLM quantises activations and packs their scales in one kernel.
#[test]
fn per_token_group_fp8_quant_packed() {
    let vectors = Vectors::runtime("vllm");
    let cases = vectors.cases("packed_activation_", "input");
    assert_eq!(cases.len(), 3);
    for case in cases {
        let input = vectors.get(&format!("{case}.input"));
        let (values, mut stack) = (bf16s(input), stack_of(input));
        let shape = stack.shape;
        let format = Format {
            block: Block::Grid { rows: 1, cols: 128 },
            ..Format::FP8_BLOCK_UE8M0
        };
        stack.shape = format.scale_shape(shape);
        let exponents: Vec<u8> = blocks(shape, 1, 128)
            .into_iter()
            .map(|block| {
                let of_block: Vec<f32> = block.into_iter().map(|at| values[at]).collect();
                E8m0Fnu::from_f32_ceil(amax(&of_block).max(1e-10) / 448.0).to_bits()
            })
            .collect();
        let mut codes = vec![0; values.len()];
        encode_codes(&format, shape, &values, &exponents, 1.0, &mut codes).unwrap();
        assert_eq!(codes, vectors.get(&format!("{case}.q")).data, "{case}");

        let (layout, element) = (ScaleLayout::DeepGemmPacked, ScaleElement::E8m0Fnu);
        let memory = permute(layout, stack, element, &exponents);
        assert_eq!(
            memory,
            vectors.get(&format!("{case}.memory")).data,
            "{case}"
        );
    }
}
