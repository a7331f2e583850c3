//! How well the blocks of a matrix fit its rows and columns: one number to watch while a reading is
//! changed.

use blockscale::format::{Format, Shape};

use super::levels::{Spread, code_levels};
use super::sample::{block_height, block_width};

/// What levels are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelsOf {
    /// Root mean squares of the numbers of blocks.
    Numbers,
    /// The scales of blocks.
    Scales,
}

/// How far the levels of blocks are from a sum of rows and columns.
///
/// Of *numbers*, less is left in the right order of scales than in any other: a block that is
/// multiplied with the scale of another is too loud or too quiet. Of *scales* alone there is nothing to
/// compare with, and a low figure only says that rows and columns show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Structure {
    /// What the levels are of.
    pub of: LevelsOf,
    /// Mean distance of a level from what its row and column say, in nats (a factor of *e*).
    pub left: f64,
    /// Share of the variance of levels that rows and columns explain, from 0 to 1.
    pub explained: f64,
    /// Levels that are free to be elsewhere; with few of them, chance fits.
    pub free: f64,
}

impl Structure {
    /// Of the numbers of some rows: codes as every reader expects them, and the scales of both levels
    /// as one, row by row. Rows start with a block.
    ///
    /// ```
    /// use blockscale::{Format, Shape};
    /// use blockscale_model::interpret::Structure;
    ///
    /// // Four rows of two blocks of ones; the loud row is loud in both blocks, then in one.
    /// let (format, shape) = (Format::NVFP4, Shape::new(4, 32));
    /// let codes = [0x22; 64];
    /// let right = Structure::of_numbers(&format, shape, &codes, &[1.0, 1.0, 8.0, 8.0, 1.0, 1.0, 1.0, 1.0]);
    /// let wrong = Structure::of_numbers(&format, shape, &codes, &[1.0, 8.0, 1.0, 8.0, 1.0, 1.0, 1.0, 1.0]);
    /// assert!(right.left < 1e-12 && wrong.left > 0.3);
    /// assert!(right.explained > 0.999 && wrong.explained < 0.9);
    /// ```
    pub fn of_numbers(format: &Format, shape: Shape, codes: &[u8], scales: &[f32]) -> Self {
        let height = block_height(format, shape.rows);
        let cols = shape.cols.div_ceil(block_width(format, shape.cols));
        let mut levels = code_levels(format, shape, height, codes);
        for (at, level) in levels.iter_mut().enumerate() {
            // One scale may stand for all rows.
            let scale = scales.get(at).or(scales.first());
            *level += log(scale.copied().unwrap_or(f32::NAN));
        }
        Self::of(LevelsOf::Numbers, levels, cols)
    }

    /// Of a plane of scales, row by row.
    pub fn of_scales(plane: Shape, scales: &[f32]) -> Self {
        let levels = scales.iter().map(|&scale| log(scale)).collect();
        Self::of(LevelsOf::Scales, levels, plane.cols)
    }

    fn of(of: LevelsOf, levels: Vec<f64>, cols: usize) -> Self {
        let total = squares_about_mean(&levels);
        let spread = Spread::of(levels, cols);
        Self {
            of,
            left: spread.mean,
            explained: match total > 0.0 {
                true => (1.0 - spread.squares / total).clamp(0.0, 1.0),
                false => 0.0,
            },
            free: spread.free,
        }
    }
}

fn log(scale: f32) -> f64 {
    match scale > 0.0 && scale.is_finite() {
        true => libm::log(f64::from(scale)),
        false => f64::NAN,
    }
}

fn squares_about_mean(levels: &[f64]) -> f64 {
    let known = || levels.iter().filter(|level| !level.is_nan());
    let mean = known().sum::<f64>() / known().count() as f64;
    known().map(|level| (level - mean) * (level - mean)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_of_ones_has_nothing_to_explain() {
        let found = Structure::of_scales(Shape::new(8, 8), &[1.0; 64]);
        assert_eq!((found.left, found.explained, found.free), (0.0, 0.0, 49.0));
    }

    #[test]
    fn scales_that_are_no_numbers_are_left_out() {
        let mut scales = [2.0; 16];
        (scales[3], scales[7]) = (f32::NAN, 0.0);
        let found = Structure::of_scales(Shape::new(4, 4), &scales);
        assert_eq!((found.left, found.free), (0.0, 7.0));
    }

    #[test]
    fn rows_and_columns_explain_all_of_their_product() {
        let scales: Vec<f32> = (0..12)
            .map(|i| f32::powi(2.0, i / 4) * f32::powi(3.0, i % 4))
            .collect();
        let found = Structure::of_scales(Shape::new(3, 4), &scales);
        assert!(
            found.left < 1e-6 && found.explained > 0.999_999,
            "{found:?}"
        );
    }
}
