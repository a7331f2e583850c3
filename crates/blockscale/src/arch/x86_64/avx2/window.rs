//! A matrix cut into windows of whole blocks that stay in cache while more is done with them.

use core::ops::Range;

use crate::{Format, Real, Shape};

/// Bytes of numbers that a window of whole rows should not exceed.
const CACHED: usize = 128 << 10;

/// The same for one row of blocks. Rows of a matrix often lie a power of two apart, where the nearest
/// caches hold few of them, however narrow the window; so it is wide, which reads well, and may
/// lie in the last cache.
const CACHED_FAR: usize = 4 << 20;

/// Some blocks of some rows of blocks.
pub(super) struct Window {
    shape: Shape,
    /// Rows of a block.
    pub(super) block_rows: usize,
    /// Columns of a block.
    pub(super) block_cols: usize,
    scale_bytes: usize,
    scale_cols: usize,
    row_bytes: usize,
    code_stride: usize,
    of_block_rows: Range<usize>,
    of_blocks: Range<usize>,
}

impl Window {
    /// Those of a matrix, from left to right and from top to bottom.
    pub(super) fn all<T: Real>(format: &Format, shape: Shape) -> impl Iterator<Item = Self> {
        let block_rows = format.block_rows(shape.rows);
        let block_cols = format.block_cols(shape.cols);
        let plane = format.scale_shape(shape);
        let of_block = size_of::<T>() * block_rows.min(shape.rows) * block_cols.min(shape.cols);
        let wide = (CACHED_FAR / of_block.max(1)).clamp(1, plane.cols.max(1));
        let tall = (CACHED / (of_block * wide).max(1)).max(1);

        let (row_bytes, code_stride) = (format.row_bytes(shape.cols), format.code_stride());
        let scale_bytes = format.scale.bytes();
        let starts = (0..plane.rows).step_by(tall);
        starts
            .flat_map(move |row| (0..plane.cols).step_by(wide).map(move |block| (row, block)))
            .map(move |(row, block)| Self {
                shape,
                block_rows,
                block_cols,
                scale_bytes,
                scale_cols: plane.cols,
                row_bytes,
                code_stride,
                of_block_rows: row..plane.rows.min(row + tall),
                of_blocks: block..plane.cols.min(block + wide),
            })
    }

    /// Rows of blocks.
    pub(super) fn block_rows(&self) -> Range<usize> {
        self.of_block_rows.clone()
    }

    /// Rows of numbers in a row of blocks.
    pub(super) fn rows(&self, block_row: usize) -> Range<usize> {
        let first = block_row * self.block_rows;
        first..self.shape.rows.min(first + self.block_rows)
    }

    /// The blocks of a row of them.
    pub(super) fn blocks(&self) -> Range<usize> {
        self.of_blocks.clone()
    }

    /// Those, at most `count` at a time.
    pub(super) fn blocks_by(&self, count: usize) -> impl Iterator<Item = Range<usize>> {
        let Range { start, end } = self.of_blocks;
        let starts = (start..end).step_by(count);
        starts.map(move |block| block..end.min(block + count))
    }

    fn cols(&self, blocks: &Range<usize>) -> Range<usize> {
        let end = blocks.end.saturating_mul(self.block_cols);
        blocks.start * self.block_cols..self.shape.cols.min(end)
    }

    /// Where the numbers of a row in some blocks lie.
    pub(super) fn part(&self, row: usize, blocks: &Range<usize>) -> Range<usize> {
        let cols = self.cols(blocks);
        let first = row * self.shape.cols;
        first + cols.start..first + cols.end
    }

    /// Where their codes lie, all columns of blocks being multiples of eight.
    pub(super) fn codes(&self, row: usize, blocks: &Range<usize>) -> Range<usize> {
        let cols = self.cols(blocks);
        let byte =
            |col: usize| col / 8 * self.code_stride + (col % 8 * self.code_stride).div_ceil(8);
        let first = row * self.row_bytes;
        first + byte(cols.start)..first + byte(cols.end)
    }

    /// Where the scales of some blocks lie.
    pub(super) fn scales(&self, block_row: usize, blocks: &Range<usize>) -> Range<usize> {
        let first = block_row * self.scale_cols;
        (first + blocks.start) * self.scale_bytes..(first + blocks.end) * self.scale_bytes
    }
}
