//! Blocks to numbers.

use half::{bf16, f16};

use super::blocks::{DOUBLED, check_rows, split_code};
use super::{GgmlError, GgmlType, ue4m3_to_f32};
use crate::{LenMismatch, Real, Shape};

/// Decodes a run of rows.
///
/// Each value is one `f32` product of an integer and a scale, as in ggml, rounded once more to `T`.
/// In the 4-bit floats the integer is the doubled E2M1 value and the scale is halved, which is the
/// same but under the scale 2^-127. A UE8M0 scale of `0xFF` is 2^128 there, and so gives 2^127
/// times the doubled value; ggml refuses such files.
///
/// # Errors
///
/// [`GgmlError`] where `rows` or `out` is not as long as `shape` asks for, or its rows are no whole
/// number of blocks. `out` is untouched then.
///
/// ```
/// use blockscale::ggml::{GgmlType, decode_rows};
/// use blockscale::{Shape, f16};
///
/// let mut block = [0; 34];
/// block[..2].copy_from_slice(&f16::from_f32(0.5).to_le_bytes());
/// block[2] = 3;
/// block[33] = -2_i8 as u8;
/// let mut out = [0.0_f32; 32];
/// decode_rows(GgmlType::Q8_0, Shape::new(1, 32), &block, &mut out)?;
/// assert_eq!((out[0], out[1], out[31]), (1.5, 0.0, -1.0));
/// # Ok::<(), blockscale::ggml::GgmlError>(())
/// ```
pub fn decode_rows<T: Real>(
    ty: GgmlType,
    shape: Shape,
    rows: &[u8],
    out: &mut [T],
) -> Result<(), GgmlError> {
    check_rows(ty, shape, rows.len())?;
    LenMismatch::check("out", shape.len(), out.len())?;
    let blocks = rows.chunks_exact(ty.block_bytes());
    for (out, block) in out.chunks_exact_mut(ty.block_len()).zip(blocks) {
        decode_block(ty, block, out);
    }
    Ok(())
}

fn decode_block<T: Real>(ty: GgmlType, block: &[u8], out: &mut [T]) {
    match (ty, block) {
        (GgmlType::Q4_0, &[a, b, ref codes @ ..]) => {
            let scale = f16::from_le_bytes([a, b]).to_f32();
            fill(out, scale, |index| i16::from(split_code(codes, index)) - 8);
        }
        (GgmlType::Q8_0, &[a, b, ref codes @ ..]) => {
            let scale = f16::from_le_bytes([a, b]).to_f32();
            fill(out, scale, |index| i16::from(codes[index] as i8));
        }
        (GgmlType::Mxfp4, &[scale, ref codes @ ..]) => {
            let scale = half_of_ue8m0(scale);
            fill(out, scale, |index| doubled(split_code(codes, index)));
        }
        (GgmlType::Nvfp4, &[a, b, c, d, ref codes @ ..]) => {
            let groups = out.chunks_exact_mut(16).zip(codes.chunks_exact(8));
            for ((out, codes), scale) in groups.zip([a, b, c, d]) {
                let scale = ue4m3_to_f32(scale) * 0.5;
                fill(out, scale, |index| doubled(split_code(codes, index)));
            }
        }
        (GgmlType::F32, &[a, b, c, d]) => out.fill(T::from_f32(f32::from_le_bytes([a, b, c, d]))),
        (GgmlType::F16, &[a, b]) => out.fill(T::from_f32(f16::from_le_bytes([a, b]).to_f32())),
        (GgmlType::Bf16, &[a, b]) => out.fill(T::from_f32(bf16::from_le_bytes([a, b]).to_f32())),
        _ => debug_assert!(false, "blocks are cut to the size of the type"),
    }
}

fn fill<T: Real>(out: &mut [T], scale: f32, code: impl Fn(usize) -> i16) {
    for (index, out) in out.iter_mut().enumerate() {
        *out = T::from_f32(number_at(code(index), scale));
    }
}

/// What an integer stands for.
pub(super) fn number_at(integer: i16, factor: f32) -> f32 {
    f32::from(integer) * factor
}

fn doubled(code: u8) -> i16 {
    i16::from(DOUBLED[usize::from(code & 0xf)])
}

/// 2^(code - 128).
pub(super) fn half_of_ue8m0(code: u8) -> f32 {
    match code {
        0 | 1 => f32::from_bits(0x20_0000 << code),
        _ => f32::from_bits((u32::from(code) - 1) << 23),
    }
}
