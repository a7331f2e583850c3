use bytemuck::{Pod, Zeroable};

use super::round::{Minifloat, sign_bit};
use super::{E4m3Fn, EncodePolicy, Overflow};

const LAYOUT: Minifloat = Minifloat {
    mantissa_bits: 3,
    bias: 8,
    max_code: 0x7f,
};

const NAN: u8 = 0x80;

static VALUES: [f32; 256] = {
    let mut values = [0.0; 256];
    let mut code = 0;
    while code < 128 {
        values[code] = LAYOUT.widen(code as u8);
        values[code + 128] = -values[code];
        code += 1;
    }
    values[NAN as usize] = f32::NAN;
    values
};

/// 8-bit float with 1 sign, 4 exponent and 3 mantissa bits (bias 8), finite only, one zero.
///
/// | code  | `0x00` | `0x01` | `0x07`  | `0x08` | `0x38` | `0x40` | `0x48` | `0x7F` | `0x80` |
/// |-------|--------|--------|---------|--------|--------|--------|--------|--------|--------|
/// | value | 0      | 2^-10  | 7·2^-10 | 2^-7   | 0.5    | 1      | 2      | 240    | NaN    |
///
/// Codes from `0x81` are the negatives. There is no infinity and no negative zero, whose code is
/// the only NaN. FP8 type of AMD's MI300; a code means half of what it means in [`E4m3Fn`].
///
/// ```
/// use blockscale::element::E4m3Fnuz;
///
/// assert_eq!(E4m3Fnuz::from_bits(0x30).to_f32(), 0.25);
/// assert_eq!(E4m3Fnuz::from_f32(0.25).to_bits(), 0x30);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub struct E4m3Fnuz(u8);

impl E4m3Fnuz {
    /// 240, the largest value.
    pub const MAX: Self = Self(0x7f);

    /// 2^-10, the smallest value above zero.
    pub const MIN_POSITIVE: Self = Self(0x01);

    /// The only NaN.
    pub const NAN: Self = Self(NAN);

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
    /// Magnitudes above 240, infinity included, become 240 with the sign kept. Zero of either sign,
    /// and what rounds to it, becomes the only zero, NaN the only NaN.
    ///
    /// ```
    /// use blockscale::element::E4m3Fnuz;
    ///
    /// assert_eq!(E4m3Fnuz::from_f32(1.0).to_bits(), 0x40);
    /// assert_eq!(E4m3Fnuz::from_f32(-0.0).to_bits(), 0x00);
    /// ```
    pub const fn from_f32(x: f32) -> Self {
        if x.is_nan() {
            return Self::NAN;
        }
        Self::signed(LAYOUT.magnitude(x), sign_bit(x))
    }

    /// Rounds as `policy` says; its [`zero`](EncodePolicy::zero) and
    /// [`nan`](EncodePolicy::nan) have no say, since there is one of each.
    pub const fn from_f32_with(x: f32, policy: &EncodePolicy) -> Self {
        let overflows =
            matches!(policy.overflow, Overflow::Special) && LAYOUT.overflows(x, policy.ties);
        if x.is_nan() || overflows {
            return Self::NAN;
        }
        Self::signed(LAYOUT.magnitude_with(x, policy.ties), sign_bit(x))
    }

    const fn signed(magnitude: u8, sign: u8) -> Self {
        if magnitude == 0 {
            return Self(0);
        }
        Self(magnitude | (sign << 7))
    }

    /// The element of the same bits in [`E4m3Fn`], which is twice as much: what multiplies it must
    /// be doubled. Negative zero becomes zero.
    ///
    /// `None` for the two codes that are NaN there, since here they are numbers.
    ///
    /// ```
    /// use blockscale::element::{E4m3Fn, E4m3Fnuz};
    ///
    /// let one = E4m3Fn::from_f32(1.0);
    /// assert_eq!(E4m3Fnuz::from_e4m3fn_bits(one).map(E4m3Fnuz::to_f32), Some(0.5));
    /// ```
    pub const fn from_e4m3fn_bits(element: E4m3Fn) -> Option<Self> {
        match element.to_bits() {
            0x7f | 0xff => None,
            0x80 => Some(Self(0)),
            bits => Some(Self(bits)),
        }
    }

    /// The exact value; `0x80` gives NaN.
    pub const fn to_f32(self) -> f32 {
        VALUES[self.0 as usize]
    }
}
