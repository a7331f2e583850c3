use super::round::{Minifloat, sign_bit};

/// What a conversion to a small float does where the formats leave a choice.
///
/// [`DEFAULT`](Self::DEFAULT) is what `from_f32` of every element type does. The other values exist
/// because the libraries of the field differ, so that the bytes of any of them can be had.
///
/// ```
/// use blockscale::element::{E2m1, EncodePolicy, Ties};
///
/// let down = EncodePolicy { ties: Ties::TowardZero, ..EncodePolicy::DEFAULT };
/// assert_eq!(E2m1::from_f32(0.75).to_f32(), 1.0);
/// assert_eq!(E2m1::from_f32_with(0.75, &down).to_f32(), 0.5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EncodePolicy {
    /// Where a number half-way between two values goes.
    pub ties: Ties,
    /// What a magnitude becomes that rounds to above the largest finite value.
    pub overflow: Overflow,
    /// Which sign a code of zero gets.
    pub zero: ZeroSign,
    /// The code of NaN.
    pub nan: NanCode,
}

impl EncodePolicy {
    /// Ties to the even code, saturation, the sign of zero kept, and NaN as each element type
    /// documents it: `cvt.rn.satfinite` of CUDA.
    pub const DEFAULT: Self = Self {
        ties: Ties::Even,
        overflow: Overflow::Saturate,
        zero: ZeroSign::Keep,
        nan: NanCode::OfType,
    };
}

impl Default for EncodePolicy {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Where a number half-way between two values goes.
///
/// ```
/// use blockscale::element::{E2m1, EncodePolicy, Ties};
///
/// // 2.5 lies between 2, whose code is even, and 3.
/// let rounded = |ties| {
///     let policy = EncodePolicy { ties, ..EncodePolicy::DEFAULT };
///     E2m1::from_f32_with(2.5, &policy).to_f32()
/// };
/// assert_eq!([Ties::Even, Ties::TowardZero, Ties::Away].map(rounded), [2.0, 2.0, 3.0]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ties {
    /// To the value whose code is even, as IEEE 754 has it.
    Even,
    /// To the smaller magnitude (DeepGEMM, ggml and ModelOpt's MXFP4, for E2M1).
    TowardZero,
    /// To the larger magnitude (microxcaling's `nearest`).
    Away,
}

/// What a magnitude becomes that rounds to above the largest finite value.
///
/// ```
/// use blockscale::element::{E4m3Fn, EncodePolicy, Overflow};
///
/// let policy = EncodePolicy { overflow: Overflow::Special, ..EncodePolicy::DEFAULT };
/// assert_eq!(E4m3Fn::from_f32(500.0).to_f32(), 448.0);
/// assert!(E4m3Fn::from_f32_with(500.0, &policy).to_f32().is_nan());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// The largest finite value, infinity too.
    Saturate,
    /// Infinity where the type has one, NaN where it has only that (ml_dtypes). A type with neither
    /// saturates.
    ///
    /// What rounds to the largest finite value is none: 464 becomes 448 in E4M3, 464.1 NaN.
    Special,
}

/// Which sign a code of zero gets, in a type that has both.
///
/// ```
/// use blockscale::element::{E2m1, EncodePolicy, ZeroSign};
///
/// let codes = |zero| {
///     let policy = EncodePolicy { zero, ..EncodePolicy::DEFAULT };
///     [0.0, -0.0, -0.1].map(|x| E2m1::from_f32_with(x, &policy).to_bits())
/// };
/// assert_eq!(codes(ZeroSign::Keep), [0, 8, 8]);
/// assert_eq!(codes(ZeroSign::Drop), [0, 0, 8]);
/// assert_eq!(codes(ZeroSign::DropRounded), [0, 0, 0]);
/// assert_eq!(codes(ZeroSign::Negative), [8, 8, 8]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ZeroSign {
    /// That of the number.
    Keep,
    /// -0 becomes +0; a negative number that rounds to zero keeps its sign (ModelOpt's NVFP4,
    /// compressed-tensors).
    Drop,
    /// -0 and negative numbers that round to zero become +0 (DeepGEMM, ggml).
    DropRounded,
    /// +0 becomes -0, since the sign is taken from `x > 0`; what rounds to zero keeps its sign
    /// (ModelOpt's MXFP4).
    Negative,
}

/// The code of NaN.
///
/// ```
/// use blockscale::element::{E2m1, EncodePolicy, NanCode};
///
/// let codes = |nan| {
///     let policy = EncodePolicy { nan, ..EncodePolicy::DEFAULT };
///     [f32::NAN, -f32::NAN].map(|x| E2m1::from_f32_with(x, &policy).to_bits())
/// };
/// assert_eq!(codes(NanCode::OfType), [7, 7]);
/// assert_eq!(codes(NanCode::Signed(7)), [7, 15]);
/// assert_eq!(codes(NanCode::Opposite(0)), [8, 0]);
/// assert_eq!(codes(NanCode::Payload), [3, 11]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NanCode {
    /// The one that `from_f32` of the type documents.
    OfType,
    /// This code, whatever the sign of the NaN.
    Fixed(u8),
    /// This code of a positive number, with the sign of the NaN.
    Signed(u8),
    /// This code of a positive number, with the sign that the NaN does not have (ml_dtypes, which
    /// gives zeros for types without NaN).
    Opposite(u8),
    /// What rounding the bits of the NaN as if they were a number leaves in the low bits of the
    /// code, with its sign (torchao, for types without NaN): a finite code that depends on the
    /// payload.
    Payload,
}

/// How a type with a sign bit above a [`Minifloat`] is encoded under a policy.
pub(super) struct Signed {
    pub(super) layout: Minifloat,
    /// The sign bit, in its place.
    pub(super) sign: u8,
    /// The magnitude code of infinity, or of NaN where there is no infinity.
    pub(super) special: Option<u8>,
}

impl Signed {
    /// The code of `x`, `nan_of_type` where it is NaN and the policy leaves that to the type.
    pub(super) const fn encode(&self, x: f32, policy: &EncodePolicy, nan_of_type: u8) -> u8 {
        let negative = sign_bit(x) * self.sign;
        if x.is_nan() {
            return match policy.nan {
                NanCode::OfType => nan_of_type,
                NanCode::Fixed(code) => code & (self.sign | (self.sign - 1)),
                NanCode::Signed(code) => (code & (self.sign - 1)) | negative,
                NanCode::Opposite(code) => (code & (self.sign - 1)) | (negative ^ self.sign),
                NanCode::Payload => (self.layout.rounded_bits(x) & (self.sign - 1)) | negative,
            };
        }
        let magnitude = match (policy.overflow, self.special) {
            (Overflow::Special, Some(special)) if self.layout.overflows(x, policy.ties) => special,
            _ => self.layout.magnitude_with(x, policy.ties),
        };
        match policy.zero {
            ZeroSign::Keep => magnitude | negative,
            ZeroSign::Drop if x == 0.0 => 0,
            ZeroSign::DropRounded if magnitude == 0 => 0,
            ZeroSign::Negative if x == 0.0 => self.sign,
            _ => magnitude | negative,
        }
    }
}
