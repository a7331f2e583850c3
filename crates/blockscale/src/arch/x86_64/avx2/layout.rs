//! Scales of a byte, four to a word, between rows and columns of words: 8 x 8 words at a time.

use core::arch::x86_64::*;

use crate::arch::scalar;
use crate::arch::vector::{Cached, Stores, Streaming};

/// Words of a row, and rows, that are turned together.
const SIDE: usize = 8;

#[target_feature(enable = "avx2,f16c")]
pub(in crate::arch) fn gather_words(
    from: &[u8],
    rows: &[usize],
    words: usize,
    to: &mut [u8],
    pitch: usize,
) {
    gather::<Cached>(from, rows, words, to, pitch);
}

#[target_feature(enable = "avx2,f16c")]
pub(in crate::arch) fn stream_words(
    from: &[u8],
    rows: &[usize],
    words: usize,
    to: &mut [u8],
    pitch: usize,
) {
    let aligned = to.as_ptr().addr().is_multiple_of(32) && pitch.is_multiple_of(32);
    if !aligned {
        return gather::<Cached>(from, rows, words, to, pitch);
    }
    gather::<Streaming>(from, rows, words, to, pitch);
    _mm_sfence();
}

/// Where stores stream, `to` and `pitch` are multiples of 32.
#[inline]
#[target_feature(enable = "avx2")]
fn gather<S: Stores>(from: &[u8], rows: &[usize], words: usize, to: &mut [u8], pitch: usize) {
    let whole = words - words % SIDE;
    if !turns(from.len(), to.len(), rows, whole, pitch) {
        return scalar::layout::gather_words(from, rows, words, to, pitch);
    }
    for word in (0..whole).step_by(SIDE) {
        for (i, rows) in rows.as_chunks::<SIDE>().0.iter().enumerate() {
            let mut square = [_mm256_setzero_si256(); SIDE];
            for (line, row) in square.iter_mut().zip(rows) {
                // SAFETY: `turns` found that `from` has `whole` words from each row on.
                *line = unsafe { _mm256_loadu_si256(from.as_ptr().add(row + 4 * word).cast()) };
            }
            for (w, line) in turned(square).into_iter().enumerate() {
                let at = (word + w) * pitch + 4 * SIDE * i;
                // SAFETY: `turns` found that `to` has a line of all rows at each of `whole` pitches;
                // where stores stream, this is at a multiple of 32 bytes.
                unsafe {
                    let to = to.as_mut_ptr().add(at).cast();
                    if S::STREAMING {
                        _mm256_stream_si256(to, line);
                    } else {
                        _mm256_storeu_si256(to, line);
                    }
                }
            }
        }
    }
    if whole < words {
        let mut rest = [0; 2 * SIDE];
        let rest = &mut rest[..rows.len()];
        for (rest, row) in rest.iter_mut().zip(rows) {
            *rest = row + 4 * whole;
        }
        scalar::layout::gather_words(from, rest, words - whole, &mut to[whole * pitch..], pitch);
    }
}

#[target_feature(enable = "avx2,f16c")]
pub(in crate::arch) fn scatter_words(
    from: &[u8],
    pitch: usize,
    words: usize,
    to: &mut [u8],
    rows: &[usize],
) {
    let whole = words - words % SIDE;
    if !turns(to.len(), from.len(), rows, whole, pitch) {
        return scalar::layout::scatter_words(from, pitch, words, to, rows);
    }
    for word in (0..whole).step_by(SIDE) {
        for (i, rows) in rows.as_chunks::<SIDE>().0.iter().enumerate() {
            let mut square = [_mm256_setzero_si256(); SIDE];
            for (w, line) in square.iter_mut().enumerate() {
                let at = (word + w) * pitch + 4 * SIDE * i;
                // SAFETY: `turns` found that `from` has a line of all rows at each of `whole`
                // pitches.
                *line = unsafe { _mm256_loadu_si256(from.as_ptr().add(at).cast()) };
            }
            for (line, row) in turned(square).into_iter().zip(rows) {
                // SAFETY: `turns` found that `to` has `whole` words from each row on.
                unsafe { _mm256_storeu_si256(to.as_mut_ptr().add(row + 4 * word).cast(), line) };
            }
        }
    }
    if whole < words {
        let mut rest = [0; 2 * SIDE];
        let rest = &mut rest[..rows.len()];
        for (rest, row) in rest.iter_mut().zip(rows) {
            *rest = row + 4 * whole;
        }
        scalar::layout::scatter_words(&from[whole * pitch..], pitch, words - whole, to, rest);
    }
}

#[target_feature(enable = "avx2,f16c")]
pub(in crate::arch) fn narrow_powers(from: &[[u8; 4]], to: &mut [u8]) -> bool {
    let (froms, rest) = from.as_chunks::<32>();
    let whole = froms.len() * 32;
    if to.len() < whole {
        return scalar::layout::narrow_powers(from, to);
    }
    let (to, to_rest) = to.split_at_mut(whole);
    let mut wrong = _mm256_setzero_si256();
    for (to, from) in to.as_chunks_mut::<32>().0.iter_mut().zip(froms) {
        let mut words = [_mm256_setzero_si256(); 4];
        for (i, word) in words.iter_mut().enumerate() {
            // SAFETY: `from` has 32 values of four bytes, and this reads the eight from `8 * i` on.
            let bits = unsafe { _mm256_loadu_si256(from.as_ptr().add(8 * i).cast()) };
            let other = _mm256_and_si256(bits, _mm256_set1_epi32(0x807f_ffff_u32 as i32));
            wrong = _mm256_or_si256(wrong, other);
            *word = _mm256_srli_epi32::<23>(bits);
        }
        // Packing takes the lower halves of both, then the upper ones.
        let packed = _mm256_packus_epi16(
            _mm256_packus_epi32(words[0], words[1]),
            _mm256_packus_epi32(words[2], words[3]),
        );
        let order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        let codes = _mm256_permutevar8x32_epi32(packed, order);
        let subnormal = _mm256_cmpeq_epi8(codes, _mm256_setzero_si256());
        let infinite = _mm256_cmpeq_epi8(codes, _mm256_set1_epi8(-1));
        wrong = _mm256_or_si256(wrong, _mm256_or_si256(subnormal, infinite));
        // SAFETY: `to` has 32 bytes.
        unsafe { _mm256_storeu_si256(to.as_mut_ptr().cast(), codes) };
    }
    _mm256_testz_si256(wrong, wrong) == 1 && scalar::layout::narrow_powers(rest, to_rest)
}

#[target_feature(enable = "avx2,f16c")]
pub(in crate::arch) fn widen_powers(from: &[u8], to: &mut [[u8; 4]]) {
    scalar::layout::widen_powers(from, to);
}

#[target_feature(enable = "avx2,f16c")]
pub(in crate::arch) fn fetch_lines(from: &[u8], lines: usize, pitch: usize) {
    for line in 0..lines {
        let address = from.as_ptr().wrapping_add(line.wrapping_mul(pitch));
        _mm_prefetch::<_MM_HINT_T1>(address.cast());
    }
}

/// Whether there are 8 or 16 rows, each of which has `whole` words, and `whole` lines, `pitch` bytes
/// apart, that hold a word of each row.
fn turns(row_bytes: usize, line_bytes: usize, rows: &[usize], whole: usize, pitch: usize) -> bool {
    let fits = |start: usize, len: usize, end| start.checked_add(len).is_some_and(|e| e <= end);
    let (Some(row), Some(last_line)) = (
        whole.checked_mul(4),
        whole
            .checked_sub(1)
            .and_then(|last| last.checked_mul(pitch)),
    ) else {
        return false;
    };
    (rows.len() == SIDE || rows.len() == 2 * SIDE)
        && rows.iter().all(|&start| fits(start, row, row_bytes))
        && fits(last_line, 4 * rows.len(), line_bytes)
}

/// Rows to columns.
#[inline]
#[target_feature(enable = "avx2")]
fn turned(rows: [__m256i; SIDE]) -> [__m256i; SIDE] {
    let [a, b, c, d, e, f, g, h] = rows;
    let pairs = [
        _mm256_unpacklo_epi32(a, b),
        _mm256_unpackhi_epi32(a, b),
        _mm256_unpacklo_epi32(c, d),
        _mm256_unpackhi_epi32(c, d),
        _mm256_unpacklo_epi32(e, f),
        _mm256_unpackhi_epi32(e, f),
        _mm256_unpacklo_epi32(g, h),
        _mm256_unpackhi_epi32(g, h),
    ];
    // Columns 0 and 4, 1 and 5, 2 and 6, 3 and 7: of rows 0-3, then of rows 4-7.
    let fours = |first: usize| {
        [
            _mm256_unpacklo_epi64(pairs[first], pairs[first + 2]),
            _mm256_unpackhi_epi64(pairs[first], pairs[first + 2]),
            _mm256_unpacklo_epi64(pairs[first + 1], pairs[first + 3]),
            _mm256_unpackhi_epi64(pairs[first + 1], pairs[first + 3]),
        ]
    };
    let ([a, b, c, d], [e, f, g, h]) = (fours(0), fours(4));
    [
        _mm256_permute2x128_si256::<0x20>(a, e),
        _mm256_permute2x128_si256::<0x20>(b, f),
        _mm256_permute2x128_si256::<0x20>(c, g),
        _mm256_permute2x128_si256::<0x20>(d, h),
        _mm256_permute2x128_si256::<0x31>(a, e),
        _mm256_permute2x128_si256::<0x31>(b, f),
        _mm256_permute2x128_si256::<0x31>(c, g),
        _mm256_permute2x128_si256::<0x31>(d, h),
    ]
}
