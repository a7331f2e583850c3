//! One block format to another on the codes themselves.
//!
//! | from | to | codes | function |
//! |------|----|-------|----------|
//! | one scale a tensor | a grid of blocks | unchanged | [`spread_tensor_scale`] |
//! | scales of any type | F32 scales | unchanged | [`widen_scales`] |
//! | float scales | powers of two | changed where the scale grows | [`round_scales_up_to_pow2`] |

use std::fmt;
use std::ops::Range;

use crate::arch::scalar;
use crate::decode::Rows;
use crate::element::E8m0Fnu;
use crate::{Format, GlobalScale, LenMismatch, ScaleElement, Shape};

/// Why codes or scales could not be carried over.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum TranscodeError {
    /// A slice is not as long as the shape asks for.
    Len(LenMismatch),
    /// The step does not lead from one format to the other.
    Formats {
        /// The format of the input.
        from: Format,
        /// The format asked for.
        to: Format,
    },
    /// A scale that is negative, infinite or NaN: no power of two stands for it.
    Scale {
        /// Which scale of the run, counted row by row.
        index: usize,
        /// Its value.
        value: f32,
    },
}

impl fmt::Display for TranscodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Len(error) => error.fmt(f),
            Self::Formats { from, to } => write!(
                f,
                "`{from}` cannot become `{to}` by rounding scales up: that needs the same 8-bit \
                 element and block, no global scale, and UE8M0 or F32 scales to write; decode and \
                 encode instead"
            ),
            Self::Scale { index, value } => write!(
                f,
                "scale {index} is {value}, and no power of two stands for that; decode the source \
                 to see which values it spoils"
            ),
        }
    }
}

impl core::error::Error for TranscodeError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Len(error) => Some(error),
            Self::Formats { .. } | Self::Scale { .. } => None,
        }
    }
}

impl From<LenMismatch> for TranscodeError {
    fn from(error: LenMismatch) -> Self {
        Self::Len(error)
    }
}

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
                scalar::transcode::rescale(from.element, &mut codes[run], old, pow2.to_f32());
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

/// Scales of any type as F32 of the same value; NaN stays NaN.
///
/// `stored` holds little-endian scales of type `from`, `scales` takes four bytes for each.
///
/// # Errors
///
/// [`LenMismatch`] where `stored` is no whole number of scales, or `scales` not as long.
///
/// ```
/// use blockscale::ScaleElement;
/// use blockscale::transcode::widen_scales;
///
/// let mut scales = [0; 8];
/// widen_scales(ScaleElement::E8m0Fnu, &[127, 124], &mut scales)?;
/// assert_eq!(scales[..4], 1.0_f32.to_le_bytes());
/// assert_eq!(scales[4..], 0.125_f32.to_le_bytes());
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
pub fn widen_scales(
    from: ScaleElement,
    stored: &[u8],
    scales: &mut [u8],
) -> Result<(), LenMismatch> {
    let count = stored.len() / from.bytes();
    LenMismatch::check("stored scales", Some(count * from.bytes()), stored.len())?;
    LenMismatch::check("scales", count.checked_mul(4), scales.len())?;
    let stored = stored.chunks_exact(from.bytes());
    for (scale, stored) in scales.chunks_exact_mut(4).zip(stored) {
        scale.copy_from_slice(&from.decode(stored).to_le_bytes());
    }
    Ok(())
}

/// The scale of a whole tensor, copied to every block of a grid.
///
/// `to` is the format of the grid, `shape` that of the run, and `scale` the bytes of one scale in
/// `to.scale`'s type. The codes stay as they are.
///
/// # Errors
///
/// [`LenMismatch`] where `scale` is not one scale, or `scales` not as long as `shape` asks for.
///
/// ```
/// use blockscale::transcode::spread_tensor_scale;
/// use blockscale::{Format, Shape};
///
/// let scale = 0.5_f32.to_le_bytes();
/// let mut grid = [0; 16];
/// spread_tensor_scale(&Format::FP8_BLOCK, Shape::new(130, 129), &scale, &mut grid)?;
/// assert_eq!(grid.as_chunks::<4>().0, [scale; 4]);
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
pub fn spread_tensor_scale(
    to: &Format,
    shape: Shape,
    scale: &[u8],
    scales: &mut [u8],
) -> Result<(), LenMismatch> {
    LenMismatch::check("scale", Some(to.scale.bytes()), scale.len())?;
    LenMismatch::check("scales", to.scale_bytes(shape), scales.len())?;
    for block in scales.chunks_exact_mut(scale.len()) {
        block.copy_from_slice(scale);
    }
    Ok(())
}
