//! Packed scales of groups along K.

use blockscale::layout::{LayoutError, k_grouped_bytes, pack_k_grouped, unpack_k_grouped};
use proptest::prelude::*;

proptest! {
    #[test]
    fn every_group_begins_a_word_and_comes_back(
        rows in (0_usize..9).prop_map(|n| n * 4),
        group_cols in prop::collection::vec(0_usize..10, 0..5),
    ) {
        let cols: usize = group_cols.iter().sum();
        let scales: Vec<u8> = (0..rows * cols).map(|i| (i % 255) as u8 + 1).collect();
        let mut words = vec![0xa5; k_grouped_bytes(rows, &group_cols).unwrap()];
        pack_k_grouped(rows, &group_cols, &scales, &mut words).unwrap();

        let (mut first_col, mut first_word) = (0, 0);
        for &cols in &group_cols {
            for col in 0..cols.next_multiple_of(4) {
                for row in 0..rows {
                    let source = (first_col + col) * rows + row;
                    let expected = if col < cols { scales[source] } else { 0 };
                    let word = (first_word + col / 4) * rows + row;
                    prop_assert_eq!(words[word * 4 + col % 4], expected);
                }
            }
            first_col += cols;
            first_word += cols.div_ceil(4);
        }
        let mut back = vec![0xa5; scales.len()];
        unpack_k_grouped(rows, &group_cols, &words, &mut back).unwrap();
        prop_assert_eq!(back, scales);
    }
}

#[test]
fn rows_come_in_fours() {
    let error = k_grouped_bytes(6, &[1]).unwrap_err();
    assert!(matches!(
        error,
        LayoutError::Rows {
            multiple: 4,
            found: 6,
            ..
        }
    ));
    assert!(matches!(
        k_grouped_bytes(4, &[usize::MAX, 8]),
        Err(LayoutError::TooLarge { .. })
    ));
}

#[test]
fn lengths_are_checked() {
    let pack = |scales: usize, words: usize| {
        pack_k_grouped(4, &[1, 2], &vec![0; scales], &mut vec![0; words]).map_err(|e| e.to_string())
    };
    assert_eq!(pack(12, 32), Ok(()));
    assert_eq!(
        pack(11, 32),
        Err("`scales` has length 11, expected 12".into())
    );
    assert_eq!(
        pack(12, 48),
        Err("`packed words` has length 48, expected 32".into())
    );
}
