//! Where kernels find codes and scales in memory.
//!
//! Each function states the memory as an array of several dimensions, outermost first, the way a
//! kernel's tile loads see it, and indexes that.

/// Offset of the element at `index` in an array of sizes `sizes`, outermost first.
fn at<const N: usize>(sizes: [usize; N], index: [usize; N]) -> usize {
    let pairs = sizes.into_iter().zip(index);
    pairs.fold(0, |offset, (size, index)| offset * size + index)
}

/// Byte of a scale in tiles for 5th generation tensor cores: `[row tile][column tile][32][4][4]`,
/// the rows of a tile being `32 * a + b` for `[b][a]`.
pub(super) fn tiles_128x4(rows: usize, cols: usize, row: usize, col: usize) -> usize {
    at(
        [rows.div_ceil(128), cols.div_ceil(4), 32, 4, 4],
        [row / 128, col / 4, row % 32, row / 32 % 4, col % 4],
    )
}

/// Byte of a packed UE8M0 scale: `[word along K][row, padded to 4][byte of the word]`.
pub(super) fn packed_words(rows: usize, cols: usize, row: usize, col: usize) -> usize {
    at(
        [cols.div_ceil(4), rows.div_ceil(4) * 4, 4],
        [col / 4, row, col % 4],
    )
}

/// Byte of an F32 scale in columns: `[column][row, padded to 4][byte]`.
pub(super) fn f32_columns(rows: usize, cols: usize, row: usize, col: usize) -> usize {
    at([cols, rows.div_ceil(4) * 4, 4], [col, row, 0])
}

/// Byte of a scale of `width` bytes, row by row.
pub(super) fn rows_of(width: usize, cols: usize, row: usize, col: usize) -> usize {
    at([0, cols, width], [row, col, 0])
}

/// Where TensorRT-LLM's epilogue finds the result of each of 32 rows that belong together.
#[rustfmt::skip]
const PLACE_OF_32: [usize; 32] = [
    0,  8, 16, 24,
    1,  9, 17, 25,
    2, 10, 18, 26,
    3, 11, 19, 27,
    4, 12, 20, 28,
    5, 13, 21, 29,
    6, 14, 22, 30,
    7, 15, 23, 31,
];

/// Place of result row `row`.
pub(super) fn epilogue_place(row: usize) -> usize {
    row - row % 32 + PLACE_OF_32[row % 32]
}

/// Result row that TensorRT-LLM's gated epilogue takes row `row` of [w1; w3] as: it multiplies each
/// odd result, after `silu`, with the even one before it.
pub(super) fn gated_result_row(rows: usize, row: usize) -> usize {
    let is_gate = row < rows / 2;
    if is_gate {
        row * 2 + 1
    } else {
        (row - rows / 2) * 2
    }
}
