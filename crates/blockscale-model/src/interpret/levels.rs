//! How loud the blocks of a matrix are, and how well loudness fits rows and columns.
//!
//! Inside one matrix the root mean square of a block's numbers is nearly that of its row times that
//! of its column: what is left varies by the chance of a few numbers. Codes fill the range of their
//! element whatever the scale, so a block whose scale belongs to another block comes out too loud
//! or too quiet. The right order of scales is the one that leaves least.

use std::ops::Range;

use blockscale::format::{Format, Packing, Shape};

use super::codes::code_at;
use super::sample::block_width;

/// Natural logarithms of the root mean square of codes, a row of blocks after the other.
///
/// `codes` holds whole blocks of rows, `height` rows each but for the last. A block without a
/// number other than zero, or with a NaN, is NaN.
pub(super) fn code_levels(format: &Format, shape: Shape, height: usize, codes: &[u8]) -> Vec<f64> {
    let row_bytes = format.row_bytes(shape.cols);
    if row_bytes == 0 {
        return Vec::new();
    }
    let powers = Powers::new(format);
    let width = block_width(format, shape.cols);
    let mut levels = Vec::new();
    for rows in codes.chunks(row_bytes * height) {
        let mut sums = vec![0.0; shape.cols.div_ceil(width)];
        for row in rows.chunks_exact(row_bytes) {
            for (block, sum) in sums.iter_mut().enumerate() {
                let cols = block * width..shape.cols.min((block + 1) * width);
                *sum += powers.of(format, row, cols);
            }
        }
        let high = rows.len() / row_bytes;
        levels.extend(sums.iter().enumerate().map(|(block, &sum)| {
            let wide = width.min(shape.cols - block * width);
            level(sum, (high * wide) as f64)
        }));
    }
    levels
}

/// Sums of squares of codes, by byte.
struct Powers {
    of_byte: Vec<f64>,
    /// Codes in a byte, where a byte holds whole codes.
    codes: Option<usize>,
}

impl Powers {
    fn new(format: &Format) -> Self {
        let square = |code: u8| f64::from(format.element.decode(code)).powi(2);
        match (format.element.bits(), format.packing) {
            (4, Packing::Dense) => Self {
                of_byte: (0..=u8::MAX)
                    .map(|b| square(b & 0xf) + square(b >> 4))
                    .collect(),
                codes: Some(2),
            },
            (bits, packing) => Self {
                of_byte: (0..=u8::MAX).map(square).collect(),
                codes: (bits == 8 || packing == Packing::Bytes).then_some(1),
            },
        }
    }

    /// Sum over some columns of a row.
    fn of(&self, format: &Format, row: &[u8], cols: Range<usize>) -> f64 {
        match self.codes {
            Some(codes) if cols.start.is_multiple_of(codes) && cols.end.is_multiple_of(codes) => {
                let bytes = row[cols.start / codes..cols.end / codes].iter();
                bytes.map(|&byte| self.of_byte[usize::from(byte)]).sum()
            }
            _ => cols
                .map(|col| f64::from(format.element.decode(code_at(format, row, col))).powi(2))
                .sum(),
        }
    }
}

/// Logarithm of a root mean square.
fn level(sum: f64, count: f64) -> f64 {
    if sum > 0.0 && sum.is_finite() {
        0.5 * libm::log(sum / count)
    } else {
        f64::NAN
    }
}

/// How far levels are from a sum of rows and columns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    /// Mean distance from the sum, in nats.
    pub(super) mean: f64,
    /// Sum of the squares of these distances.
    pub(super) squares: f64,
    /// Levels that are numbers, less those that rows and columns take up.
    pub(super) free: f64,
}

impl Spread {
    /// Spread of a grid, `cols` to a row; NaN levels are left out.
    pub(super) fn of(mut levels: Vec<f64>, cols: usize) -> Self {
        let rows = levels.len() / cols.max(1);
        let mut col_means = vec![Mean::default(); cols];
        for row in levels.chunks_mut(cols.max(1)) {
            let mut mean = Mean::default();
            row.iter().for_each(|level| mean.add(*level));
            for (level, col_mean) in row.iter_mut().zip(&mut col_means) {
                *level -= mean.value();
                col_mean.add(*level);
            }
        }
        for row in levels.chunks_mut(cols.max(1)) {
            for (level, mean) in row.iter_mut().zip(&col_means) {
                *level -= mean.value();
            }
        }
        let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
        for level in levels.iter().filter(|level| !level.is_nan()) {
            sum += level.abs();
            squares += level * level;
            count += 1.0;
        }
        Self {
            mean: sum / count,
            squares,
            free: count - (rows + cols) as f64 + 1.0,
        }
    }

    /// How much more likely levels like `self` are than levels like `other`, in nats: both taken as
    /// Laplace distributed.
    ///
    /// Where only a few levels are free, chance makes some of many orders fit; they count for less.
    pub(super) fn nats_over(&self, other: &Self) -> f64 {
        const ENOUGH: f64 = 20.0;
        let free = self.free.min(other.free).max(0.0);
        let free = free * (free / ENOUGH).min(1.0);
        match (self.mean == other.mean, self.mean == 0.0) {
            (true, _) => 0.0,
            (false, true) => free * libm::log(f64::MAX),
            _ => free * libm::log(other.mean / self.mean),
        }
    }
}

/// Mean of those that are numbers.
#[derive(Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, level: f64) {
        if !level.is_nan() {
            self.sum += level;
            self.count += 1.0;
        }
    }

    fn value(self) -> f64 {
        self.sum / self.count.max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_rows_and_columns_leave_nothing() {
        let levels = (0..12).map(|i| f64::from(i / 4) * 3.0 + f64::from(i % 4));
        let spread = Spread::of(levels.collect(), 4);
        assert!(spread.mean < 1e-12, "{spread:?}");
        assert_eq!(spread.free, 6.0);
    }

    #[test]
    fn the_level_of_a_block_is_its_root_mean_square() {
        // 3 and 4: mean square 12.5; the second block is zero and has no level.
        let mut codes = [0; 16];
        codes[0] = 0x65;
        let levels = code_levels(&Format::NVFP4, Shape::new(1, 32), 1, &codes);
        assert!((levels[0] - 0.5 * (25.0_f64 / 16.0).ln()).abs() < 1e-12);
        assert!(levels[1].is_nan());
    }

    #[test]
    fn ragged_blocks_count_what_is_there() {
        // 130 x 129 ones: four blocks, all at level 0.
        let shape = Shape::new(130, 129);
        let format = Format::FP8_BLOCK;
        let levels = code_levels(&format, shape, 128, &[0x38; 130 * 129]);
        assert_eq!(levels, [0.0; 4]);
    }
}
