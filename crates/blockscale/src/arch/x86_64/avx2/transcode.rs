//! NVFP4 to FP8 in blocks of 128 x 128 by lookup.
//!
//! Under one scale of NVFP4 and one of FP8 there are sixteen results, made with the definition's own
//! steps and looked up for thirty-two codes at a time. The largest magnitude of a block is six times
//! the largest of its scales wherever a code of six lies under one of these, as it does where the
//! largest number of sixteen decided on their scale; only otherwise are all codes looked at.

use core::arch::x86_64::*;

use super::rounding::Rounding;
use super::source::{bytes16, put32, store16, streams};
use crate::arch::scalar::transcode::{TILE, TO, Tile, scale_of};
use crate::decode::Rows;
use crate::element::E2m1;
use crate::encode::write_scale;
use crate::{Element, Format, Shape};

/// NVFP4 blocks in a row of a tile.
const BLOCKS: usize = TILE / 16;

/// Tiles of a strip that are worked on at once.
const AT_ONCE: usize = 64;

#[target_feature(enable = "avx2,f16c")]
pub(in crate::arch) fn nvfp4_to_fp8_block_ue8m0(
    from: &Format,
    shape: Shape,
    rows: Rows<'_>,
    codes: &mut [u8],
    scales: &mut [u8],
) {
    let streams = streams(codes);
    let mut lookup = Lookup::new(from, rows.global);
    let tiles_of_row = 0..shape.cols.div_ceil(TILE);
    for tile_row in 0..shape.rows.div_ceil(TILE) {
        for first in tiles_of_row.clone().step_by(AT_ONCE) {
            let tiles = first..tiles_of_row.end.min(first + AT_ONCE);
            let mut by_lookup = [false; AT_ONCE];
            for (col, by_lookup) in tiles.clone().zip(&mut by_lookup) {
                let tile = Tile::new(shape, tile_row, col);
                let Some(amax) = lookup.amax(&tile, &rows) else {
                    tile.transcode(from, &rows, codes, scales);
                    continue;
                };
                write_scale(TO.scale, scale_of(amax), &mut scales[tile.scale()..][..1]);
                *by_lookup = true;
            }
            for row in Tile::new(shape, tile_row, first).rows() {
                for (col, by_lookup) in tiles.clone().zip(by_lookup) {
                    if by_lookup {
                        let tile = Tile::new(shape, tile_row, col);
                        let scale = scales[tile.scale()];
                        let out = &mut codes[tile.codes(row)];
                        lookup.part(tile.part(row, &rows), scale, out, streams);
                    }
                }
            }
        }
    }
    if streams {
        _mm_sfence();
    }
}

/// Results by scale of NVFP4, for scales of FP8 that do not share their lower two bits: those of a
/// matrix are near each other.
struct Lookup<'a> {
    from: &'a Format,
    global: f32,
    /// Whether scales are finite and in the order of their codes, with room for the largest element.
    is_ordered: bool,
    results: [[[u8; 16]; 256]; 4],
    /// The scale of FP8 that the results are for; none has the code of NaN.
    made_for: [[u8; 256]; 4],
    elements: __m256,
    rounding: Rounding,
}

impl<'a> Lookup<'a> {
    #[target_feature(enable = "avx2")]
    fn new(from: &'a Format, global: f32) -> Self {
        let largest = E2m1::MAX.to_f32() * from.effective_scale(&[LARGEST_SCALE], global);
        Self {
            from,
            global,
            is_ordered: largest > 0.0 && largest.is_finite(),
            results: [[[0; 16]; 256]; 4],
            made_for: [[u8::MAX; 256]; 4],
            elements: _mm256_setr_ps(0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0),
            rounding: Rounding::of(Element::E4m3Fn),
        }
    }

    fn scale(&self, code: u8) -> f32 {
        self.from.effective_scale(&[code], self.global)
    }

    /// The largest magnitude of a tile, `None` where the definition has to look for it.
    fn amax(&self, tile: &Tile, rows: &Rows<'_>) -> Option<f32> {
        let parts = || tile.rows().map(|row| tile.part(row, rows));
        if !self.is_ordered {
            return None;
        }
        let mut largest_scale = 0;
        for part in parts() {
            let (scales, _) = blocks(&part)?;
            largest_scale = scales.iter().fold(largest_scale, |a, &b| a.max(b));
        }
        if largest_scale > LARGEST_SCALE {
            return None;
        }
        let bound = E2m1::MAX.to_f32() * self.scale(largest_scale);
        let mut amax = 0.0_f32;
        for part in parts() {
            let (scales, codes) = blocks(&part)?;
            for (&scale, codes) in scales.iter().zip(codes) {
                if scale == largest_scale && has_sixes(*codes) {
                    return Some(bound);
                }
            }
        }
        for part in parts() {
            let (scales, codes) = blocks(&part)?;
            for (&scale, codes) in scales.iter().zip(codes) {
                let element = E2m1::from_bits(largest_magnitude(*codes)).to_f32();
                amax = amax.max(element * self.scale(scale));
            }
        }
        Some(amax)
    }

    /// The codes of a part of a tile under its scale.
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    fn part(&mut self, part: Rows<'_>, scale: u8, out: &mut [u8], streams: bool) {
        let Some((scales, codes)) = blocks(&part) else {
            return;
        };
        let set = usize::from(scale % 4);
        for &code in scales {
            if self.made_for[set][usize::from(code)] != scale {
                self.make(code, scale);
            }
        }
        let results = &self.results[set];
        let (codes, _) = codes.as_flattened().as_chunks::<16>();
        let (scales, _) = scales.as_chunks::<2>();
        let (out, _) = out.as_chunks_mut::<32>();
        for ((codes, [first, second]), out) in codes.iter().zip(scales).zip(out) {
            let tables = _mm256_set_m128i(
                bytes16(&results[usize::from(*second)]),
                bytes16(&results[usize::from(*first)]),
            );
            let words = _mm256_cvtepu8_epi16(bytes16(codes));
            let apart = _mm256_or_si256(words, _mm256_slli_epi16::<4>(words));
            let nibbles = _mm256_and_si256(apart, _mm256_set1_epi8(0xf));
            put32(_mm256_shuffle_epi8(tables, nibbles), out, streams);
        }
    }

    /// Makes the results of the elements under one scale of NVFP4.
    #[cold]
    #[target_feature(enable = "avx2,f16c")]
    fn make(&mut self, code: u8, scale: u8) {
        let old = _mm256_set1_ps(self.scale(code));
        let new = _mm256_set1_ps(TO.scale.decode(&[scale]));
        let numbers = _mm256_mul_ps(self.elements, old);
        let codes = self.rounding.codes(_mm256_div_ps(numbers, new));
        let words = _mm256_packus_epi32(codes, codes);
        let bytes = _mm256_packus_epi16(words, words);
        let (low, high) = (
            _mm256_castsi256_si128(bytes),
            _mm256_extracti128_si256::<1>(bytes),
        );
        let positive = _mm_unpacklo_epi32(low, high);
        let negative = _mm_or_si128(positive, _mm_set1_epi8(i8::MIN));
        let (set, code) = (usize::from(scale % 4), usize::from(code));
        store16(
            _mm_unpacklo_epi64(positive, negative),
            &mut self.results[set][code],
        );
        self.made_for[set][code] = scale;
    }
}

/// The largest finite E4M3 code.
const LARGEST_SCALE: u8 = 0x7e;

/// Scales and codes of a part as wide as a tile.
#[inline]
fn blocks<'a>(part: &Rows<'a>) -> Option<(&'a [u8; BLOCKS], &'a [[u8; 8]; BLOCKS])> {
    let (codes, _) = part.codes.as_chunks::<8>();
    Some((part.scales.as_array()?, codes.as_array()?))
}

/// Whether one of sixteen codes is a 6 of either sign.
const fn has_sixes(codes: [u8; 8]) -> bool {
    let bits = u64::from_le_bytes(codes);
    bits & (bits >> 1) & (bits >> 2) & 0x1111_1111_1111_1111 != 0
}

/// The largest of sixteen codes without their signs.
fn largest_magnitude(codes: [u8; 8]) -> u8 {
    let magnitudes = |byte: u8| (byte & 7).max(byte >> 4 & 7);
    codes.into_iter().map(magnitudes).fold(0, u8::max)
}
