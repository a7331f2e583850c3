//! Groups of integers to numbers.

use std::ops::Range;

use super::layout::{IntFormat, IntLayout, read};
use super::{IntError, IntParts};
use crate::{LenMismatch, Real, Shape};

/// Decodes some rows of a weight.
///
/// `shape` is that of the weight, `out` takes `rows.len() * shape.cols` numbers, row by row. The
/// difference of code and zero point is exact, and its product with the scale rounds once to `f32`
/// and once more to `T`; an MLX bias is added with one more rounding in between.
///
/// # Errors
///
/// [`IntError`] where a slice does not fit the shape, the layout has no such integers, or an index
/// of groups names one that is not there. `out` is untouched then.
///
/// ```
/// use blockscale::int::{IntFormat, IntLayout, IntParts, decode_rows};
/// use blockscale::{ScaleElement, Shape};
///
/// // Eight integers from -8 to -1 in one word, stored with 8 added.
/// let (scale, layout) = (ScaleElement::F32, IntLayout::CompressedTensors);
/// let format = IntFormat { bits: 4, group_cols: 0, scale, layout };
/// let codes = 0x7654_3210_u32.to_le_bytes();
/// let scales = 0.5_f32.to_le_bytes();
/// let parts = IntParts { codes: &codes, scales: &scales, zeros: None, groups: None };
/// let mut out = [0.0_f32; 8];
/// decode_rows(&format, Shape::new(1, 8), parts, 0..1, &mut out)?;
/// assert_eq!(out, [-4.0, -3.5, -3.0, -2.5, -2.0, -1.5, -1.0, -0.5]);
/// # Ok::<(), blockscale::int::IntError>(())
/// ```
pub fn decode_rows<T: Real>(
    format: &IntFormat,
    shape: Shape,
    parts: IntParts<'_>,
    rows: Range<usize>,
    out: &mut [T],
) -> Result<(), IntError> {
    let zeros = parts.zeros.map(<[u8]>::len);
    format.check(shape, parts.codes.len(), parts.scales.len(), zeros)?;
    if rows.end > shape.rows {
        let (end, rows) = (rows.end, shape.rows);
        return Err(IntError::Rows { end, rows });
    }
    check_groups(format, shape, parts.groups)?;
    LenMismatch::check("out", rows.len().checked_mul(shape.cols), out.len())?;
    if shape.cols == 0 {
        return Ok(());
    }
    for (row, out) in rows.zip(out.chunks_exact_mut(shape.cols)) {
        for (col, out) in out.iter_mut().enumerate() {
            *out = T::from_f32(element(format, shape, &parts, row, col));
        }
    }
    Ok(())
}

pub(super) fn check_groups(
    format: &IntFormat,
    shape: Shape,
    index: Option<&[u8]>,
) -> Result<(), IntError> {
    let Some(index) = index else {
        return Ok(());
    };
    LenMismatch::check("groups", shape.cols.checked_mul(4), index.len())?;
    let groups = format.groups(shape.cols);
    for (col, &bytes) in index.as_chunks::<4>().0.iter().enumerate() {
        let found = i32::from_le_bytes(bytes);
        if usize::try_from(found).is_ok_and(|group| group < groups) {
            continue;
        }
        return Err(IntError::Group { col, found, groups });
    }
    Ok(())
}

pub(super) fn element(
    format: &IntFormat,
    shape: Shape,
    parts: &IntParts<'_>,
    row: usize,
    col: usize,
) -> f32 {
    in_group(format, shape, parts, row, group_at(format, parts, col), col)
}

/// The group of a column, by an index that was checked.
pub(super) fn group_at(format: &IntFormat, parts: &IntParts<'_>, col: usize) -> usize {
    match parts.groups {
        Some(index) => i32::from_le_bytes(index.as_chunks::<4>().0[col]) as usize,
        None => format.group_of(col),
    }
}

/// Scale or bias `index` of a tensor of them.
pub(super) fn number_at(format: &IntFormat, bytes: &[u8], index: usize) -> f32 {
    let size = format.scale.bytes();
    format.scale.decode(&bytes[index * size..][..size])
}

fn in_group(
    format: &IntFormat,
    shape: Shape,
    parts: &IntParts<'_>,
    row: usize,
    group: usize,
    col: usize,
) -> f32 {
    let stored = read(
        parts.codes,
        &format.code_place(shape, row, col),
        format.bits,
    );
    let index = format.scale_index(shape, row, group);
    let number = |bytes: &[u8]| number_at(format, bytes, index);
    let scale = number(parts.scales);
    match (format.layout, parts.zeros) {
        (IntLayout::Mlx, Some(biases)) => f32::from(stored) * scale + number(biases),
        (IntLayout::Modelopt, _) => {
            // Two's complement: the sign bit moves up to that of the byte, and back with copies.
            f32::from(((stored << 4) as i8) >> 4) * scale
        }
        (_, None) => f32::from(i16::from(stored) - format.middle() as i16) * scale,
        (_, Some(zeros)) => {
            let zero = read(zeros, &format.zero_place(shape, row, group), format.bits);
            let zero = i32::from(zero) - format.zero_offset();
            (i32::from(stored) - zero) as f32 * scale
        }
    }
}
