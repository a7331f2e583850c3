//! BF16 to codes of four bits, without a division for each number.
//!
//! Under one scale each code starts at a certain BF16 number, so that a code is the count of starts
//! not above `|x|`, as integers. Those of codes 2 to 7 lie at least 51 numbers apart and span fewer
//! than 400: in sixteen runs of 32 numbers from just below the second, each run holds at most one, and
//! sixteen bytes say how many lie before the run and where in it the next one is, in one number to
//! which the low bits are added so that they carry. The starts are found with the definition's own
//! divisions, and only for scales that occur. NaN is left to the general loop.

use core::arch::x86_64::*;

use super::quotients::nibbles;
use super::source::{put32, words16};
use crate::element::E2m1;
use crate::{Format, bf16};

/// Where codes start, in numbers of BF16.
#[derive(Clone, Copy)]
#[repr(C, align(32))]
struct Starts {
    /// The last number of code 0, in both halves.
    last_zero: u32,
    /// By run of 32 numbers from `first_run`: codes that start before it, and where the next does.
    runs: [u8; 16],
    /// The first number of run 0, in both halves.
    first_run: u32,
    /// 1 where these are the starts of a scale, 0 before they were looked for and where that is left
    /// to the general loop.
    is_known: u32,
}

/// Starts by scale code.
pub(super) struct Table {
    of_scales: [Starts; 256],
}

impl Table {
    pub(super) const fn new() -> Self {
        let unknown = Starts {
            runs: [0; 16],
            first_run: 0,
            last_zero: 0,
            is_known: 0,
        };
        Self {
            of_scales: [unknown; 256],
        }
    }

    /// Makes sure of the starts under four scales; `false` where one is left to the general loop.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn knows(&mut self, format: &Format, global: f32, scales: [u8; 4]) -> bool {
        let [a, b, c, d] = scales.map(|scale| self.of_scales[usize::from(scale)].is_known);
        a & b & c & d != 0 || self.learns(format, global, scales)
    }

    #[cold]
    #[target_feature(enable = "avx2")]
    fn learns(&mut self, format: &Format, global: f32, scales: [u8; 4]) -> bool {
        let mut known = true;
        for scale in scales {
            let starts = &mut self.of_scales[usize::from(scale)];
            if starts.is_known == 0 {
                *starts = Starts::new(format.effective_scale(&[scale], global));
            }
            known &= starts.is_known != 0;
        }
        known
    }

    /// The codes of 64 numbers under four scales of one byte; `false`, and nothing written, where they
    /// have to be found in another way.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn encode(
        &mut self,
        format: &Format,
        global: f32,
        values: &[u16; 64],
        scales: [u8; 4],
        codes: &mut [u8; 32],
        streams: bool,
    ) -> bool {
        if !self.knows(format, global, scales) {
            return false;
        }
        let (values, _) = values.as_chunks::<16>();
        let mut x = [_mm256_setzero_si256(); 4];
        let mut magnitudes = x;
        let mut largest = x[0];
        for i in 0..4 {
            x[i] = words16(&values[i]);
            let bits = _mm256_and_si256(x[i], _mm256_set1_epi16(0x7fff));
            largest = _mm256_max_epu16(largest, bits);
            magnitudes[i] = self.of_scales[usize::from(scales[i])].magnitudes(bits);
        }
        let nan = _mm256_subs_epu16(largest, _mm256_set1_epi16(0x7f80));
        if _mm256_testz_si256(nan, nan) == 0 {
            return false;
        }
        let low = with_signs(magnitudes[0], magnitudes[1], x[0], x[1]);
        let high = with_signs(magnitudes[2], magnitudes[3], x[2], x[3]);
        put32(_mm256_set_m128i(high, low), codes, streams);
        true
    }
}

/// Two vectors of magnitude codes with the signs of their numbers, two a byte.
#[inline]
#[target_feature(enable = "avx2")]
fn with_signs(low: __m256i, high: __m256i, low_x: __m256i, high_x: __m256i) -> __m128i {
    let signs = _mm256_packs_epi16(low_x, high_x);
    let signs = _mm256_srli_epi16::<4>(_mm256_and_si256(signs, _mm256_set1_epi8(i8::MIN)));
    let codes = _mm256_or_si256(_mm256_packus_epi16(low, high), signs);
    nibbles(_mm256_permute4x64_epi64::<0b11_01_10_00>(codes))
}

impl Starts {
    /// Those under one scale, which must be such that no quotient near a start leaves the normal
    /// numbers of F32.
    #[cold]
    #[target_feature(enable = "avx2")]
    fn new(scale: f32) -> Self {
        let none = Self {
            runs: [0; 16],
            first_run: 0,
            last_zero: 0,
            is_known: 0,
        };
        if !(1e-30..=1e30).contains(&scale) {
            return none;
        }
        // Half-way between two values of E2M1; which of the two it goes to, the definition says.
        let middles = [0.25_f32, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0];
        let mut starts = [0_u16; 7];
        for ((start, middle), code) in starts.iter_mut().zip(middles).zip(1..) {
            let below = (middle * scale).to_bits() >> 16;
            let quotient = bf16::from_bits(below as u16).to_f32() / scale;
            let is_below = E2m1::from_f32(quotient).to_bits() < code;
            *start = below as u16 + u16::from(is_below);
        }
        let first_run = starts[1] - 32;
        let mut runs = [0_u8; 16];
        for (run, end) in runs.iter_mut().zip((32..).step_by(32)) {
            for start in &starts[1..] {
                // Numbers of the run from this start on.
                *run += (end - i32::from(start - first_run)).clamp(0, 32) as u8;
            }
        }
        Self {
            runs,
            first_run: u32::from(first_run) * 0x1_0001,
            last_zero: u32::from(starts[0] - 1) * 0x1_0001,
            is_known: 1,
        }
    }

    /// Codes without signs of sixteen numbers without signs.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn magnitudes(&self, bits: __m256i) -> __m256i {
        // SAFETY: the field holds sixteen bytes.
        let runs = unsafe { _mm_loadu_si128(self.runs.as_ptr().cast()) };
        let runs = _mm256_broadcastsi128_si256(runs);
        let from_second = _mm256_subs_epu16(bits, _mm256_set1_epi32(self.first_run as i32));
        let from_second = _mm256_min_epu16(from_second, _mm256_set1_epi16(511));
        let run = _mm256_srli_epi16::<5>(from_second);
        let low = _mm256_and_si256(from_second, _mm256_set1_epi16(31));
        // The upper byte of each word looks up run 0, in which nothing starts.
        let sum = _mm256_add_epi16(_mm256_shuffle_epi8(runs, run), low);
        let after_second = _mm256_srli_epi16::<5>(sum);
        let is_not_zero = _mm256_cmpgt_epi16(bits, _mm256_set1_epi32(self.last_zero as i32));
        _mm256_sub_epi16(after_second, is_not_zero)
    }
}
