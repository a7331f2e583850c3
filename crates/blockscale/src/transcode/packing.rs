//! Codes moved closer together, or apart.

use crate::{Format, LenMismatch, Shape, bits};

/// Moves codes from one [`Packing`](crate::format::Packing) to another.
///
/// `from` and `to` are the same format but for that; only their elements' width and packing are
/// looked at. Bits of a byte that no code is in are dropped.
///
/// # Errors
///
/// [`LenMismatch`] where `codes` or `out` is not as long as `shape` asks for, or, as `element bits`,
/// where the elements of the two have different widths.
///
/// ```
/// use blockscale::format::Packing;
/// use blockscale::transcode::repack_codes;
/// use blockscale::{Format, Shape};
///
/// let (dense, apart) = (Format::MXFP6_E2M3, Format::MXFP6_E2M3.packed(Packing::Bytes));
/// let mut out = [0; 3];
/// repack_codes(&apart, &dense, Shape::new(1, 4), &[0x01, 0x02, 0x03, 0x3f], &mut out)?;
/// assert_eq!(out, [0x81, 0x30, 0xfc]);
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
pub fn repack_codes(
    from: &Format,
    to: &Format,
    shape: Shape,
    codes: &[u8],
    out: &mut [u8],
) -> Result<(), LenMismatch> {
    let width = to.element.bits();
    LenMismatch::check("element bits", Some(width), from.element.bits())?;
    LenMismatch::check("codes", from.code_bytes(shape), codes.len())?;
    LenMismatch::check("out", to.code_bytes(shape), out.len())?;
    if shape.cols == 0 {
        return Ok(());
    }
    out.fill(0);
    let rows = out.chunks_exact_mut(to.row_bytes(shape.cols));
    for (out, codes) in rows.zip(codes.chunks_exact(from.row_bytes(shape.cols))) {
        for col in 0..shape.cols {
            let code = bits::get(codes, from.code_stride(), col) & (u8::MAX >> (8 - width));
            bits::put(out, to.code_stride(), col, code);
        }
    }
    Ok(())
}
