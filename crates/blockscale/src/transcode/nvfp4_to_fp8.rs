//! NVFP4 to FP8 in blocks.

use super::TranscodeError;
use crate::arch::ByteKernels;
use crate::decode::Rows;
use crate::{Format, LenMismatch, Shape};

/// NVFP4 to FP8 in blocks of 128 x 128 with powers of two as scales, a block at a time and without the
/// numbers in between.
///
/// The bytes are those that [`decode_rows`](crate::decode::decode_rows) to `f32` and
/// [`encode_rows`](crate::encode::encode_rows) by [`Format::default_rule`] give. `from` is
/// [`Format::NVFP4`] or one of its two sisters, `shape` that of a run that starts at a multiple of 128
/// rows; `codes` and `scales` are those of [`Format::FP8_BLOCK_UE8M0`].
///
/// # Errors
///
/// [`TranscodeError::Formats`] for another format, [`TranscodeError::Len`] where a slice is not as
/// long as `shape` asks for. Nothing is written then.
///
/// ```
/// use blockscale::decode::Rows;
/// use blockscale::transcode::nvfp4_to_fp8_block_ue8m0;
/// use blockscale::{Format, Shape};
///
/// // 0, 0.5, 1, 1.5, 2, 3, 4 and 6 and their negatives, by one half: 3 is the largest.
/// let codes = [0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe];
/// let rows = Rows { codes: &codes, scales: &[0x38], global: 0.5 };
/// let (mut codes, mut scales) = ([0; 16], [0]);
/// let shape = Shape::new(1, 16);
/// nvfp4_to_fp8_block_ue8m0(&Format::NVFP4, shape, rows, &mut codes, &mut scales)?;
/// assert_eq!(scales, [120]); // 2^-7, under which 3 is 384
/// assert_eq!(codes[..8], [0x00, 0x60, 0x68, 0x6c, 0x70, 0x74, 0x78, 0x7c]);
/// # Ok::<(), blockscale::transcode::TranscodeError>(())
/// ```
pub fn nvfp4_to_fp8_block_ue8m0(
    from: &Format,
    shape: Shape,
    rows: Rows<'_>,
    codes: &mut [u8],
    scales: &mut [u8],
) -> Result<(), TranscodeError> {
    let to = Format::FP8_BLOCK_UE8M0;
    let nvfp4 = Format {
        global: from.global,
        ..Format::NVFP4
    };
    if *from != nvfp4 {
        return Err(TranscodeError::Formats { from: *from, to });
    }
    rows.check(from, shape)?;
    LenMismatch::check("new codes", to.code_bytes(shape), codes.len())?;
    LenMismatch::check("new scales", to.scale_bytes(shape), scales.len())?;
    ByteKernels::in_use().nvfp4_to_fp8_block_ue8m0(from, shape, rows, codes, scales);
    Ok(())
}
