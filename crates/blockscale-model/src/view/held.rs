//! Rows whose codes and scales share no plane: groups of integers, and ggml's blocks.

use std::ops::Range;

use blockscale::format::{ScaleElement, Shape};
use blockscale::ggml::{GgmlSteps, GgmlType};
use blockscale::int::{IntError, IntFormat, IntParts, IntSteps};

/// Scales that were put in rows.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupScales {
    /// Rows and columns of scales.
    pub shape: Shape,
    /// Their type; `None` for ggml's UE4M3, which is no type of the core.
    pub element: Option<ScaleElement>,
    /// Bytes of one.
    pub size: usize,
    /// The scales as stored, in little-endian bytes, row by row.
    pub bytes: Vec<u8>,
    /// Their numbers.
    pub values: Vec<f32>,
}

/// Some rows of a weight in groups of integers.
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    /// How they are stored.
    pub format: IntFormat,
    /// Rows and columns of the whole matrix: its tensors may keep the columns outermost.
    pub matrix: Shape,
    /// The rows that are seen.
    pub rows: Range<usize>,
    /// Their numbers, row by row.
    pub values: Vec<f32>,
    pub(super) codes: Vec<u8>,
    pub(super) scales: Vec<u8>,
    pub(super) zeros: Option<Vec<u8>>,
    pub(super) groups: Option<Vec<u8>>,
}

impl Groups {
    /// The tensors of the whole matrix.
    pub fn parts(&self) -> IntParts<'_> {
        IntParts {
            codes: &self.codes,
            scales: &self.scales,
            zeros: self.zeros.as_deref(),
            groups: self.groups.as_deref(),
        }
    }

    /// The scales of the rows: one for each group.
    pub fn scales(&self) -> GroupScales {
        let element = self.format.scale;
        let groups = self.format.groups(self.matrix.cols);
        let mut bytes = Vec::new();
        for row in self.rows.clone() {
            let scales = (0..groups)
                .filter_map(|group| self.format.scale_of(self.matrix, &self.scales, row, group));
            scales.for_each(|scale| bytes.extend_from_slice(scale));
        }
        let values = bytes.chunks_exact(element.bytes());
        GroupScales {
            shape: Shape::new(self.rows.len(), groups),
            element: Some(element),
            size: element.bytes(),
            values: values.map(|scale| element.decode(scale)).collect(),
            bytes,
        }
    }

    /// One number step by step; `row` counts from the first row that is seen.
    ///
    /// # Errors
    /// [`IntError`] where there is no such row.
    pub fn steps(&self, row: usize, col: usize) -> Result<IntSteps, IntError> {
        let row = self.rows.start + row;
        IntSteps::of(&self.format, self.matrix, self.parts(), row, col)
    }
}

/// Some rows of a weight in ggml's blocks.
#[derive(Clone, Debug, PartialEq)]
pub struct GgmlRows {
    /// Their type.
    pub kind: GgmlType,
    /// Rows and columns.
    pub shape: Shape,
    /// The blocks, row by row.
    pub bytes: Vec<u8>,
    /// The scale beside the tensor; 1 where there is none.
    pub global: f32,
    /// The numbers, row by row.
    pub values: Vec<f32>,
}

impl GgmlRows {
    /// The blocks of a row.
    pub fn row(&self, row: usize) -> Option<&[u8]> {
        let len = self.kind.row_bytes(self.shape.cols)?;
        let start = row.checked_mul(len)?;
        self.bytes.get(start..start.checked_add(len)?)
    }

    /// The scales in the blocks; `None` for plain numbers.
    pub fn scales(&self) -> Option<GroupScales> {
        let cols = self.kind.scale_cols()?;
        let shape = Shape::new(self.shape.rows, self.shape.cols / cols);
        let (mut bytes, mut values) = (Vec::new(), Vec::new());
        for row in 0..shape.rows {
            let row = self.row(row)?;
            for index in 0..shape.cols {
                bytes.extend_from_slice(self.kind.scale_of(row, index)?);
                let scale = GgmlSteps::of(self.kind, row, index * cols)?.scale;
                values.push(scale * self.global);
            }
        }
        let (element, size) = match self.kind {
            GgmlType::Mxfp4 => (Some(ScaleElement::E8m0Fnu), 1),
            GgmlType::Nvfp4 => (None, 1),
            _ => (Some(ScaleElement::F16), 2),
        };
        Some(GroupScales {
            shape,
            element,
            size,
            bytes,
            values,
        })
    }

    /// One number step by step, without the scale beside the tensor.
    pub fn steps(&self, row: usize, col: usize) -> Option<GgmlSteps> {
        GgmlSteps::of(self.kind, self.row(row)?, col)
    }
}
