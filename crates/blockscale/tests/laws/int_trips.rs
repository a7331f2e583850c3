//! Groups of integers there and back, in every layout and width.

use blockscale::int::{IntFormat, IntLayout, IntParts, IntRule, decode_rows};
use blockscale::{ScaleElement, Shape};
use proptest::prelude::*;

use crate::int::{Encoded, LAYOUTS, decode};

fn any_format() -> impl Strategy<Value = IntFormat> {
    let layout = prop::sample::select(&LAYOUTS);
    (layout, 0_usize..3, 0_usize..20).prop_flat_map(|(layout, scale, group_cols)| {
        let widths: &[u8] = match layout {
            IntLayout::AwqGemm | IntLayout::Modelopt => &[4],
            IntLayout::Gptq | IntLayout::GptqV2 => &[2, 4, 8],
            IntLayout::CompressedTensors => &[1, 2, 3, 4, 5, 6, 7, 8],
            _ => &[2, 3, 4, 5, 6, 8],
        };
        let scale = [ScaleElement::F32, ScaleElement::F16, ScaleElement::Bf16][scale];
        prop::sample::select(widths).prop_map(move |bits| IntFormat {
            bits,
            group_cols,
            scale,
            layout,
        })
    })
}

proptest! {
    #[test]
    fn what_was_encoded_decodes_to_within_a_step(
        format in any_format(),
        rows in 0_usize..11,
        cols in 0_usize..40,
        seed in any::<u32>(),
    ) {
        let shape = Shape::new(rows, cols);
        let mut state = seed;
        let values: Vec<f32> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        })
        .take(rows * cols)
        .collect();
        let rule = match format.layout {
            IntLayout::Mlx => IntRule::Mlx,
            IntLayout::Modelopt => IntRule::Symmetric,
            _ => IntRule::Affine,
        };
        let decoded = Encoded::new(&format, rule, shape, &values).decode(&format, shape);
        // Half a step of a range of 2, and the rounding of the zero point or of the ends; in 16 bits
        // scale and bias are off by up to 2^-9 of themselves.
        let step = 2.0 / f32::from(u8::MAX >> (8 - format.bits));
        let bound = 1.3 * step + if format.scale == ScaleElement::F32 { 0.0 } else { 0.01 };
        for (value, decoded) in values.iter().zip(&decoded) {
            prop_assert!((value - decoded).abs() <= bound, "{value} {decoded}");
        }
        // Decoded numbers are on the grid: encoded under it again they stay.
        let again = Encoded::new(&format, rule, shape, &decoded).decode(&format, shape);
        for (first, second) in decoded.iter().zip(&again) {
            prop_assert!((first - second).abs() <= bound, "{first} {second}");
        }
    }

    #[test]
    fn a_range_of_rows_is_that_part_of_the_whole(
        format in any_format(),
        rows in 1_usize..11,
        cols in 1_usize..40,
        seed in any::<u8>(),
    ) {
        let shape = Shape::new(rows, cols);
        let bytes = |count: Option<usize>| -> Vec<u8> {
            (0..count.unwrap()).map(|i| (i as u8).wrapping_mul(37).wrapping_add(seed)).collect()
        };
        let (codes, scales) = (bytes(format.code_bytes(shape)), bytes(format.scale_bytes(shape)));
        let zeros = bytes(format.zero_bytes(shape));
        let zeros = (format.layout != IntLayout::Modelopt).then_some(&zeros[..]);
        let parts = IntParts { codes: &codes, scales: &scales, zeros, groups: None };
        let whole = decode(&format, shape, parts).unwrap();
        let first = usize::from(seed) % rows;
        let mut part = vec![0.0; (rows - first) * cols];
        decode_rows(&format, shape, parts, first..rows, &mut part).unwrap();
        for (part, whole) in part.iter().zip(&whole[first * cols..]) {
            prop_assert_eq!(part.to_bits(), whole.to_bits());
        }
    }

    #[test]
    fn integers_times_a_power_of_two_come_back_exactly(
        format in any_format().prop_filter("one bit has no range", |format| format.bits > 1),
        rows in 1_usize..9,
        cols in 1_usize..40,
    ) {
        // Each group holds both ends of the range, so that the scale is 1/4 by every rule.
        let group = if format.group_cols == 0 { cols } else { format.group_cols };
        prop_assume!(group > 1 && (cols % group != 1));
        let largest = i32::from(u8::MAX >> (8 - format.bits));
        let shift = if format.layout == IntLayout::Modelopt { 7 } else { largest / 2 };
        let top = if format.layout == IntLayout::Modelopt { 14 } else { largest };
        let value = |index: usize| match index % cols % group {
            0 => -shift,
            1 => top - shift,
            other => (other as i32 * 5 + index as i32) % (top + 1) - shift,
        };
        let values: Vec<f32> = (0..rows * cols).map(|index| value(index) as f32 / 4.0).collect();
        let rule = match format.layout {
            IntLayout::Mlx => IntRule::Mlx,
            IntLayout::Modelopt => IntRule::Symmetric,
            _ => IntRule::Affine,
        };
        let shape = Shape::new(rows, cols);
        prop_assert_eq!(Encoded::new(&format, rule, shape, &values).decode(&format, shape), values);
    }
}
