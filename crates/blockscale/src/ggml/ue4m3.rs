//! The scale type of ggml's NVFP4: E4M3 without a sign, and with conversions of ggml's own.

use crate::element::E4m3Fn;

/// The value of a scale code as ggml's own CPU code takes it.
///
/// That of [`E4m3Fn`], but `0x7F` is 0, not NaN, and the sign bit is ignored unless the code is
/// `0xFF`, which is 480.
///
/// ```
/// use blockscale::ggml::ue4m3_to_f32;
///
/// assert_eq!([0x38, 0x7e, 0x7f].map(ue4m3_to_f32), [1.0, 448.0, 0.0]);
/// ```
pub fn ue4m3_to_f32(code: u8) -> f32 {
    match code {
        0x7f => 0.0,
        0xff => 480.0,
        _ => E4m3Fn::from_bits(code & 0x7f).to_f32(),
    }
}

const F32_MANTISSA_BITS: u32 = f32::MANTISSA_DIGITS - 1;

/// The scale code that ggml gives a number.
///
/// Not the nearest: ties go up, and every number that rounds to 256 or more becomes `0x7E`, which is
/// 448. Numbers that are not positive, and NaN, become 0.
///
/// ```
/// use blockscale::ggml::ue4m3_from_f32;
///
/// assert_eq!([1.0625, 240.0, 256.0].map(ue4m3_from_f32), [0x39, 0x77, 0x7e]);
/// ```
pub fn ue4m3_from_f32(x: f32) -> u8 {
    const LARGEST: u8 = 0x7e;
    const BELOW_256: u32 = 0x77;
    if x.is_nan() || x <= 0.0 {
        return 0;
    }
    let smallest_normal = 1.0 / 64.0;
    if x < smallest_normal {
        // Steps of 2^-9; a number that would round to the smallest normal stays below it.
        return ((x * 512.0 + 0.5) as u8).min(7);
    }
    // Half a step of the three fraction bits that stay, carried into the exponent.
    let half = 1 << (F32_MANTISSA_BITS - 4);
    let rounded = (x.to_bits() + half) >> (F32_MANTISSA_BITS - 3);
    let code = rounded - ((127 - 7) << 3);
    if code > BELOW_256 {
        LARGEST
    } else {
        code as u8
    }
}
