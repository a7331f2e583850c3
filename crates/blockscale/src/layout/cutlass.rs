//! Padding of NVFP4 codes for CUTLASS, which wants both sides in multiples of 32 elements.

use crate::{LenMismatch, Shape};

/// Rows and *bytes* of a row that the E2M1 codes of a matrix are padded to: multiples of 32 rows
/// and 32 codes. `None` where that overflows.
///
/// `shape.cols` counts bytes as well. Scales need no padding of their own beside
/// [`Tiles128x4`](super::ScaleLayout::Tiles128x4).
///
/// Source: vLLM, `pad_nvfp4_weight_for_cutlass`.
///
/// ```
/// use blockscale::Shape;
/// use blockscale::layout::cutlass_code_shape;
///
/// assert_eq!(cutlass_code_shape(Shape::new(33, 24)), Some(Shape::new(64, 32)));
/// ```
pub const fn cutlass_code_shape(shape: Shape) -> Option<Shape> {
    let rows = shape.rows.checked_next_multiple_of(32);
    let cols = shape.cols.checked_next_multiple_of(16);
    match (rows, cols) {
        (Some(rows), Some(cols)) => Some(Shape::new(rows, cols)),
        _ => None,
    }
}

/// Pads the E2M1 codes of one matrix to [`cutlass_code_shape`] with zeros.
///
/// # Errors
///
/// [`LenMismatch`] where `codes` or `out` is not as long as `shape`, in bytes, asks for.
///
/// ```
/// use blockscale::Shape;
/// use blockscale::layout::{crop_cutlass_codes, pad_cutlass_codes};
///
/// // Two rows of 16 codes become 32 rows of 32.
/// let (shape, codes) = (Shape::new(2, 8), [0x21; 16]);
/// let mut padded = [0xff; 32 * 16];
/// pad_cutlass_codes(shape, &codes, &mut padded)?;
/// assert_eq!(padded[7..9], [0x21, 0]);
///
/// let mut back = [0; 16];
/// crop_cutlass_codes(shape, &padded, &mut back)?;
/// assert_eq!(back, codes);
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
pub fn pad_cutlass_codes(shape: Shape, codes: &[u8], out: &mut [u8]) -> Result<(), LenMismatch> {
    let padded = check(shape, codes, out)?;
    out.fill(0);
    if shape.cols > 0 {
        let rows = out.chunks_exact_mut(padded.cols);
        for (out, row) in rows.zip(codes.chunks_exact(shape.cols)) {
            out[..shape.cols].copy_from_slice(row);
        }
    }
    Ok(())
}

/// Takes the padding off again: the inverse of [`pad_cutlass_codes`].
///
/// # Errors
///
/// [`LenMismatch`] where `padded` or `out` is not as long as `shape`, in bytes, asks for.
pub fn crop_cutlass_codes(shape: Shape, padded: &[u8], out: &mut [u8]) -> Result<(), LenMismatch> {
    let padded_shape = check(shape, out, padded)?;
    if shape.cols > 0 {
        let rows = padded.chunks_exact(padded_shape.cols);
        for (out, row) in out.chunks_exact_mut(shape.cols).zip(rows) {
            out.copy_from_slice(&row[..shape.cols]);
        }
    }
    Ok(())
}

fn check(shape: Shape, codes: &[u8], padded: &[u8]) -> Result<Shape, LenMismatch> {
    let padded_shape = cutlass_code_shape(shape);
    LenMismatch::check("codes", shape.len(), codes.len())?;
    LenMismatch::check(
        "padded codes",
        padded_shape.and_then(Shape::len),
        padded.len(),
    )?;
    Ok(padded_shape.unwrap_or(shape))
}
