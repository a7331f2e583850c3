//! Numbers of any type as vectors of F32.

use core::arch::x86_64::*;

use crate::Real;
use crate::real::sealed::Kind;

/// Eight numbers, widened.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) fn widen8<T: Real>(values: &[T; 8]) -> __m256 {
    let from = values.as_ptr();
    match T::KIND {
        // SAFETY: the array holds eight numbers of four bytes.
        Kind::F32 => unsafe { _mm256_loadu_ps(from.cast()) },
        Kind::Bf16 => {
            // SAFETY: the array holds eight numbers of two bytes.
            let words = unsafe { _mm_loadu_si128(from.cast()) };
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(words)))
        }
        Kind::F16 => {
            // SAFETY: the array holds eight numbers of two bytes.
            let words = unsafe { _mm_loadu_si128(from.cast()) };
            _mm256_cvtph_ps(words)
        }
    }
}

/// Sixteen words.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn words16(words: &[u16; 16]) -> __m256i {
    // SAFETY: the array holds 32 bytes.
    unsafe { _mm256_loadu_si256(words.as_ptr().cast()) }
}

/// Thirty-two bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn bytes32(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: the array holds 32 bytes.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// Writes thirty-two bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store32(bytes: __m256i, out: &mut [u8; 32]) {
    // SAFETY: the array holds 32 bytes.
    unsafe { _mm256_storeu_si256(out.as_mut_ptr().cast(), bytes) }
}

/// Writes sixteen bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn store16(bytes: __m128i, out: &mut [u8; 16]) {
    // SAFETY: the array holds 16 bytes.
    unsafe { _mm_storeu_si128(out.as_mut_ptr().cast(), bytes) }
}

/// Sixteen bytes.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn bytes16(bytes: &[u8; 16]) -> __m128i {
    // SAFETY: the array holds 16 bytes.
    unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) }
}

/// Output bytes from which on stores go around the caches. Less than this is likely to be read again
/// before it would have left them.
const STREAM_FROM: usize = 8 << 20;

/// Whether [`put32`] to parts of `out` should go around the caches.
pub(super) fn streams(out: &[u8]) -> bool {
    out.len() >= STREAM_FROM
}

/// Writes thirty-two bytes, around the caches where that is asked for and `out` is aligned. Behind
/// the last of such stores belongs an `_mm_sfence`.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn put32(bytes: __m256i, out: &mut [u8; 32], streams: bool) {
    let to = out.as_mut_ptr().cast::<__m256i>();
    if streams && to.is_aligned() {
        // SAFETY: the array holds 32 bytes and starts at a multiple of 32.
        unsafe { _mm256_stream_si256(to, bytes) }
    } else {
        store32(bytes, out);
    }
}
