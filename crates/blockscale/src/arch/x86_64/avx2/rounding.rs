//! F32 to small floats, as the definition rounds: by adding a number whose last bit weighs a quantum.

use core::arch::x86_64::*;

use crate::Element;

/// The layout of an element type in every lane.
pub(super) struct Rounding {
    largest: __m256i,
    min_normal: __m256i,
    shifter: __m256i,
    lower_binades: __m256i,
    dropped: __m128i,
    sign: __m256i,
    to_sign: __m128i,
}

impl Rounding {
    #[target_feature(enable = "avx2")]
    pub(super) fn of(element: Element) -> Self {
        let dropped = 23 - element.mantissa_bits() as i32;
        let bits_of = |x: f32| x.to_bits() as i32;
        let min_normal = bits_of(element.decode(1 << element.mantissa_bits()));
        Self {
            largest: _mm256_set1_epi32(bits_of(element.max_finite())),
            min_normal: _mm256_set1_epi32(min_normal),
            shifter: _mm256_set1_epi32(dropped << 23),
            lower_binades: _mm256_set1_epi32(min_normal >> dropped),
            dropped: _mm_cvtsi32_si128(dropped),
            sign: _mm256_set1_epi32(1 << (element.bits() - 1)),
            to_sign: _mm_cvtsi32_si128(32 - element.bits() as i32),
        }
    }

    /// Codes of eight quotients, none of them NaN.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn codes(&self, quotients: __m256) -> __m256i {
        let all = _mm256_castps_si256(quotients);
        let bits = _mm256_and_si256(all, _mm256_set1_epi32(0x7fff_ffff));
        let bits = _mm256_min_epi32(bits, self.largest);
        let binade = _mm256_and_si256(bits, _mm256_set1_epi32(0x7f80_0000));
        let binade = _mm256_max_epi32(binade, self.min_normal);
        let shifter = _mm256_add_epi32(binade, self.shifter);
        let sum = _mm256_add_ps(_mm256_castsi256_ps(bits), _mm256_castsi256_ps(shifter));
        let quanta = _mm256_sub_epi32(_mm256_castps_si256(sum), shifter);
        let lower = _mm256_sub_epi32(_mm256_srl_epi32(binade, self.dropped), self.lower_binades);
        let sign = _mm256_and_si256(_mm256_srl_epi32(all, self.to_sign), self.sign);
        _mm256_or_si256(_mm256_add_epi32(quanta, lower), sign)
    }
}
