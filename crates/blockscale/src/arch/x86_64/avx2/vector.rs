//! 32 bytes as one register.

use core::arch::x86_64::*;

use crate::Real;
use crate::arch::vector::{Minifloat, Stores, Vector};
use crate::real::sealed::Kind;

/// Shows that AVX2 and F16C are there.
#[derive(Clone, Copy)]
pub(in crate::arch) struct Avx2(());

impl Avx2 {
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    pub(in crate::arch) fn new() -> Self {
        Self(())
    }
}

/// Calls intrinsics in a method of [`Avx2`].
macro_rules! avx2 {
    ($($body:tt)*) => {
        // SAFETY: `self` was made by a function that is compiled for AVX2 and F16C, so the processor
        // has them; pointers come from references to arrays of the size that is read or written, at
        // whatever address, or, for streaming stores, at a multiple of 32 as `Vector` asks for.
        unsafe { $($body)* }
    };
}

impl Vector for Avx2 {
    type Bytes = __m256i;
    type Scales = [__m256; 2];

    const STREAMS: bool = true;

    #[inline(always)]
    fn bytes(self, from: &[u8; 32]) -> __m256i {
        avx2! { _mm256_loadu_si256(from.as_ptr().cast()) }
    }

    #[inline(always)]
    fn nibbles(self, from: &[u8; 16]) -> __m256i {
        avx2! {
            // A byte becomes a word whose two bytes get its two nibbles.
            let words = _mm256_cvtepu8_epi16(_mm_loadu_si128(from.as_ptr().cast()));
            let doubled = _mm256_or_si256(words, _mm256_slli_epi16::<4>(words));
            _mm256_and_si256(doubled, _mm256_set1_epi8(0x0f))
        }
    }

    #[inline(always)]
    fn sextets(self, from: &[u8; 24]) -> __m256i {
        avx2! {
            // Twelve bytes to each half, three of them to each 32-bit lane.
            let first = _mm_loadu_si128(from.as_ptr().cast());
            let second = _mm_loadu_si128(from.as_ptr().add(8).cast());
            let threes = _mm256_shuffle_epi8(
                _mm256_set_m128i(second, first),
                _mm256_setr_epi8(
                    0, 1, 2, -1, 3, 4, 5, -1, 6, 7, 8, -1, 9, 10, 11, -1,
                    4, 5, 6, -1, 7, 8, 9, -1, 10, 11, 12, -1, 13, 14, 15, -1,
                ),
            );
            let codes = [
                _mm256_and_si256(threes, _mm256_set1_epi32(0x3f)),
                _mm256_and_si256(_mm256_slli_epi32::<2>(threes), _mm256_set1_epi32(0x3f00)),
                _mm256_and_si256(_mm256_slli_epi32::<4>(threes), _mm256_set1_epi32(0x003f_0000)),
                _mm256_and_si256(_mm256_slli_epi32::<6>(threes), _mm256_set1_epi32(0x3f00_0000)),
            ];
            _mm256_or_si256(
                _mm256_or_si256(codes[0], codes[1]),
                _mm256_or_si256(codes[2], codes[3]),
            )
        }
    }

    #[inline(always)]
    fn to_array(self, bytes: __m256i) -> [u8; 32] {
        let mut array = [0; 32];
        avx2! { _mm256_storeu_si256(array.as_mut_ptr().cast(), bytes) }
        array
    }

    #[inline(always)]
    fn splat(self, byte: u8) -> __m256i {
        avx2! { _mm256_set1_epi8(byte as i8) }
    }

    #[inline(always)]
    fn tables(self, first: &[u8; 16], second: &[u8; 16]) -> __m256i {
        avx2! { _mm256_loadu2_m128i(second.as_ptr().cast(), first.as_ptr().cast()) }
    }

    #[inline(always)]
    fn table(self, both: &[u8; 16]) -> __m256i {
        avx2! { _mm256_broadcastsi128_si256(_mm_loadu_si128(both.as_ptr().cast())) }
    }

    #[inline(always)]
    fn lookup(self, table: __m256i, index: __m256i) -> __m256i {
        avx2! { _mm256_shuffle_epi8(table, index) }
    }

    #[inline(always)]
    fn and(self, a: __m256i, b: __m256i) -> __m256i {
        avx2! { _mm256_and_si256(a, b) }
    }

    #[inline(always)]
    fn xor(self, a: __m256i, b: __m256i) -> __m256i {
        avx2! { _mm256_xor_si256(a, b) }
    }

    #[inline(always)]
    fn add(self, a: __m256i, b: __m256i) -> __m256i {
        avx2! { _mm256_add_epi8(a, b) }
    }

    #[inline(always)]
    fn max(self, a: __m256i, b: __m256i) -> __m256i {
        avx2! { _mm256_max_epu8(a, b) }
    }

    #[inline(always)]
    fn eq(self, a: __m256i, b: __m256i) -> __m256i {
        avx2! { _mm256_cmpeq_epi8(a, b) }
    }

    #[inline(always)]
    fn high_nibbles(self, bytes: __m256i) -> __m256i {
        avx2! { _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), _mm256_set1_epi8(0x0f)) }
    }

    #[inline(always)]
    fn shift_up<const BITS: i32>(self, bytes: __m256i) -> __m256i {
        let kept = ((0xff_u32 << BITS) & 0xff) as u8;
        avx2! { _mm256_and_si256(_mm256_slli_epi16::<BITS>(bytes), _mm256_set1_epi8(kept as i8)) }
    }

    #[inline(always)]
    fn select(self, mask: __m256i, yes: __m256i, no: __m256i) -> __m256i {
        avx2! { _mm256_blendv_epi8(no, yes, mask) }
    }

    #[inline(always)]
    fn any(self, mask: __m256i) -> bool {
        avx2! { _mm256_movemask_epi8(mask) != 0 }
    }

    #[inline(always)]
    fn store_halves<S: Stores>(self, low: __m256i, high: __m256i, out: &mut [u16; 32]) {
        avx2! {
            let even = _mm256_unpacklo_epi8(low, high);
            let odd = _mm256_unpackhi_epi8(low, high);
            let first = _mm256_permute2x128_si256::<0x20>(even, odd);
            let second = _mm256_permute2x128_si256::<0x31>(even, odd);
            let to = out.as_mut_ptr().cast::<__m256i>();
            if S::STREAMING {
                _mm256_stream_si256(to, first);
                _mm256_stream_si256(to.add(1), second);
            } else {
                _mm256_storeu_si256(to, first);
                _mm256_storeu_si256(to.add(1), second);
            }
        }
    }

    #[inline(always)]
    fn scales(self, first: f32, second: f32) -> [__m256; 2] {
        avx2! { [_mm256_set1_ps(first), _mm256_set1_ps(second)] }
    }

    #[inline(always)]
    fn store_products<E: Minifloat, T: Real, S: Stores>(
        self,
        codes: __m256i,
        scales: [__m256; 2],
        out: &mut [T; 32],
    ) {
        avx2! {
            // As F16, a code is its number times a power of two. Both halves of the register hold
            // codes of both blocks then: 0-7 and 16-23, 8-15 and 24-31.
            let zeros = _mm256_setzero_si256();
            let even = halves::<E>(_mm256_unpacklo_epi8(zeros, codes));
            let odd = halves::<E>(_mm256_unpackhi_epi8(zeros, codes));
            let eights = [
                (_mm256_castsi256_si128(even), scales[0]),
                (_mm256_castsi256_si128(odd), scales[0]),
                (_mm256_extracti128_si256::<1>(even), scales[1]),
                (_mm256_extracti128_si256::<1>(odd), scales[1]),
            ];
            let power = _mm256_set1_ps(f32::from_bits((127 + 15 - E::BIAS) << 23));
            let (outs, _) = out.as_chunks_mut::<8>();
            for (out, (eight, scale)) in outs.iter_mut().zip(eights) {
                let value = _mm256_mul_ps(_mm256_cvtph_ps(eight), power);
                store8::<T, S>(_mm256_mul_ps(value, scale), out);
            }
        }
    }

    #[inline(always)]
    fn scaled8<T: Real>(self, values: [f32; 8], scale: f32) -> [u16; 8] {
        let mut bits = [0; 8];
        avx2! {
            let products = _mm256_mul_ps(_mm256_loadu_ps(values.as_ptr()), _mm256_set1_ps(scale));
            let rounded = match T::KIND {
                Kind::F16 => _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(products),
                _ => bf16x8(products),
            };
            _mm_storeu_si128(bits.as_mut_ptr().cast(), rounded);
        }
        bits
    }

    #[inline(always)]
    fn fence(self) {
        avx2! { _mm_sfence() }
    }
}

/// The F16 that are codes times a power of two. Words hold a code in their upper bytes, sign first.
#[inline]
#[target_feature(enable = "avx2,f16c")]
fn halves<E: Minifloat>(words: __m256i) -> __m256i {
    // The magnitude moves down until its exponent is at the end of that of F16.
    let down = 5 - E::EXPONENT_BITS;
    let moved = _mm256_sra_epi16(words, _mm_cvtsi32_si128(down as i32));
    let kept = 0x8000 | (0x7fff >> down);
    _mm256_and_si256(moved, _mm256_set1_epi16(kept as u16 as i16))
}

/// Rounds eight numbers to `T` and writes them.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) fn store8<T: Real, S: Stores>(values: __m256, out: &mut [T; 8]) {
    let to = out.as_mut_ptr();
    let rounded = match T::KIND {
        Kind::F32 => {
            // SAFETY: `out` is eight F32, at a multiple of 32 bytes where stores stream.
            return unsafe {
                if S::STREAMING {
                    _mm256_stream_ps(to.cast(), values);
                } else {
                    _mm256_storeu_ps(to.cast(), values);
                }
            };
        }
        Kind::F16 => _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(values),
        Kind::Bf16 => bf16x8(values),
    };
    // SAFETY: `out` is eight numbers of 16 bits, at a multiple of 16 bytes where stores stream.
    unsafe {
        if S::STREAMING {
            _mm_stream_si128(to.cast(), rounded);
        } else {
            _mm_storeu_si128(to.cast(), rounded);
        }
    }
}

/// Rounds to BF16 as [`bf16_bits`] does.
#[inline]
#[target_feature(enable = "avx2,f16c")]
pub(super) fn bf16x8(values: __m256) -> __m128i {
    let bits = _mm256_castps_si256(values);
    let upper = _mm256_srli_epi32::<16>(bits);
    let odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
    let half = _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff));
    let rounded = _mm256_srli_epi32::<16>(_mm256_add_epi32(bits, half));
    let quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
    let nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(values, values));
    let words = _mm256_blendv_epi8(rounded, quiet, nan);
    _mm_packus_epi32(
        _mm256_castsi256_si128(words),
        _mm256_extracti128_si256::<1>(words),
    )
}
