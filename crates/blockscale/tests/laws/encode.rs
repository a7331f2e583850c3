//! Encoding against the slowest correct code, and back through decoding.

use blockscale::decode::{Rows, decode_rows};
use blockscale::encode::{ScaleRule, amax, encode_codes, encode_rows, global_scale};
use blockscale::stats::ErrorStats;
use blockscale::{Element, Format, GlobalScale, LenMismatch, Real, ScaleElement, Shape, bf16};
use proptest::prelude::*;

use crate::common::{
    NAMED, any_format, any_rows, any_rule, any_values, code_at, effective_scale, elements,
    scale_index,
};

struct Encoded {
    codes: Vec<u8>,
    scales: Vec<u8>,
    global: f32,
}

impl Encoded {
    fn new<T: Real>(format: &Format, rule: ScaleRule, shape: Shape, values: &[T]) -> Self {
        let global = global_scale(format, amax(values));
        let mut codes = vec![0xaa; format.code_bytes(shape).unwrap()];
        let mut scales = vec![0xaa; format.scale_bytes(shape).unwrap()];
        encode_rows(format, rule, shape, values, global, &mut codes, &mut scales).unwrap();
        Self {
            codes,
            scales,
            global,
        }
    }

    fn decode(&self, format: &Format, shape: Shape) -> Vec<f32> {
        let rows = Rows {
            codes: &self.codes,
            scales: &self.scales,
            global: self.global,
        };
        let mut out = vec![0.0; shape.len().unwrap()];
        decode_rows(format, shape, rows, &mut out).unwrap();
        out
    }

    fn scale(&self, format: &Format, index: usize) -> f32 {
        let bytes = format.scale.bytes();
        format.scale.decode(&self.scales[index * bytes..][..bytes])
    }
}

proptest! {
    #[test]
    fn a_code_is_the_quotient_rounded(
        (format, shape, values) in any_values(),
        rule in any_rule(),
    ) {
        let encoded = Encoded::new(&format, rule, shape, &values);
        for ((row, col), &value) in elements(shape).zip(&values) {
            let index = scale_index(&format, shape, row, col);
            let scale = effective_scale(&format, &encoded.scales, index, encoded.global);
            let code = code_at(&format, shape, &encoded.codes, row, col);
            prop_assert_eq!(code, format.element.encode(value / scale), "({}, {})", row, col);
        }
    }

    #[test]
    fn the_half_byte_after_an_odd_row_is_zero(
        (format, shape, values) in any_values(),
    ) {
        let format = Format { element: Element::E2m1, ..format };
        let shape = Shape::new(shape.rows, shape.cols - (1 - shape.cols % 2).min(shape.cols));
        prop_assume!(shape.cols > 0);
        let values = &values[..shape.len().unwrap()];
        let encoded = Encoded::new(&format, ScaleRule::Amax, shape, values);
        for row in encoded.codes.chunks(format.row_bytes(shape.cols)) {
            prop_assert_eq!(row.last().unwrap() >> 4, 0);
        }
    }

    #[test]
    fn a_power_of_two_scale_is_the_smallest_that_does_not_clip(
        (format, shape, values) in any_values(),
    ) {
        let format = Format { scale: ScaleElement::E8m0Fnu, global: GlobalScale::None, ..format };
        let encoded = Encoded::new(&format, ScaleRule::Rceil, shape, &values);
        let mut largest = vec![0.0_f32; format.scale_shape(shape).len().unwrap()];
        for ((row, col), value) in elements(shape).zip(&values) {
            let largest = &mut largest[scale_index(&format, shape, row, col)];
            *largest = largest.max(value.abs());
        }
        let max = f64::from(format.element.max_finite());
        for (index, largest) in largest.into_iter().enumerate() {
            let scale = f64::from(encoded.scale(&format, index));
            let (largest, ulp) = (f64::from(largest), f64::from(f32::EPSILON));
            prop_assert!(largest <= max * scale * (1.0 + ulp));
            prop_assert!(largest > max * scale / 2.0 || scale == 2_f64.powi(-127));
        }
    }

    #[test]
    fn codes_come_back_under_their_own_scales((format, shape, codes, _) in any_rows()) {
        // Scales of one, so that every product and quotient is exact.
        let scale: &[u8] = match format.scale {
            ScaleElement::E4m3Fn => &[0x38],
            ScaleElement::E8m0Fnu => &[127],
            ScaleElement::F32 => &[0, 0, 0x80, 0x3f],
            ScaleElement::Bf16 => &[0x80, 0x3f],
            _ => &[0, 0x3c],
        };
        let scales = scale.repeat(format.scale_shape(shape).len().unwrap());
        let encoded = Encoded { codes, scales, global: 1.0 };
        let values = encoded.decode(&format, shape);
        let mut again = vec![0; encoded.codes.len()];
        encode_codes(&format, shape, &values, &encoded.scales, 1.0, &mut again).unwrap();
        for ((row, col), value) in elements(shape).zip(values) {
            let before = code_at(&format, shape, &encoded.codes, row, col);
            let after = code_at(&format, shape, &again, row, col);
            prop_assert!(before == after || !value.is_finite(), "{before:#x} {after:#x}");
        }
    }

    #[test]
    fn a_matrix_encoded_in_runs_equals_the_whole(
        (format, shape, values) in any_values(),
        rule in any_rule(),
        blocks in 1_usize..4,
    ) {
        let whole = Encoded::new(&format, rule, shape, &values);
        let rows = blocks * format.block_rows(shape.rows);
        let (mut codes, mut scales) = (Vec::new(), Vec::new());
        for first in (0..shape.rows).step_by(rows) {
            let run = Shape::new(rows.min(shape.rows - first), shape.cols);
            let values = &values[first * shape.cols..][..run.len().unwrap()];
            let mut run_codes = vec![0; format.code_bytes(run).unwrap()];
            let mut run_scales = vec![0; format.scale_bytes(run).unwrap()];
            let global = whole.global;
            encode_rows(&format, rule, run, values, global, &mut run_codes, &mut run_scales)
                .unwrap();
            codes.extend(run_codes);
            scales.extend(run_scales);
        }
        prop_assert_eq!(codes, whole.codes);
        if shape.rows > 0 {
            prop_assert_eq!(scales, whole.scales);
        }
    }

    #[test]
    fn finite_numbers_never_become_nan_codes_or_useless_scales(
        format in any_format(),
        rule in any_rule(),
        bits in prop::collection::vec(any::<u32>(), 24),
    ) {
        let finite = |bits| Some(f32::from_bits(bits)).filter(|v| v.is_finite()).unwrap_or(0.0);
        let values: Vec<f32> = bits.into_iter().map(finite).collect();
        let shape = Shape::new(4, 6);
        let encoded = Encoded::new(&format, rule, shape, &values);
        prop_assert!(encoded.global.is_finite() && encoded.global > 0.0);
        for index in 0..format.scale_shape(shape).len().unwrap() {
            let scale = encoded.scale(&format, index);
            prop_assert!(scale.is_finite() && scale > 0.0, "{scale}");
        }
        for (row, col) in elements(shape) {
            let code = code_at(&format, shape, &encoded.codes, row, col);
            prop_assert!(format.element.decode(code).is_finite(), "{code:#x}");
        }
    }
}

#[test]
fn infinities_saturate_and_nan_is_marked_where_it_can_be() {
    let values = [448.0, f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
    let encoded = Encoded::new(
        &Format::FP8_CHANNEL,
        ScaleRule::Amax,
        Shape::new(1, 4),
        &values,
    );
    assert_eq!(encoded.codes, [0x7e, 0x7e, 0xfe, 0x7f]);
    assert_eq!(encoded.scales, 1.0_f32.to_le_bytes());
}

#[test]
fn zero_blocks_store_a_scale_that_decodes_and_zero_codes() {
    let shape = Shape::new(130, 130);
    let mut values = vec![0.0_f32; 130 * 130];
    values[0] = 1.0;
    for format in NAMED {
        let encoded = Encoded::new(&format, format.default_rule(), shape, &values);
        let decoded = encoded.decode(&format, shape);
        assert!(decoded[1..].iter().all(|&v| v == 0.0), "{format}");
        assert!(encoded.codes[1..].iter().all(|&code| code == 0), "{format}");
        assert!(encoded.scales.iter().all(|&byte| byte != 0xff), "{format}");
    }
    let nvfp4 = Encoded::new(&Format::NVFP4, ScaleRule::Amax, shape, &values);
    assert_eq!(nvfp4.scales[..2], [0x7e, 0x38]);
    let block = Encoded::new(&Format::FP8_BLOCK, ScaleRule::Amax, shape, &values);
    assert_eq!(block.scale(&Format::FP8_BLOCK, 1), 1.0);
}

#[test]
fn a_tensor_of_zeros_has_ones_for_scales() {
    let shape = Shape::new(2, 32);
    for format in NAMED {
        let encoded = Encoded::new(&format, ScaleRule::Amax, shape, &[bf16::ZERO; 64]);
        assert_eq!(encoded.global, 1.0, "{format}");
        assert!(encoded.codes.iter().all(|&code| code == 0), "{format}");
        if format.scale != ScaleElement::E8m0Fnu {
            assert_eq!(encoded.scale(&format, 0), 1.0, "{format}");
        }
    }
}

#[test]
fn a_tensor_on_the_grid_comes_back_exactly() {
    // A ramp over all codes, the largest in every block, under a scale that is a power of two.
    for format in NAMED {
        let codes: Vec<f32> = (0..=u8::MAX)
            .take(1 << format.element.bits())
            .map(|code| format.element.decode(code))
            .filter(|value| value.is_finite())
            .collect();
        let max = format.element.max_finite();
        let shape = Shape::new(128, 256);
        let value = |index: usize| {
            if index.is_multiple_of(16) {
                max
            } else {
                codes[index % codes.len()]
            }
        };
        let values: Vec<f32> = (0..128 * 256).map(|index| value(index) * 0.125).collect();
        let encoded = Encoded::new(&format, format.default_rule(), shape, &values);
        let stats = ErrorStats::of_row(&values, &encoded.decode(&format, shape)).unwrap();
        assert!(stats.is_exact(), "{format}: {stats:?}");
        assert_eq!(stats.sqnr_db(), f64::INFINITY, "{format}");
    }
}

#[test]
fn the_published_worked_block_is_reproduced() {
    // 0, .1, -.2, .3, ... 1.5, then a block of zeros; ModelOpt stores these bytes.
    let mut values = [0.0_f32; 32];
    for (i, value) in values.iter_mut().take(16).enumerate() {
        *value = i as f32 / 10.0 * if i % 2 == 0 { -1.0 } else { 1.0 };
    }
    values[0] = 0.0;
    let encoded = Encoded::new(&Format::NVFP4, ScaleRule::Amax, Shape::new(1, 32), &values);
    let expected = [
        0x10, 0x2a, 0x4b, 0x5c, 0x6d, 0x6e, 0x7e, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    assert_eq!(encoded.codes, expected);
    assert_eq!(encoded.scales, [0x7e, 0x38]);
    assert_eq!(encoded.global.to_bits(), 0x3a12_4925);
    let divisor = Encoded::new(
        &Format::NVFP4_DIVISOR,
        ScaleRule::Amax,
        Shape::new(1, 32),
        &values,
    );
    assert_eq!((divisor.codes, divisor.global), (expected.to_vec(), 1792.0));
}

#[test]
fn the_floor_of_ue8m0_blocks_is_that_of_deepgemm() {
    // 1e-4 / 448 lies between 2^-23 and 2^-22.
    let format = Format::FP8_BLOCK_UE8M0;
    let encoded = Encoded::new(
        &format,
        format.default_rule(),
        Shape::new(1, 2),
        &[0.0, 1e-9],
    );
    assert_eq!(encoded.scales, [127 - 22]);
    let encoded = Encoded::new(&format, ScaleRule::Rceil, Shape::new(1, 1), &[0.0]);
    assert_eq!(encoded.scales, [0]);
}

#[test]
fn a_scale_that_would_vanish_is_the_smallest_there_is() {
    let tiny = f32::from_bits(1);
    let scale = |format: Format| {
        let encoded = Encoded::new(&format, ScaleRule::Amax, Shape::new(1, 1), &[tiny]);
        (encoded.scale(&format, 0), encoded.codes[0])
    };
    // 1 / 1 of the smallest subnormal is exactly representable.
    assert_eq!(scale(Format::FP8_CHANNEL), (tiny, 0x38));
    let (bf16_scale, _) = scale(Format {
        scale: ScaleElement::Bf16,
        ..Format::FP8_CHANNEL
    });
    assert_eq!(bf16_scale, bf16::from_bits(1).to_f32());
}

#[test]
fn under_a_scale_of_zero_codes_are_zero() {
    // The product of the smallest block scale and this global scale is zero in `f32`.
    let (shape, global) = (Shape::new(1, 3), f32::from_bits(1));
    let values = [0.0, 1.0, f32::INFINITY];
    let mut codes = [0xaa; 2];
    encode_codes(&Format::NVFP4, shape, &values, &[0x01], global, &mut codes).unwrap();
    assert_eq!(codes, [0, 0]);
    let mut codes = [0xaa; 3];
    encode_codes(
        &Format::FP8_CHANNEL,
        shape,
        &values,
        &[0; 4],
        1.0,
        &mut codes,
    )
    .unwrap();
    assert_eq!(codes, [0, 0, 0]);
}

#[test]
fn a_wrong_length_names_the_slice() {
    let shape = Shape::new(2, 16);
    let encode = |values: usize, codes: usize, scales: usize| {
        let (mut codes, mut scales) = (vec![0; codes], vec![0; scales]);
        let (format, values) = (Format::NVFP4, vec![1.0_f32; values]);
        encode_rows(
            &format,
            ScaleRule::Amax,
            shape,
            &values,
            1.0,
            &mut codes,
            &mut scales,
        )
    };
    let error = |what, expected, found| {
        Err(LenMismatch {
            what,
            expected,
            found,
        })
    };
    assert_eq!(encode(32, 16, 2), Ok(()));
    assert_eq!(encode(31, 16, 2), error("values", 32, 31));
    assert_eq!(encode(32, 17, 2), error("codes", 16, 17));
    assert_eq!(encode(32, 16, 1), error("scales", 2, 1));
}

#[test]
fn rows_without_a_column_end_however_many_they_are() {
    let shape = Shape::new(usize::MAX, 0);
    for format in NAMED {
        let Some(mut scales) = format
            .scale_bytes(shape)
            .filter(|&len| len < 16)
            .map(|len| vec![0; len])
        else {
            continue;
        };
        let values: [f32; 0] = [];
        encode_rows(
            &format,
            ScaleRule::Amax,
            shape,
            &values,
            1.0,
            &mut [],
            &mut scales,
        )
        .unwrap();
        let rows = Rows {
            codes: &[],
            scales: &scales,
            global: 1.0,
        };
        decode_rows::<f32>(&format, shape, rows, &mut []).unwrap();
    }
}
