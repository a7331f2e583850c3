//! Codes: inverses, padding, whole rows.

use blockscale::Shape;
use blockscale::layout::{
    ScaleLayout, Stack, crop_cutlass_codes, cutlass_code_shape, pad_cutlass_codes,
};
use proptest::prelude::*;

use crate::common::{any_layout, permute_code_bytes, row_multiple, unpermute_code_bytes};

fn any_codes() -> impl Strategy<Value = (ScaleLayout, Stack, Vec<u8>)> {
    any_layout().prop_flat_map(|layout| {
        let rows = match row_multiple(layout) {
            1 => (0_usize..150).boxed(),
            multiple => (0_usize..3).prop_map(move |n| n * multiple).boxed(),
        };
        (0_usize..3, rows, 0_usize..40).prop_flat_map(move |(matrices, rows, cols)| {
            let stack = Stack::new(matrices, Shape::new(rows, cols));
            let bytes = prop::collection::vec(any::<u8>(), matrices * rows * cols);
            (Just(layout), Just(stack), bytes)
        })
    })
}

proptest! {
    #[test]
    fn undoing_a_layout_gives_every_code_back((layout, stack, linear) in any_codes()) {
        let laid_out = permute_code_bytes(layout, stack, &linear);
        prop_assert_eq!(unpermute_code_bytes(layout, stack, &laid_out), linear);
    }

    /// Nothing is lost and nothing invented: each nibble occurs as often as before, and the rest
    /// is zero.
    #[test]
    fn codes_are_moved_and_padded_with_zeros((layout, stack, linear) in any_codes()) {
        let count = |bytes: &[u8]| {
            let mut counts = [0; 16];
            for byte in bytes {
                counts[usize::from(byte & 0xf)] += 1;
                counts[usize::from(byte >> 4)] += 1;
            }
            counts
        };
        let laid_out = permute_code_bytes(layout, stack, &linear);
        let mut expected = count(&linear);
        expected[0] += 2 * (laid_out.len() - linear.len());
        prop_assert_eq!(count(&laid_out), expected);
    }

    #[test]
    fn cutlass_padding_comes_off_again(rows in 0_usize..70, cols in 0_usize..40, seed: u8) {
        let shape = Shape::new(rows, cols);
        let codes: Vec<u8> = (0..rows * cols).map(|i| (i as u8).wrapping_mul(seed | 1)).collect();
        let padded_shape = cutlass_code_shape(shape).unwrap();
        prop_assert!(padded_shape.rows.is_multiple_of(32) && padded_shape.cols.is_multiple_of(16));
        let mut padded = vec![0xa5; padded_shape.len().unwrap()];
        pad_cutlass_codes(shape, &codes, &mut padded).unwrap();
        let kept: u64 = codes.iter().map(|&byte| u64::from(byte)).sum();
        prop_assert_eq!(padded.iter().map(|&byte| u64::from(byte)).sum::<u64>(), kept);
        let mut back = vec![0xa5; codes.len()];
        crop_cutlass_codes(shape, &padded, &mut back).unwrap();
        prop_assert_eq!(back, codes);
    }
}

/// Word 0 and word 1 of Marlin's first tile, as its documentation lists them.
#[test]
fn marlin_words_hold_rows_8_apart_and_columns_8_apart() {
    let stack = Stack::single(Shape::new(64, 64)); // 64 rows of 128 codes
    let place_of = |row: usize, col: usize| {
        let mut linear = vec![0; 64 * 64];
        linear[row * 64 + col / 2] = 0xf << (col % 2 * 4);
        let laid_out = permute_code_bytes(ScaleLayout::MarlinNvfp4, stack, &linear);
        let byte = laid_out.iter().position(|&byte| byte != 0).unwrap();
        2 * byte + usize::from(laid_out[byte] == 0xf0)
    };
    let of_word_0 = [
        (0, 0),
        (8, 0),
        (0, 8),
        (8, 8),
        (1, 0),
        (9, 0),
        (1, 8),
        (9, 8),
    ];
    for (nibble, (k, n)) in of_word_0.into_iter().enumerate() {
        assert_eq!(place_of(n, k), nibble);
        assert_eq!(place_of(n + 16, k), 8 + nibble);
    }
    // Thread 1 has the next two columns, thread 4 the next row, column 16 the next row of tiles.
    assert_eq!(place_of(0, 2), 4 * 8);
    assert_eq!(place_of(1, 0), 16 * 8);
    assert_eq!(place_of(0, 16), 1024);
}
