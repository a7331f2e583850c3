//! Blocks to planes of codes and scales, and back.

use super::blocks::{check_rows, put_split, split_code};
use super::{GgmlError, GgmlType};
use crate::{Format, LenMismatch, Shape, bits};

/// Splits rows of ggml's MXFP4 into codes and scales of [`Format::MXFP4`].
///
/// # Errors
///
/// [`GgmlError`] where a slice is not as long as `shape` asks for, or its rows are no whole number
/// of blocks.
///
/// ```
/// use blockscale::Shape;
/// use blockscale::ggml::unpack_mxfp4;
///
/// // The first byte of codes holds columns 0 and 16.
/// let mut block = [0; 17];
/// (block[0], block[1]) = (127, 0x21);
/// let (mut codes, mut scales) = ([0; 16], [0]);
/// unpack_mxfp4(Shape::new(1, 32), &block, &mut codes, &mut scales)?;
/// assert_eq!((codes[0], codes[8], scales), (0x01, 0x02, [127]));
/// # Ok::<(), blockscale::ggml::GgmlError>(())
/// ```
pub fn unpack_mxfp4(
    shape: Shape,
    rows: &[u8],
    codes: &mut [u8],
    scales: &mut [u8],
) -> Result<(), GgmlError> {
    check(
        GgmlType::Mxfp4,
        &Format::MXFP4,
        shape,
        rows.len(),
        codes.len(),
        scales.len(),
    )?;
    let blocks = rows.chunks_exact(17).zip(codes.chunks_exact_mut(16));
    for ((block, codes), scale) in blocks.zip(scales) {
        *scale = block[0];
        interleave(&block[1..], codes);
    }
    Ok(())
}

/// Joins codes and scales of [`Format::MXFP4`] to rows of ggml's MXFP4.
///
/// The codes may be gpt-oss' `_blocks`, the scales its `_scales`: they lie in the same order.
///
/// # Errors
///
/// [`GgmlError`] where a slice is not as long as `shape` asks for, or its rows are no whole number
/// of blocks.
///
/// ```
/// use blockscale::Shape;
/// use blockscale::ggml::pack_mxfp4;
///
/// // Columns 0 and 1 have the codes 0 and 1; in ggml columns 0 and 16 share a byte.
/// let mut codes = [0; 16];
/// codes[0] = 0x10;
/// let mut rows = [0; 17];
/// pack_mxfp4(Shape::new(1, 32), &codes, &[127], &mut rows)?;
/// assert_eq!(rows[..4], [127, 0x00, 0x01, 0x00]);
/// # Ok::<(), blockscale::ggml::GgmlError>(())
/// ```
pub fn pack_mxfp4(
    shape: Shape,
    codes: &[u8],
    scales: &[u8],
    rows: &mut [u8],
) -> Result<(), GgmlError> {
    check(
        GgmlType::Mxfp4,
        &Format::MXFP4,
        shape,
        rows.len(),
        codes.len(),
        scales.len(),
    )?;
    let blocks = rows.chunks_exact_mut(17).zip(codes.chunks_exact(16));
    for ((block, codes), &scale) in blocks.zip(scales) {
        block[0] = scale;
        put_split(&mut block[1..], |index| bits::get(codes, 4, index));
    }
    Ok(())
}

/// Splits rows of ggml's NVFP4 into codes and scales of [`Format::NVFP4`].
///
/// The scale bytes are copied, less their sign bit, which ggml does not read. `0x7F` decodes to 0 in
/// ggml and to NaN in E4M3; ggml does not write it.
///
/// # Errors
///
/// [`GgmlError`] where a slice is not as long as `shape` asks for, or its rows are no whole number
/// of blocks.
///
/// ```
/// use blockscale::Shape;
/// use blockscale::ggml::unpack_nvfp4;
///
/// // One block: four scales, and of the first 16 codes columns 0 and 8 in one byte.
/// let mut block = [0; 36];
/// block[..4].copy_from_slice(&[0x38, 0x30, 0x28, 0x20]);
/// block[4] = 0x72;
/// let (mut codes, mut scales) = ([0; 32], [0; 4]);
/// unpack_nvfp4(Shape::new(1, 64), &block, &mut codes, &mut scales)?;
/// assert_eq!(scales, [0x38, 0x30, 0x28, 0x20]);
/// assert_eq!(codes[..5], [0x02, 0, 0, 0, 0x07]);
/// # Ok::<(), blockscale::ggml::GgmlError>(())
/// ```
pub fn unpack_nvfp4(
    shape: Shape,
    rows: &[u8],
    codes: &mut [u8],
    scales: &mut [u8],
) -> Result<(), GgmlError> {
    check(
        GgmlType::Nvfp4,
        &Format::NVFP4,
        shape,
        rows.len(),
        codes.len(),
        scales.len(),
    )?;
    let blocks = rows.chunks_exact(36).zip(codes.chunks_exact_mut(32));
    for ((block, codes), scales) in blocks.zip(scales.chunks_exact_mut(4)) {
        for (scale, stored) in scales.iter_mut().zip(block) {
            *scale = stored & 0x7f;
        }
        let groups = block[4..].chunks_exact(8).zip(codes.chunks_exact_mut(8));
        for (group, codes) in groups {
            interleave(group, codes);
        }
    }
    Ok(())
}

/// Joins codes and scales of [`Format::NVFP4`] to rows of ggml's NVFP4.
///
/// The sign bit of a scale is cleared, as llama.cpp's converter has it. The scale of the tensor, a
/// multiplier, goes into a tensor of its own (`<name>.scale`).
///
/// # Errors
///
/// [`GgmlError`] where a slice is not as long as `shape` asks for, or its rows are no whole number
/// of blocks.
///
/// ```
/// use blockscale::Shape;
/// use blockscale::ggml::pack_nvfp4;
///
/// // Columns 0 and 1 have the codes 2 and 7; in ggml columns 0 and 8 share a byte.
/// let mut codes = [0; 32];
/// codes[0] = 0x72;
/// let mut block = [0; 36];
/// pack_nvfp4(Shape::new(1, 64), &codes, &[0x38, 0x30, 0x28, 0x20], &mut block)?;
/// assert_eq!(block[..6], [0x38, 0x30, 0x28, 0x20, 0x02, 0x07]);
/// # Ok::<(), blockscale::ggml::GgmlError>(())
/// ```
pub fn pack_nvfp4(
    shape: Shape,
    codes: &[u8],
    scales: &[u8],
    rows: &mut [u8],
) -> Result<(), GgmlError> {
    check(
        GgmlType::Nvfp4,
        &Format::NVFP4,
        shape,
        rows.len(),
        codes.len(),
        scales.len(),
    )?;
    let blocks = rows.chunks_exact_mut(36).zip(codes.chunks_exact(32));
    for ((block, codes), scales) in blocks.zip(scales.chunks_exact(4)) {
        for (stored, scale) in block.iter_mut().zip(scales) {
            *stored = scale & 0x7f;
        }
        let groups = block[4..].chunks_exact_mut(8).zip(codes.chunks_exact(8));
        for (group, codes) in groups {
            put_split(group, |index| bits::get(codes, 4, index));
        }
    }
    Ok(())
}

/// Codes with the first half in the low halves of bytes, to codes with the even columns there.
fn interleave(split: &[u8], codes: &mut [u8]) {
    for (pair, byte) in codes.iter_mut().enumerate() {
        *byte = split_code(split, 2 * pair) | (split_code(split, 2 * pair + 1) << 4);
    }
}

fn check(
    ty: GgmlType,
    format: &Format,
    shape: Shape,
    rows: usize,
    codes: usize,
    scales: usize,
) -> Result<(), GgmlError> {
    check_rows(ty, shape, rows)?;
    LenMismatch::check("codes", format.code_bytes(shape), codes)?;
    LenMismatch::check("scales", format.scale_bytes(shape), scales)?;
    Ok(())
}
