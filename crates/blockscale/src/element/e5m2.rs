use bytemuck::{Pod, Zeroable};

use super::EncodePolicy;
use super::policy::Signed;
use super::round::{Minifloat, sign_bit};

const LAYOUT: Minifloat = Minifloat {
    mantissa_bits: 2,
    bias: 15,
    max_code: 0x7b,
};

const SIGNED: Signed = Signed {
    layout: LAYOUT,
    sign: 0x80,
    special: Some(0x7c),
};

static VALUES: [f32; 256] = {
    let mut values = [0.0; 256];
    let mut code = 0;
    while code < 128 {
        values[code] = match code {
            0x7c => f32::INFINITY,
            0x7d..=0x7f => f32::NAN,
            _ => LAYOUT.widen(code as u8),
        };
        values[code + 128] = -values[code];
        code += 1;
    }
    values
};

/// 8-bit float with 1 sign, 5 exponent and 2 mantissa bits (bias 15), an IEEE 754 layout.
///
/// | code  | `0x00` | `0x01` | `0x04` | `0x3C` | `0x40` | `0x7B` | `0x7C`   | `0x7D`-`0x7F` |
/// |-------|--------|--------|--------|--------|--------|--------|----------|---------------|
/// | value | 0      | 2^-16  | 2^-14  | 1      | 2      | 57344  | infinity | NaN           |
///
/// Codes from `0x80` are the negatives. The high byte of an IEEE half, cut. Element type of MXFP8
/// E5M2 (OCP 8-bit Floating Point 1.0, section 5).
///
/// ```
/// use blockscale::element::E5m2;
///
/// assert_eq!(E5m2::from_bits(0x7b).to_f32(), 57344.0);
/// assert_eq!(E5m2::from_f32(57344.0).to_bits(), 0x7b);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub struct E5m2(u8);

impl E5m2 {
    /// 57344, the largest finite value.
    pub const MAX: Self = Self(0x7b);

    /// 2^-16, the smallest value above zero.
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
    /// Magnitudes above 57344, infinity included, become 57344 with the sign kept, although the
    /// type has an infinity: a weight that overflowed is better large than infinite. Zero, and what
    /// rounds to it, keeps its sign. NaN becomes `0x7F` or, with the sign set, `0xFF`.
    ///
    /// ```
    /// use blockscale::element::E5m2;
    ///
    /// assert_eq!(E5m2::from_f32(1.1).to_f32(), 1.0);
    /// assert_eq!(E5m2::from_f32(f32::INFINITY), E5m2::MAX);
    /// ```
    pub const fn from_f32(x: f32) -> Self {
        let magnitude = if x.is_nan() {
            0x7f
        } else {
            LAYOUT.magnitude(x)
        };
        Self(magnitude | (sign_bit(x) << 7))
    }

    /// Rounds as `policy` says.
    pub const fn from_f32_with(x: f32, policy: &EncodePolicy) -> Self {
        Self(SIGNED.encode(x, policy, 0x7f | (sign_bit(x) << 7)))
    }

    /// The exact value, infinities and NaN included.
    ///
    /// ```
    /// use blockscale::element::E5m2;
    ///
    /// assert_eq!(E5m2::from_bits(0x3c).to_f32(), 1.0);
    /// assert_eq!(E5m2::from_bits(0xfc).to_f32(), f32::NEG_INFINITY);
    /// ```
    pub const fn to_f32(self) -> f32 {
        VALUES[self.0 as usize]
    }
}
