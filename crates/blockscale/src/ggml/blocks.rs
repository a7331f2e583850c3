//! Where codes lie in a block.

use crate::LenMismatch;
use crate::Shape;

use super::{GgmlError, GgmlType};

/// Values of the E2M1 codes as ggml has them, doubled to be integers; +0 for code 8.
pub(super) const DOUBLED: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

/// Bytes of a run of rows.
pub(super) fn rows_bytes(ty: GgmlType, shape: Shape) -> Result<Option<usize>, GgmlError> {
    let cols = shape.cols;
    if !cols.is_multiple_of(ty.block_len()) {
        return Err(GgmlError::Cols { ty, cols });
    }
    Ok(ty
        .row_bytes(cols)
        .and_then(|bytes| bytes.checked_mul(shape.rows)))
}

pub(super) fn check_rows(ty: GgmlType, shape: Shape, found: usize) -> Result<(), GgmlError> {
    Ok(LenMismatch::check("rows", rows_bytes(ty, shape)?, found)?)
}

/// Code `index` of a group whose first half is in the low halves of its bytes.
pub(super) fn split_code(bytes: &[u8], index: usize) -> u8 {
    match index.checked_sub(bytes.len()) {
        None => bytes[index] & 0xf,
        Some(index) => bytes[index] >> 4,
    }
}

/// Writes all codes of such a group.
pub(super) fn put_split(bytes: &mut [u8], code: impl Fn(usize) -> u8) {
    let half = bytes.len();
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = code(index) | (code(index + half) << 4);
    }
}
