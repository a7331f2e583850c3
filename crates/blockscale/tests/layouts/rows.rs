//! Row orders.

use blockscale::layout::{
    RowShuffle, gate_up_eights_place, gate_up_eights_source, w13_place, w13_source,
};

use crate::common::BOTH_SHUFFLES;

#[test]
fn place_and_source_are_inverses() {
    for rows in [32, 64, 128, 384, 512] {
        for row in 0..rows {
            for shuffle in BOTH_SHUFFLES {
                assert_eq!(shuffle.source(shuffle.place(row)), row);
                assert_eq!(shuffle.place(shuffle.source(row)), row);
                assert_eq!(
                    w13_source(shuffle, rows, w13_place(shuffle, rows, row)),
                    row
                );
                assert!(w13_place(shuffle, rows, row) < rows);
            }
            let place = gate_up_eights_place(rows, row);
            assert_eq!(gate_up_eights_source(rows, place), row);
            assert!(place < rows);
        }
    }
}

#[test]
fn a_shuffle_keeps_rows_within_their_block() {
    for shuffle in BOTH_SHUFFLES {
        for row in 0..256 {
            assert_eq!(shuffle.place(row) / shuffle.block(), row / shuffle.block());
        }
    }
}

#[test]
fn mega_moe_takes_eight_rows_of_gate_then_eight_of_up() {
    let order: Vec<usize> = (0..32).map(|n| gate_up_eights_source(32, n)).collect();
    let expected: Vec<usize> = (0..8).chain(16..24).chain(8..16).chain(24..32).collect();
    assert_eq!(order, expected);
}

#[test]
fn only_epilogue_tiles_of_128_rows_shuffle_by_32() {
    for (tile, shuffle) in [(8, 16), (64, 16), (128, 32), (192, 16), (256, 32)] {
        assert_eq!(RowShuffle::for_epilogue_tile(tile).block(), shuffle);
    }
}
