use bytemuck::{Pod, Zeroable};

use super::EncodePolicy;
use super::policy::Signed;
use super::round::{Minifloat, sign_bit};

const LAYOUT: Minifloat = Minifloat {
    mantissa_bits: 3,
    bias: 7,
    max_code: 0x7e,
};

const SIGNED: Signed = Signed {
    layout: LAYOUT,
    sign: 0x80,
    special: Some(0x7f),
};

static VALUES: [f32; 256] = {
    let mut values = [0.0; 256];
    let mut code = 0;
    while code < 128 {
        values[code] = if code == 0x7f {
            f32::NAN
        } else {
            LAYOUT.widen(code as u8)
        };
        values[code + 128] = -values[code];
        code += 1;
    }
    values
};

/// 8-bit float with 1 sign, 4 exponent and 3 mantissa bits (bias 7), finite only.
///
/// | code  | `0x00` | `0x01` | `0x07` | `0x08` | `0x30` | `0x38` | `0x40` | `0x7E` | `0x7F` |
/// |-------|--------|--------|--------|--------|--------|--------|--------|--------|--------|
/// | value | 0      | 2^-9   | 7·2^-9 | 2^-6   | 0.5    | 1      | 2      | 448    | NaN    |
///
/// Codes from `0x80` are the negatives; `0x80` is negative zero and `0xFF` NaN. There is no
/// infinity: the codes that IEEE 754 would spend on it are numbers up to 448. Element type of FP8
/// weights and scale type of NVFP4, where the sign is always clear (OCP 8-bit Floating Point 1.0,
/// section 5).
///
/// ```
/// use blockscale::element::E4m3Fn;
///
/// assert_eq!(E4m3Fn::from_bits(0x30).to_f32(), 0.5);
/// assert_eq!(E4m3Fn::from_f32(0.5).to_bits(), 0x30);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub struct E4m3Fn(u8);

impl E4m3Fn {
    /// 448, the largest value.
    pub const MAX: Self = Self(0x7e);

    /// 2^-9, the smallest value above zero.
    pub const MIN_POSITIVE: Self = Self(0x01);

    /// The element with this code.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The code.
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// Rounds to the nearest value, ties to the even code.
    ///
    /// Magnitudes above 448, infinity included, become 448 with the sign kept. Zero, and what
    /// rounds to it, keeps its sign. NaN of either sign becomes `0x7F`.
    ///
    /// ```
    /// use blockscale::element::E4m3Fn;
    ///
    /// assert_eq!(E4m3Fn::from_f32(1.0).to_bits(), 0x38);
    /// assert_eq!(E4m3Fn::from_f32(1e9).to_f32(), 448.0);
    /// ```
    pub const fn from_f32(x: f32) -> Self {
        if x.is_nan() {
            return Self(0x7f);
        }
        Self(LAYOUT.magnitude(x) | (sign_bit(x) << 7))
    }

    /// Rounds as `policy` says.
    ///
    /// ```
    /// use blockscale::element::{E4m3Fn, EncodePolicy, Overflow};
    ///
    /// let strict = EncodePolicy { overflow: Overflow::Special, ..EncodePolicy::DEFAULT };
    /// assert_eq!(E4m3Fn::from_f32_with(464.0, &strict), E4m3Fn::MAX); // a tie, to the even code
    /// assert!(E4m3Fn::from_f32_with(465.0, &strict).to_f32().is_nan());
    /// ```
    pub const fn from_f32_with(x: f32, policy: &EncodePolicy) -> Self {
        Self(SIGNED.encode(x, policy, 0x7f))
    }

    /// The exact value; `0x7F` and `0xFF` give NaN with their sign.
    pub const fn to_f32(self) -> f32 {
        VALUES[self.0 as usize]
    }
}
