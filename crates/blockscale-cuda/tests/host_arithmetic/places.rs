//! Where layouts keep rows, scales and codes.

use blockscale::layout::marlin::{e4m3_from_s0e5m3, padded_shape, s0e5m3_from_e4m3};
use blockscale::layout::{
    Codes, RowShuffle, ScaleLayout, Stack, gate_up_eights_place, permute_codes, w13_place,
};
use blockscale::{ScaleElement, Shape};

use crate::shim::{run, shim};

/// Rows of a weight, and columns of its scales or of its codes: a matrix that Marlin does not pad.
const ROWS: usize = 256;
const COLS: usize = 128;

fn place_of_row(order: usize, row: usize) -> usize {
    let stack = Stack::single(Shape::new(ROWS, COLS));
    let word = |layout: ScaleLayout| {
        let offset = layout.offset(stack, ScaleElement::E8m0Fnu, 0, row, 0);
        offset.expect("the row is inside") / 4
    };
    match order {
        1 => RowShuffle::By32.place(row),
        2 => RowShuffle::By16.place(row),
        3 => w13_place(RowShuffle::By32, ROWS, row),
        4 => w13_place(RowShuffle::By16, ROWS, row),
        5 => gate_up_eights_place(ROWS, row),
        6 => word(ScaleLayout::MegaMoeL1),
        7 => word(ScaleLayout::MegaMoeL2),
        _ => row,
    }
}

/// The place of each code of a matrix in Marlin's order, in nibbles, found by moving the digits of its number.
fn marlin_places(shape: Shape) -> Vec<usize> {
    let count = shape.rows * shape.cols;
    let digit = |index: usize, at: usize| (index >> (4 * at) & 0xf) as u8;
    let mut numbers = vec![0; count];
    for at in 0..4 {
        let pairs = (0..count).step_by(2);
        let bytes: Vec<u8> = pairs
            .map(|i| digit(i, at) | digit(i + 1, at) << 4)
            .collect();
        let linear = Codes {
            layout: ScaleLayout::Linear,
            bytes: &bytes,
        };
        let stack = Stack::single(Shape::new(shape.rows, shape.cols / 2));
        let mut moved = vec![0; count / 2];
        permute_codes(ScaleLayout::MarlinNvfp4, stack, linear, &mut moved).unwrap();
        for (place, number) in numbers.iter_mut().enumerate() {
            *number |= usize::from(moved[place / 2] >> (place % 2 * 4) & 0xf) << (4 * at);
        }
    }
    let mut places = vec![0; count];
    for (place, number) in numbers.into_iter().enumerate() {
        places[number] = place;
    }
    places
}

#[test]
fn rows_scales_and_codes_go_where_the_core_puts_them_and_come_back() {
    let Some(shim) = shim() else { return };
    let stack = Stack::single(Shape::new(ROWS, COLS));
    let offset = |layout: ScaleLayout, row, col| {
        layout
            .offset(stack, ScaleElement::E4m3Fn, 0, row, col)
            .unwrap()
    };
    assert_eq!(padded_shape(stack.shape), Some(stack.shape));
    let marlin = marlin_places(stack.shape);

    for order in 0..8 {
        let parameters = [order as u64, ROWS as u64, COLS as u64, ROWS as u64];
        let found = run(shim, "places", &parameters, &[]);
        let (words, _) = found.as_chunks::<8>();
        let mut words = words.iter().map(|word| u64::from_le_bytes(*word) as usize);
        let mut next = || {
            words
                .next()
                .expect("there are as many as rows and columns ask for")
        };
        for row in 0..ROWS {
            assert_eq!(
                next(),
                place_of_row(order, row),
                "row {row} in order {order}"
            );
            assert_eq!(next(), row, "back from order {order}");
            assert_eq!(
                next(),
                offset(ScaleLayout::MarlinNvfp4, row, 0),
                "scale of row {row}"
            );
            assert_eq!(next(), row);
            for col in 0..COLS {
                assert_eq!(
                    next(),
                    offset(ScaleLayout::Tiles128x4, row, col),
                    "scale {row} {col}"
                );
                assert_eq!(
                    next(),
                    offset(ScaleLayout::Tiles8x4, row, col),
                    "scale {row} {col}"
                );
                assert_eq!(next(), marlin[row * COLS + col], "code {row} {col}");
            }
        }
    }
}

#[test]
fn every_scale_of_marlin_has_the_byte_of_the_core() {
    let Some(shim) = shim() else { return };
    let found = run(shim, "marlin-bytes", &[], &[]);
    let (words, _) = found.as_chunks::<4>();
    let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
    for byte in 0..=255_u8 {
        let at = usize::from(byte) * 2;
        let stored = s0e5m3_from_e4m3(byte).map_or(256, u32::from);
        assert_eq!(words[at], stored, "E4M3 {byte:#x}");
        assert_eq!(
            words[at + 1],
            u32::from(e4m3_from_s0e5m3(byte)),
            "S0E5M3 {byte:#x}"
        );
    }
}
