//! Packed UE8M0 scales whose columns fall into groups of unlike size.
//!
//! In a grouped product over K, as for the gradient of MoE weights, each expert owns some of the
//! columns. Scales then lie column by column, one row of memory a column, and every group begins a
//! new word.
//!
//! ```text
//! groups of 1 and 2 columns, 4 rows; memory of the source, then the words
//! g0 c0: a0 a1 a2 a3        [a0 . . .] [a1 . . .] [a2 . . .] [a3 . . .]
//! g1 c0: b0 b1 b2 b3   ->   [b0 c0 . .] [b1 c1 . .] [b2 c2 . .] [b3 c3 . .]
//! g1 c1: c0 c1 c2 c3
//! ```
//!
//! Source: DeepGEMM, `get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor`.

use super::{LayoutError, ScaleLayout};
use crate::LenMismatch;

/// Bytes of the packed words of `rows` rows and groups of `group_cols` scale columns.
///
/// # Errors
///
/// [`LayoutError::Rows`] where `rows` is no multiple of 4, [`LayoutError::TooLarge`] where the size
/// overflows.
///
/// ```
/// use blockscale::layout::k_grouped_bytes;
///
/// // Groups of 1 and 5 columns need 1 and 2 words for each of 8 rows.
/// assert_eq!(k_grouped_bytes(8, &[1, 5]), Ok(8 * 3 * 4));
/// ```
pub fn k_grouped_bytes(rows: usize, group_cols: &[usize]) -> Result<usize, LayoutError> {
    if !rows.is_multiple_of(4) {
        return Err(LayoutError::Rows {
            layout: "k-grouped deepgemm-packed",
            multiple: 4,
            found: rows,
        });
    }
    let words = group_cols
        .iter()
        .try_fold(0_usize, |sum, &cols| sum.checked_add(cols.div_ceil(4)));
    words
        .and_then(|words| words.checked_mul(rows)?.checked_mul(4))
        .ok_or(TOO_LARGE)
}

/// Packs UE8M0 scales, column by column of `rows` bytes, into words; bytes without a column are
/// zero.
///
/// # Errors
///
/// Those of [`k_grouped_bytes`], and [`LayoutError::Len`] where `scales` is not `rows` times the
/// sum of `group_cols` long, or `out` not of the size computed there.
///
/// ```
/// use blockscale::layout::pack_k_grouped;
///
/// let scales = [1, 2, 3, 4, 11, 12, 13, 14, 21, 22, 23, 24];
/// let mut words = [0; 32];
/// pack_k_grouped(4, &[1, 2], &scales, &mut words)?;
/// assert_eq!(words[..8], [1, 0, 0, 0, 2, 0, 0, 0]);
/// assert_eq!(words[16..24], [11, 21, 0, 0, 12, 22, 0, 0]);
/// # Ok::<(), blockscale::layout::LayoutError>(())
/// ```
pub fn pack_k_grouped(
    rows: usize,
    group_cols: &[usize],
    scales: &[u8],
    out: &mut [u8],
) -> Result<(), LayoutError> {
    check_lens(rows, group_cols, scales, out)?;
    out.fill(0);
    for_each(rows, group_cols, |linear, packed| {
        out[packed] = scales[linear];
    });
    Ok(())
}

/// Takes the scales out of the words again: the inverse of [`pack_k_grouped`].
///
/// # Errors
///
/// As for [`pack_k_grouped`].
///
/// ```
/// use blockscale::layout::{pack_k_grouped, unpack_k_grouped};
///
/// let scales = [1, 2, 3, 4, 11, 12, 13, 14, 21, 22, 23, 24];
/// let (mut words, mut back) = ([0; 32], [0; 12]);
/// pack_k_grouped(4, &[1, 2], &scales, &mut words)?;
/// unpack_k_grouped(4, &[1, 2], &words, &mut back)?;
/// assert_eq!(back, scales);
/// # Ok::<(), blockscale::layout::LayoutError>(())
/// ```
pub fn unpack_k_grouped(
    rows: usize,
    group_cols: &[usize],
    words: &[u8],
    out: &mut [u8],
) -> Result<(), LayoutError> {
    check_lens(rows, group_cols, out, words)?;
    for_each(rows, group_cols, |linear, packed| {
        out[linear] = words[packed];
    });
    Ok(())
}

const TOO_LARGE: LayoutError = LayoutError::TooLarge {
    layout: ScaleLayout::DeepGemmPacked,
};

fn check_lens(
    rows: usize,
    group_cols: &[usize],
    scales: &[u8],
    words: &[u8],
) -> Result<(), LayoutError> {
    let bytes = k_grouped_bytes(rows, group_cols)?;
    let cols = group_cols
        .iter()
        .try_fold(0_usize, |sum, &cols| sum.checked_add(cols));
    let scale_bytes = cols.and_then(|cols| cols.checked_mul(rows));
    LenMismatch::check("scales", scale_bytes, scales.len())?;
    LenMismatch::check("packed words", Some(bytes), words.len())?;
    Ok(())
}

/// Calls `visit` with the offset of each scale on both sides.
fn for_each(rows: usize, group_cols: &[usize], mut visit: impl FnMut(usize, usize)) {
    if rows == 0 {
        return;
    }
    let (mut first_col, mut first_word) = (0, 0);
    for &cols in group_cols {
        for col in 0..cols {
            for row in 0..rows {
                let word = (first_word + col / 4) * rows + row;
                visit((first_col + col) * rows + row, word * 4 + col % 4);
            }
        }
        first_col += cols;
        first_word += cols.div_ceil(4);
    }
}
