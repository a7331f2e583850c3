//! Part of a matrix, as it is stored: enough to judge how it is meant.

use blockscale::format::{Block, Format, Shape};
use blockscale::layout::{Codes, LayoutError, Stack, unpermute_codes};

use super::Interpretation;
use super::candidates::orders;

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

    /// Number of blocks of rows that a matrix has.
    pub fn block_count(format: &Format, rows: usize) -> usize {
        rows.div_ceil(block_height(format, rows))
    }

    /// Rows of the matrix that share a scale.
    pub fn height(&self) -> usize {
        block_height(&self.format, self.shape.rows)
    }

    /// Bytes of a row of codes.
    pub fn row_bytes(&self) -> usize {
        self.format.row_bytes(self.shape.cols)
    }

    /// Rows and columns of scales.
    pub fn plane(&self) -> Shape {
        self.format.scale_shape(self.shape)
    }

    /// Every order of rows and scales that gives these bytes another meaning.
    pub fn orders(&self) -> Vec<Order> {
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

/// Rows that share a scale, of a matrix of `rows`.
pub fn block_height(format: &Format, rows: usize) -> usize {
    match format.block {
        Block::Tensor => 1,
        _ => format.block_rows(rows).max(1),
    }
}

/// Columns that share a scale, of a matrix of `cols`.
pub fn block_width(format: &Format, cols: usize) -> usize {
    match format.block {
        Block::Grid { cols, .. } => cols.max(1),
        Block::Row | Block::Tensor => cols.max(1),
    }
}

/// An order of rows and scales, carried out on the scales of a sample.
#[derive(Clone, Debug)]
pub struct Order {
    /// The interpretation that it is of.
    pub interpretation: Interpretation,
    /// The scales in rows.
    pub scales: Vec<u8>,
    /// Where the codes of each row are stored; absent where rows were not moved.
    pub rows: Option<Vec<usize>>,
}

impl Order {
    /// The order that an interpretation says.
    ///
    /// # Errors
    /// [`LayoutError`] where the plane cannot be in it.
    pub fn new(interpretation: Interpretation, sample: &Sample) -> Result<Self, LayoutError> {
        let scales = sample.scales.clone();
        let scales = interpretation.restore_scales(&sample.format, sample.shape, scales)?;
        Ok(Self {
            interpretation,
            scales,
            rows: stored_rows(&interpretation, sample.shape.rows)?,
        })
    }

    /// Where the codes of a row are stored.
    pub fn place_of(&self, row: usize) -> usize {
        match &self.rows {
            Some(rows) => rows.get(row).copied().unwrap_or(row),
            None => row,
        }
    }

    /// The rows whose codes are stored at `places`.
    pub fn rows_at(&self, places: &[usize]) -> Vec<usize> {
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
