//! Numbers to blocks.

use half::{bf16, f16};

use super::blocks::{DOUBLED, check_rows, put_split};
use super::decode::half_of_ue8m0;
use super::{GgmlError, GgmlType, ue4m3_from_f32, ue4m3_to_f32};
use crate::element::E8m0Fnu;
use crate::encode::{Scheme, amax, tensor_scale};
use crate::{Format, LenMismatch, Real, Shape};

/// Encodes a run of rows, byte for byte as llama.cpp's Python package `gguf` does.
///
/// - `Q8_0`: `d = amax / 127`; `q` is `x * (1 / d)` rounded half away from zero. `d` is rounded to
///   f16 after that.
/// - `Q4_0`: `d` is the first element of the largest magnitude, over -8; `q = x * (1 / d) + 8.5`, cut to
///   an integer and at 15. `d` is rounded to f16 after that.
/// - `MXFP4`: the scale by the rule [`Floor`](crate::encode::ScaleRule::Floor), taken on the bits of
///   `amax` where ggml takes a logarithm that can be one off just below a power of two.
/// - `NVFP4`: each scale is [`ue4m3_from_f32`]`(amax / 6)`.
///
/// In the last two a code is the first whose value is nearest: ties go toward zero and there is no
/// code of -0. NaN and infinities do not count for a scale; infinities get the largest code of
/// their sign, NaN gets 0.
///
/// # Errors
///
/// [`GgmlError`] where `values` or `rows` is not as long as `shape` asks for, or its rows are no
/// whole number of blocks. `rows` is untouched then.
///
/// ```
/// use blockscale::Shape;
/// use blockscale::ggml::{GgmlType, encode_rows};
///
/// let ramp: [f32; 32] = std::array::from_fn(|i| (i as f32 - 15.5) / 8.0);
/// let mut block = [0; 17];
/// encode_rows(GgmlType::Mxfp4, Shape::new(1, 32), &ramp, &mut block)?;
/// assert_eq!(block[..4], [0x7d, 0x0f, 0x1f, 0x2f]);
/// # Ok::<(), blockscale::ggml::GgmlError>(())
/// ```
pub fn encode_rows<T: Real>(
    ty: GgmlType,
    shape: Shape,
    values: &[T],
    rows: &mut [u8],
) -> Result<(), GgmlError> {
    check_rows(ty, shape, rows.len())?;
    LenMismatch::check("values", shape.len(), values.len())?;
    let blocks = rows.chunks_exact_mut(ty.block_bytes());
    for (values, block) in values.chunks_exact(ty.block_len()).zip(blocks) {
        encode_block(ty, values, block);
    }
    Ok(())
}

fn encode_block<T: Real>(ty: GgmlType, values: &[T], block: &mut [u8]) {
    let first = values[0].to_f32();
    match ty {
        GgmlType::F32 => block.copy_from_slice(&first.to_le_bytes()),
        GgmlType::F16 => block.copy_from_slice(&f16::from_f32(first).to_le_bytes()),
        GgmlType::Bf16 => block.copy_from_slice(&bf16::from_f32(first).to_le_bytes()),
        GgmlType::Q4_0 => encode_q4_0(values, block),
        GgmlType::Q8_0 => encode_q8_0(values, block),
        GgmlType::Mxfp4 => {
            let (scale, codes) = block.split_at_mut(1);
            let rule = Scheme::GGML_MXFP4.rule;
            let chosen = E8m0Fnu::from_f32_ceil(tensor_scale(&Format::MXFP4, rule, amax(values)));
            scale[0] = chosen.to_bits();
            let half = half_of_ue8m0(scale[0]);
            put_split(codes, |index| nearest(values[index].to_f32(), half));
        }
        GgmlType::Nvfp4 => {
            let (scales, codes) = block.split_at_mut(4);
            let groups = values.chunks_exact(16).zip(codes.chunks_exact_mut(8));
            for ((values, codes), scale) in groups.zip(scales) {
                *scale = ue4m3_from_f32(amax(values) / 6.0);
                let half = ue4m3_to_f32(*scale) * 0.5;
                put_split(codes, |index| nearest(values[index].to_f32(), half));
            }
        }
    }
}

fn encode_q8_0<T: Real>(values: &[T], block: &mut [u8]) {
    let scale = amax(values) / 127.0;
    let inverse = inverse_or_zero(scale);
    let (stored, codes) = block.split_at_mut(2);
    stored.copy_from_slice(&f16::from_f32(scale).to_le_bytes());
    for (code, value) in codes.iter_mut().zip(values) {
        *code = libm::roundf(value.to_f32() * inverse) as i8 as u8;
    }
}

fn encode_q4_0<T: Real>(values: &[T], block: &mut [u8]) {
    let finite = values
        .iter()
        .map(|value| value.to_f32())
        .filter(|x| x.is_finite());
    let largest = finite.reduce(|a, b| if b.abs() > a.abs() { b } else { a });
    let largest = largest.unwrap_or(0.0);
    let scale = largest / -8.0;
    let inverse = inverse_or_zero(scale);
    let (stored, codes) = block.split_at_mut(2);
    stored.copy_from_slice(&f16::from_f32(scale).to_le_bytes());
    // The conversion to an integer cuts, and takes what is negative for 0.
    put_split(codes, |index| {
        ((values[index].to_f32() * inverse + 8.5) as u8).min(15)
    });
}

/// Zero where the scale has no inverse, and is zero in f16 as well.
fn inverse_or_zero(scale: f32) -> f32 {
    let inverse = 1.0 / scale;
    if inverse.is_finite() { inverse } else { 0.0 }
}

/// The first code whose doubled value times `half`, the halved scale, is nearest to `x`.
fn nearest(x: f32, half: f32) -> u8 {
    let largest = 12.0 * half;
    let x = if x.is_nan() {
        0.0
    } else {
        x.clamp(-largest, largest)
    };
    let (mut code, mut smallest) = (0, f32::INFINITY);
    for (candidate, &doubled) in (0..).zip(&DOUBLED) {
        let error = (f32::from(doubled) * half - x).abs();
        if error < smallest {
            (code, smallest) = (candidate, error);
        }
    }
    code
}
