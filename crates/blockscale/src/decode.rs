//! Rows of a block format to numbers.

use crate::arch::Kernels;
pub use crate::real::widen;
use crate::{Format, LenMismatch, Real, Shape};

/// The bytes of a run of rows in a block format.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// Codes of the run, [`Format::code_bytes`] of them.
    pub codes: &'a [u8],
    /// Scales of the blocks that the run touches, row by row, in little-endian bytes:
    /// [`Format::scale_bytes`] of them.
    pub scales: &'a [u8],
    /// The scale of the whole tensor, applied as [`Format::global`] says; not read where that is
    /// `None`.
    pub global: f32,
}

/// Decodes a run of rows.
///
/// `shape` is that of the run, which starts at a multiple of [`Format::block_rows`]. The value of
/// an element is `element * s`, where `s` is the block's scale, multiplied or divided by the global
/// one; each step is rounded to `f32`, and the value once more to `T`. Subnormals are kept, NaN
/// codes and NaN scales give NaN.
///
/// # Errors
///
/// [`LenMismatch`] where `codes`, `scales` or `out` is not as long as `shape` asks for. `out` is
/// untouched then.
///
/// ```
/// use blockscale::decode::{Rows, decode_rows};
/// use blockscale::{Format, Shape};
///
/// // One row of an E4M3 weight with a scale of 0.25 for the row.
/// let scale = 0.25_f32.to_le_bytes();
/// let rows = Rows { codes: &[0x38, 0xc0, 0x7e], scales: &scale, global: 1.0 };
/// let mut out = [0.0_f32; 3];
/// decode_rows(&Format::FP8_CHANNEL, Shape::new(1, 3), rows, &mut out)?;
/// assert_eq!(out, [0.25, -0.5, 112.0]);
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
pub fn decode_rows<T: Real>(
    format: &Format,
    shape: Shape,
    rows: Rows<'_>,
    out: &mut [T],
) -> Result<(), LenMismatch> {
    rows.check(format, shape)?;
    LenMismatch::check("out", shape.len(), out.len())?;
    if !out.is_empty() {
        Kernels::in_use().decode_rows(format, shape, rows, out);
    }
    Ok(())
}

impl Rows<'_> {
    pub(crate) fn check(&self, format: &Format, shape: Shape) -> Result<(), LenMismatch> {
        LenMismatch::check("codes", format.code_bytes(shape), self.codes.len())?;
        LenMismatch::check("scales", format.scale_bytes(shape), self.scales.len())
    }
}
