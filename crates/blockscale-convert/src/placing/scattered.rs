//! Rows that are not written one below the other: in turn, or as columns.

use blockscale_model::catalog::{Matrices, RowOrder};
use blockscale_model::plan::PlannedWeight;

use super::Chunk;
use crate::jobs::OutRows;

/// Rows of `row` bytes in a plane that begins at `start`: those of the gate go to even places, those of
/// up to odd ones.
pub(super) fn in_turn(
    weight: &PlannedWeight,
    out: &OutRows,
    start: u64,
    row: usize,
    bytes: &[u8],
) -> Vec<Chunk> {
    let matrix_rows = Matrices::of(&weight.shape).shape.rows;
    let place = |i| {
        let row = RowOrder::Interleaved.place(matrix_rows, out.rows.start + i);
        out.matrix * matrix_rows + row
    };
    let rows = bytes.chunks_exact(row.max(1)).enumerate();
    rows.map(|(i, bytes)| Chunk {
        offset: start + place(i) as u64 * row as u64,
        bytes: bytes.to_vec().into(),
    })
    .collect()
}

/// Rows of plain numbers as columns of matrices that are stored inputs before outputs.
pub(super) fn columns(
    weight: &PlannedWeight,
    out: &OutRows,
    start: u64,
    bytes: &[u8],
) -> Vec<Chunk> {
    let shape = Matrices::of(&weight.shape).shape;
    let count = out.rows.len();
    let size = bytes.len() / (count * shape.cols).max(1);
    let mut turned = Vec::with_capacity(bytes.len());
    for input in 0..shape.cols {
        for row in 0..count {
            turned.extend_from_slice(&bytes[(row * shape.cols + input) * size..][..size]);
        }
    }
    let line = shape.rows * size;
    let first = out.matrix * shape.cols * line + out.rows.start * size;
    if count == shape.rows {
        return vec![Chunk {
            offset: start + first as u64,
            bytes: turned.into(),
        }];
    }
    let lines = turned.chunks_exact((count * size).max(1)).enumerate();
    lines
        .map(|(input, bytes)| Chunk {
            offset: start + (first + input * line) as u64,
            bytes: bytes.to_vec().into(),
        })
        .collect()
}
