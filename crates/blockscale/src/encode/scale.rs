//! The scale that a block or a tensor gets from its largest magnitude.

use half::{bf16, f16};

use super::{GlobalRule, Intermediate, ScaleOrder, ScaleRule, Scheme, ZeroScale};
use crate::element::{E4m3Fn, E8m0Fnu};
use crate::{Format, GlobalScale, Real, ScaleElement};

/// The smallest number above zero, a subnormal.
const MIN_POSITIVE: f32 = f32::from_bits(1);

impl Format {
    /// The largest block scale that a global scale leaves room for.
    const fn max_block_scale(&self, rule: ScaleRule) -> f32 {
        match (self.scale, rule) {
            (ScaleElement::E4m3Fn, ScaleRule::FourOverSix(_)) => 256.0,
            (ScaleElement::E4m3Fn, _) => E4m3Fn::MAX.to_f32(),
            _ => 1.0,
        }
    }
}

/// The global scale of a tensor whose largest finite magnitude is `amax`, as a checkpoint stores
/// it.
///
/// With E2M1 elements and E4M3 scales it is `amax / 2688` as a multiplier and `2688 / amax` as a
/// divisor, 2688 being 6 x 448. It is 1 for a tensor of zeros and for a format without a global
/// scale, and positive and finite for every finite `amax`: where the quotient is not, the nearest
/// number that is.
///
/// ```
/// use blockscale::Format;
/// use blockscale::encode::global_scale;
///
/// assert_eq!(global_scale(&Format::NVFP4, 1344.0), 0.5);
/// assert_eq!(global_scale(&Format::NVFP4_DIVISOR, 1344.0), 2.0);
/// assert_eq!(global_scale(&Format::NVFP4, 0.0), 1.0);
/// ```
pub fn global_scale(format: &Format, amax: f32) -> f32 {
    global_scale_with(format, &Scheme::DEFAULT, amax)
}

/// [`global_scale`] by the [`GlobalRule`] of a scheme, with the range that its rule leaves.
///
/// `T` is the type of the weight, which some libraries compute in
/// ([`Intermediate`](super::Intermediate)).
///
/// ```
/// use blockscale::encode::{Scheme, global_scale_with};
/// use blockscale::{Format, bf16};
///
/// assert_eq!(global_scale_with(&Format::NVFP4, &Scheme::FOUR_OVER_SIX, 1536.0_f32), 1.0);
///
/// let (format, scheme) = (Format::NVFP4_DIVISOR, Scheme::COMPRESSED_TENSORS_NVFP4);
/// assert_eq!(global_scale_with(&format, &scheme, 3.5_f32), 768.000_06); // 2688 x (1 / 3.5)
/// assert_eq!(global_scale_with(&format, &scheme, bf16::from_f32(3.5)), 768.0);
/// ```
pub fn global_scale_with<T: Real>(format: &Format, scheme: &Scheme, amax: T) -> f32 {
    let amax = amax.to_f32();
    if amax == 0.0 {
        return 1.0;
    }
    let range = format.element.max_finite() * format.max_block_scale(scheme.rule);
    match (format.global, scheme.global) {
        (GlobalScale::None, _) => 1.0,
        (GlobalScale::Multiplier, GlobalRule::Divide) => (amax / range).max(MIN_POSITIVE),
        (GlobalScale::Multiplier, GlobalRule::Reciprocal) => {
            scheme.rounded::<T>(amax * (1.0 / range)).max(MIN_POSITIVE)
        }
        (GlobalScale::Divisor, GlobalRule::Divide) => (range / amax).min(f32::MAX),
        (GlobalScale::Divisor, GlobalRule::Reciprocal) => {
            let reciprocal = scheme.rounded::<T>(1.0 / amax.max(f32::MIN_POSITIVE));
            let global = scheme.rounded::<T>(range * reciprocal);
            if global.is_finite() { global } else { 1.0 }
        }
    }
}

/// The scale of a tensor under [`Block::Tensor`](crate::Block::Tensor), from the largest finite
/// magnitude of all of it.
///
/// The number that [`choose_scales`](super::choose_scales) would store, for a caller who has `amax`
/// but not the whole tensor at once. Takes the global scale, where the format has one, as 1. A rule
/// that looks at more than `amax` gives its first choice.
///
/// ```
/// use blockscale::Format;
/// use blockscale::encode::{ScaleRule, tensor_scale};
///
/// assert_eq!(tensor_scale(&Format::FP8_TENSOR, ScaleRule::Amax, 896.0), 2.0);
/// assert_eq!(tensor_scale(&Format::FP8_TENSOR, ScaleRule::Amax, 0.0), 1.0);
/// ```
pub fn tensor_scale(format: &Format, rule: ScaleRule, amax: f32) -> f32 {
    block_scale::<f32>(format, &rule.into(), amax, 1.0)
}

/// The scale of a block, rounded to its type.
pub(crate) fn block_scale<T: Real>(
    format: &Format,
    scheme: &Scheme,
    amax: f32,
    global: f32,
) -> f32 {
    let unrounded = unrounded_scale::<T>(format, scheme, amax, global);
    round_scale(format, scheme, amax, global, unrounded)
}

/// The scale before it is rounded to its type.
pub(crate) fn unrounded_scale<T: Real>(
    format: &Format,
    scheme: &Scheme,
    amax: f32,
    global: f32,
) -> f32 {
    let amax = scheme.rule.raise(amax);
    if amax == 0.0 {
        return scheme.rule.apply(format.element, 0.0, 0.0);
    }
    let max = format.element.max_finite();
    let of_max = scheme.rounded::<T>(amax / max);
    let (quotient, relative) = match (format.global, scheme.order) {
        (GlobalScale::None, _) => (of_max, amax),
        (GlobalScale::Multiplier, ScaleOrder::ProductFirst) => {
            (amax / (max * global), amax / global)
        }
        (GlobalScale::Multiplier, ScaleOrder::QuotientFirst) => (of_max / global, amax / global),
        (GlobalScale::Divisor, _) => (global * of_max, global * amax),
    };
    let relative = relative.min(f32::MAX);
    scheme.rule.apply(format.element, quotient, relative)
}

/// Rounds to the scale type, into its positive finite numbers: a scale of zero would erase its
/// block. `amax` is that of the block, which tells zeros from what underflows.
///
/// Powers of two are rounded up, so that they never clip; the others to nearest.
pub(crate) fn round_scale(
    format: &Format,
    scheme: &Scheme,
    amax: f32,
    global: f32,
    scale: f32,
) -> f32 {
    let (smallest, largest) = (format.scale.smallest(), format.scale.largest());
    if format.scale == ScaleElement::E8m0Fnu {
        let scale = scale.max(smallest.max(scheme.min_scale)).min(f32::MAX);
        return E8m0Fnu::from_f32_ceil(scale).to_f32();
    }
    let bounded = scale.max(scheme.min_scale.max(smallest)).min(largest);
    let bounded = match scheme.zero {
        ZeroScale::OfZeros(one) if scheme.rule.raise(amax) == 0.0 => one,
        ZeroScale::OfUnderflow(one) if scale == 0.0 => one,
        ZeroScale::InverseOfGlobal if amax / format.element.max_finite() == 0.0 => {
            let inverse = match format.global {
                GlobalScale::None => 1.0,
                GlobalScale::Multiplier => 1.0 / global,
                GlobalScale::Divisor => global,
            };
            inverse.clamp(smallest, largest)
        }
        ZeroScale::Epsilon | ZeroScale::Kept => {
            let rounded = format.scale.round(scale.min(largest));
            let is_replaced = rounded == 0.0 && scheme.zero == ZeroScale::Epsilon;
            return if is_replaced {
                format.scale.epsilon()
            } else {
                rounded
            };
        }
        _ => bounded,
    };
    format.scale.round(bounded)
}

/// Writes a scale that its type holds, [`ScaleElement::bytes`] bytes of it.
pub(crate) fn write_scale(element: ScaleElement, scale: f32, bytes: &mut [u8]) {
    match element {
        ScaleElement::E4m3Fn => bytes.copy_from_slice(&[E4m3Fn::from_f32(scale).to_bits()]),
        ScaleElement::E8m0Fnu => bytes.copy_from_slice(&[E8m0Fnu::from_f32_ceil(scale).to_bits()]),
        ScaleElement::F32 => bytes.copy_from_slice(&scale.to_le_bytes()),
        ScaleElement::Bf16 => bytes.copy_from_slice(&bf16::from_f32(scale).to_le_bytes()),
        ScaleElement::F16 => bytes.copy_from_slice(&f16::from_f32(scale).to_le_bytes()),
    }
}

impl Scheme {
    /// An intermediate result of a scale.
    fn rounded<T: Real>(&self, x: f32) -> f32 {
        match self.intermediate {
            Intermediate::F32 => x,
            Intermediate::Scales | Intermediate::ScalesAndQuotients => T::from_f32(x).to_f32(),
        }
    }
}

impl ScaleElement {
    /// The distance from 1 to the next number of the type.
    const fn epsilon(self) -> f32 {
        match self {
            Self::E4m3Fn => 0.125,
            Self::E8m0Fnu => 1.0,
            Self::F32 => f32::EPSILON,
            Self::Bf16 => 0.007_812_5,
            Self::F16 => 0.000_976_562_5,
        }
    }

    /// The smallest positive number of the type.
    const fn smallest(self) -> f32 {
        match self {
            Self::E4m3Fn => E4m3Fn::MIN_POSITIVE.to_f32(),
            Self::E8m0Fnu => E8m0Fnu::MIN_POSITIVE.to_f32(),
            Self::F32 => MIN_POSITIVE,
            Self::Bf16 => f32::from_bits(1 << 16),
            // 2^-24
            Self::F16 => f32::from_bits((127 - 24) << 23),
        }
    }

    /// The largest finite number of the type.
    fn largest(self) -> f32 {
        match self {
            Self::E4m3Fn => E4m3Fn::MAX.to_f32(),
            Self::E8m0Fnu => E8m0Fnu::MAX.to_f32(),
            Self::F32 => f32::MAX,
            Self::Bf16 => bf16::MAX.to_f32(),
            Self::F16 => f16::MAX.to_f32(),
        }
    }

    /// The number of the type nearest to `scale`; for powers of two, the next that is not smaller.
    pub(crate) fn round(self, scale: f32) -> f32 {
        match self {
            Self::E4m3Fn => E4m3Fn::from_f32(scale).to_f32(),
            Self::E8m0Fnu => E8m0Fnu::from_f32_ceil(scale).to_f32(),
            Self::F32 => scale,
            Self::Bf16 => bf16::from_f32(scale).to_f32(),
            Self::F16 => f16::from_f32(scale).to_f32(),
        }
    }
}
