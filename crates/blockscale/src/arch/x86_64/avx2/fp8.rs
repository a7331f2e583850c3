//! BF16 to codes of eight bits, without a division for each number.
//!
//! Under one scale `s` the code of `x / s` depends on the eight bits of the significand of `x` and
//! shifts with its exponent, as long as the code is that of a normal number. Along the 128
//! significands the code rises at most once in each run of eight, since the codes of a binade lie at
//! least eight significands apart. So sixteen bytes hold all of it: from which code a run starts and
//! at which of the eight it rises, in one number to which the low bits are added so that they carry.
//! The table is made with the definition's own divisions. NaN and what becomes a subnormal code are
//! left to the general loop.

use core::arch::x86_64::*;

use super::source::{bytes32, words16};
use crate::Element;

/// Significands of BF16.
const SIGNIFICANDS: usize = 128;

/// What all codes of an element type have in common, in every lane.
pub(super) struct Fp8 {
    mantissa_bits: i32,
    bias: i32,
    /// From where codes of zero start to where those of normal numbers do, one code early.
    offset: __m256i,
    /// Where sums of normal codes start, less one.
    subnormal: __m256i,
    /// The largest finite code, with all bits of the carry below it.
    largest: __m256i,
    /// Bits of a sum below the code.
    shift: __m128i,
}

/// The codes of BF16 numbers under one scale.
#[derive(Clone, Copy)]
pub(super) struct Table {
    /// By run of significands: the code, and where in the run it rises.
    runs: __m256i,
    /// What the exponents of scale and type come to, less `offset`, in the units of the sum.
    base: __m256i,
}

/// Codes, and whether some have to be found in another way.
pub(super) struct Found {
    pub(super) codes: __m256i,
    pub(super) is_partial: bool,
}

impl Fp8 {
    /// `None` for an element type that has no tables.
    #[target_feature(enable = "avx2")]
    pub(super) fn new(element: Element) -> Option<Self> {
        if !matches!(element, Element::E4m3Fn | Element::E5m2) {
            return None;
        }
        let mantissa_bits = element.mantissa_bits() as i32;
        let shift = 7 - mantissa_bits;
        let offset = offset(mantissa_bits);
        let largest = i32::from(element.encode(f32::MAX));
        Some(Self {
            mantissa_bits,
            bias: i32::from(element.encode(1.0)) >> mantissa_bits,
            offset: all(offset),
            subnormal: all(offset + 128 - 1),
            largest: all((largest << shift) | ((1 << shift) - 1)),
            shift: _mm_cvtsi32_si128(shift),
        })
    }

    /// The table of a scale, `None` where it is negative, not finite or so large or small that
    /// quotients leave the normal numbers of F32.
    #[target_feature(enable = "avx2")]
    pub(super) fn table(&self, scale: f32) -> Option<Table> {
        let exponent = (scale.to_bits() >> 23) as i32;
        if scale.to_bits() << 9 == 0 {
            return self.table_of_power(exponent);
        }
        let significand = f32::from_bits(scale.to_bits() & 0x007f_ffff | 0x3f80_0000);
        let runs = Runs::new(significand, self.mantissa_bits as u32);
        is_central(exponent).then(|| self.place(&runs, exponent))
    }

    /// The table of 2^(exponent - 127).
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn table_of_power(&self, exponent: i32) -> Option<Table> {
        let runs = &OF_POWERS[usize::from(self.mantissa_bits == 3)];
        if !is_central(exponent) {
            return None;
        }
        Some(self.place(runs, exponent))
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn place(&self, runs: &Runs, exponent: i32) -> Table {
        let zero = ((exponent + 1 - self.bias) << 7) - runs.carried;
        Table {
            runs: bytes32(&runs.bytes),
            base: all(zero - offset(self.mantissa_bits)),
        }
    }

    /// The codes of thirty-two numbers.
    #[inline]
    #[target_feature(enable = "avx2")]
    pub(super) fn codes(&self, values: &[u16; 32], table: Table) -> Found {
        let (halves, _) = values.as_chunks::<16>();
        let (low, high) = (words16(&halves[0]), words16(&halves[1]));
        let magnitude = _mm256_set1_epi16(0x7fff);
        let low_bits = _mm256_and_si256(low, magnitude);
        let high_bits = _mm256_and_si256(high, magnitude);
        let low_sum = table.sum(low_bits);
        let high_sum = table.sum(high_bits);

        let one = _mm256_set1_epi16(1);
        let nearest = _mm256_min_epu16(
            _mm256_sub_epi16(low_sum, one),
            _mm256_sub_epi16(high_sum, one),
        );
        let subnormal = _mm256_subs_epu16(self.subnormal, nearest);
        let largest = _mm256_max_epu16(low_bits, high_bits);
        let nan = _mm256_subs_epu16(largest, _mm256_set1_epi16(0x7f80));
        let partial = _mm256_or_si256(subnormal, nan);

        let packed = _mm256_packus_epi16(self.code(low_sum), self.code(high_sum));
        let signs = _mm256_packs_epi16(low, high);
        let signs = _mm256_and_si256(signs, _mm256_set1_epi8(i8::MIN));
        let codes = _mm256_or_si256(packed, signs);
        Found {
            codes: _mm256_permute4x64_epi64::<0b11_01_10_00>(codes),
            is_partial: _mm256_testz_si256(partial, partial) == 0,
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn code(&self, sum: __m256i) -> __m256i {
        let code = _mm256_min_epu16(_mm256_subs_epu16(sum, self.offset), self.largest);
        _mm256_srl_epi16(code, self.shift)
    }
}

impl Table {
    /// The code as if every exponent were that of a normal number, above the bits that carry into it
    /// and `offset` more, zero where that is negative.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn sum(&self, bits: __m256i) -> __m256i {
        let run = _mm256_and_si256(_mm256_srli_epi16::<3>(bits), _mm256_set1_epi16(0xf));
        // The upper byte of each word looks up run 0, which is zero.
        let code = _mm256_shuffle_epi8(self.runs, run);
        let exponent_and_low = _mm256_and_si256(bits, _mm256_set1_epi16(0x7f87));
        _mm256_subs_epu16(_mm256_add_epi16(code, exponent_and_low), self.base)
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn all(x: i32) -> __m256i {
    _mm256_set1_epi16(x as i16)
}

/// See [`Fp8::offset`].
const fn offset(mantissa_bits: i32) -> i32 {
    (mantissa_bits << 7) + (1 << (7 - mantissa_bits))
}

/// Whether quotients by scales of this exponent are normal numbers of F32 wherever their codes are
/// not zero and not the largest.
const fn is_central(exponent: i32) -> bool {
    32 <= exponent && exponent <= 224
}

/// What the significands of numbers come to under one significand of a scale.
struct Runs {
    /// What a table looks up, twice.
    bytes: [u8; 32],
    /// What the sums lack.
    carried: i32,
}

/// Those of powers of two.
static OF_POWERS: [Runs; 2] = [Runs::new(1.0, 2), Runs::new(1.0, 3)];

impl Runs {
    /// `significand` is one from 1 to 2.
    const fn new(significand: f32, mantissa_bits: u32) -> Self {
        let mut codes = [0_u8; SIGNIFICANDS];
        let mut x = 0;
        while x < SIGNIFICANDS {
            let quotient = f32::from_bits(0x3f80_0000 | (x as u32) << 16) / significand;
            codes[x] = rounded(quotient, mantissa_bits);
            x += 1;
        }
        let step = 1_u8 << (7 - mantissa_bits);
        let (first, first_rises) = (codes[0], rises(&codes, 0));
        let mut bytes = [0; 32];
        let mut run = 0;
        while run < 16 {
            let sum = step * (codes[8 * run] - first) + rises(&codes, 8 * run) - first_rises;
            (bytes[run], bytes[run + 16]) = (sum, sum);
            run += 1;
        }
        Self {
            bytes,
            carried: first_rises as i32 + step as i32 - 8 + (first as i32) * (step as i32),
        }
    }
}

/// The code of a quotient from 1/2 to 2, counted from that of one half.
const fn rounded(quotient: f32, mantissa_bits: u32) -> u8 {
    let dropped = 23 - mantissa_bits;
    let bits = quotient.to_bits();
    let nearest = bits + (1 << (dropped - 1)) - 1 + (bits >> dropped & 1);
    ((nearest >> dropped) - (126 << mantissa_bits)) as u8
}

/// How many of the eight codes from `start` on are above the first of them.
const fn rises(codes: &[u8; SIGNIFICANDS], start: usize) -> u8 {
    let mut sum = 0;
    let mut i = 1;
    while i < 8 {
        sum += codes[start + i] - codes[start];
        i += 1;
    }
    sum
}
