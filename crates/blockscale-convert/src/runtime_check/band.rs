//! The parts of an operand that are in memory at a time.

use std::num::NonZeroUsize;
use std::ops::Range;

use blockscale::Shape;
use blockscale::layout::LayoutError;

use super::Unchecked;
use super::operand::OperandWeights;
use super::report::Baked;
use super::stored::{Place, Stored};
use crate::ConvertError;
use crate::weights::{Run, Weights};

/// Rows of the largest tile: no layout moves anything out of one.
const TILE: usize = 128;

/// `count` of `rows` rows: the first, the last, and others evenly between.
pub(super) fn spread(rows: usize, count: NonZeroUsize) -> Vec<usize> {
    let count = count.get().min(rows);
    let (last, steps) = (rows.saturating_sub(1), count.saturating_sub(1).max(1));
    let row = |i| (i as u128 * last as u128 / steps as u128) as usize;
    (0..count).map(row).collect()
}

/// Whole matrices of an operand, or rows of one.
#[derive(Debug, PartialEq)]
pub(super) struct Band {
    matrices: Range<usize>,
    /// Rows of each member in each of the matrices.
    rows: Range<usize>,
}

/// Takes an operand apart so that each band fits the memory limit, with `rows` of each matrix to be
/// looked at.
pub(super) fn plan_bands(
    weights: Weights<'_>,
    operand: &OperandWeights,
    rows: &[usize],
    max_memory: u64,
) -> Result<(Baked, Vec<Band>), Unchecked> {
    let (matrices, member_rows) = (operand.matrices, operand.member_rows());
    if operand.laid_out {
        let needed = memory(operand, member_rows)?.saturating_mul(matrices as u64);
        if needed > max_memory {
            return Err(too_small(weights, operand, needed, max_memory));
        }
        let whole = Band {
            matrices: 0..matrices,
            rows: 0..member_rows,
        };
        return Ok((Baked::Stored, vec![whole]));
    }
    let fit = max_memory / memory(operand, member_rows)?.max(1);
    if fit > 0 {
        let step = usize::try_from(fit).map_or(matrices, |fit| fit.min(matrices));
        let baked = if step == matrices {
            Baked::Whole
        } else {
            Baked::Matrices(step)
        };
        let starts = (0..matrices).step_by(step);
        let bands = starts.map(|first| Band {
            matrices: first..matrices.min(first + step),
            rows: 0..member_rows,
        });
        return Ok((baked, bands.collect()));
    }

    let tile = TILE / operand.members.len();
    let needed = memory(operand, tile.min(member_rows))?;
    if needed > max_memory {
        return Err(too_small(weights, operand, needed, max_memory));
    }
    let mut tiles: Vec<usize> = rows.iter().map(|row| row % member_rows / tile).collect();
    tiles.sort_unstable();
    tiles.dedup();
    let bands = (0..matrices).flat_map(|matrix| {
        tiles.iter().map(move |&i| Band {
            matrices: matrix..matrix + 1,
            rows: i * tile..member_rows.min((i + 1) * tile),
        })
    });
    Ok((Baked::Tiles(TILE), bands.collect()))
}

fn too_small(weights: Weights<'_>, operand: &OperandWeights, needed: u64, limit: u64) -> Unchecked {
    Unchecked::Failed(ConvertError::Memory {
        tensor: operand.names(weights).swap_remove(0),
        needed,
        limit,
    })
}

/// Bytes in memory for a band of one matrix with `rows` rows of each member.
fn memory(operand: &OperandWeights, rows: usize) -> Result<u64, LayoutError> {
    let OperandWeights { kernel, format, .. } = operand;
    let too_large = || LayoutError::TooLarge {
        layout: kernel.layout(),
    };
    let member = Shape::new(rows, operand.shape.cols);
    let whole = Shape::new(rows * operand.members.len(), operand.shape.cols);
    let codes = format.code_bytes(whole).ok_or_else(too_large)? as u64;
    let scales = format.scale_bytes(member).ok_or_else(too_large)? as u64;
    let scales = scales * operand.members.len() as u64;
    // A run that was read is still there when it has been put to the others; scales may be widened.
    let stored = 2 * codes + (2 + size_of::<f32>() as u64) * scales;
    let baked = kernel.baked_code_bytes(1, whole)? + kernel.baked_scale_bytes(1, whole)?;
    Ok(stored + baked as u64)
}

impl Band {
    pub(super) fn read(
        &self,
        weights: Weights<'_>,
        operand: &OperandWeights,
    ) -> Result<Stored, ConvertError> {
        let mut stored = Stored {
            kernel: operand.kernel,
            format: operand.format,
            matrices: self.matrices.len(),
            members: operand.members.len(),
            member: Shape::new(self.rows.len(), operand.shape.cols),
            codes: Vec::new(),
            scales: Vec::new(),
            globals: Vec::new(),
        };
        for matrix in self.matrices.clone() {
            for &member in &operand.members {
                let (matrix, row) = operand.row_of_member(weights, member, matrix, self.rows.start);
                let run = Run {
                    weight: member.weight,
                    matrix,
                    rows: row..row + self.rows.len(),
                };
                let bytes = weights.read_in(&run, member.order())?;
                let runs = self.matrices.len() * operand.members.len();
                stored
                    .codes
                    .reserve_exact(bytes.codes.len() * runs - stored.codes.len());
                stored.codes.extend_from_slice(&bytes.codes);
                stored.scales.extend_from_slice(&bytes.scales);
                stored.globals.push(bytes.global);
            }
        }
        Ok(stored)
    }

    /// Where `rows` of each matrix of the operand are in this band, as far as it has them.
    pub(super) fn places(&self, operand: &OperandWeights, rows: &[usize]) -> Vec<Place> {
        let member_rows = operand.member_rows();
        let inside = |&row: &usize| {
            let (member, row) = (row / member_rows, row % member_rows);
            let row_of_band = member * self.rows.len() + row.checked_sub(self.rows.start)?;
            self.rows.contains(&row).then_some(row_of_band)
        };
        let rows: Vec<usize> = rows.iter().filter_map(inside).collect();
        let of_matrix = |matrix| rows.iter().map(move |&row| Place { matrix, row });
        (0..self.matrices.len()).flat_map(of_matrix).collect()
    }

    /// The weight that a row comes from, and matrix and row there.
    pub(super) fn origin(
        &self,
        weights: Weights<'_>,
        operand: &OperandWeights,
        place: Place,
    ) -> (String, usize, usize) {
        let rows = self.rows.len();
        let member = operand.members[place.row / rows];
        let row = self.rows.start + place.row % rows;
        let matrix = self.matrices.start + place.matrix;
        let (matrix, row) = operand.stored_row_of_member(weights, member, matrix, row);
        let name = weights.catalog.weights[member.weight].name.clone();
        (name, matrix, row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampled_rows_are_distinct_and_hold_the_first_and_the_last() {
        for rows in 1..200 {
            for count in 1..70 {
                let sample = spread(rows, NonZeroUsize::new(count).unwrap());
                assert_eq!(sample.len(), count.min(rows));
                assert!(sample.is_sorted_by(|a, b| a < b), "{sample:?}");
                assert_eq!(sample[0], 0);
                if count > 1 {
                    assert_eq!(sample.last(), Some(&(rows - 1)));
                }
            }
        }
    }
}
