//! Groups of integers, worked by hand.

use blockscale::int::{
    IntError, IntFormat, IntLayout, IntParts, IntPartsMut, IntRule, decode_rows, encode,
};
use blockscale::{LenMismatch, ScaleElement, Shape};

pub(crate) const LAYOUTS: [IntLayout; 6] = [
    IntLayout::AwqGemm,
    IntLayout::Gptq,
    IntLayout::GptqV2,
    IntLayout::CompressedTensors,
    IntLayout::Modelopt,
    IntLayout::Mlx,
];

fn format(layout: IntLayout, bits: u8, group_cols: usize) -> IntFormat {
    IntFormat {
        bits,
        group_cols,
        scale: ScaleElement::F32,
        layout,
    }
}

fn bytes<const N: usize>(words: [u32; N]) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn floats<const N: usize>(numbers: [f32; N]) -> Vec<u8> {
    numbers.into_iter().flat_map(f32::to_le_bytes).collect()
}

pub(crate) fn decode(
    format: &IntFormat,
    shape: Shape,
    parts: IntParts<'_>,
) -> Result<Vec<f32>, IntError> {
    let mut out = vec![f32::NAN; shape.len().unwrap()];
    decode_rows(format, shape, parts, 0..shape.rows, &mut out).map(|()| out)
}

pub(crate) struct Encoded {
    codes: Vec<u8>,
    scales: Vec<u8>,
    zeros: Option<Vec<u8>>,
}

impl Encoded {
    pub(crate) fn new(format: &IntFormat, rule: IntRule, shape: Shape, values: &[f32]) -> Self {
        let with_zeros = matches!(rule, IntRule::Affine | IntRule::Mlx | IntRule::MinMax);
        let mut encoded = Self {
            codes: vec![0xaa; format.code_bytes(shape).unwrap()],
            scales: vec![0xaa; format.scale_bytes(shape).unwrap()],
            zeros: with_zeros.then(|| vec![0xaa; format.zero_bytes(shape).unwrap()]),
        };
        let parts = IntPartsMut {
            codes: &mut encoded.codes,
            scales: &mut encoded.scales,
            zeros: encoded.zeros.as_deref_mut(),
        };
        encode(format, rule, shape, values, parts).unwrap();
        encoded
    }

    pub(crate) fn decode(&self, format: &IntFormat, shape: Shape) -> Vec<f32> {
        let parts = IntParts {
            codes: &self.codes,
            scales: &self.scales,
            zeros: self.zeros.as_deref(),
            groups: None,
        };
        decode(format, shape, parts).unwrap()
    }
}

#[test]
fn awq_puts_rows_in_the_order_0_2_4_6_1_3_5_7() {
    let parts = IntParts {
        codes: &bytes([0x7654_3210]),
        scales: &floats([1.0; 8]),
        zeros: Some(&bytes([0])),
        groups: None,
    };
    let values = decode(&format(IntLayout::AwqGemm, 4, 1), Shape::new(8, 1), parts).unwrap();
    assert_eq!(values, [0.0, 4.0, 1.0, 5.0, 2.0, 6.0, 3.0, 7.0]);
}

#[test]
fn awq_zero_points_lie_in_the_same_order() {
    let parts = IntParts {
        codes: &bytes([0]),
        scales: &floats([1.0; 8]),
        zeros: Some(&bytes([0x7654_3210])),
        groups: None,
    };
    let values = decode(&format(IntLayout::AwqGemm, 4, 1), Shape::new(8, 1), parts).unwrap();
    assert_eq!(values, [0.0, -4.0, -1.0, -5.0, -2.0, -6.0, -3.0, -7.0]);
}

#[test]
fn gptq_stores_zero_points_less_one_and_version_2_does_not() {
    // Eight columns of two rows; the nibbles of a word are columns.
    let codes = bytes([0x7654_3210, 0xffff_ffff]);
    let (scales, zeros) = (floats([1.0, 0.5]), bytes([0x0f7]));
    let parts = IntParts {
        codes: &codes,
        scales: &scales,
        zeros: Some(&zeros),
        groups: None,
    };
    let shape = Shape::new(2, 8);
    let first = decode(&format(IntLayout::Gptq, 4, 8), shape, parts).unwrap();
    assert_eq!(first[..8], [-8.0, -7.0, -6.0, -5.0, -4.0, -3.0, -2.0, -1.0]);
    assert_eq!(first[8..], [-0.5; 8]); // 15 stored is 16
    let second = decode(&format(IntLayout::GptqV2, 4, 8), shape, parts).unwrap();
    assert_eq!(second[..8], [-7.0, -6.0, -5.0, -4.0, -3.0, -2.0, -1.0, 0.0]);
    assert_eq!(second[8..], [0.0; 8]);
}

#[test]
fn columns_sorted_before_grouping_find_their_scale_by_the_index() {
    let codes = bytes([0x9999_9999]);
    let (scales, groups) = (floats([1.0, 10.0]), bytes([0, 1, 1, 0, 0, 0, 1, 1]));
    let parts = IntParts {
        codes: &codes,
        scales: &scales,
        zeros: None,
        groups: Some(&groups),
    };
    let format = format(IntLayout::GptqV2, 4, 4);
    let values = decode(&format, Shape::new(1, 8), parts).unwrap();
    assert_eq!(values, [1.0, 10.0, 10.0, 1.0, 1.0, 1.0, 10.0, 10.0]);

    let wrong = bytes([0, 1, 1, 0, 0, 2, 1, 1]);
    let parts = IntParts {
        groups: Some(&wrong),
        ..parts
    };
    let error = decode(&format, Shape::new(1, 8), parts).unwrap_err();
    let (col, found, groups) = (5, 2, 2);
    assert_eq!(error, IntError::Group { col, found, groups });
}

#[test]
fn compressed_tensors_codes_cross_words() {
    // Eleven codes of 3 bits: the last is in bits 30 and 31 of the first word and 0 of the second.
    let codes = bytes([0b11 << 30, 0b1]);
    let parts = IntParts {
        codes: &codes,
        scales: &floats([1.0]),
        zeros: None,
        groups: None,
    };
    let format = format(IntLayout::CompressedTensors, 3, 0);
    let values = decode(&format, Shape::new(1, 11), parts).unwrap();
    assert_eq!(values[..10], [-4.0; 10]);
    assert_eq!(values[10], 3.0);
}

#[test]
fn compressed_tensors_zero_points_run_down_the_rows() {
    // Twelve rows of one group, 4 bits: rows 8 to 11 are in the second word.
    let (shape, codes) = (Shape::new(12, 1), bytes([8; 12]));
    let parts = IntParts {
        codes: &codes,
        scales: &floats([1.0; 12]),
        zeros: Some(&bytes([0x7654_3210, 0xba98])),
        groups: None,
    };
    let values = decode(&format(IntLayout::CompressedTensors, 4, 0), shape, parts).unwrap();
    let expected: Vec<f32> = (0..12).map(|row| 8.0 - row as f32).collect();
    assert_eq!(values, expected);
}

#[test]
fn modelopt_pairs_rows_in_twos_complement() {
    let parts = IntParts {
        codes: &[0x81, 0x7f],
        scales: &floats([1.0, 2.0]),
        zeros: None,
        groups: None,
    };
    let values = decode(&format(IntLayout::Modelopt, 4, 0), Shape::new(2, 2), parts).unwrap();
    assert_eq!(values, [1.0, -1.0, -16.0, 14.0]);
}

#[test]
fn mlx_reads_the_words_of_compressed_tensors_with_a_bias_of_minus_8_scales() {
    let codes = bytes([0x7654_3210, 0xfedc_ba98]);
    let (scales, biases) = (floats([0.5, 0.25]), floats([-4.0, -2.0]));
    let shape = Shape::new(2, 8);
    let of = |layout, zeros| {
        let (codes, scales) = (&codes[..], &scales[..]);
        let groups = None;
        let parts = IntParts {
            codes,
            scales,
            zeros,
            groups,
        };
        decode(&format(layout, 4, 8), shape, parts).unwrap()
    };
    let mlx = of(IntLayout::Mlx, Some(&biases[..]));
    assert_eq!(mlx, of(IntLayout::CompressedTensors, None));
    assert_eq!(mlx[8..], [0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75]);
}

#[test]
fn scales_follow_from_the_named_range() {
    let values = [-7.0, 0.0, 3.0, 7.5];
    let scale = |rule| {
        let format = format(IntLayout::CompressedTensors, 4, 0);
        let encoded = Encoded::new(&format, rule, Shape::new(1, 4), &values);
        f32::from_le_bytes(encoded.scales.try_into().unwrap())
    };
    assert_eq!(scale(IntRule::Symmetric), 7.5 / 7.0);
    assert_eq!(scale(IntRule::SymmetricFull), 1.0);
    assert_eq!(scale(IntRule::Affine), 7.5_f32 / 15.0 + 7.0 / 15.0);
}

#[test]
fn a_bias_at_the_minimum_brings_both_ends_back() {
    let values = [-0.5, 0.1, 0.3, 1.0];
    let (format, shape) = (format(IntLayout::Mlx, 2, 0), Shape::new(1, 4));
    let encoded = Encoded::new(&format, IntRule::MinMax, shape, &values);
    assert_eq!(encoded.decode(&format, shape), [-0.5, 0.0, 0.5, 1.0]);
    // MLX moves the other end, so that zero is a whole number of steps from the larger one.
    let encoded = Encoded::new(&format, IntRule::Mlx, shape, &values);
    assert_eq!(encoded.decode(&format, shape), [-0.5, 0.0, 0.5, 1.0]);
    let encoded = Encoded::new(&format, IntRule::Mlx, shape, &[-0.4, 0.1, 0.3, 1.0]);
    assert_eq!(encoded.decode(&format, shape)[1], 0.0);
}

#[test]
fn a_group_of_zeros_decodes_to_zeros() {
    for layout in LAYOUTS {
        let rule = match layout {
            IntLayout::Mlx => IntRule::Mlx,
            IntLayout::Modelopt => IntRule::Symmetric,
            _ => IntRule::Affine,
        };
        let (format, shape) = (format(layout, 4, 32), Shape::new(8, 64));
        let decoded = Encoded::new(&format, rule, shape, &[0.0; 512]).decode(&format, shape);
        assert_eq!(decoded, [0.0; 512], "{layout}");
    }
}

#[test]
fn widths_that_a_layout_lacks_are_refused() {
    let parts = IntParts {
        codes: &[],
        scales: &[],
        zeros: None,
        groups: None,
    };
    for (layout, bits) in [
        (IntLayout::AwqGemm, 8),
        (IntLayout::Gptq, 3),
        (IntLayout::CompressedTensors, 0),
        (IntLayout::CompressedTensors, 9),
        (IntLayout::Modelopt, 8),
        (IntLayout::Mlx, 7),
    ] {
        let error = decode(&format(layout, bits, 32), Shape::new(0, 0), parts).unwrap_err();
        assert_eq!(error, IntError::Bits { layout, bits });
        assert!(error.to_string().contains("bits; it takes"), "{error}");
    }
}

#[test]
fn missing_zero_points_rows_and_bytes_are_named() {
    let shape = Shape::new(1, 8);
    let parts = IntParts {
        codes: &[0; 4],
        scales: &[0; 4],
        zeros: None,
        groups: None,
    };
    let mlx = decode(&format(IntLayout::Mlx, 4, 0), shape, parts);
    let layout = IntLayout::Mlx;
    assert_eq!(mlx, Err(IntError::Zeros { layout }));

    let format = format(IntLayout::CompressedTensors, 4, 0);
    let past = decode_rows(&format, shape, parts, 0..2, &mut [0.0_f32; 16]);
    assert_eq!(past, Err(IntError::Rows { end: 2, rows: 1 }));

    let short = IntParts {
        codes: &[0; 3],
        ..parts
    };
    let (what, expected, found) = ("codes", 4, 3);
    let error = LenMismatch {
        what,
        expected,
        found,
    };
    assert_eq!(decode(&format, shape, short), Err(IntError::Len(error)));

    let (mut codes, mut scales) = ([0; 4], [0; 4]);
    let parts = IntPartsMut {
        codes: &mut codes,
        scales: &mut scales,
        zeros: None,
    };
    let refused = encode(&format, IntRule::Affine, shape, &[0.0_f32; 8], parts);
    let layout = IntLayout::CompressedTensors;
    assert_eq!(refused, Err(IntError::Zeros { layout }));
}
