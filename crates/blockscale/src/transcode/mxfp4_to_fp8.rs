//! MXFP4 to FP8 in blocks of 128 x 128.

use super::TranscodeError;
use crate::decode::Rows;
use crate::element::{E2m1, E4m3Fn, E8m0Fnu};
use crate::{Format, LenMismatch, Shape, bits};

/// How far below 448 the largest E2M1 value ends up: `6 x 2^6` is 384.
const HEADROOM: i32 = 6;

/// The smallest exponent under which E4M3 still holds each E2M1 value, 0.5 being 2^-9 then.
const LOWEST: i32 = -8;

/// How blocks of 128 x 128 fare, in numbers of blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mxfp4ToFp8 {
    /// Every value stays, to the bit.
    pub lossless: usize,
    /// Some value was too small for the block's scale and is rounded.
    pub rounded: usize,
    /// Some scale of the block is NaN, and its values stay NaN.
    pub nan: usize,
}

impl Mxfp4ToFp8 {
    /// How the blocks of a run fare, for all that can be told from its MXFP4 scales: a block is
    /// lossless where their exponents differ by 14 at most. Some of those counted as
    /// [`rounded`](Self::rounded) may prove lossless once their codes are seen.
    ///
    /// `shape` is that of a run that starts at a multiple of 128 rows.
    ///
    /// # Errors
    ///
    /// [`TranscodeError::Len`] where `scales` is not as long as `shape` asks for.
    ///
    /// ```
    /// use blockscale::transcode::Mxfp4ToFp8;
    /// use blockscale::Shape;
    ///
    /// let blocks = Mxfp4ToFp8::of_scales(Shape::new(1, 256), &[120, 106, 120, 120, 9, 8, 7, 30])?;
    /// assert_eq!((blocks.lossless, blocks.rounded), (1, 1));
    /// # Ok::<(), blockscale::transcode::TranscodeError>(())
    /// ```
    pub fn of_scales(shape: Shape, scales: &[u8]) -> Result<Self, TranscodeError> {
        LenMismatch::check("scales", Format::MXFP4.scale_bytes(shape), scales.len())?;
        let mut counts = Self::default();
        for block in Block::all(shape) {
            let exponents = || {
                block
                    .scales(shape)
                    .map(|at| scales[at])
                    .filter(|&code| code != 0xff)
            };
            let spread = exponents()
                .max()
                .zip(exponents().min())
                .map(|(high, low)| high - low);
            if block.scales(shape).any(|at| scales[at] == 0xff) {
                counts.nan += 1;
            } else if spread.is_none_or(|spread| i32::from(spread) <= HEADROOM - LOWEST) {
                counts.lossless += 1;
            } else {
                counts.rounded += 1;
            }
        }
        Ok(counts)
    }
}

/// Transcodes a run of rows of [`Format::MXFP4`] to [`Format::FP8_BLOCK_UE8M0`].
///
/// With `k_max` the largest exponent of the MXFP4 scales within a block of 128 x 128, the block's
/// scale is `2^(k_max - 6)`, so that nothing clips; a code becomes the E4M3 code of its value under
/// that, which is exact while the exponent of its own scale is no more than 14 below `k_max`.
///
/// `shape` is that of a run that starts at a multiple of 128 rows. `on_block` is called with the
/// index of each block, counted row by row, and whether it is lossless.
///
/// # Errors
///
/// [`TranscodeError::Len`] where a slice is not as long as `shape` asks for.
///
/// ```
/// use blockscale::decode::Rows;
/// use blockscale::transcode::mxfp4_to_fp8_block;
/// use blockscale::Shape;
///
/// // 0.5 and 6 under 2^0.
/// let rows = Rows { codes: &[0x71], scales: &[127], global: 1.0 };
/// let (mut codes, mut scales) = ([0; 2], [0; 1]);
/// let shape = Shape::new(1, 2);
/// let blocks = mxfp4_to_fp8_block(shape, rows, &mut codes, &mut scales, |_, _| ())?;
/// assert_eq!((blocks.lossless, scales), (1, [127 - 6]));
/// assert_eq!(codes, [0x60, 0x7c]); // 32 and 384
/// # Ok::<(), blockscale::transcode::TranscodeError>(())
/// ```
pub fn mxfp4_to_fp8_block(
    shape: Shape,
    rows: Rows<'_>,
    codes: &mut [u8],
    scales: &mut [u8],
    mut on_block: impl FnMut(usize, bool),
) -> Result<Mxfp4ToFp8, TranscodeError> {
    let (from, to) = (Format::MXFP4, Format::FP8_BLOCK_UE8M0);
    rows.check(&from, shape)?;
    LenMismatch::check("new codes", to.code_bytes(shape), codes.len())?;
    LenMismatch::check("new scales", to.scale_bytes(shape), scales.len())?;
    let mut counts = Mxfp4ToFp8::default();
    for (index, (block, scale)) in Block::all(shape).zip(scales).enumerate() {
        let exponents = block.scales(shape).map(|at| rows.scales[at]);
        let largest = exponents
            .clone()
            .filter(|&code| code != 0xff)
            .max()
            .unwrap_or(0);
        let is_nan = exponents.clone().any(|code| code == 0xff);
        *scale = largest.saturating_sub(HEADROOM as u8);
        let lossless = block.recode(shape, rows, *scale, codes);
        match (is_nan, lossless) {
            (true, _) => counts.nan += 1,
            (false, true) => counts.lossless += 1,
            (false, false) => counts.rounded += 1,
        }
        on_block(index, lossless);
    }
    Ok(counts)
}

/// Rows and columns that one FP8 scale covers.
struct Block {
    rows: core::ops::Range<usize>,
    cols: core::ops::Range<usize>,
}

const SIDE: usize = 128;
const MX_COLS: usize = 32;

impl Block {
    /// The blocks of a run, row by row.
    fn all(shape: Shape) -> impl Iterator<Item = Self> {
        let part = |first: usize, size: usize| first..size.min(first.saturating_add(SIDE));
        (0..shape.rows).step_by(SIDE).flat_map(move |row| {
            (0..shape.cols).step_by(SIDE).map(move |col| Self {
                rows: part(row, shape.rows),
                cols: part(col, shape.cols),
            })
        })
    }

    /// Indices of the MXFP4 scales within the block.
    fn scales(&self, shape: Shape) -> impl Iterator<Item = usize> + Clone {
        let cols = self.cols.start / MX_COLS..self.cols.end.div_ceil(MX_COLS);
        let width = shape.cols.div_ceil(MX_COLS);
        let rows = self.rows.clone();
        rows.flat_map(move |row| cols.clone().map(move |col| row * width + col))
    }

    /// Writes the codes under the new scale, and says whether no value changed.
    fn recode(&self, shape: Shape, rows: Rows<'_>, scale: u8, codes: &mut [u8]) -> bool {
        let width = shape.cols.div_ceil(MX_COLS);
        let row_bytes = shape.cols.div_ceil(2);
        let mut lossless = true;
        for row in self.rows.clone() {
            let nibbles = &rows.codes[row * row_bytes..][..row_bytes];
            for col in self.cols.clone() {
                let old = rows.scales[row * width + col / MX_COLS];
                let value = E2m1::from_bits(bits::get(nibbles, 4, col)).to_f32();
                let shifted = value * ratio(old, scale);
                let code = E4m3Fn::from_f32(shifted);
                lossless &= code.to_f32() == shifted || shifted.is_nan();
                codes[row * shape.cols + col] = code.to_bits();
            }
        }
        lossless
    }
}

/// `2^(old - new)`, NaN where `old` is the code of NaN. What is below 2^-126 is taken for that: all
/// values under either round to zero.
fn ratio(old: u8, new: u8) -> f32 {
    if old == E8m0Fnu::NAN.to_bits() {
        return f32::NAN;
    }
    let exponent = i32::from(old) - i32::from(new);
    f32::from_bits(((exponent + 127).max(1) as u32) << 23)
}
