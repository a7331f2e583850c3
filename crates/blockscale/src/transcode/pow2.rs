//! Scales rounded up to powers of two.

use std::ops::Range;

use super::TranscodeError;
use crate::arch::ByteKernels;
use crate::decode::Rows;
use crate::element::E8m0Fnu;
use crate::{Format, GlobalScale, LenMismatch, ScaleElement, Shape};

/// Rounds each block's scale up to a power of two, and requantises the blocks whose scale changes.
///
/// A block whose scale is a power of two from 2^-127 to 2^127 keeps its codes byte for byte. In the
/// others a code becomes the one nearest to `value * old / new`; since scales only grow, none
/// clips. A scale of zero, whose block is all zeros, becomes 2^-127 and its codes zeros of their
/// sign.
///
/// `from` and `to` have the same 8-bit element and the same block, and no global scale; the new
/// scales are UE8M0, or F32 that hold powers of two. `shape` is that of a run that starts at a
/// multiple of [`Format::block_rows`]. Returns the number of blocks that changed.
///
/// Rounding the scales without the codes is the silent error this replaces: it leaves a block up to
/// twice too large.
///
/// # Errors
///
/// [`TranscodeError`], in which case the contents of `codes` and `scales` are of no use.
///
/// ```
/// use blockscale::decode::Rows;
/// use blockscale::transcode::round_scales_up_to_pow2;
/// use blockscale::{Format, Shape};
///
/// let scale = 0.75_f32.to_le_bytes();
/// let rows = Rows { codes: &[0x38, 0x40], scales: &scale, global: 1.0 };
/// let (mut codes, mut scales) = ([0; 2], [0; 1]);
/// let changed = round_scales_up_to_pow2(
///     &Format::FP8_BLOCK,
///     &Format::FP8_BLOCK_UE8M0,
///     Shape::new(1, 2),
///     rows,
///     &mut codes,
///     &mut scales,
/// )?;
/// assert_eq!((changed, scales), (1, [127])); // 2^0, so that 1 and 2 become 0.75 and 1.5
/// assert_eq!(codes, [0x34, 0x3c]);
/// # Ok::<(), blockscale::transcode::TranscodeError>(())
/// ```
pub fn round_scales_up_to_pow2(
    from: &Format,
    to: &Format,
    shape: Shape,
    rows: Rows<'_>,
    codes: &mut [u8],
    scales: &mut [u8],
) -> Result<usize, TranscodeError> {
    check_formats(from, to)?;
    rows.check(from, shape)?;
    LenMismatch::check("new codes", to.code_bytes(shape), codes.len())?;
    LenMismatch::check("new scales", to.scale_bytes(shape), scales.len())?;

    codes.copy_from_slice(rows.codes);
    let scale_cols = from.scale_shape(shape).cols;
    let old_scales = rows.scales.chunks_exact(from.scale.bytes());
    let new_scales = scales.chunks_exact_mut(to.scale.bytes());
    let mut changed = 0;
    for (index, (old, new)) in old_scales.zip(new_scales).enumerate() {
        let old = from.scale.decode(old);
        if !old.is_finite() || old < 0.0 {
            return Err(TranscodeError::Scale { index, value: old });
        }
        let pow2 = E8m0Fnu::from_f32_ceil(old);
        match to.scale {
            ScaleElement::E8m0Fnu => new.copy_from_slice(&[pow2.to_bits()]),
            _ => new.copy_from_slice(&pow2.to_f32().to_le_bytes()),
        }
        if pow2.to_f32() != old {
            changed += 1;
            let (block_row, block_col) = (index / scale_cols, index % scale_cols);
            for run in block_runs(from, shape, block_row, block_col) {
                ByteKernels::in_use().rescale(from.element, &mut codes[run], old, pow2.to_f32());
            }
        }
    }
    Ok(changed)
}

fn check_formats(from: &Format, to: &Format) -> Result<(), TranscodeError> {
    let same = from.element == to.element && from.block == to.block;
    let one_level = from.global == GlobalScale::None && to.global == GlobalScale::None;
    let holds_pow2 = matches!(to.scale, ScaleElement::E8m0Fnu | ScaleElement::F32);
    if same && one_level && holds_pow2 && from.element.bits() == 8 {
        return Ok(());
    }
    Err(TranscodeError::Formats {
        from: *from,
        to: *to,
    })
}

/// Where the codes of a block lie, row by row, at one byte a code.
fn block_runs(
    format: &Format,
    shape: Shape,
    block_row: usize,
    block_col: usize,
) -> impl Iterator<Item = Range<usize>> {
    let block_rows = format.block_rows(shape.rows);
    let block_cols = format.block_cols(shape.cols);
    let first_row = block_row * block_rows;
    let first_col = block_col * block_cols;
    let rows = block_rows.min(shape.rows - first_row);
    let cols = block_cols.min(shape.cols - first_col);
    (first_row..first_row + rows).map(move |row| {
        let start = row * shape.cols + first_col;
        start..start + cols
    })
}
