//! Codes under one scale to codes under another.

use std::ops::Range;

use super::decode::decode_rows;
use super::encode::{amax, encode_codes};
use crate::decode::Rows;
use crate::encode::{Scheme, block_scale, write_scale};
use crate::{Element, Format, Shape};

/// Rewrites codes, one a byte, so that they mean under `new` what they meant under `old`.
pub(crate) fn rescale(element: Element, codes: &mut [u8], old: f32, new: f32) {
    for code in codes {
        *code = element.encode(element.decode(*code) * old / new);
    }
}

/// Decodes and encodes a tile at a time.
pub(crate) fn nvfp4_to_fp8_block_ue8m0(
    from: &Format,
    shape: Shape,
    rows: Rows<'_>,
    codes: &mut [u8],
    scales: &mut [u8],
) {
    for row in 0..shape.rows.div_ceil(TILE) {
        for col in 0..shape.cols.div_ceil(TILE) {
            Tile::new(shape, row, col).transcode(from, &rows, codes, scales);
        }
    }
}

/// Rows and columns of a block of [`Format::FP8_BLOCK_UE8M0`].
pub(crate) const TILE: usize = 128;

/// What a tile becomes.
pub(crate) const TO: Format = Format::FP8_BLOCK_UE8M0;

/// One such block of a matrix in NVFP4.
pub(crate) struct Tile {
    shape: Shape,
    row: usize,
    col: usize,
}

impl Tile {
    pub(crate) const fn new(shape: Shape, row: usize, col: usize) -> Self {
        Self { shape, row, col }
    }

    pub(crate) fn rows(&self) -> Range<usize> {
        let first = self.row * TILE;
        first..self.shape.rows.min(first + TILE)
    }

    fn cols(&self) -> Range<usize> {
        let first = self.col * TILE;
        first..self.shape.cols.min(first + TILE)
    }

    /// The part of the tile that lies in a row.
    pub(crate) fn part<'a>(&self, row: usize, rows: &Rows<'a>) -> Rows<'a> {
        let Range { start, end } = self.cols();
        let (row_bytes, row_scales) = (self.shape.cols.div_ceil(2), self.shape.cols.div_ceil(16));
        let codes = &rows.codes[row * row_bytes..][..row_bytes];
        let scales = &rows.scales[row * row_scales..][..row_scales];
        Rows {
            codes: &codes[start / 2..end.div_ceil(2)],
            scales: &scales[start / 16..end.div_ceil(16)],
            global: rows.global,
        }
    }

    /// Where the codes of that part go.
    pub(crate) fn codes(&self, row: usize) -> Range<usize> {
        let Range { start, end } = self.cols();
        row * self.shape.cols + start..row * self.shape.cols + end
    }

    /// Where the scale of the tile goes.
    pub(crate) fn scale(&self) -> usize {
        self.row * self.shape.cols.div_ceil(TILE) + self.col
    }

    pub(crate) fn transcode(
        &self,
        from: &Format,
        rows: &Rows<'_>,
        codes: &mut [u8],
        scales: &mut [u8],
    ) {
        let mut numbers = [0.0_f32; TILE];
        let numbers = &mut numbers[..self.cols().len()];
        let part = Shape::new(1, numbers.len());
        let mut largest = 0.0_f32;
        for row in self.rows() {
            decode_rows(from, part, self.part(row, rows), numbers);
            largest = largest.max(amax(numbers));
        }
        let scale = &mut scales[self.scale()..][..1];
        write_scale(TO.scale, scale_of(largest), scale);
        for row in self.rows() {
            decode_rows(from, part, self.part(row, rows), numbers);
            let codes = &mut codes[self.codes(row)];
            encode_codes(&TO, &Scheme::DEFAULT, part, numbers, scale, 1.0, codes);
        }
    }
}

/// The scale of a tile whose largest finite magnitude is `amax`.
pub(crate) fn scale_of(amax: f32) -> f32 {
    block_scale::<f32>(&TO, &TO.default_rule().into(), amax, 1.0)
}
