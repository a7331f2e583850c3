//! Scales into layouts and out of them.

use std::vec;
use std::vec::Vec;

use super::body::Random;
use crate::arch::{ByteKernels, Level};
use crate::element::E8m0Fnu;
use crate::layout::{Planes, ScaleLayout, Stack};
use crate::{ScaleElement, Shape};

/// Scales as a checkpoint has them: any bytes, or F32 that are powers of two.
fn scales(
    random: &mut Random,
    layout: ScaleLayout,
    element: ScaleElement,
    count: usize,
) -> Vec<u8> {
    if element != ScaleElement::F32 || layout == ScaleLayout::DeepGemmF32 {
        return random.bytes(count * element.bytes());
    }
    let power = |_| E8m0Fnu::from_bits(1 + random.below(254) as u8).to_f32();
    (0..count).map(power).flat_map(f32::to_le_bytes).collect()
}

/// Compares every level, and the definition's own loops over lines, with the definition by place.
fn check(random: &mut Random, layout: ScaleLayout, element: ScaleElement, stack: Stack) {
    let Ok(planes) = Planes::new(layout, stack, element) else {
        return;
    };
    let count = stack.matrices * layout.linear_shape(stack.shape).len().unwrap();
    let linear = scales(random, layout, element, count);
    let len = layout.scale_bytes(stack, element).unwrap();
    let mut expected = vec![0xee; len];
    if planes.permute_by_place(&linear, &mut expected).is_err() {
        return;
    }
    let mut back = vec![0xee; linear.len()];
    planes.unpermute_by_place(&expected, &mut back).unwrap();

    let padding = padding(&planes, &linear, len);

    for level in Level::available() {
        let kernels = ByteKernels::of(level);
        let case = (level, layout, element, stack);
        let mut found = vec![0xdd; len];
        if !planes.permute_words(kernels, &linear, &mut found) {
            assert!(!has_words(layout) || linear.is_empty(), "{case:?}");
            continue;
        }
        assert!(found == expected, "{case:?}");

        // What padding holds does not matter: it may be all ones.
        let mut noisy = found;
        for (byte, ones) in noisy.iter_mut().zip(&padding) {
            *byte |= ones;
        }
        let mut found = vec![0xdd; linear.len()];
        assert!(
            planes.unpermute_words(kernels, &noisy, &mut found),
            "{case:?}"
        );
        assert!(found == back, "{case:?}");
    }
}

/// Ones in the bytes of a layout that no scale is put into, zeros in the others.
fn padding(planes: &Planes, linear: &[u8], len: usize) -> Vec<u8> {
    // Powers of two, all of which have a byte that is not zero.
    let ones = match planes.stores_exponents() {
        true => 1.0_f32.to_le_bytes().repeat(linear.len() / 4),
        false => vec![0x11; linear.len()],
    };
    let mut laid_out = vec![0; len];
    planes.permute_by_place(&ones, &mut laid_out).unwrap();
    laid_out
        .into_iter()
        .map(|byte| if byte == 0 { 0xff } else { 0 })
        .collect()
}

#[test]
fn copies_that_differ_are_left_to_the_definition() {
    let (layout, element) = (ScaleLayout::DeepGemmPackedBlocks, ScaleElement::E8m0Fnu);
    let stack = Stack::single(Shape::new(130, 5));
    let planes = Planes::new(layout, stack, element).unwrap();
    let mut laid_out = vec![7; layout.scale_bytes(stack, element).unwrap()];
    let mut out = [0; 10];
    for level in Level::available() {
        let kernels = ByteKernels::of(level);
        for (at, decides) in [
            (0, true),
            (4 * 131, false),
            (4 * 132 + 4 * 129, true),
            (4 * 132 + 1, false),
        ] {
            laid_out[at] = 8;
            let done = planes.unpermute_words(kernels, &laid_out, &mut out);
            assert_eq!(done, !decides, "{level}, {at}");
            assert_eq!(
                planes.unpermute_by_place(&laid_out, &mut out).is_ok(),
                !decides
            );
            laid_out[at] = 7;
        }
    }
}

fn has_words(layout: ScaleLayout) -> bool {
    !matches!(
        layout,
        ScaleLayout::Linear | ScaleLayout::MarlinNvfp4 | ScaleLayout::MarlinMxfp4
    )
}

const ELEMENTS: [ScaleElement; 3] = [
    ScaleElement::E4m3Fn,
    ScaleElement::E8m0Fnu,
    ScaleElement::F32,
];

#[test]
fn every_layout_of_every_size() {
    let mut random = Random(1);
    for layout in ScaleLayout::ALL {
        for element in ELEMENTS {
            for rows in [
                0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 64, 100, 127, 128, 130, 256, 300, 384,
            ] {
                for cols in [0, 1, 2, 3, 4, 5, 8, 31, 32, 33, 36, 67, 130] {
                    check(
                        &mut random,
                        layout,
                        element,
                        Stack::single(Shape::new(rows, cols)),
                    );
                }
            }
        }
    }
}

#[test]
fn stacks_and_rows_longer_than_what_is_prepared_at_a_time() {
    let mut random = Random(2);
    for layout in ScaleLayout::ALL {
        for element in ELEMENTS {
            for (matrices, rows, cols) in [(3, 128, 9), (2, 20, 70), (2, 128, 1030), (1, 256, 2047)]
            {
                check(
                    &mut random,
                    layout,
                    element,
                    Stack::new(matrices, Shape::new(rows, cols)),
                );
            }
        }
    }
}

#[test]
fn layouts_that_are_written_around_the_caches() {
    let mut random = Random(3);
    for (layout, rows, cols) in [
        (ScaleLayout::Tiles128x4, 2050, 5001),
        (ScaleLayout::DeepGemmPacked, 2050, 5001),
    ] {
        let stack = Stack::single(Shape::new(rows, cols));
        check(&mut random, layout, ScaleElement::E8m0Fnu, stack);
    }
}

#[test]
fn f32_is_narrowed_where_it_is_a_normal_power_of_two_and_nowhere_else() {
    for level in Level::available() {
        let kernels = ByteKernels::of(level);
        for exponent in 0..=255_u8 {
            let bits = u32::from(exponent) << 23;
            let is_normal = (1..=254).contains(&exponent);
            for (bits, expected) in [
                (bits, is_normal),
                (bits | 1, false),
                (bits | (1 << 22), false),
                (bits | (1 << 31), false),
            ] {
                for place in [0, 5, 39] {
                    let mut values = [1.0_f32.to_le_bytes(); 40];
                    values[place] = bits.to_le_bytes();
                    let mut codes = [0; 40];
                    let narrowed = kernels.narrow_powers(&values, &mut codes);
                    assert_eq!(narrowed, expected, "{level}, {bits:#x}");
                    assert!(!narrowed || codes[place] == exponent);
                }
            }
        }
    }
}

#[test]
fn every_power_is_widened() {
    let codes: [u8; 256] = core::array::from_fn(|code| code as u8);
    let expected = codes.map(|code| E8m0Fnu::from_bits(code).to_f32().to_le_bytes());
    for level in Level::available() {
        let mut values = [[0; 4]; 256];
        ByteKernels::of(level).widen_powers(&codes, &mut values);
        assert_eq!(values, expected, "{level}");
    }
}
