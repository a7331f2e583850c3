//! Row orders, against FlashInfer's index functions.

use blockscale::layout::{RowShuffle, w13_source};

use crate::common::{Vectors, indices};

pub(crate) const TESTS: [fn(); 3] = [
    shuffles_of_weight_and_scale_rows,
    gate_and_up_in_turn_then_shuffled,
    orders_that_the_installed_kernels_use,
];

/// The number that follows `tag` in a dotted or underscored name.
fn number(name: &str, tag: &str) -> usize {
    let part = name.split('.').find_map(|part| part.strip_prefix(tag));
    part.unwrap().parse().unwrap()
}

/// `w13_source` counts rows as on disk, [w1; w3]; FlashInfer is given [w3; w1].
fn swapped_w13_source(shuffle: RowShuffle, rows: usize, place: usize) -> usize {
    (w13_source(shuffle, rows, place) + rows / 2) % rows
}

fn order(rows: usize, source: impl Fn(usize) -> usize) -> Vec<usize> {
    (0..rows).map(source).collect()
}

#[test]
fn shuffles_of_weight_and_scale_rows() {
    let vectors = Vectors::layouts();
    let mut compared = 0;
    for family in ["shuffle_a.", "shuffle_sf_a.", "w2."] {
        for case in vectors.cases(family, "row_indices") {
            let shuffle = RowShuffle::for_epilogue_tile(number(case, "tile"));
            let expected = indices(vectors.get(&format!("{case}.row_indices")));
            assert_eq!(
                order(number(case, "m"), |n| shuffle.source(n)),
                expected,
                "{case}"
            );
            compared += 1;
        }
    }
    assert_eq!(compared, 22);
}

#[test]
fn gate_and_up_in_turn_then_shuffled() {
    let vectors = Vectors::layouts();
    let cases = vectors.cases("w3_w1.", "row_indices");
    for case in &cases {
        let (rows, shuffle) = (
            number(case, "m"),
            RowShuffle::for_epilogue_tile(number(case, "tile")),
        );
        let expected = indices(vectors.get(&format!("{case}.row_indices")));
        let found = if case.ends_with(".gated") {
            order(rows, |n| swapped_w13_source(shuffle, rows, n))
        } else {
            order(rows, |n| shuffle.source(n))
        };
        assert_eq!(found, expected, "{case}");
    }
    assert_eq!(cases.len(), 14);

    let cases = vectors.cases("reorder_gated.", "row_indices");
    for case in &cases {
        let (rows, shuffle) = (number(case, "m"), RowShuffle::By32);
        let in_turn = order(rows, |n| {
            swapped_w13_source(shuffle, rows, shuffle.place(n))
        });
        assert_eq!(
            in_turn,
            indices(vectors.get(&format!("{case}.row_indices")))
        );
    }
    assert_eq!(cases.len(), 5);
}

#[test]
fn orders_that_the_installed_kernels_use() {
    let vectors = Vectors::runtime("flashinfer");
    let tiles = [
        ("shuffle_0", 128),
        ("shuffle_1", 128),
        ("shuffle_3", 128),
        ("shuffle_4", 64),
        ("shuffle_5", 64),
        ("shuffle_7", 8),
    ];
    assert_eq!(vectors.cases("shuffle_", "index").len(), tiles.len());
    for (case, tile) in tiles {
        let shuffle = RowShuffle::for_epilogue_tile(tile);
        let expected = indices(vectors.get(&format!("{case}.index")));
        assert_eq!(
            order(expected.len(), |n| shuffle.source(n)),
            expected,
            "{case}"
        );
    }
    let cases = vectors.cases("w3_w1_", "index");
    assert_eq!(cases.len(), 3);
    for case in cases {
        let expected = indices(vectors.get(&format!("{case}.index")));
        let rows = expected.len();
        let found = order(rows, |n| swapped_w13_source(RowShuffle::By32, rows, n));
        assert_eq!(found, expected, "{case}");
    }
}
