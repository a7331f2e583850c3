//! Numbers to the scales of their blocks.

use super::encode::amax;
use super::search;
use crate::encode::{ScaleRule, Scheme, block_scale, write_scale};
use crate::{Format, Real, Shape};

pub(crate) fn choose_scales<T: Real>(
    format: &Format,
    scheme: &Scheme,
    shape: Shape,
    values: &[T],
    global: f32,
    scales: &mut [u8],
) {
    let block_rows = format.block_rows(shape.rows);
    let block_cols = format.block_cols(shape.cols);
    let scale_cols = format.scale_shape(shape).cols;
    // Rows without a column hold nothing, however many they are said to be.
    let rows_there = if shape.cols == 0 { 0 } else { shape.rows };

    for (index, scale) in scales.chunks_exact_mut(format.scale.bytes()).enumerate() {
        let first_row = index / scale_cols * block_rows;
        let first_col = index % scale_cols * block_cols;
        let last_row = rows_there.min(first_row.saturating_add(block_rows));
        let width = block_cols.min(shape.cols - first_col);
        let rows =
            (first_row..last_row).map(|row| &values[row * shape.cols + first_col..][..width]);
        let block_amax = rows.clone().map(amax).fold(0.0, f32::max);
        let chosen = match scheme.rule {
            ScaleRule::FourOverSix(measure) => {
                search::four_over_six(format, scheme, measure, block_amax, global, &rows)
            }
            ScaleRule::MseSearch => search::least_square(format, scheme, block_amax, global, &rows),
            _ => block_scale::<T>(format, scheme, block_amax, global),
        };
        write_scale(format.scale, chosen, scale);
    }
}
