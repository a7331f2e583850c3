//! Decoding against the slowest correct code, and in parts against the whole.

use crate::common::{any_rows, code_at, effective_scale, elements, same, scale_index};
use blockscale::decode::{Rows, decode_rows};
use blockscale::{Format, LenMismatch, Real, Shape, bf16, f16};
use proptest::prelude::*;

fn decode<T: Real>(
    format: &Format,
    shape: Shape,
    codes: &[u8],
    scales: &[u8],
    global: f32,
) -> Vec<T> {
    let mut out = vec![T::from_f32(0.0); shape.len().unwrap()];
    decode_rows(
        format,
        shape,
        Rows {
            codes,
            scales,
            global,
        },
        &mut out,
    )
    .unwrap();
    out
}

proptest! {
    #[test]
    fn a_value_is_its_element_times_its_scale(
        (format, shape, codes, scales) in any_rows(),
        global in 1e-3_f32..1e3,
    ) {
        let out: Vec<f32> = decode(&format, shape, &codes, &scales, global);
        for ((row, col), value) in elements(shape).zip(out) {
            let index = scale_index(&format, shape, row, col);
            let scale = effective_scale(&format, &scales, index, global);
            let element = format.element.decode(code_at(&format, shape, &codes, row, col));
            prop_assert!(same(value, element * scale), "({row}, {col}): {value}");
        }
    }

    #[test]
    fn sixteen_bit_output_is_the_f32_value_rounded_once(
        (format, shape, codes, scales) in any_rows(),
        global in 1e-3_f32..1e3,
    ) {
        let exact: Vec<f32> = decode(&format, shape, &codes, &scales, global);
        let bf16s: Vec<bf16> = decode(&format, shape, &codes, &scales, global);
        let f16s: Vec<f16> = decode(&format, shape, &codes, &scales, global);
        for ((value, b), h) in exact.into_iter().zip(bf16s).zip(f16s) {
            prop_assert!(same(b.to_f32(), bf16::from_f32(value).to_f32()));
            prop_assert!(same(h.to_f32(), f16::from_f32(value).to_f32()));
        }
    }

    #[test]
    fn a_matrix_decoded_in_runs_equals_the_whole(
        (format, shape, codes, scales) in any_rows(),
        run_blocks in 1_usize..4,
    ) {
        let whole: Vec<f32> = decode(&format, shape, &codes, &scales, 1.5);
        let block_rows = format.block_rows(shape.rows);
        let (row_bytes, mut parts) = (format.row_bytes(shape.cols), Vec::new());
        for first in (0..shape.rows).step_by(run_blocks * block_rows) {
            let run = Shape::new((run_blocks * block_rows).min(shape.rows - first), shape.cols);
            let codes = &codes[first * row_bytes..][..run.rows * row_bytes];
            let before = format.scale_bytes(Shape::new(first, shape.cols)).unwrap();
            let skip = if first == 0 { 0 } else { before };
            let scales = &scales[skip..][..format.scale_bytes(run).unwrap()];
            parts.extend(decode::<f32>(&format, run, codes, scales, 1.5));
        }
        prop_assert!(whole.iter().zip(&parts).all(|(&a, &b)| same(a, b)));
        prop_assert_eq!(whole.len(), parts.len());
    }
}

#[test]
fn the_even_column_is_in_the_low_half_of_the_byte() {
    let out: Vec<f32> = decode(
        &Format::NVFP4,
        Shape::new(1, 3),
        &[0x21, 0x03],
        &[0x38],
        1.0,
    );
    assert_eq!(out, [0.5, 1.0, 1.5]);
}

#[test]
fn multiplier_and_divisor_are_opposite_directions() {
    let decode = |format| decode::<f32>(&format, Shape::new(1, 2), &[0x22], &[0x38], 4.0);
    assert_eq!(decode(Format::NVFP4), [4.0, 4.0]);
    assert_eq!(decode(Format::NVFP4_DIVISOR), [0.25, 0.25]);
}

#[test]
fn a_format_without_a_global_scale_does_not_read_it() {
    let out: Vec<f32> = decode(&Format::MXFP4, Shape::new(1, 2), &[0x22], &[127], f32::NAN);
    assert_eq!(out, [1.0, 1.0]);
}

#[test]
fn the_scale_is_combined_before_the_element_is_multiplied() {
    // 1.5 * (1.125 * g) and (1.5 * 1.125) * g differ in the last bit for this g.
    let g = f32::from_bits(0x3f80_0003);
    let scale = 1.125_f32 * g;
    assert_ne!(1.5 * scale, (1.5 * 1.125) * g);
    let out: Vec<f32> = decode(&Format::NVFP4, Shape::new(1, 1), &[0x03], &[0x39], g);
    assert_eq!(out, [1.5 * scale]);
}

#[test]
fn the_smallest_ue8m0_scale_is_a_subnormal_and_not_zero() {
    let out: Vec<f32> = decode(
        &Format::MXFP8_E4M3,
        Shape::new(1, 2),
        &[0x38, 0x01],
        &[0],
        1.0,
    );
    assert_eq!(
        out.iter().map(|v| v.to_bits()).collect::<Vec<_>>(),
        [0x0040_0000, 0x0000_2000]
    );
}

#[test]
fn a_nan_scale_makes_its_block_nan_and_no_other() {
    let codes = [0; 64];
    let out: Vec<f32> = decode(
        &Format::MXFP8_E4M3,
        Shape::new(1, 64),
        &codes,
        &[255, 127],
        1.0,
    );
    assert!(out[..32].iter().all(|v| v.is_nan()));
    assert!(out[32..].iter().all(|&v| v == 0.0));
}

#[test]
fn edge_blocks_are_128_wide_with_a_short_last_one() {
    let shape = Shape::new(144, 272);
    let codes = vec![0x38; 144 * 272];
    let scales: Vec<u8> = (1..=6_u8)
        .flat_map(|i| f32::from(i).to_le_bytes())
        .collect();
    let out: Vec<f32> = decode(&Format::FP8_BLOCK, shape, &codes, &scales, 1.0);
    let at = |row: usize, col: usize| out[row * 272 + col];
    assert_eq!(
        [at(127, 127), at(127, 128), at(127, 255), at(127, 256)],
        [1.0, 2.0, 2.0, 3.0]
    );
    assert_eq!(
        [at(128, 127), at(128, 128), at(143, 255), at(143, 271)],
        [4.0, 5.0, 5.0, 6.0]
    );
}

#[test]
fn a_wrong_length_names_the_slice_and_leaves_the_output_alone() {
    let shape = Shape::new(2, 32);
    let decode = |codes: usize, scales: usize, out: usize| {
        let (codes, scales) = (vec![0x11; codes], vec![0x38; scales]);
        let mut out = vec![7.0_f32; out];
        let rows = Rows {
            codes: &codes,
            scales: &scales,
            global: 1.0,
        };
        let result = decode_rows(&Format::NVFP4, shape, rows, &mut out);
        assert!(result.is_ok() || out.iter().all(|&v| v == 7.0));
        result
    };
    let error = |what, expected, found| {
        Err(LenMismatch {
            what,
            expected,
            found,
        })
    };
    assert_eq!(decode(32, 4, 64), Ok(()));
    assert_eq!(decode(31, 4, 64), error("codes", 32, 31));
    assert_eq!(decode(32, 5, 64), error("scales", 4, 5));
    assert_eq!(decode(32, 4, 0), error("out", 64, 0));
}

#[test]
fn a_shape_that_overflows_is_a_wrong_length() {
    let shape = Shape::new(usize::MAX, 4);
    let rows = Rows {
        codes: &[],
        scales: &[],
        global: 1.0,
    };
    let error = decode_rows::<f32>(&Format::FP8_BLOCK, shape, rows, &mut []).unwrap_err();
    assert_eq!(
        error,
        LenMismatch {
            what: "codes",
            expected: usize::MAX,
            found: 0
        }
    );
    let text = format!("`codes` has length 0, expected {}", usize::MAX);
    assert_eq!(error.to_string(), text);
}
