//! Eight scales at a time, by the rules that the common formats are written with.

use core::arch::x86_64::*;

use super::rounding::Rounding;
use super::source::widen8;
use crate::element::{E4m3Fn, E8m0Fnu};
use crate::encode::{
    Intermediate, ScaleOrder, ScaleRule, Scheme, ZeroScale, block_scale, write_scale,
};
use crate::{Element, Format, GlobalScale, ScaleElement};

/// How eight magnitudes become the codes of eight scales of one byte.
#[expect(clippy::large_enum_variant, reason = "one on the stack for each call")]
pub(super) enum Eights {
    E4m3(E4m3),
    E8m0 {
        /// The largest value of the element type.
        max: __m256,
        /// What magnitudes are raised to.
        least_amax: __m256,
        least: __m256,
    },
}

/// E4M3 scales by the rule `Amax`.
pub(super) struct E4m3 {
    quotient: Order,
    max: __m256,
    global: __m256,
    least: __m256,
    of_zeros: __m256i,
    rounding: Rounding,
}

/// How the largest value of the element type and the scale of the tensor come in.
enum Order {
    /// `amax / max`.
    OneLevel,
    /// `amax / (max * global)`, the product being made.
    Product,
    /// `amax / max / global`.
    TwoQuotients,
    /// `global * (amax / max)`.
    Divisor,
}

impl Eights {
    /// `None` where the scheme is left to the definition.
    #[target_feature(enable = "avx2")]
    pub(super) fn new(format: &Format, scheme: &Scheme, global: f32) -> Option<Self> {
        if scheme.intermediate != Intermediate::F32 {
            return None;
        }
        let max = format.element.max_finite();
        match (format.scale, scheme.rule, scheme.zero) {
            (ScaleElement::E4m3Fn, ScaleRule::Amax, ZeroScale::OfZeros(_)) => {
                let (quotient, max) = match (format.global, scheme.order) {
                    (GlobalScale::None, _) => (Order::OneLevel, max),
                    (GlobalScale::Multiplier, ScaleOrder::ProductFirst) => {
                        (Order::Product, max * global)
                    }
                    (GlobalScale::Multiplier, ScaleOrder::QuotientFirst) => {
                        (Order::TwoQuotients, max)
                    }
                    (GlobalScale::Divisor, _) => (Order::Divisor, max),
                };
                let least = scheme.min_scale.max(E4m3Fn::MIN_POSITIVE.to_f32());
                let mut of_zeros = [0];
                let scale = block_scale::<f32>(format, scheme, 0.0, global);
                write_scale(format.scale, scale, &mut of_zeros);
                Some(Self::E4m3(E4m3 {
                    quotient,
                    max: _mm256_set1_ps(max),
                    global: _mm256_set1_ps(global),
                    least: _mm256_set1_ps(least),
                    of_zeros: _mm256_set1_epi32(i32::from(of_zeros[0])),
                    rounding: Rounding::of(Element::E4m3Fn),
                }))
            }
            (ScaleElement::E8m0Fnu, ScaleRule::Rceil | ScaleRule::RceilMin1e4, _)
                if format.global == GlobalScale::None =>
            {
                let least = scheme.min_scale.max(E8m0Fnu::MIN_POSITIVE.to_f32());
                Some(Self::E8m0 {
                    max: _mm256_set1_ps(max),
                    least_amax: _mm256_set1_ps(scheme.rule.raise(0.0)),
                    least: _mm256_set1_ps(least),
                })
            }
            _ => None,
        }
    }

    /// The scales of eight blocks from their largest finite magnitudes.
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    pub(super) fn scales(&self, largest: &[f32; 8], scales: &mut [u8; 8]) {
        let amax = widen8(largest);
        let codes = match self {
            Self::E4m3(e4m3) => e4m3.codes(amax),
            Self::E8m0 {
                max,
                least_amax,
                least,
            } => {
                let quotient = _mm256_div_ps(_mm256_max_ps(amax, *least_amax), *max);
                exponents_up(_mm256_max_ps(quotient, *least))
            }
        };
        let words = _mm256_packus_epi32(codes, codes);
        let bytes = _mm256_packus_epi16(words, words);
        let (low, high) = (
            _mm256_castsi256_si128(bytes),
            _mm256_extracti128_si256::<1>(bytes),
        );
        let codes = _mm_cvtsi128_si64(_mm_unpacklo_epi32(low, high));
        *scales = codes.to_le_bytes();
    }
}

impl E4m3 {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn codes(&self, amax: __m256) -> __m256i {
        let of_max = _mm256_div_ps(amax, self.max);
        let quotient = match self.quotient {
            Order::OneLevel | Order::Product => of_max,
            Order::TwoQuotients => _mm256_div_ps(of_max, self.global),
            Order::Divisor => _mm256_mul_ps(self.global, of_max),
        };
        // The second of the two where the first is NaN.
        let scale = _mm256_max_ps(quotient, self.least);
        let codes = self.rounding.codes(scale);
        let is_zero = _mm256_cmp_ps::<_CMP_EQ_OQ>(amax, _mm256_setzero_ps());
        _mm256_blendv_epi8(codes, self.of_zeros, _mm256_castps_si256(is_zero))
    }
}

/// Codes of the smallest powers of two not below numbers of 2^-127 or more.
#[inline]
#[target_feature(enable = "avx2")]
fn exponents_up(x: __m256) -> __m256i {
    let bits = _mm256_castps_si256(x);
    let up = _mm256_add_epi32(bits, _mm256_set1_epi32(0x007f_ffff));
    let code = _mm256_min_epi32(_mm256_srli_epi32::<23>(up), _mm256_set1_epi32(254));
    // 2^-127 itself is a subnormal, without the leading one that the sum counts on.
    let above_smallest = _mm256_cmpgt_epi32(bits, _mm256_set1_epi32(0x0040_0000));
    _mm256_and_si256(code, above_smallest)
}
