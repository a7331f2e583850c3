//! The walk over rows and blocks, 32 columns at a time.

use super::decode::{Codes, Decoding};
use super::steps::Segment;
use super::{Cached, Minifloat, STEP, Stores, Streaming, Vector};
use crate::decode::Rows;
use crate::{Format, Real, Shape};

/// Output bytes from which on a call writes around the caches. What is less is likely to be read
/// again while it is still there.
const STREAM_FROM: usize = 8 << 20;

/// Blocks from which on a table for each of the 256 codes of a scale costs less than one for each
/// block.
const TABLES_FROM: usize = 512;

/// Blocks beside each other whose tables are kept while the rows below are decoded.
const GROUP: usize = 64;

/// What all rows of a call have in common.
#[derive(Clone, Copy)]
pub(super) struct Call<'a, V> {
    pub(super) v: V,
    pub(super) format: &'a Format,
    pub(super) rows: Rows<'a>,
    pub(super) block_cols: usize,
    shape: Shape,
    row_bytes: usize,
    scale_bytes: usize,
    scale_cols: usize,
    block_rows: usize,
}

impl<'a, V: Vector> Call<'a, V> {
    #[inline(always)]
    pub(super) fn new(v: V, format: &'a Format, shape: Shape, rows: Rows<'a>) -> Self {
        Self {
            v,
            format,
            shape,
            rows,
            row_bytes: format.row_bytes(shape.cols),
            scale_bytes: format.scale.bytes(),
            scale_cols: format.scale_shape(shape).cols,
            // A block may be said to be taller than all rows there are.
            block_rows: format.block_rows(shape.rows).min(shape.rows.max(1)),
            block_cols: format.block_cols(shape.cols),
        }
    }

    /// Whether each step of 32 columns lies in one block, or in two that have half of it each.
    #[inline(always)]
    pub(super) fn has_whole_steps(&self) -> bool {
        let whole = self.block_cols >= self.shape.cols
            || self.block_cols == STEP / 2
            || self.block_cols.is_multiple_of(STEP);
        whole && self.shape.cols >= STEP && self.shape.rows > 0
    }

    #[inline(always)]
    pub(super) fn decode<T, E, C, D, const N: usize>(self, out: &mut [T])
    where
        T: Real,
        E: Minifloat,
        C: Codes<N>,
        D: Decoding<V, T>,
    {
        let aligned = |bytes: usize| bytes.is_multiple_of(STEP);
        let streams = V::STREAMS
            && size_of_val(out) >= STREAM_FROM
            && aligned(out.as_ptr().addr())
            && aligned(self.shape.cols * size_of::<T>());
        if streams {
            self.bands::<T, E, C, D, Streaming, N>(out);
            self.v.fence();
        } else {
            self.bands::<T, E, C, D, Cached, N>(out);
        }
    }

    /// Rows under one row of scales are decoded together.
    #[inline(always)]
    fn bands<T, E, C, D, S, const N: usize>(self, out: &mut [T])
    where
        T: Real,
        E: Minifloat,
        C: Codes<N>,
        D: Decoding<V, T>,
        S: Stores,
    {
        let blocks = self.shape.rows.div_ceil(self.block_rows) * self.scale_cols;
        if self.scale_bytes == 1 && self.block_rows == 1 && blocks >= TABLES_FROM {
            return self.by_scale_code::<T, E, C, D, S, N>(out);
        }
        let cols = self.shape.cols;
        let out_bands = out.chunks_mut(self.block_rows * cols);
        let code_bands = self.rows.codes.chunks(self.block_rows * self.row_bytes);
        let scale_rows = self
            .rows
            .scales
            .chunks_exact(self.scale_cols * self.scale_bytes);
        for ((out, codes), scales) in out_bands.zip(code_bands).zip(scale_rows) {
            for (group, scales) in scales.chunks(GROUP * self.scale_bytes).enumerate() {
                self.group::<T, E, C, D, S, N>(codes, group * GROUP, scales, out);
            }
        }
    }

    /// A group of blocks, from block `first` of a row on, in all rows of a band.
    #[inline(always)]
    fn group<T, E, C, D, S, const N: usize>(
        self,
        codes: &[u8],
        first: usize,
        scales: &[u8],
        out: &mut [T],
    ) where
        T: Real,
        E: Minifloat,
        C: Codes<N>,
        D: Decoding<V, T>,
        S: Stores,
    {
        let mut tables = [D::table(self.v, 0.0); GROUP];
        let count = scales.len() / self.scale_bytes;
        for (table, scale) in tables.iter_mut().zip(scales.chunks_exact(self.scale_bytes)) {
            *table = D::table(self.v, self.format.effective_scale(scale, self.rows.global));
        }
        let tables = &tables[..count];

        let cols = self.shape.cols;
        let first_col = first * self.block_cols;
        let width = (count.saturating_mul(self.block_cols)).min(cols - first_col);
        let first_byte = self.format.row_bytes(first_col);
        let out_rows = out.chunks_exact_mut(cols);
        for (out, codes) in out_rows.zip(codes.chunks_exact(self.row_bytes)) {
            let segment = Segment {
                codes: &codes[first_byte..],
                scales,
                out: &mut out[first_col..][..width],
            };
            segment.decode::<V, E, C, D, S, N>(&self, tables.iter());
        }
    }

    /// One table for each code that a scale of a byte may have.
    #[inline(always)]
    fn by_scale_code<T, E, C, D, S, const N: usize>(self, out: &mut [T])
    where
        T: Real,
        E: Minifloat,
        C: Codes<N>,
        D: Decoding<V, T>,
        S: Stores,
    {
        let mut tables = [D::table(self.v, 0.0); 256];
        for (code, table) in (0..=255).zip(&mut tables) {
            *table = D::table(
                self.v,
                self.format.effective_scale(&[code], self.rows.global),
            );
        }
        let out_rows = out.chunks_exact_mut(self.shape.cols);
        let code_rows = self.rows.codes.chunks_exact(self.row_bytes);
        let scale_rows = self.rows.scales.chunks_exact(self.scale_cols);
        for ((out, codes), scales) in out_rows.zip(code_rows).zip(scale_rows) {
            let segment = Segment { codes, scales, out };
            let tables = scales.iter().map(|&code| &tables[usize::from(code)]);
            segment.decode::<V, E, C, D, S, N>(&self, tables);
        }
    }

    /// The scale of a block, of those whose bytes are `scales`; NaN where there is none.
    pub(super) fn scale(&self, scales: &[u8], block: usize) -> f32 {
        let scale = scales.chunks_exact(self.scale_bytes).nth(block);
        self.format
            .effective_scale(scale.unwrap_or_default(), self.rows.global)
    }
}
