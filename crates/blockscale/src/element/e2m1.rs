use super::EncodePolicy;
use super::policy::Signed;
use super::round::{Minifloat, sign_bit};

const LAYOUT: Minifloat = Minifloat {
    mantissa_bits: 1,
    bias: 1,
    max_code: 0x7,
};

const SIGNED: Signed = Signed {
    layout: LAYOUT,
    sign: 0x8,
    special: None,
};

const VALUES: [f32; 16] = {
    let mut values = [0.0; 16];
    let mut code = 0;
    while code < 8 {
        values[code] = LAYOUT.widen(code as u8);
        values[code + 8] = -values[code];
        code += 1;
    }
    values
};

/// 4-bit float with 1 sign, 2 exponent and 1 mantissa bit (bias 1).
///
/// | code  | 0 | 1   | 2 | 3   | 4 | 5 | 6 | 7 |
/// |-------|---|-----|---|-----|---|---|---|---|
/// | value | 0 | 0.5 | 1 | 1.5 | 2 | 3 | 4 | 6 |
///
/// Codes 8 to 15 are the negatives; code 8 is negative zero. There is no infinity and no NaN.
/// Element type of NVFP4 and MXFP4 (OCP Microscaling Formats 1.0, section 5.3.3).
///
/// ```
/// use blockscale::element::E2m1;
///
/// assert_eq!(E2m1::from_bits(0xd).to_f32(), -3.0);
/// assert_eq!(E2m1::from_f32(-3.0).to_bits(), 0xd);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct E2m1(u8);

impl E2m1 {
    /// 6, the largest value.
    pub const MAX: Self = Self(0x7);

    /// 0.5, the smallest value above zero.
    pub const MIN_POSITIVE: Self = Self(0x1);

    /// The element with the code in the low four bits of `bits`; the high four are ignored.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 0xf)
    }

    /// The code, 0 to 15.
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// Rounds to the nearest value, ties to the even code.
    ///
    /// Magnitudes above 6, infinity included, become 6 with the sign kept. Zero, and what rounds to
    /// it, keeps its sign. NaN of either sign becomes +6, as CUDA's conversion has it.
    ///
    /// ```
    /// use blockscale::element::E2m1;
    ///
    /// assert_eq!(E2m1::from_f32(2.5).to_f32(), 2.0);
    /// assert_eq!(E2m1::from_f32(-1e9).to_f32(), -6.0);
    /// ```
    pub const fn from_f32(x: f32) -> Self {
        if x.is_nan() {
            return Self::MAX;
        }
        Self(LAYOUT.magnitude(x) | (sign_bit(x) << 3))
    }

    /// Rounds as `policy` says.
    pub const fn from_f32_with(x: f32, policy: &EncodePolicy) -> Self {
        Self(SIGNED.encode(x, policy, Self::MAX.0))
    }

    /// The exact value.
    pub const fn to_f32(self) -> f32 {
        VALUES[(self.0 & 0xf) as usize]
    }
}
