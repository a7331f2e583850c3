//! Weights that lie on the grid of a format come back bit for bit: codes, scales and numbers, whatever
//! the shape and however small or large the scales.

use blockscale::decode::{Rows, decode_rows};
use blockscale::encode::encode_rows;
use blockscale::stats::ErrorStats;
use blockscale::{Block, Format, ScaleElement, Shape, bf16};

use crate::common::{NAMED, elements, scale_index};

/// Whole blocks, parts of them on either side, single rows, columns and elements, odd widths.
const SHAPES: [Shape; 9] = [
    Shape::new(1, 1),
    Shape::new(1, 7),
    Shape::new(3, 5),
    Shape::new(33, 1),
    Shape::new(5, 33),
    Shape::new(2, 160),
    Shape::new(130, 140),
    Shape::new(144, 272),
    Shape::new(257, 129),
];

/// Scales by their bytes, from the smallest that all codes can be told apart under to the largest
/// whose largest code is finite.
fn scales(format: &Format) -> Vec<Vec<u8>> {
    let powers = |exponents: &[i32]| -> Vec<f32> {
        exponents
            .iter()
            .map(|&exponent| 2_f32.powi(exponent))
            .collect()
    };
    // Three bits more than the seven of a largest code leave its product exact.
    let of_floats = |write: fn(f32) -> Vec<u8>| -> Vec<Vec<u8>> {
        let ordinary = [1.0, 1.5, 0.0107421875, 3.25e4].into_iter();
        ordinary.chain(powers(&[-100, 100])).map(write).collect()
    };
    match (format.scale, format.block) {
        // Subnormals, the smallest normal number, one, the largest.
        (ScaleElement::E4m3Fn, _) => (1..=8).chain([0x38, 0x55, 0x7e]).map(|s| vec![s]).collect(),
        // DeepGEMM's smallest scale in blocks of 128 columns.
        (ScaleElement::E8m0Fnu, Block::Grid { cols: 128, .. }) => {
            [105, 127, 200].map(|s| vec![s]).into()
        }
        (ScaleElement::E8m0Fnu, _) => {
            let largest = 254 - format.element.max_exponent() as u8;
            [0, 1, 2, 127, largest].map(|s| vec![s]).into()
        }
        _ => of_floats(|scale| scale.to_le_bytes().to_vec()),
    }
}

/// A weight with every finite code, the largest in each block, under those scales in turn.
fn weight(format: &Format, shape: Shape) -> (Vec<u8>, Vec<u8>) {
    let choices = scales(format);
    let count = format.scale_shape(shape).len().unwrap();
    let stored: Vec<u8> = (0..count)
        .flat_map(|i| choices[i % choices.len()].clone())
        .collect();

    let all = (0..=u8::MAX).take(1 << format.element.bits());
    let finite: Vec<u8> = all
        .filter(|&code| format.element.decode(code).is_finite())
        .collect();
    let largest = format.element.encode(f32::MAX);
    let mut has_largest = vec![false; count];
    let mut codes = vec![0; format.code_bytes(shape).unwrap()];
    for (at, (row, col)) in elements(shape).enumerate() {
        let seen = &mut has_largest[scale_index(format, shape, row, col)];
        let code = if *seen {
            finite[at % finite.len()]
        } else {
            largest
        };
        *seen = true;
        let bits = format.element.bits();
        for bit in (0..bits).filter(|bit| code >> bit & 1 == 1) {
            let place = col * bits + bit;
            codes[row * format.row_bytes(shape.cols) + place / 8] |= 1 << (place % 8);
        }
    }
    (codes, stored)
}

#[test]
fn every_format_brings_a_weight_on_its_grid_back_bit_for_bit() {
    for format in NAMED {
        for shape in SHAPES {
            let (codes, stored) = weight(&format, shape);
            for global in [1.0, 0.25, 8.0] {
                let mut values = vec![f32::NAN; shape.len().unwrap()];
                let (codes_in, scales) = (&codes[..], &stored[..]);
                let rows = Rows {
                    codes: codes_in,
                    scales,
                    global,
                };
                decode_rows(&format, shape, rows, &mut values).unwrap();
                let what = format!("{format} {shape:?} {global}");
                assert!(values.iter().all(|value| value.is_finite()), "{what}");

                let (mut again, mut scales) = (vec![0xaa; codes.len()], vec![0xaa; stored.len()]);
                let rule = format.default_rule();
                encode_rows(
                    &format,
                    rule,
                    shape,
                    &values,
                    global,
                    &mut again,
                    &mut scales,
                )
                .unwrap();
                assert_eq!(scales, stored, "{what}");
                assert_eq!(again, codes, "{what}");
            }
        }
    }
}

/// Matrices of a stack have blocks of their own: those of 144 rows do not go on in the next one.
#[test]
fn a_stack_on_the_grid_comes_back_matrix_by_matrix() {
    let (format, shape) = (Format::FP8_BLOCK, Shape::new(144, 160));
    let (codes, scales) = weight(&format, shape);
    let tall = Shape::new(3 * shape.rows, shape.cols);
    let (codes, scales) = (codes.repeat(3), scales.repeat(3));
    assert_eq!(format.code_bytes(tall), Some(codes.len()));
    // Three times two rows of scales, not four.
    assert_ne!(format.scale_bytes(tall), Some(scales.len()));

    let matrices = codes
        .chunks(codes.len() / 3)
        .zip(scales.chunks(scales.len() / 3));
    for (codes, scales) in matrices {
        let mut values = vec![0.0_f32; shape.len().unwrap()];
        let rows = Rows {
            codes,
            scales,
            global: 1.0,
        };
        decode_rows(&format, shape, rows, &mut values).unwrap();
        let (mut again, mut again_scales) = (vec![0; codes.len()], vec![0; scales.len()]);
        let rule = format.default_rule();
        encode_rows(
            &format,
            rule,
            shape,
            &values,
            1.0,
            &mut again,
            &mut again_scales,
        )
        .unwrap();
        assert_eq!((&again[..], &again_scales[..]), (codes, scales));
    }
}

/// Through BF16, which holds every product of a code and a power of two in the range of its exponents.
#[test]
fn a_grid_under_powers_of_two_survives_bf16() {
    for format in NAMED
        .into_iter()
        .filter(|f| f.scale == ScaleElement::E8m0Fnu)
    {
        let shape = Shape::new(130, 140);
        let (codes, scales) = weight(&format, shape);
        let scales: Vec<u8> = scales
            .into_iter()
            .map(|scale| scale.clamp(10, 230))
            .collect();
        let rows = Rows {
            codes: &codes,
            scales: &scales,
            global: 1.0,
        };
        let mut wide = vec![0.0_f32; shape.len().unwrap()];
        decode_rows(&format, shape, rows, &mut wide).unwrap();
        let mut narrow = vec![bf16::ZERO; wide.len()];
        decode_rows(&format, shape, rows, &mut narrow).unwrap();
        let widened: Vec<f32> = narrow.iter().map(|value| value.to_f32()).collect();
        let stats = ErrorStats::of_row(&wide, &widened).unwrap();
        assert!(
            stats.is_exact() && stats.sqnr_db() == f64::INFINITY,
            "{format}"
        );
    }
}
