//! Part of a matrix, as it is stored: enough to judge how it is meant.

use std::ops::Range;

use blockscale::format::{Block, Format, Shape};
use blockscale::layout::{Codes, LayoutError, Stack, unpermute_codes};
use blockscale_model::catalog::{PartRole, Weight};

use super::Interpretation;
use super::candidates::orders;
use crate::ConvertError;
use crate::weights::{Weights, scale_range};

/// All scales of one matrix and some rows of its codes, as stored.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The format that the file states.
    pub format: Format,
    /// Rows and columns of the matrix.
    pub shape: Shape,
    /// The rows that `codes` holds, ascending: whole scale blocks.
    pub rows: Vec<usize>,
    /// Codes of these rows.
    pub codes: Vec<u8>,
    /// All scales of the matrix.
    pub scales: Vec<u8>,
    /// The second-level scale as stored; 1 where there is none.
    pub global: f32,
}

impl Sample {
    /// A matrix of which everything is at hand.
    pub fn whole(
        format: Format,
        shape: Shape,
        codes: Vec<u8>,
        scales: Vec<u8>,
        global: f32,
    ) -> Self {
        Self {
            format,
            shape,
            rows: (0..shape.rows).collect(),
            codes,
            scales,
            global,
        }
    }

    /// Reads the scales of a matrix and the blocks of rows that `blocks` counts, in the order given.
    ///
    /// # Errors
    /// What the source says.
    pub(crate) fn read(
        weights: Weights<'_>,
        weight: &Weight,
        format: &Format,
        matrix: usize,
        blocks: &[usize],
    ) -> Result<Self, ConvertError> {
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
        Ok(Self {
            format: *format,
            shape,
            rows,
            codes,
            scales,
            global: weights.read_global(weight, matrix)?,
        })
    }

    /// Number of blocks of rows that a matrix has.
    pub(crate) fn block_count(format: &Format, rows: usize) -> usize {
        rows.div_ceil(block_height(format, rows))
    }

    /// Rows of the matrix that share a scale.
    pub(super) fn height(&self) -> usize {
        block_height(&self.format, self.shape.rows)
    }

    /// Bytes of a row of codes.
    pub(super) fn row_bytes(&self) -> usize {
        self.format.row_bytes(self.shape.cols)
    }

    /// Rows and columns of scales.
    pub(super) fn plane(&self) -> Shape {
        self.format.scale_shape(self.shape)
    }

    /// Every order of rows and scales that gives these bytes another meaning.
    pub(super) fn orders(&self) -> Vec<Order> {
        let mut found: Vec<Order> = Vec::new();
        for interpretation in orders(&self.format, self.shape) {
            let Ok(order) = Order::new(interpretation, self) else {
                continue;
            };
            let known = found
                .iter()
                .any(|other| other.scales == order.scales && other.rows == order.rows);
            if !known {
                found.push(order);
            }
        }
        found
    }
}

/// Rows that share a scale.
fn block_height(format: &Format, rows: usize) -> usize {
    match format.block {
        Block::Tensor => 1,
        _ => format.block_rows(rows).max(1),
    }
}

/// Columns that share a scale, of a matrix of `cols`.
pub(super) fn block_width(format: &Format, cols: usize) -> usize {
    match format.block {
        Block::Grid { cols, .. } => cols.max(1),
        Block::Row | Block::Tensor => cols.max(1),
    }
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

/// An order of rows and scales, carried out on the scales of a sample.
pub(super) struct Order {
    pub(super) interpretation: Interpretation,
    /// The scales in rows.
    pub(super) scales: Vec<u8>,
    /// Where the codes of each row are stored; absent where rows were not moved.
    pub(super) rows: Option<Vec<usize>>,
}

impl Order {
    pub(super) fn new(
        interpretation: Interpretation,
        sample: &Sample,
    ) -> Result<Self, LayoutError> {
        let scales = sample.scales.clone();
        let scales = interpretation.restore_scales(&sample.format, sample.shape, scales)?;
        Ok(Self {
            interpretation,
            scales,
            rows: stored_rows(&interpretation, sample.shape.rows)?,
        })
    }

    /// Where the codes of a row are stored.
    pub(super) fn place_of(&self, row: usize) -> usize {
        match &self.rows {
            Some(rows) => rows.get(row).copied().unwrap_or(row),
            None => row,
        }
    }

    /// The rows whose codes are stored at `places`.
    pub(super) fn rows_at(&self, places: &[usize]) -> Vec<usize> {
        let Some(rows) = &self.rows else {
            return places.to_vec();
        };
        let mut row_at = vec![0; rows.len()];
        for (row, &place) in rows.iter().enumerate() {
            row_at[place] = row;
        }
        places.iter().map(|&place| row_at[place]).collect()
    }
}

/// Where the codes of each row are stored, found by moving numbers of rows as codes are moved.
fn stored_rows(
    interpretation: &Interpretation,
    rows: usize,
) -> Result<Option<Vec<usize>>, LayoutError> {
    const NUMBER: usize = size_of::<u32>();
    let Some(layout) = interpretation.code_rows else {
        return Ok(None);
    };
    let numbers: Vec<u8> = (0..rows as u32).flat_map(u32::to_le_bytes).collect();
    let mut moved = vec![0; numbers.len()];
    let stored = Codes {
        layout,
        bytes: &numbers,
    };
    unpermute_codes(Stack::single(Shape::new(rows, NUMBER)), stored, &mut moved)?;
    let moved = moved.as_chunks::<NUMBER>().0.iter();
    Ok(Some(
        moved.map(|n| u32::from_le_bytes(*n) as usize).collect(),
    ))
}
