//! Everything that decides which bytes a tensor becomes, as one value.

use super::{ErrorMeasure, ScaleRule};
use crate::element::{EncodePolicy, NanCode, Ties, ZeroSign};

/// How a tensor is encoded, to the bit.
///
/// [`DEFAULT`](Self::DEFAULT) is the way of this crate; a [`ScaleRule`] becomes a scheme that
/// differs from it in the rule alone. The other constants give the bytes that a named library
/// stores for the same numbers of the same type.
///
/// ```
/// use blockscale::encode::{Scheme, encode_rows_with};
/// use blockscale::{Format, Shape};
///
/// let mut weight = [0.0; 32];
/// weight[0] = 1.0; // with the rule "floor" 4 x 2^-2, with "rceil" 8 x 2^-3 would not fit
/// let (mut codes, mut scales) = ([0; 16], [0; 1]);
/// let shape = Shape::new(1, 32);
/// let scheme = Scheme::TORCHAO_MX_FLOOR;
/// encode_rows_with(&Format::MXFP4, &scheme, shape, &weight, 1.0, &mut codes, &mut scales)?;
/// assert_eq!((codes[0], scales), (0x6, [125]));
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheme {
    /// How the scale of a block follows from its numbers.
    pub rule: ScaleRule,
    /// How the scale of the tensor follows from its largest magnitude.
    pub global: GlobalRule,
    /// In which order a block's scale is computed, where there is a scale of the tensor.
    pub order: ScaleOrder,
    /// The smallest scale stored, where that is above the smallest of the scale type.
    pub min_scale: f32,
    /// The scale of a block of zeros, and of one whose scale would be zero. Not read for UE8M0
    /// scales, which have no zero: such blocks get the smallest scale.
    pub zero: ZeroScale,
    /// How a number is brought to the range of the codes.
    pub quotient: Quotient,
    /// What is rounded to the type of the weight on the way.
    pub intermediate: Intermediate,
    /// How the result is rounded.
    pub policy: EncodePolicy,
}

/// How the scale of the tensor follows from its largest magnitude, `amax`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GlobalRule {
    /// `amax / range` as a multiplier, `range / amax` as a divisor.
    Divide,
    /// `amax * (1 / range)` as a multiplier, `range * (1 / max(amax, 2^-126))` as a divisor, and 1
    /// where that overflows (compressed-tensors).
    Reciprocal,
}

/// The order of the `f32` operations that give a block's scale, where there is a scale of the
/// tensor that multiplies. One that divides is multiplied by `amax / max` in either order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScaleOrder {
    /// `amax / (max * global)` (ModelOpt).
    ProductFirst,
    /// `(amax / max) / global` (torchao).
    QuotientFirst,
}

/// Which blocks are given a scale because theirs would be zero, and which scale.
///
/// ```
/// use blockscale::encode::{Scheme, ZeroScale, encode_rows_with};
/// use blockscale::{Format, Shape};
///
/// let scale = |zero| {
///     let scheme = Scheme { zero, ..Scheme::DEFAULT };
///     let (shape, zeros) = (Shape::new(1, 16), [0.0_f32; 16]);
///     let (mut codes, mut scales) = ([0; 8], [0]);
///     encode_rows_with(&Format::NVFP4, &scheme, shape, &zeros, 1.0, &mut codes, &mut scales)
///         .map(|()| scales[0])
/// };
/// assert_eq!(scale(ZeroScale::OfZeros(1.0))?, 0x38);
/// assert_eq!(scale(ZeroScale::Epsilon)?, 0x20); // 1/8
/// assert_eq!(scale(ZeroScale::Smallest)?, 0x01); // 2^-9
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ZeroScale {
    /// Blocks of zeros get this one; a scale that would vanish is the smallest there is.
    OfZeros(f32),
    /// Blocks whose scale is zero in `f32` get this one: zeros, and what underflows (ModelOpt).
    OfUnderflow(f32),
    /// Blocks whose `amax / max` is zero in `f32` get the inverse of the tensor's scale, which comes
    /// to 1 with it, as far as the scale type reaches (ModelOpt where it calibrates).
    InverseOfGlobal,
    /// Blocks whose scale is zero in its type get the epsilon of that type, the distance from 1 to
    /// the next number: 2^-3 in E4M3, 2^-7 in BF16, 2^-10 in F16, 2^-23 in F32 (compressed-tensors).
    Epsilon,
    /// The smallest scale (torchao's NVFP4).
    Smallest,
    /// Zero is stored, and codes are those of `x / 0`: the largest, and NaN for a zero (torchao's and
    /// ModelOpt's FP8). Such a block decodes to NaN: for comparing with those libraries, not for
    /// weights that anyone will use.
    Kept,
}

/// Which intermediate results are rounded to the type of the weight, by libraries that compute in it.
///
/// For a weight in F32 they are all the same, and the products and quotients that are not named are
/// in `f32` always.
///
/// ```
/// use blockscale::encode::{Scheme, encode_rows_with};
/// use blockscale::{Format, Real, Shape, bf16};
///
/// // One number in F32 and in BF16, to FP8 as ModelOpt does it.
/// fn scale<T: Real>(x: T) -> Result<f32, blockscale::LenMismatch> {
///     let (format, scheme) = (Format::FP8_TENSOR, Scheme::MODELOPT_FP8);
///     let (mut codes, mut scales) = ([0], [0; 4]);
///     encode_rows_with(&format, &scheme, Shape::new(1, 1), &[x], 1.0, &mut codes, &mut scales)?;
///     Ok(f32::from_le_bytes(scales))
/// }
/// assert_eq!(scale(5.0)?, 5.0 / 448.0);
/// assert_eq!(scale(bf16::from_f32(5.0))?, bf16::from_f32(5.0 / 448.0).to_f32());
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Intermediate {
    /// None.
    F32,
    /// What scales are made of: `amax / max` of a block; of the tensor its scale, and `1 / amax`
    /// where that is used.
    Scales,
    /// Those, and `x / s`.
    ScalesAndQuotients,
}

/// How a number is brought to the range of the codes. `s` is what decoding multiplies by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quotient {
    /// `x / s`.
    Divide,
    /// `x * (1 / s)`.
    Reciprocal,
    /// `x * ((1 / global) / scale)` (torchao's NVFP4), or `x * (global / scale)` where the scale of
    /// the tensor divides.
    ReciprocalByLevel,
    /// `x / max(s, 2^-126)`: under the scale 2^-127 codes are half of what they should be (torchao's
    /// MX formats).
    DivideNormal,
    /// `x * (1 / s)`, but `x` itself under the scale 2^-127 (torchao's MX formats with `rceil`).
    ReciprocalNormal,
}

impl Scheme {
    /// The way of this crate: the largest magnitude of a block gets the largest code, scales and
    /// codes are quotients in `f32`, rounded to nearest even; a block of zeros has the scale 1.
    pub const DEFAULT: Self = Self {
        rule: ScaleRule::Amax,
        global: GlobalRule::Divide,
        order: ScaleOrder::ProductFirst,
        min_scale: 0.0,
        zero: ZeroScale::OfZeros(1.0),
        quotient: Quotient::Divide,
        intermediate: Intermediate::F32,
        policy: EncodePolicy::DEFAULT,
    };

    /// NVFP4 of ModelOpt's `NVFP4QTensor`.
    pub const MODELOPT_NVFP4: Self = Self {
        zero: ZeroScale::OfUnderflow(1.0),
        policy: EncodePolicy {
            zero: ZeroSign::Drop,
            ..EncodePolicy::DEFAULT
        },
        ..Self::DEFAULT
    };

    /// NVFP4 of compressed-tensors, whose scale of the tensor divides.
    pub const COMPRESSED_TENSORS_NVFP4: Self = Self {
        global: GlobalRule::Reciprocal,
        zero: ZeroScale::Epsilon,
        intermediate: Intermediate::Scales,
        policy: COMPRESSED_TENSORS_FP4,
        ..Self::DEFAULT
    };

    /// NVFP4 of torchao's `NVFP4Tensor`, with or without a scale of the tensor.
    pub const TORCHAO_NVFP4: Self = Self {
        order: ScaleOrder::QuotientFirst,
        min_scale: 0.015625,
        zero: ZeroScale::Smallest,
        quotient: Quotient::ReciprocalByLevel,
        ..Self::DEFAULT
    };

    /// NVFP4 with the better of two scales for each block, by squared error.
    pub const FOUR_OVER_SIX: Self = Self {
        rule: ScaleRule::FourOverSix(ErrorMeasure::Squared),
        ..Self::DEFAULT
    };

    /// NVFP4 of ModelOpt with `four_over_six`, calibrated by squared error.
    pub const MODELOPT_FOUR_OVER_SIX: Self = Self {
        zero: ZeroScale::InverseOfGlobal,
        policy: Self::MODELOPT_NVFP4.policy,
        ..Self::FOUR_OVER_SIX
    };

    /// MX formats of torchao with `ScaleCalculationMode.FLOOR`, its default.
    pub const TORCHAO_MX_FLOOR: Self = Self {
        rule: ScaleRule::Floor,
        quotient: Quotient::DivideNormal,
        ..Self::DEFAULT
    };

    /// MX formats of torchao with `ScaleCalculationMode.CEIL`.
    pub const TORCHAO_MX_CEIL: Self = Self {
        rule: ScaleRule::Ceil,
        ..Self::TORCHAO_MX_FLOOR
    };

    /// MX formats of torchao with `ScaleCalculationMode.EVEN`.
    pub const TORCHAO_MX_EVEN: Self = Self {
        rule: ScaleRule::Even,
        ..Self::TORCHAO_MX_FLOOR
    };

    /// MX formats of torchao with `ScaleCalculationMode.RCEIL`.
    pub const TORCHAO_MX_RCEIL: Self = Self {
        rule: ScaleRule::Rceil,
        quotient: Quotient::ReciprocalNormal,
        ..Self::DEFAULT
    };

    /// MXFP4 of compressed-tensors.
    pub const COMPRESSED_TENSORS_MXFP4: Self = Self {
        rule: ScaleRule::EvenAt { mantissa_bits: 1 },
        policy: COMPRESSED_TENSORS_FP4,
        ..Self::DEFAULT
    };

    /// MXFP6 (E2M3) of compressed-tensors.
    pub const COMPRESSED_TENSORS_MXFP6: Self = Self {
        rule: ScaleRule::Even,
        policy: EncodePolicy {
            nan: NanCode::Fixed(0x20),
            ..EncodePolicy::DEFAULT
        },
        ..Self::DEFAULT
    };

    /// MXFP8 (E4M3) of compressed-tensors, which rounds exponents as for MXFP4.
    pub const COMPRESSED_TENSORS_MXFP8: Self = Self {
        rule: ScaleRule::EvenAt { mantissa_bits: 1 },
        ..Self::DEFAULT
    };

    /// MXFP4 of ModelOpt's `MXFP4QTensor`.
    pub const MODELOPT_MXFP4: Self = Self {
        rule: ScaleRule::Rceil,
        policy: EncodePolicy {
            ties: Ties::TowardZero,
            zero: ZeroSign::Negative,
            ..EncodePolicy::DEFAULT
        },
        ..Self::DEFAULT
    };

    /// MXFP8 (E4M3) of ModelOpt's `MXFP8QTensor`.
    pub const MODELOPT_MXFP8: Self = Self {
        rule: ScaleRule::Rceil,
        ..Self::DEFAULT
    };

    /// MXFP4 of DeepGEMM's `per_token_cast_to_fp4` with powers of two.
    pub const DEEPGEMM_FP4: Self = Self {
        rule: ScaleRule::RceilMin1e4,
        policy: DOWN_AND_UNSIGNED,
        ..Self::DEFAULT
    };

    /// MXFP4 of TileKernels' `cast`, whose smallest scale is a normal number.
    pub const TILEKERNELS_FP4: Self = Self {
        rule: ScaleRule::Rceil,
        min_scale: f32::MIN_POSITIVE,
        ..Self::DEFAULT
    };

    /// MXFP4 of ggml: its codes, in the order of columns.
    pub const GGML_MXFP4: Self = Self {
        rule: ScaleRule::Floor,
        policy: DOWN_AND_UNSIGNED,
        ..Self::DEFAULT
    };

    /// FP8 with F32 scales of DeepGEMM's `per_block_cast_to_fp8` and `per_token_cast_to_fp8`.
    pub const DEEPGEMM_FP8: Self = Self {
        rule: ScaleRule::AmaxMin1e4,
        quotient: Quotient::Reciprocal,
        ..Self::DEFAULT
    };

    /// FP8 with powers of two as scales, of the same functions.
    pub const DEEPGEMM_FP8_UE8M0: Self = Self {
        rule: ScaleRule::RceilMin1e4,
        ..Self::DEEPGEMM_FP8
    };

    /// FP8 of compressed-tensors, for a tensor, a channel or a block, with scales in the type of the
    /// weight.
    pub const COMPRESSED_TENSORS_FP8: Self = Self {
        zero: ZeroScale::Epsilon,
        intermediate: Intermediate::ScalesAndQuotients,
        ..Self::DEFAULT
    };

    /// FP8 of ModelOpt's `FP8QTensor`, with scales in the type of the weight. Blocks of zeros decode
    /// to NaN.
    pub const MODELOPT_FP8: Self = Self {
        zero: ZeroScale::Kept,
        intermediate: Intermediate::ScalesAndQuotients,
        policy: TORCH_FP8,
        ..Self::DEFAULT
    };

    /// FP8 (E4M3, E5M2) with F32 scales of torchao's `_choose_scale_float8`, for a tensor or a
    /// channel. Blocks of zeros decode to NaN.
    pub const TORCHAO_FP8: Self = Self {
        intermediate: Intermediate::Scales,
        ..Self::MODELOPT_FP8
    };
}

const TORCH_FP8: EncodePolicy = EncodePolicy {
    nan: NanCode::Signed(0x7f),
    ..EncodePolicy::DEFAULT
};

const COMPRESSED_TENSORS_FP4: EncodePolicy = EncodePolicy {
    zero: ZeroSign::Drop,
    nan: NanCode::Fixed(0x0),
    ..EncodePolicy::DEFAULT
};

const DOWN_AND_UNSIGNED: EncodePolicy = EncodePolicy {
    ties: Ties::TowardZero,
    zero: ZeroSign::DropRounded,
    nan: NanCode::Fixed(0x0),
    ..EncodePolicy::DEFAULT
};

impl Default for Scheme {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl From<ScaleRule> for Scheme {
    fn from(rule: ScaleRule) -> Self {
        Self {
            rule,
            ..Self::DEFAULT
        }
    }
}
