//! Parts of a matrix read to be judged.

use std::ops::Range;

use blockscale::format::Format;
use blockscale_model::catalog::{PartRole, Weight};
use blockscale_model::interpret::{Sample, block_height};

use crate::ConvertError;
use crate::weights::{Weights, scale_range};

/// Reads the scales of a matrix and the blocks of rows that `blocks` counts, in the order given.
///
/// # Errors
/// What the source says.
pub(super) fn read_sample(
    weights: Weights<'_>,
    weight: &Weight,
    format: &Format,
    matrix: usize,
    blocks: &[usize],
) -> Result<Sample, ConvertError> {
    let shape = weight.matrices().shape;
    let height = block_height(format, shape.rows);
    let row_bytes = format.row_bytes(shape.cols);
    let (mut rows, mut codes) = (Vec::new(), Vec::new());
    for &block in blocks {
        let range = block * height..shape.rows.min((block + 1) * height);
        codes.extend(read_rows(weights, weight, matrix, &range, row_bytes)?);
        rows.extend(range);
    }
    let scales = match weight.part(PartRole::BlockScale) {
        Some(tensor) => {
            let range = scale_range(format, shape, matrix, &(0..shape.rows));
            let mut scales = vec![0; range.len()];
            weights.read_tensor(tensor, range.start as u64, &mut scales)?;
            scales
        }
        None => Vec::new(),
    };
    Ok(Sample {
        format: *format,
        shape,
        rows,
        codes,
        scales,
        global: weights.read_global(weight, matrix)?,
    })
}

/// Codes of rows of one matrix, as stored.
pub(super) fn read_rows(
    weights: Weights<'_>,
    weight: &Weight,
    matrix: usize,
    rows: &Range<usize>,
    row_bytes: usize,
) -> Result<Vec<u8>, ConvertError> {
    let mut codes = vec![0; rows.len() * row_bytes];
    let first = (matrix * weight.matrices().shape.rows + rows.start) as u64;
    weights.read_tensor(weight.codes(), first * row_bytes as u64, &mut codes)?;
    Ok(codes)
}
