use bytemuck::{Pod, Zeroable};

const F32_MANTISSA_BITS: u32 = f32::MANTISSA_DIGITS - 1;

/// Bits of 2^-127, which is a subnormal `f32`.
const MIN_POSITIVE_BITS: u32 = 1 << (F32_MANTISSA_BITS - 1);

/// 8-bit power of two: the value is 2^(code - 127). No sign, no zero, no infinity.
///
/// | code  | 0      | 1      | 126 | 127 | 128 | 254   | 255 |
/// |-------|--------|--------|-----|-----|-----|-------|-----|
/// | value | 2^-127 | 2^-126 | 0.5 | 1   | 2   | 2^127 | NaN |
///
/// Code 0 is a subnormal `f32`, not zero: what flushes subnormals to zero cannot decode it. Scale
/// type of the MX formats and of FP8 128x128 blocks with `ue8m0` scales (OCP Microscaling Formats
/// 1.0, section 5.4.1).
///
/// ```
/// use blockscale::element::E8m0Fnu;
///
/// assert_eq!(E8m0Fnu::from_bits(120).to_f32(), 0.0078125);
/// assert_eq!(E8m0Fnu::from_f32_exact(0.0078125), Some(E8m0Fnu::from_bits(120)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(transparent)]
pub struct E8m0Fnu(u8);

impl E8m0Fnu {
    /// 2^127, the largest value.
    pub const MAX: Self = Self(0xfe);

    /// 2^-127, the smallest value.
    pub const MIN_POSITIVE: Self = Self(0x00);

    /// The only NaN.
    pub const NAN: Self = Self(0xff);

    /// The scale with this code.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    /// The code, which is the exponent plus 127.
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// The smallest power of two that is not below `x`, taken on the bits of `x`.
    ///
    /// Zero and negative numbers become 2^-127, numbers above 2^127 become 2^127; infinity of
    /// either sign and NaN become NaN.
    ///
    /// ```
    /// use blockscale::element::E8m0Fnu;
    ///
    /// assert_eq!(E8m0Fnu::from_f32_ceil(1.0).to_f32(), 1.0);
    /// assert_eq!(E8m0Fnu::from_f32_ceil(1.0 + f32::EPSILON).to_f32(), 2.0);
    /// ```
    pub const fn from_f32_ceil(x: f32) -> Self {
        if !x.is_finite() {
            return Self::NAN;
        }
        if x <= 0.0 {
            return Self::MIN_POSITIVE;
        }
        let bits = x.to_bits();
        let exponent = (bits >> F32_MANTISSA_BITS) as u8;
        let fraction = bits & ((1 << F32_MANTISSA_BITS) - 1);
        // A subnormal has no leading one: up to 2^-127 it rounds up to that.
        let above = if exponent == 0 {
            fraction > MIN_POSITIVE_BITS
        } else {
            fraction != 0
        };
        if above && exponent < Self::MAX.0 {
            Self(exponent + 1)
        } else {
            Self(exponent)
        }
    }

    /// The power of two nearest to `x` on a linear scale, taken on the bits of `x`; 1.5 x 2^k, which
    /// is half-way, goes up.
    ///
    /// The conversion of ml_dtypes and torch for positive numbers, with its edges: from 1.5 x 2^127
    /// up, where the nearest power would be 2^128, it gives NaN, and between 2^-127 and 2^-126 it
    /// goes up. Here zero and negative numbers become 2^-127
    /// (torch drops their sign, ml_dtypes makes them NaN); infinity of either sign and NaN become
    /// NaN.
    ///
    /// ```
    /// use blockscale::element::E8m0Fnu;
    ///
    /// assert_eq!(E8m0Fnu::from_f32_nearest(1.4).to_f32(), 1.0);
    /// assert_eq!(E8m0Fnu::from_f32_nearest(1.5).to_f32(), 2.0);
    /// ```
    pub const fn from_f32_nearest(x: f32) -> Self {
        if !x.is_finite() {
            return Self::NAN;
        }
        if x <= 0.0 {
            return Self::MIN_POSITIVE;
        }
        if x.to_bits() == MIN_POSITIVE_BITS {
            return Self::MIN_POSITIVE;
        }
        // The sum carries into the exponent from 1.5 up.
        let half = 1 << (F32_MANTISSA_BITS - 1);
        Self(((x.to_bits() + half) >> F32_MANTISSA_BITS) as u8)
    }

    /// The code of `x`, where `x` is a power of two from 2^-127 to 2^127.
    ///
    /// ```
    /// use blockscale::element::E8m0Fnu;
    ///
    /// assert_eq!(E8m0Fnu::from_f32_exact(0.25).map(E8m0Fnu::to_bits), Some(125));
    /// assert_eq!(E8m0Fnu::from_f32_exact(0.75), None);
    /// ```
    pub const fn from_f32_exact(x: f32) -> Option<Self> {
        let code = Self::from_f32_ceil(x);
        if code.to_f32() == x { Some(code) } else { None }
    }

    /// The exact value; code 255 gives NaN.
    pub const fn to_f32(self) -> f32 {
        match self.0 {
            0 => f32::from_bits(MIN_POSITIVE_BITS),
            255 => f32::NAN,
            code => f32::from_bits((code as u32) << F32_MANTISSA_BITS),
        }
    }
}
