//! Largest finite magnitudes, compared as integers, which have the same order. NaN and infinities are
//! the largest integers; only where one turns up are numbers looked at one by one.

use core::arch::x86_64::*;

use super::source::bytes32;
use crate::arch::scalar;
use crate::real::sealed::Kind;
use crate::{Real, bf16, f16};

#[target_feature(enable = "avx2,f16c")]
pub(in crate::arch) fn amax<T: Real>(values: &[T]) -> f32 {
    let mut largest = Largest::new();
    largest.add(values);
    largest
        .finite::<T>()
        .unwrap_or_else(|| scalar::encode::amax(values))
}

/// The largest magnitudes so far, in every lane of its own.
#[derive(Clone, Copy)]
pub(super) struct Largest {
    lanes: [__m256i; 2],
}

impl Largest {
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn new() -> Self {
        Self {
            lanes: [_mm256_setzero_si256(); 2],
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn add<T: Real>(&mut self, values: &[T]) {
        let (pairs, rest) = bytemuck::cast_slice::<T, u8>(values).as_chunks::<64>();
        let mut lanes = self.lanes;
        for pair in pairs {
            let (pair, _) = pair.as_chunks::<32>();
            lanes[0] = max::<T>(lanes[0], magnitudes::<T>(bytes32(&pair[0])));
            lanes[1] = max::<T>(lanes[1], magnitudes::<T>(bytes32(&pair[1])));
        }
        if !rest.is_empty() {
            let mut last = [0; 64];
            last[..rest.len()].copy_from_slice(rest);
            let (last, _) = last.as_chunks::<32>();
            lanes[0] = max::<T>(lanes[0], magnitudes::<T>(bytes32(&last[0])));
            lanes[1] = max::<T>(lanes[1], magnitudes::<T>(bytes32(&last[1])));
        }
        self.lanes = lanes;
    }

    /// The largest of all lanes, `None` where there was a NaN or an infinity.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn finite<T: Real>(&self) -> Option<f32> {
        let both = max::<T>(self.lanes[0], self.lanes[1]);
        let mut lanes = [0_u32; 8];
        // SAFETY: the array holds 32 bytes.
        unsafe { _mm256_storeu_si256(lanes.as_mut_ptr().cast(), both) };
        let largest = match T::KIND {
            Kind::F32 => lanes.into_iter().fold(0, u32::max),
            Kind::Bf16 | Kind::F16 => lanes
                .into_iter()
                .fold(0, |largest, two| largest.max(two & 0xffff).max(two >> 16)),
        };
        finite::<T>(largest)
    }
}

/// A magnitude as a number, `None` where it is none.
#[inline]
fn finite<T: Real>(magnitude: u32) -> Option<f32> {
    let value = match T::KIND {
        Kind::F32 => f32::from_bits(magnitude),
        Kind::Bf16 => bf16::from_bits(magnitude as u16).to_f32(),
        Kind::F16 => f16::from_bits(magnitude as u16).to_f32(),
    };
    value.is_finite().then_some(value)
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn magnitudes<T: Real>(values: __m256i) -> __m256i {
    let mask = match T::KIND {
        Kind::F32 => 0x7fff_ffff,
        Kind::Bf16 | Kind::F16 => 0x7fff_7fff,
    };
    _mm256_and_si256(values, _mm256_set1_epi32(mask))
}

#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn max<T: Real>(a: __m256i, b: __m256i) -> __m256i {
    match T::KIND {
        Kind::F32 => _mm256_max_epi32(a, b),
        Kind::Bf16 | Kind::F16 => _mm256_max_epi16(a, b),
    }
}

/// The larger half of the lanes of two vectors, in turn.
#[inline]
#[target_feature(enable = "avx2")]
fn of_words(a: __m256i, b: __m256i) -> __m256i {
    _mm256_max_epi16(_mm256_unpacklo_epi16(a, b), _mm256_unpackhi_epi16(a, b))
}

/// The same where lanes already are of two vectors in turn, if they are words.
#[inline]
#[target_feature(enable = "avx2")]
fn of_dwords<T: Real>(a: __m256i, b: __m256i) -> __m256i {
    max::<T>(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b))
}

/// The same for twice as many.
#[inline]
#[target_feature(enable = "avx2")]
fn of_qwords<T: Real>(a: __m256i, b: __m256i) -> __m256i {
    max::<T>(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b))
}

/// The largest magnitudes of each of eight blocks, given by the largest of each block's lanes; `None`
/// where one is no finite number.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) fn of_eight_blocks<T: Real>(blocks: [__m256i; 8]) -> Option<[f32; 8]> {
    let [a, b, c, d, e, f, g, h] = blocks;
    let largest = match T::KIND {
        Kind::F32 => {
            let (ab, cd) = (of_dwords::<T>(a, b), of_dwords::<T>(c, d));
            let (ef, gh) = (of_dwords::<T>(e, f), of_dwords::<T>(g, h));
            let (low, high) = (of_qwords::<T>(ab, cd), of_qwords::<T>(ef, gh));
            _mm256_max_epi32(
                _mm256_permute2x128_si256::<0x20>(low, high),
                _mm256_permute2x128_si256::<0x31>(low, high),
            )
        }
        Kind::Bf16 | Kind::F16 => {
            let (ab, cd) = (of_words(a, b), of_words(c, d));
            let (ef, gh) = (of_words(e, f), of_words(g, h));
            let (low, high) = (of_dwords::<T>(ab, cd), of_dwords::<T>(ef, gh));
            let eights = of_qwords::<T>(low, high);
            let (low, high) = (
                _mm256_castsi256_si128(eights),
                _mm256_extracti128_si256::<1>(eights),
            );
            _mm256_cvtepu16_epi32(_mm_max_epi16(low, high))
        }
    };
    let (largest_finite, numbers) = match T::KIND {
        Kind::F32 => (0x7f7f_ffff, largest),
        Kind::Bf16 => (0x7f7f, _mm256_slli_epi32::<16>(largest)),
        Kind::F16 => {
            let words = _mm256_permute4x64_epi64::<0b10_00>(_mm256_packus_epi32(largest, largest));
            let numbers = _mm256_cvtph_ps(_mm256_castsi256_si128(words));
            (0x7bff, _mm256_castps_si256(numbers))
        }
    };
    let beyond = _mm256_cmpgt_epi32(largest, _mm256_set1_epi32(largest_finite));
    if _mm256_testz_si256(beyond, beyond) == 0 {
        return None;
    }
    let mut of_blocks = [0.0; 8];
    // SAFETY: the array holds 32 bytes.
    unsafe { _mm256_storeu_si256(of_blocks.as_mut_ptr().cast(), numbers) };
    Some(of_blocks)
}
