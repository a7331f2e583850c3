//! The scale of a block as a function of its largest magnitude.

use crate::element::E8m0Fnu;
use crate::{Block, Element, Format, ScaleElement};

/// How the scale of a block follows from its largest finite magnitude, `amax`.
///
/// `max` is the largest value of the element type and `emax` the exponent of that. What a rule gives
/// is then rounded to the scale type. Rules that give powers of two work on the bits of an `f32`, so
/// that no logarithm can be off by one; with a scale of the tensor they see `amax` under it.
///
/// For E2M1 (`max` 6, `emax` 2) the exponents are
///
/// | `amax`                         | 1  | 1.5 | 1.75 | 2  | 3  | 3.5 | 4 | 6 | 6.1 | 7 | 8 |
/// |--------------------------------|----|-----|------|----|----|-----|---|---|-----|---|---|
/// | [`Floor`](Self::Floor)         | -2 | -2  | -2   | -1 | -1 | -1  | 0 | 0 | 0   | 0 | 1 |
/// | [`Ceil`](Self::Ceil)           | -2 | -1  | -1   | -1 | 0  | 0   | 0 | 1 | 1   | 1 | 1 |
/// | [`Rceil`](Self::Rceil)         | -2 | -2  | -1   | -1 | -1 | 0   | 0 | 0 | 1   | 1 | 1 |
/// | [`Even`](Self::Even)           | -2 | -2  | -1   | -1 | -1 | 0   | 0 | 0 | 0   | 1 | 1 |
/// | [`Nearest`](Self::Nearest)     | -3 | -2  | -2   | -2 | -1 | -1  | -1 | 0 | 0  | 0 | 0 |
///
/// ```
/// use blockscale::Format;
/// use blockscale::encode::{ScaleRule, tensor_scale};
///
/// let scale = |rule| tensor_scale(&Format::FP8_TENSOR, rule, 500.0);
/// assert_eq!(scale(ScaleRule::Amax), 500.0 / 448.0);
/// assert_eq!(scale(ScaleRule::Floor), 1.0); // 500 will be clipped
/// assert_eq!(scale(ScaleRule::Rceil), 2.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ScaleRule {
    /// `amax / max`: the largest element of a block gets the largest code.
    Amax,
    /// `amax * (1 / max)`, as PyTorch divides by a constant on a GPU. In F32 one ulp from
    /// [`Amax`](Self::Amax) for about half of all `amax`.
    AmaxReciprocal,
    /// `max(amax, 1e-4) / max` (DeepGEMM with F32 scales).
    AmaxMin1e4,
    /// `2^(floor(log2 amax) - emax)` (OCP Microscaling Formats 1.0, section 6.3; torchao's default,
    /// microxcaling, ggml). Clips up to a quarter of E2M1's range.
    Floor,
    /// `2^(ceil(log2 amax) - emax)` (torchao's CEIL).
    Ceil,
    /// The smallest power of two that is not below `amax / max`: never clips. The rounding of
    /// `cvt.rp` and of cuBLAS ("rceil").
    Rceil,
    /// [`Rceil`](Self::Rceil) of `max(amax, 1e-4)`, as DeepGEMM scales UE8M0 blocks of 128 x 128.
    RceilMin1e4,
    /// [`Floor`](Self::Floor) of `amax` plus half a unit of the last fraction bit that the element
    /// type has (torchao's EVEN).
    Even,
    /// [`Even`](Self::Even) as if the element type had this many fraction bits, 22 at most
    /// (compressed-tensors takes 1 for E4M3 too).
    EvenAt {
        /// Fraction bits.
        mantissa_bits: u8,
    },
    /// The power of two nearest to `amax / max` on a logarithmic scale, up from sqrt 2 (MLX on CPU and
    /// Metal before it rounded up, as 0.32 does).
    Nearest,
    /// Whichever has the smaller error of two scales: `amax / max`, and 1.5 times that, under which
    /// the largest element gets E2M1's 4 in place of 6. The first where they tie. The scale of the
    /// tensor leaves room: `amax / 1536`, 1536 being 6 x 256, in place of `amax / 2688`
    /// (TransformerEngine, FlashInfer, ModelOpt).
    FourOverSix(ErrorMeasure),
    /// The scale of the smallest squared error among these, the first of them where some tie, given
    /// `s = amax / max`: `s` itself, then `s * i / 32` for `i` from 16 to 48. For UE8M0 scales
    /// [`Rceil`](Self::Rceil)'s and the two next smaller. Each E4M3 scale between `s / 2` and
    /// `1.5 s` is among them.
    MseSearch,
}

/// What a choice between scales makes small. Sums are in `f64`, in row order; NaN and infinities do
/// not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorMeasure {
    /// The sum of `|decoded - x|`.
    Absolute,
    /// The sum of `(decoded - x)^2`.
    Squared,
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
            (ScaleElement::E8m0Fnu, Block::Grid { cols: 128, .. }) => ScaleRule::RceilMin1e4,
            (ScaleElement::E8m0Fnu, _) => ScaleRule::Rceil,
            _ => ScaleRule::Amax,
        }
    }
}

const F32_MANTISSA_BITS: u32 = f32::MANTISSA_DIGITS - 1;
const F32_FRACTION: u32 = (1 << F32_MANTISSA_BITS) - 1;

/// Fraction bits of the largest `f32` below the square root of 2.
const SQRT_2_FRACTION: u32 = 0x35_04f3;

/// The power of two of `2^floor(log2 x)`, one more where `up` asks for it by the bits of `x`, times
/// `2^-emax`, kept between 2^-127 and 2^127.
fn exponent_rule(element: Element, x: f32, added: u32, up: impl Fn(u32) -> bool) -> f32 {
    let bits = x.to_bits() + added;
    let exponent = (bits >> F32_MANTISSA_BITS) as i32 + i32::from(up(bits & F32_FRACTION));
    let code = (exponent - element.max_exponent()).clamp(0, 254);
    E8m0Fnu::from_bits(code as u8).to_f32()
}

impl ScaleRule {
    /// `amax`, raised to what the rule takes for the smallest.
    pub(crate) fn raise(self, amax: f32) -> f32 {
        match self {
            Self::RceilMin1e4 | Self::AmaxMin1e4 => amax.max(1e-4),
            _ => amax,
        }
    }

    /// What `amax / max` is by the rule, given that quotient and `amax` under the tensor's scale.
    pub(super) fn apply(self, element: Element, quotient: f32, amax: f32) -> f32 {
        let even = |mantissa_bits: u32| {
            let half = 1_u32 << (F32_MANTISSA_BITS - 1 - mantissa_bits.min(F32_MANTISSA_BITS - 1));
            exponent_rule(element, amax, half, |_| false)
        };
        match self {
            Self::Amax | Self::AmaxMin1e4 | Self::FourOverSix(_) | Self::MseSearch => quotient,
            Self::AmaxReciprocal => amax * (1.0 / element.max_finite()),
            Self::Rceil | Self::RceilMin1e4 => E8m0Fnu::from_f32_ceil(quotient).to_f32(),
            Self::Floor => exponent_rule(element, amax, 0, |_| false),
            Self::Ceil => exponent_rule(element, amax, 0, |fraction| fraction != 0),
            Self::Even => even(element.mantissa_bits()),
            Self::EvenAt { mantissa_bits } => even(u32::from(mantissa_bits)),
            Self::Nearest => nearest(quotient),
        }
    }
}

fn nearest(quotient: f32) -> f32 {
    let bits = quotient.to_bits();
    let up = bits & F32_FRACTION > SQRT_2_FRACTION;
    // Below 2^-126 the answer is 2^-127, or 2^-126 from half-way in the exponent between them.
    let code = match bits >> F32_MANTISSA_BITS {
        0 => u32::from(quotient > f32::MIN_POSITIVE / core::f32::consts::SQRT_2),
        exponent => (exponent + u32::from(up)).min(254),
    };
    E8m0Fnu::from_bits(code as u8).to_f32()
}
