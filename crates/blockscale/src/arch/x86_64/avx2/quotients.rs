//! Numbers of any type to codes of any element type: divided in F32, and rounded.

use core::arch::x86_64::*;

use super::rounding::Rounding;
use super::source::{bytes32, store16, store32, widen8};
use crate::{Element, Format, GlobalScale, Real, ScaleElement};

/// How the numbers of a format become codes.
pub(super) struct Quotients<'a> {
    format: &'a Format,
    global: f32,
    rounding: Rounding,
}

impl<'a> Quotients<'a> {
    #[target_feature(enable = "avx2,f16c")]
    pub(super) fn new(format: &'a Format, global: f32) -> Self {
        Self {
            format,
            global,
            rounding: Rounding::of(format.element),
        }
    }

    /// Codes of a part of a row that starts with a block, under `scales`, one for each block that it
    /// touches; `block_cols` is a multiple of eight unless there is one block.
    #[target_feature(enable = "avx2,f16c")]
    pub(super) fn part<T: Real>(
        &self,
        values: &[T],
        block_cols: usize,
        scales: &[u8],
        codes: &mut [u8],
    ) {
        // What a power of two divides can be multiplied by its reciprocal, which is exact.
        if self.format.scale == ScaleElement::E8m0Fnu && self.format.global == GlobalScale::None {
            self.part_by::<T, true>(values, block_cols, scales, codes);
        } else {
            self.part_by::<T, false>(values, block_cols, scales, codes);
        }
    }

    #[target_feature(enable = "avx2,f16c")]
    fn part_by<T: Real, const RECIPROCAL: bool>(
        &self,
        values: &[T],
        block_cols: usize,
        scales: &[u8],
        codes: &mut [u8],
    ) {
        let blocks = scales.chunks_exact(self.format.scale.bytes());
        let blocks = blocks.map(|scale| self.format.effective_scale(scale, self.global));
        let mut scale_of_eight = EachTimes::new(blocks, block_cols.div_ceil(8));
        let (chunks, rest) = values.as_chunks::<32>();
        let stride = self.format.code_stride();
        let mut out = codes.chunks_mut(4 * stride);
        for chunk in chunks {
            let scales = core::array::from_fn(|_| scale_of_eight.next());
            let found = self.codes::<T, RECIPROCAL>(chunk, scales);
            if let Some(out) = out.next() {
                pack(found, stride, out);
            }
        }
        if let (false, Some(out)) = (rest.is_empty(), out.next()) {
            let mut chunk = [T::zeroed(); 32];
            chunk[..rest.len()].copy_from_slice(rest);
            let scales = core::array::from_fn(|_| scale_of_eight.next());
            let mut found = [0; 32];
            store32(self.codes::<T, RECIPROCAL>(&chunk, scales), &mut found);
            found[rest.len()..].fill(0);
            let mut packed = [0; 32];
            pack(bytes32(&found), stride, &mut packed[..4 * stride]);
            out.copy_from_slice(&packed[..out.len()]);
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    fn codes<T: Real, const RECIPROCAL: bool>(
        &self,
        values: &[T; 32],
        scales: [f32; 4],
    ) -> __m256i {
        let (eights, _) = values.as_chunks::<8>();
        let mut quotients = [_mm256_setzero_ps(); 4];
        let mut nan = _mm256_setzero_ps();
        for i in 0..4 {
            let x = widen8(&eights[i]);
            quotients[i] = if RECIPROCAL {
                _mm256_mul_ps(x, _mm256_set1_ps(1.0 / scales[i]))
            } else {
                _mm256_div_ps(x, _mm256_set1_ps(scales[i]))
            };
            let is_nan = _mm256_cmp_ps::<_CMP_UNORD_Q>(quotients[i], quotients[i]);
            nan = _mm256_or_ps(nan, is_nan);
        }
        if _mm256_movemask_ps(nan) != 0 || scales.contains(&0.0) {
            return self.codes_one_by_one(values, scales);
        }
        let [a, b, c, d] = quotients;
        let codes = in_order(_mm256_packus_epi16(
            _mm256_packus_epi32(self.rounding.codes(a), self.rounding.codes(b)),
            _mm256_packus_epi32(self.rounding.codes(c), self.rounding.codes(d)),
        ));
        if self.format.element == Element::E4m3Fnuz {
            // There is one zero.
            let negative = _mm256_cmpeq_epi8(codes, _mm256_set1_epi8(i8::MIN));
            return _mm256_andnot_si256(negative, codes);
        }
        codes
    }

    /// Where there are NaN or scales of zero.
    #[cold]
    #[target_feature(enable = "avx2,f16c")]
    fn codes_one_by_one<T: Real>(&self, values: &[T; 32], scales: [f32; 4]) -> __m256i {
        let codes: [u8; 32] = core::array::from_fn(|i| match scales[i / 8] {
            0.0 => 0,
            scale => self.format.element.encode(values[i].to_f32() / scale),
        });
        bytes32(&codes)
    }
}

/// Bytes that two rounds of packing have left four by four in the two halves.
#[inline]
#[target_feature(enable = "avx2")]
fn in_order(packed: __m256i) -> __m256i {
    _mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7))
}

/// Thirty-two codes, `stride` bits apart.
#[inline]
#[target_feature(enable = "avx2")]
fn pack(codes: __m256i, stride: usize, out: &mut [u8]) {
    match stride {
        8 => {
            if let Some(out) = out.as_mut_array() {
                store32(codes, out);
            }
        }
        4 => {
            if let Some(out) = out.as_mut_array() {
                store16(nibbles(codes), out);
            }
        }
        _ => {
            let mut bytes = [0; 32];
            store32(sextets(codes), &mut bytes);
            let (low, high) = out.split_at_mut(12);
            low.copy_from_slice(&bytes[..12]);
            high.copy_from_slice(&bytes[16..28]);
        }
    }
}

/// Thirty-two codes of four bits, two a byte.
#[inline]
#[target_feature(enable = "avx2")]
pub(super) fn nibbles(codes: __m256i) -> __m128i {
    let pairs = _mm256_maddubs_epi16(codes, _mm256_set1_epi16(0x1001));
    let (low, high) = (
        _mm256_castsi256_si128(pairs),
        _mm256_extracti128_si256::<1>(pairs),
    );
    _mm_packus_epi16(low, high)
}

/// Thirty-two codes of six bits, four in three bytes: twelve bytes in either half.
#[inline]
#[target_feature(enable = "avx2")]
fn sextets(codes: __m256i) -> __m256i {
    let pairs = _mm256_maddubs_epi16(codes, _mm256_set1_epi16(0x4001));
    let fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x1000_0001));
    let three_of_four = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    _mm256_shuffle_epi8(fours, _mm256_broadcastsi128_si256(three_of_four))
}

/// Each item a number of times; zero where there are no more.
struct EachTimes<I> {
    items: I,
    times: usize,
    left: usize,
    item: f32,
}

impl<I: Iterator<Item = f32>> EachTimes<I> {
    const fn new(items: I, times: usize) -> Self {
        Self {
            items,
            times,
            left: 0,
            item: 0.0,
        }
    }

    #[inline(always)]
    fn next(&mut self) -> f32 {
        if self.left == 0 {
            // What lies behind the last block is filled up and not stored.
            self.item = self.items.next().unwrap_or(1.0);
            self.left = self.times;
        }
        self.left -= 1;
        self.item
    }
}
