use super::EncodePolicy;
use super::policy::Signed;
use super::round::{Minifloat, sign_bit};

const LAYOUT: Minifloat = Minifloat {
    mantissa_bits: 2,
    bias: 3,
    max_code: 0x1f,
};

const SIGNED: Signed = Signed {
    layout: LAYOUT,
    sign: 0x20,
    special: None,
};

static VALUES: [f32; 64] = {
    let mut values = [0.0; 64];
    let mut code = 0;
    while code < 32 {
        values[code] = LAYOUT.widen(code as u8);
        values[code + 32] = -values[code];
        code += 1;
    }
    values
};

/// 6-bit float with 1 sign, 3 exponent and 2 mantissa bits (bias 3).
///
/// | codes  | 0 to 8   | 8 to 12  | 12 to 16 | 16 to 20 | 20 to 24 | 24 to 28 | 28 to 31 |
/// |--------|----------|----------|----------|----------|----------|----------|----------|
/// | values | 0 to 0.5 | 0.5 to 1 | 1 to 2   | 2 to 4   | 4 to 8   | 8 to 16  | 16 to 28 |
/// | step   | 0.0625   | 0.125    | 0.25     | 0.5      | 1        | 2        | 4        |
///
/// Codes 32 to 63 are the negatives; code 32 is negative zero. There is no infinity and no NaN.
/// Element type of MXFP6 (OCP Microscaling Formats 1.0, section 5.3.2).
///
/// ```
/// use blockscale::element::E3m2;
///
/// assert_eq!(E3m2::from_bits(0x3f).to_f32(), -28.0);
/// assert_eq!(E3m2::from_f32(-28.0).to_bits(), 0x3f);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct E3m2(u8);

impl E3m2 {
    /// 28, the largest value.
    pub const MAX: Self = Self(0x1f);

    /// 0.0625, the smallest value above zero.
    pub const MIN_POSITIVE: Self = Self(0x01);

    /// The element with the code in the low six bits of `bits`; the high two are ignored.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits & 0x3f)
    }

    /// The code, 0 to 63.
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// Rounds to the nearest value, ties to the even code.
    ///
    /// Magnitudes above 28, infinity included, become 28 with the sign kept. Zero, and what
    /// rounds to it, keeps its sign. NaN of either sign becomes +28, as CUDA's conversion has it.
    ///
    /// ```
    /// use blockscale::element::E3m2;
    ///
    /// assert_eq!(E3m2::from_f32(1.125).to_f32(), 1.0);
    /// assert_eq!(E3m2::from_f32(-1e9).to_f32(), -28.0);
    /// ```
    pub const fn from_f32(x: f32) -> Self {
        if x.is_nan() {
            return Self::MAX;
        }
        Self(LAYOUT.magnitude(x) | (sign_bit(x) << 5))
    }

    /// Rounds as `policy` says.
    pub const fn from_f32_with(x: f32, policy: &EncodePolicy) -> Self {
        Self(SIGNED.encode(x, policy, Self::MAX.0))
    }

    /// The exact value.
    pub const fn to_f32(self) -> f32 {
        VALUES[(self.0 & 0x3f) as usize]
    }
}
