//! The scale that a block or a tensor gets from its largest magnitude.

use half::{bf16, f16};

use crate::element::{E4m3Fn, E8m0Fnu};
use crate::{Block, Format, GlobalScale, ScaleElement};

/// How the scale of a block follows from its largest finite magnitude, `amax`.
///
/// `max` is the largest value of the element type. What a rule gives is then rounded to the scale
/// type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScaleRule {
    /// `amax / max`: the largest element of a block gets the largest code.
    Amax,
    /// The smallest power of two that is not below `amax / max`: never clips. The rounding of
    /// `cvt.rp` and of cuBLAS ("rceil").
    Rceil,
    /// [`Rceil`](Self::Rceil) of `max(amax, 1e-4)`, as DeepGEMM scales UE8M0 blocks of 128 x 128.
    RceilMin1e4,
}

impl Format {
    /// The rule by which the format's own tools write it.
    ///
    /// ```
    /// use blockscale::Format;
    /// use blockscale::encode::ScaleRule;
    ///
    /// assert_eq!(Format::NVFP4.default_rule(), ScaleRule::Amax);
    /// assert_eq!(Format::MXFP4.default_rule(), ScaleRule::Rceil);
    /// assert_eq!(Format::FP8_BLOCK_UE8M0.default_rule(), ScaleRule::RceilMin1e4);
    /// ```
    pub const fn default_rule(&self) -> ScaleRule {
        match (self.scale, self.block) {
            (
                ScaleElement::E8m0Fnu,
                Block::Grid {
                    rows: 128,
                    cols: 128,
                },
            ) => ScaleRule::RceilMin1e4,
            (ScaleElement::E8m0Fnu, _) => ScaleRule::Rceil,
            _ => ScaleRule::Amax,
        }
    }

    /// The largest block scale that a global scale leaves room for.
    const fn max_block_scale(&self) -> f32 {
        match self.scale {
            ScaleElement::E4m3Fn => E4m3Fn::MAX.to_f32(),
            _ => 1.0,
        }
    }
}

/// The smallest number above zero, a subnormal.
const MIN_POSITIVE: f32 = f32::from_bits(1);

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
    if amax == 0.0 {
        return 1.0;
    }
    let range = format.element.max_finite() * format.max_block_scale();
    match format.global {
        GlobalScale::None => 1.0,
        GlobalScale::Multiplier => (amax / range).max(MIN_POSITIVE),
        GlobalScale::Divisor => (range / amax).min(f32::MAX),
    }
}

/// The scale of a tensor under [`Block::Tensor`], from the largest finite magnitude of all of it.
///
/// The number that [`choose_scales`](super::choose_scales) would store, for a caller who has `amax`
/// but not the whole tensor at once. Takes the global scale, where the format has one, as 1.
///
/// ```
/// use blockscale::Format;
/// use blockscale::encode::{ScaleRule, tensor_scale};
///
/// assert_eq!(tensor_scale(&Format::FP8_TENSOR, ScaleRule::Amax, 896.0), 2.0);
/// assert_eq!(tensor_scale(&Format::FP8_TENSOR, ScaleRule::Amax, 0.0), 1.0);
/// ```
pub fn tensor_scale(format: &Format, rule: ScaleRule, amax: f32) -> f32 {
    round_scale(format.scale, block_scale(format, rule, amax, 1.0))
}

/// Chooses the scale of a block and writes its bytes, [`ScaleElement::bytes`] of them.
pub(crate) fn write_scale(
    format: &Format,
    rule: ScaleRule,
    amax: f32,
    global: f32,
    bytes: &mut [u8],
) {
    let scale = round_scale(format.scale, block_scale(format, rule, amax, global));
    match format.scale {
        ScaleElement::E4m3Fn => bytes.copy_from_slice(&[E4m3Fn::from_f32(scale).to_bits()]),
        ScaleElement::E8m0Fnu => bytes.copy_from_slice(&[E8m0Fnu::from_f32_ceil(scale).to_bits()]),
        ScaleElement::F32 => bytes.copy_from_slice(&scale.to_le_bytes()),
        ScaleElement::Bf16 => bytes.copy_from_slice(&bf16::from_f32(scale).to_le_bytes()),
        ScaleElement::F16 => bytes.copy_from_slice(&f16::from_f32(scale).to_le_bytes()),
    }
}

/// The scale before it is rounded to its type.
fn block_scale(format: &Format, rule: ScaleRule, amax: f32, global: f32) -> f32 {
    let amax = match rule {
        ScaleRule::RceilMin1e4 => amax.max(1e-4),
        ScaleRule::Amax | ScaleRule::Rceil => amax,
    };
    if amax == 0.0 && format.scale != ScaleElement::E8m0Fnu {
        return 1.0;
    }
    let max = format.element.max_finite();
    let scale = match format.global {
        GlobalScale::None => amax / max,
        GlobalScale::Multiplier => amax / (max * global),
        GlobalScale::Divisor => global * (amax / max),
    };
    match rule {
        ScaleRule::Amax => scale,
        ScaleRule::Rceil | ScaleRule::RceilMin1e4 => E8m0Fnu::from_f32_ceil(scale).to_f32(),
    }
}

/// Rounds to the scale type, into its positive finite numbers: a scale of zero would erase its
/// block.
///
/// Powers of two are rounded up, so that they never clip; the others to nearest.
fn round_scale(element: ScaleElement, scale: f32) -> f32 {
    let clamp = |smallest: f32, largest: f32| scale.max(smallest).min(largest);
    match element {
        ScaleElement::E4m3Fn => {
            let scale = clamp(E4m3Fn::MIN_POSITIVE.to_f32(), E4m3Fn::MAX.to_f32());
            E4m3Fn::from_f32(scale).to_f32()
        }
        ScaleElement::E8m0Fnu => E8m0Fnu::from_f32_ceil(clamp(0.0, f32::MAX)).to_f32(),
        ScaleElement::F32 => clamp(MIN_POSITIVE, f32::MAX),
        ScaleElement::Bf16 => {
            let smallest = bf16::from_bits(1).to_f32();
            bf16::from_f32(clamp(smallest, bf16::MAX.to_f32())).to_f32()
        }
        ScaleElement::F16 => {
            let smallest = f16::from_bits(1).to_f32();
            f16::from_f32(clamp(smallest, f16::MAX.to_f32())).to_f32()
        }
    }
}
