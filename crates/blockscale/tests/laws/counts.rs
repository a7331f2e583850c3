//! Counts of codes, blocks, scales and values against their definitions, on random bytes.

use blockscale::decode::{Rows, decode_rows};
use blockscale::format::{Block, Format, Shape};
use blockscale::stats::{BlockStats, ScaleStats, ValueStats};
use blockscale::{LenMismatch, ScaleElement};
use proptest::prelude::*;

const FORMATS: [Format; 8] = [
    Format::NVFP4,
    Format::MXFP4,
    Format::MXFP6_E2M3,
    Format::MXFP6_E3M2,
    Format::MXFP8_E5M2,
    Format::FP8_BLOCK_UE8M0,
    Format::FP8_CHANNEL,
    Format::FP8_TENSOR,
];

/// A format with small blocks, so that small shapes have partial ones.
fn small(format: Format) -> Format {
    match format.block {
        Block::Grid { rows, .. } if rows > 1 => Format {
            block: Block::Grid { rows: 3, cols: 5 },
            ..format
        },
        _ => format,
    }
}

fn any_run() -> impl Strategy<Value = (Format, Shape, Vec<u8>, Vec<u8>)> {
    let format = prop::sample::select(FORMATS.to_vec()).prop_map(small);
    (format, 1_usize..8, 1_usize..40).prop_flat_map(|(format, rows, cols)| {
        let shape = Shape::new(rows, cols);
        let bytes = |len| prop::collection::vec(any::<u8>(), len);
        let codes = bytes(format.code_bytes(shape).unwrap());
        let scales = bytes(format.scale_bytes(shape).unwrap());
        (Just(format), Just(shape), codes, scales)
    })
}

/// Every code, decoded under scales of one.
fn elements(format: &Format, shape: Shape, codes: &[u8]) -> Vec<f32> {
    let plain = Format {
        scale: ScaleElement::F32,
        block: Block::Tensor,
        global: blockscale::GlobalScale::None,
        ..*format
    };
    let rows = Rows {
        codes,
        scales: &1.0_f32.to_le_bytes(),
        global: 1.0,
    };
    let mut values = vec![0.0; shape.len().unwrap()];
    decode_rows(&plain, shape, rows, &mut values).unwrap();
    values
}

fn of(format: &Format, shape: Shape, codes: &[u8], scales: &[u8]) -> BlockStats {
    let rows = Rows {
        codes,
        scales,
        global: 1.0,
    };
    BlockStats::of_rows(format, shape, rows).unwrap()
}

proptest! {
    #[test]
    fn codes_are_counted_by_value((format, shape, codes, scales) in any_run()) {
        let stats = of(&format, shape, &codes, &scales);
        let values = elements(&format, shape, &codes);
        let count = |is: fn(f32) -> bool| values.iter().filter(|v| is(**v)).count() as u64;
        prop_assert_eq!(stats.count(), values.len() as u64);
        for is in [|v: f32| v == 0.0, |v: f32| v.is_nan(), |v: f32| v < 0.0, |v: f32| v.abs() > 3.0] {
            prop_assert_eq!(stats.count_where(format.element, is), count(is));
        }
    }

    #[test]
    fn the_largest_code_of_a_block_is_that_of_its_elements((format, shape, codes, scales) in any_run()) {
        let stats = of(&format, shape, &codes, &scales);
        let values = elements(&format, shape, &codes);
        let tall = format.block_rows(shape.rows);
        let plane = format.scale_shape(shape);
        let wide = match format.block {
            Block::Grid { cols, .. } => cols,
            _ => shape.cols,
        };
        let mut expected = [0_u64; 3];
        for (block, scale) in scales.chunks(format.scale.bytes()).enumerate() {
            let (top, left) = (block / plane.cols * tall, block % plane.cols * wide);
            let cells = (top..shape.rows.min(top + tall))
                .flat_map(|r| (left..shape.cols.min(left + wide)).map(move |c| (r, c)));
            let finite = cells.map(|(r, c)| values[r * shape.cols + c].abs()).filter(|v| v.is_finite());
            let largest = finite.fold(0.0_f32, f32::max);
            let scale = format.scale.decode(scale);
            let tiny = match format.scale {
                ScaleElement::E4m3Fn => 2_f32.powi(-9),
                ScaleElement::E8m0Fnu => 2_f32.powi(-127),
                _ => f32::MIN_POSITIVE,
            };
            expected[0] += u64::from(largest == 0.0);
            expected[1] += u64::from(largest != 0.0 && scale == 0.0);
            let ordinary = largest != 0.0 && scale.is_finite() && scale.abs() > tiny;
            expected[2] += u64::from(ordinary && largest >= 2.0);
        }
        prop_assert_eq!(stats.blocks, plane.len().unwrap() as u64);
        let (_, large) = stats.blocks_where(format.element, |value| value >= 2.0);
        prop_assert_eq!([stats.zero_blocks, stats.silenced, large], expected);
    }

    #[test]
    fn runs_merge_to_the_whole((format, shape, codes, scales) in any_run(), cut in 0_usize..8) {
        prop_assume!(format.block != Block::Tensor);
        let whole = of(&format, shape, &codes, &scales);
        let step = format.block_rows(shape.rows);
        let cut = (cut / step * step).min(shape.rows);
        let (code_row, plane) = (format.row_bytes(shape.cols), format.scale_shape(shape));
        let at = cut.div_ceil(step) * plane.cols * format.scale.bytes();
        let mut merged = of(&format, Shape::new(cut, shape.cols), &codes[..cut * code_row], &scales[..at]);
        let rest = Shape::new(shape.rows - cut, shape.cols);
        merged.merge(&of(&format, rest, &codes[cut * code_row..], &scales[at..]));
        prop_assert_eq!(merged, whole);
    }

    #[test]
    fn scales_are_counted_by_value(
        element in prop::sample::select(vec![
            ScaleElement::E4m3Fn, ScaleElement::E8m0Fnu, ScaleElement::F32, ScaleElement::Bf16, ScaleElement::F16,
        ]),
        rows in 1_usize..5,
        cols in 1_usize..9,
        seed in prop::collection::vec(any::<u8>(), 5 * 9 * 4),
    ) {
        let shape = Shape::new(rows, cols);
        let size = element.bytes();
        let bytes = &seed[..rows * cols * size];
        let stats = ScaleStats::of_rows(element, shape, bytes);
        let values: Vec<f32> = bytes.chunks(size).map(|b| element.decode(b)).collect();
        let count = |is: &dyn Fn(f32) -> bool| values.iter().filter(|v| is(**v)).count() as u64;
        let finite = |v: f32| v.is_finite();
        prop_assert_eq!(stats.count, values.len() as u64);
        prop_assert_eq!(stats.histogram.iter().sum::<u64>(), stats.count);
        prop_assert_eq!(stats.zeros, count(&|v| v == 0.0));
        prop_assert_eq!(stats.ones, count(&|v| v == 1.0));
        prop_assert_eq!(stats.negative, count(&|v| finite(v) && v.is_sign_negative()));
        prop_assert_eq!(stats.not_finite, count(&|v| !finite(v)));
        let power = |v: f32| f64::from(v).abs().log2().fract() == 0.0;
        prop_assert_eq!(stats.not_power_of_two, count(&|v| finite(v) && v != 0.0 && !power(v)));
        let least = values.iter().copied().filter(|v| finite(*v)).fold(f32::INFINITY, f32::min);
        prop_assert_eq!(stats.min, least);
        let pairs = values.chunks(cols).map(|row| row.len() / 2).sum::<usize>();
        prop_assert_eq!(stats.pairs, pairs as u64);
    }

    #[test]
    fn moments_follow_their_definitions(values in prop::collection::vec(any::<f32>(), 0..40), cut in 0_usize..40) {
        let (first, second) = values.split_at(cut.min(values.len()));
        let mut stats = ValueStats::of_row(first);
        stats.merge(&ValueStats::of_row(second));
        let finite: Vec<f32> = values.iter().copied().filter(|v| v.is_finite()).collect();
        prop_assert_eq!(stats.count, values.len() as u64);
        prop_assert_eq!(stats.finite(), finite.len() as u64);
        prop_assert_eq!(stats.nan, values.iter().filter(|v| v.is_nan()).count() as u64);
        prop_assert_eq!(stats.zeros, finite.iter().filter(|v| **v == 0.0).count() as u64);
        let largest = finite.iter().fold(0.0_f32, |m, v| m.max(v.abs()));
        prop_assert_eq!(stats.max_abs, largest);
    }
}

#[test]
fn every_scale_byte_is_a_power_of_two_or_not() {
    let bytes: Vec<u8> = (0..=255).collect();
    let stats = ScaleStats::of_rows(ScaleElement::E8m0Fnu, Shape::new(1, 256), &bytes);
    assert_eq!((stats.not_power_of_two, stats.not_finite), (0, 1));
    let stats = ScaleStats::of_rows(ScaleElement::E4m3Fn, Shape::new(1, 256), &bytes);
    // Of 126 magnitudes 18 are powers of two: 15 normal ones and 2^-9, 2^-8, 2^-7.
    assert_eq!(
        (stats.not_power_of_two, stats.zeros, stats.not_finite),
        (216, 2, 2)
    );
}

#[test]
fn exponent_bytes_as_numbers_are_recognised() {
    let scales = [118.0_f32, 120.0, 121.0].map(f32::to_le_bytes).concat();
    let stats = ScaleStats::of_rows(ScaleElement::F32, Shape::new(1, 3), &scales);
    assert_eq!(stats.like_exponent_bytes, 3);
    let scales = [63.0_f32, 120.5, 255.0].map(f32::to_le_bytes).concat();
    let stats = ScaleStats::of_rows(ScaleElement::F32, Shape::new(1, 3), &scales);
    assert_eq!(stats.like_exponent_bytes, 0);
}

#[test]
fn lengths_that_do_not_fit_are_refused() {
    let rows = Rows {
        codes: &[0; 8],
        scales: &[0; 2],
        global: 1.0,
    };
    let result = BlockStats::of_rows(&Format::NVFP4, Shape::new(1, 16), rows);
    assert!(matches!(result, Err(LenMismatch { .. })));
}
