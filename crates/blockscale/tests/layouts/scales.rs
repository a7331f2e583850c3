//! Scales: places, inverses, padding.

use blockscale::layout::{RowShuffle, ScaleLayout, Stack};
use blockscale::{ScaleElement, Shape};
use proptest::prelude::*;

use crate::common::{Random, any_stack, linear_bytes, permute, unpermute};

/// Scales that the layout takes and gives back as they are.
fn linear_scales(layout: ScaleLayout, element: ScaleElement, len: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::new(seed);
    let count = len / element.bytes();
    let scale = |_| match (layout, element) {
        (ScaleLayout::MarlinNvfp4, _) => vec![8 + random.below(0x77) as u8],
        (ScaleLayout::Linear | ScaleLayout::DeepGemmF32, _) | (_, ScaleElement::E4m3Fn) => {
            random.next().to_le_bytes()[..element.bytes()].to_vec()
        }
        (_, ScaleElement::F32) => {
            let power = random.below(254) as i32 - 127;
            2_f32.powi(power).to_le_bytes().to_vec()
        }
        _ => vec![random.next() as u8],
    };
    (0..count).flat_map(scale).collect()
}

fn stored_bytes(layout: ScaleLayout, element: ScaleElement) -> usize {
    match layout {
        ScaleLayout::Linear | ScaleLayout::DeepGemmF32 => element.bytes(),
        _ => 1,
    }
}

proptest! {
    #[test]
    fn undoing_a_layout_gives_every_scale_back(
        (layout, stack, element) in any_stack(),
        seed: u64,
    ) {
        let linear = linear_scales(layout, element, linear_bytes(layout, stack, element), seed);
        let laid_out = permute(layout, stack, element, &linear).unwrap();
        prop_assert_eq!(unpermute(layout, stack, element, &laid_out).unwrap(), linear);
    }

    /// No two scales share a place, none lies outside, and what no scale claims is zero.
    #[test]
    fn every_scale_has_a_place_of_its_own_and_padding_is_zero(
        (layout, stack, element) in any_stack(),
        seed: u64,
    ) {
        let linear = linear_scales(layout, element, linear_bytes(layout, stack, element), seed);
        let laid_out = permute(layout, stack, element, &linear).unwrap();
        let stored = stored_bytes(layout, element);
        let mut claimed = vec![false; laid_out.len()];
        for matrix in 0..stack.matrices {
            for row in 0..stack.shape.rows {
                for col in 0..stack.shape.cols {
                    let at = layout.offset(stack, element, matrix, row, col).unwrap();
                    for claimed in &mut claimed[at..at + stored] {
                        prop_assert!(!*claimed);
                        *claimed = true;
                    }
                }
            }
        }
        for (byte, claimed) in laid_out.iter().zip(claimed) {
            prop_assert!(claimed || *byte == 0);
        }
    }

    #[test]
    fn what_the_padding_holds_does_not_matter((layout, stack, element) in any_stack(), seed: u64) {
        let linear = linear_scales(layout, element, linear_bytes(layout, stack, element), seed);
        let clean = permute(layout, stack, element, &linear).unwrap();
        let mut dirty = vec![0xff; clean.len()];
        for matrix in 0..stack.matrices {
            for row in 0..stack.shape.rows {
                for col in 0..stack.shape.cols {
                    let at = layout.offset(stack, element, matrix, row, col).unwrap();
                    let stored = stored_bytes(layout, element);
                    dirty[at..at + stored].copy_from_slice(&clean[at..at + stored]);
                }
            }
        }
        prop_assert_eq!(unpermute(layout, stack, element, &dirty).unwrap(), linear);
    }

    #[test]
    fn the_shape_in_memory_covers_every_byte((layout, stack, element) in any_stack()) {
        let memory = layout.scale_memory(stack, element).unwrap();
        let bytes = memory.dims.iter().product::<usize>() * memory.element_bytes;
        prop_assert_eq!(Ok(bytes), layout.scale_bytes(stack, element));
        let memory = layout.code_memory(stack).unwrap();
        let bytes = memory.dims.iter().product::<usize>() * memory.element_bytes;
        prop_assert_eq!(Ok(bytes), layout.code_bytes(stack));
    }

    /// A stack is its matrices one after the other, each padded by itself.
    #[test]
    fn matrices_of_a_stack_are_laid_out_by_themselves(
        (layout, stack, element) in any_stack(),
        seed: u64,
    ) {
        let linear = linear_scales(layout, element, linear_bytes(layout, stack, element), seed);
        let one = Stack::single(stack.shape);
        let per_matrix = linear_bytes(layout, one, element);
        let apart: Vec<u8> = (0..stack.matrices)
            .flat_map(|i| permute(layout, one, element, &linear[i * per_matrix..][..per_matrix]))
            .flatten()
            .collect();
        prop_assert_eq!(permute(layout, stack, element, &linear).unwrap(), apart);
    }
}

/// Offsets worked out by hand or published by the libraries that define the layouts.
#[test]
fn scales_lie_where_the_formulas_say() {
    let check =
        |layout: ScaleLayout, shape: (usize, usize), expected: &[((usize, usize), usize)]| {
            let element = match layout {
                ScaleLayout::DeepGemmF32 => ScaleElement::F32,
                ScaleLayout::DeepGemmPacked => ScaleElement::E8m0Fnu,
                _ => ScaleElement::E4m3Fn,
            };
            let stack = Stack::single(Shape::new(shape.0, shape.1));
            for &((row, col), offset) in expected {
                let found = layout.offset(stack, element, 0, row, col);
                assert_eq!(found, Some(offset), "{layout} ({row}, {col})");
            }
        };
    check(
        ScaleLayout::Tiles128x4,
        (256, 8),
        &[
            ((0, 0), 0),
            ((0, 3), 3),
            ((0, 4), 512),
            ((1, 0), 16),
            ((31, 0), 496),
            ((32, 0), 4),
            ((33, 1), 21),
            ((64, 0), 8),
            ((96, 3), 15),
            ((127, 7), 1023),
            ((128, 0), 1024),
            ((129, 5), 1553),
            ((130, 6), 1570),
            ((200, 6), 1674),
        ],
    );
    check(
        ScaleLayout::Tiles128x4,
        (3072, 448),
        &[
            ((128, 0), 57_344),
            ((200, 10), 58_506),
            ((3071, 447), 1_376_255),
        ],
    );
    check(
        ScaleLayout::Tiles8x4,
        (16, 8),
        &[
            ((0, 4), 32),
            ((1, 0), 4),
            ((7, 7), 63),
            ((8, 0), 64),
            ((9, 5), 101),
        ],
    );
    check(
        ScaleLayout::DeepGemmF32,
        (3, 2),
        &[((0, 0), 0), ((2, 0), 8), ((0, 1), 16), ((2, 1), 24)],
    );
    check(
        ScaleLayout::DeepGemmPacked,
        (3, 5),
        &[
            ((0, 0), 0),
            ((0, 3), 3),
            ((1, 0), 4),
            ((2, 3), 11),
            ((0, 4), 16),
            ((2, 4), 24),
        ],
    );
    // Row 0 of w3, the second half of 256 rows, comes first; row 0 of w1 is at place 8.
    check(
        ScaleLayout::TrtllmMoeW13(RowShuffle::By32),
        (256, 4),
        &[
            ((128, 0), 0),
            ((130, 0), 16),
            ((0, 0), 8 * 16),
            ((129, 0), 16 * 16),
        ],
    );
}

#[test]
fn packed_words_have_the_first_column_in_the_low_byte() {
    let stack = Stack::single(Shape::new(1, 4));
    let scales: Vec<u8> = [-6, -7, 0, -8]
        .iter()
        .flat_map(|&power| 2_f32.powi(power).to_le_bytes())
        .collect();
    let packed = permute(
        ScaleLayout::DeepGemmPacked,
        stack,
        ScaleElement::F32,
        &scales,
    )
    .unwrap();
    assert_eq!(packed[..4], 0x777f_7879_u32.to_le_bytes());
    assert_eq!(packed[4..], [0; 12]);

    let stack = Stack::single(Shape::new(3, 5));
    let bytes: Vec<u8> = (0..15).map(|i| 120 + i).collect();
    let packed = permute(
        ScaleLayout::DeepGemmPacked,
        stack,
        ScaleElement::E8m0Fnu,
        &bytes,
    )
    .unwrap();
    let words: Vec<u32> = packed
        .as_chunks::<4>()
        .0
        .iter()
        .map(|&word| u32::from_le_bytes(word))
        .collect();
    let expected = [
        0x7b7a_7978,
        0x807f_7e7d,
        0x8584_8382,
        0,
        0x7c,
        0x81,
        0x86,
        0,
    ];
    assert_eq!(words, expected);
}

#[test]
fn f32_powers_of_two_pack_as_their_exponent_bytes() {
    let stack = Stack::new(2, Shape::new(200, 6));
    for layout in [
        ScaleLayout::DeepGemmPacked,
        ScaleLayout::DeepGemmPackedBlocks,
    ] {
        let len = linear_bytes(layout, stack, ScaleElement::E8m0Fnu);
        let bytes: Vec<u8> = (0..len).map(|i| (i * 37 % 255) as u8).collect();
        let floats: Vec<u8> = bytes
            .iter()
            .flat_map(|&byte| 2_f32.powi(i32::from(byte) - 127).to_le_bytes())
            .collect();
        let packed = permute(layout, stack, ScaleElement::E8m0Fnu, &bytes).unwrap();
        assert_eq!(
            permute(layout, stack, ScaleElement::F32, &floats),
            Ok(packed.clone())
        );
        assert_eq!(
            unpermute(layout, stack, ScaleElement::F32, &packed),
            Ok(floats)
        );
    }
}

#[test]
fn block_scales_are_copied_to_each_of_their_rows() {
    let stack = Stack::single(Shape::new(130, 1));
    let packed = permute(
        ScaleLayout::DeepGemmPackedBlocks,
        stack,
        ScaleElement::E8m0Fnu,
        &[100, 101],
    )
    .unwrap();
    let (words, _) = packed.as_chunks::<4>();
    assert_eq!(words.len(), 132);
    assert!(words[..128].iter().all(|word| *word == [100, 0, 0, 0]));
    assert_eq!(
        words[128..],
        [[101, 0, 0, 0], [101, 0, 0, 0], [0; 4], [0; 4]]
    );
}

#[test]
fn names_are_distinct_and_lead_back() {
    for (i, layout) in ScaleLayout::ALL.into_iter().enumerate() {
        assert_eq!(ScaleLayout::from_name(layout.name()), Some(layout));
        assert_eq!(layout.to_string(), layout.name());
        assert!(!ScaleLayout::ALL[..i].contains(&layout));
    }
    assert_eq!(ScaleLayout::from_name(""), None);
}
