//! Reading logical weights by runs of rows.
//!
//! A run is a number of whole rows of one matrix, starting where a scale block
//! starts, so that it can be decoded on its own.

use std::ops::Range;

use blockscale::format::{Block, Format, GlobalScale, Shape};
use blockscale::ggml::GgmlType;
use blockscale::layout::ScaleLayout;
use blockscale_model::catalog::{Catalog, Encoding, PartRole, Weight};
use blockscale_model::{Checkpoint, Dtype};

use crate::ConvertError;
use crate::memory::{Buffer, Buffers};
use crate::placing::unpermute;
use crate::source::Source;

mod decoding;
mod grouped;
mod ordered;

pub use decoding::decode;
pub(crate) use decoding::{Decoder, Stored};

/// Whole rows of one matrix of a weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Index into [`Catalog::weights`].
    pub weight: usize,
    /// Which of the weight's matrices.
    pub matrix: usize,
    /// Rows of that matrix; the first is the first of a scale block, and of integers in groups a
    /// multiple of 32.
    pub rows: Range<usize>,
}

/// The stored bytes of a run.
#[derive(Clone, Debug, Default)]
pub struct RunBytes {
    /// Codes, or plain numbers, or blocks of ggml.
    pub codes: Buffer,
    /// The scale rows that cover the run.
    pub scales: Buffer,
    /// Zero points of groups of integers, or their biases.
    pub zeros: Option<Buffer>,
    /// The group of each column of integers in groups, where the file states it.
    pub groups: Option<Buffer>,
    /// The second-level scale as stored; 1 where there is none.
    pub global: f32,
}

/// A checkpoint with its meaning and its bytes.
#[derive(Clone, Copy)]
pub struct Weights<'a> {
    /// The tensors.
    pub checkpoint: &'a Checkpoint,
    /// The weights.
    pub catalog: &'a Catalog,
    /// The bytes.
    pub source: &'a dyn Source,
}

impl Weights<'_> {
    /// The weight of a run.
    pub fn weight(&self, run: &Run) -> &Weight {
        &self.catalog.weights[run.weight]
    }

    /// Rows and columns of a run.
    pub fn shape(&self, run: &Run) -> Shape {
        Shape::new(run.rows.len(), self.weight(run).matrices().shape.cols)
    }

    /// Rows of which a [`Run`] of a weight has to begin at a multiple.
    pub fn run_alignment(&self, weight: usize) -> usize {
        let weight = &self.catalog.weights[weight];
        alignment(&weight.encoding, weight.matrices().shape.rows)
    }

    /// Reads `len` bytes of a tensor, `offset` bytes into it.
    ///
    /// # Errors
    /// What the source says, and a range outside the tensor.
    pub fn read_tensor(
        &self,
        tensor: usize,
        offset: u64,
        buf: &mut [u8],
    ) -> Result<(), ConvertError> {
        let raw = &self.checkpoint.tensors[tensor];
        let end = offset
            .checked_add(buf.len() as u64)
            .filter(|&end| end <= raw.bytes());
        if end.is_none() {
            return Err(ConvertError::OutsideTensor {
                tensor: raw.name.clone(),
            });
        }
        Ok(self
            .source
            .read_exact_at(raw.shard, raw.range.start + offset, buf)?)
    }

    /// Length of a tensor in bytes.
    pub(crate) fn tensor_len(&self, tensor: usize) -> usize {
        usize::try_from(self.checkpoint.tensors[tensor].bytes()).unwrap_or(usize::MAX)
    }

    /// Reads the bytes of a run.
    ///
    /// # Errors
    /// What the source says, and a run that does not begin where a scale block does.
    pub fn read(&self, run: &Run) -> Result<RunBytes, ConvertError> {
        self.read_in(run, None)
    }

    /// Reads the bytes of a run of rows that lie one after another.
    fn read_stored(&self, run: &Run, buffers: &Buffers) -> Result<RunBytes, ConvertError> {
        let weight = self.weight(run);
        let matrix = weight.matrices().shape;
        let block = alignment(&weight.encoding, matrix.rows);
        if !run.rows.start.is_multiple_of(block) {
            return Err(ConvertError::InsideBlock {
                tensor: weight.name.clone(),
                row: run.rows.start,
                block,
            });
        }
        let row_bytes = match weight.encoding {
            Encoding::Plain(dtype) => plain_row_bytes(dtype, matrix.cols),
            Encoding::Block(format) => format.row_bytes(matrix.cols),
            Encoding::Ggml(kind) => ggml_row_bytes(kind, matrix.cols),
            Encoding::Grouped(format) => return self.read_grouped(weight, run, &format, buffers),
        };
        if let (Encoding::Block(format), true) =
            (weight.encoding, weight.layout != ScaleLayout::Linear)
        {
            return self.read_laid_out(weight, run, &format);
        }
        let first_row = run.matrix * matrix.rows + run.rows.start;
        let mut codes = buffers.get(run.rows.len() * row_bytes);
        self.read_tensor(
            weight.codes(),
            first_row as u64 * row_bytes as u64,
            &mut codes,
        )?;
        let scales = match weight.encoding {
            Encoding::Block(format) => self.read_scales(weight, run, &format, buffers)?,
            _ => Buffer::default(),
        };
        Ok(RunBytes {
            codes,
            scales,
            global: self.read_global(weight, run.matrix)?,
            ..RunBytes::default()
        })
    }

    /// Reads a weight that is in a runtime's layout, all of it, and takes the run
    /// out of its rows.
    fn read_laid_out(
        &self,
        weight: &Weight,
        run: &Run,
        format: &Format,
    ) -> Result<RunBytes, ConvertError> {
        let whole = |role| -> Result<Vec<u8>, ConvertError> {
            let Some(tensor) = weight.part(role) else {
                return Ok(Vec::new());
            };
            let mut bytes = vec![0; self.tensor_len(tensor)];
            self.read_tensor(tensor, 0, &mut bytes)?;
            Ok(bytes)
        };
        let (codes, scales) = (whole(PartRole::Codes)?, whole(PartRole::BlockScale)?);
        let (codes, scales) = unpermute(weight, format, &codes, &scales)?;
        let matrix = weight.matrices().shape;
        let first = run.matrix * matrix.rows;
        let rows = first + run.rows.start..first + run.rows.end;
        Ok(RunBytes {
            codes: codes[codes_of(format, matrix.cols, &rows)].to_vec().into(),
            scales: scales[scale_range(format, matrix, run.matrix, &run.rows)]
                .to_vec()
                .into(),
            global: self.read_global(weight, run.matrix)?,
            ..RunBytes::default()
        })
    }

    fn read_scales(
        &self,
        weight: &Weight,
        run: &Run,
        format: &Format,
        buffers: &Buffers,
    ) -> Result<Buffer, ConvertError> {
        let Some(tensor) = weight.part(PartRole::BlockScale) else {
            return Ok(Buffer::default());
        };
        let matrix = weight.matrices().shape;
        let range = scale_range(format, matrix, run.matrix, &run.rows);
        let mut scales = buffers.get(range.len());
        self.read_tensor(tensor, range.start as u64, &mut scales)?;
        Ok(scales)
    }

    /// The second-level scale of one matrix of a weight, as stored; 1 where there is none.
    ///
    /// # Errors
    /// What the source says.
    pub fn read_global(&self, weight: &Weight, matrix: usize) -> Result<f32, ConvertError> {
        let Some(tensor) = weight.part(PartRole::GlobalScale) else {
            return Ok(1.0);
        };
        // One value for all matrices, or one each.
        let single = self.checkpoint.tensors[tensor].bytes() == 4;
        let index = if single { 0 } else { matrix };
        let mut bytes = [0; 4];
        self.read_tensor(tensor, index as u64 * 4, &mut bytes)?;
        Ok(f32::from_le_bytes(bytes))
    }
}

/// Bytes of a row of plain values.
pub(crate) fn plain_row_bytes(dtype: Dtype, cols: usize) -> usize {
    (dtype.bitsize() * cols).div_ceil(8)
}

/// Bytes of a row of ggml blocks, whose columns are whole blocks.
fn ggml_row_bytes(kind: GgmlType, cols: usize) -> usize {
    kind.row_bytes(cols).unwrap_or(usize::MAX)
}

/// Bytes that a row takes in the file, scales included and rounded up where rows share them.
pub(crate) fn stored_row_bytes(encoding: &Encoding, cols: usize) -> usize {
    match encoding {
        Encoding::Plain(dtype) => plain_row_bytes(*dtype, cols),
        Encoding::Block(format) => {
            let plane = format.scale_shape(Shape::new(1, cols));
            format.row_bytes(cols) + plane.cols * format.scale.bytes()
        }
        Encoding::Grouped(format) => grouped::row_bytes(format, cols),
        Encoding::Ggml(kind) => ggml_row_bytes(*kind, cols),
    }
}

/// Rows of which a run of a weight has to begin at a multiple.
pub(crate) fn alignment(encoding: &Encoding, rows: usize) -> usize {
    match encoding {
        Encoding::Block(format) => run_alignment(format, rows),
        Encoding::Grouped(_) => grouped::ROW_ALIGNMENT,
        Encoding::Plain(_) | Encoding::Ggml(_) => 1,
    }
}

/// Where the scale rows of a run lie in the scale plane, in bytes.
///
/// A tensor scale stands for every matrix of a stack.
pub(crate) fn scale_range(
    format: &Format,
    matrix: Shape,
    index: usize,
    rows: &Range<usize>,
) -> Range<usize> {
    let plane = format.scale_shape(matrix);
    let row = plane.cols * format.scale.bytes();
    if format.block == Block::Tensor {
        return 0..row;
    }
    let block = format.block_rows(matrix.rows);
    let first = index * plane.rows;
    (first + rows.start / block) * row..(first + rows.end.div_ceil(block)) * row
}

/// Rows of which a run has to begin at a multiple. One scale for all rows fits
/// any run.
pub(crate) fn run_alignment(format: &Format, rows: usize) -> usize {
    match format.block {
        Block::Tensor => 1,
        _ => format.block_rows(rows).max(1),
    }
}

/// Elements that one thread decodes at a time: few enough that their numbers, and those that they
/// are compared with, stay in its cache, and enough for comparing several rows at once.
const GROUP: usize = 64 << 10;

/// Rows that one thread decodes at a time. Blocks of rows are not cut but evenly, so that no group
/// begins within a block and ends in the next.
pub(crate) fn group_rows(blocks: &[usize], cols: usize) -> usize {
    let wanted = (GROUP / cols.max(1)).max(1);
    let fits = |rows: &usize| blocks.iter().all(|&block| is_even_cut(*rows, block));
    (1..=wanted).rev().find(fits).unwrap_or(1)
}

/// Whether groups of so many rows hold whole blocks, or blocks whole groups.
pub(crate) fn is_even_cut(rows: usize, block: usize) -> bool {
    rows.is_multiple_of(block) || block.is_multiple_of(rows)
}

/// Rows that make about 64 Ki elements.
pub(crate) fn rows_per_task(cols: usize) -> usize {
    (1 << 16) / cols.max(1) + 1
}

pub(crate) fn codes_of(format: &Format, cols: usize, rows: &Range<usize>) -> Range<usize> {
    let row = format.row_bytes(cols);
    rows.start * row..rows.end * row
}

/// Whether a format stores a second-level scale.
pub(crate) fn has_global(format: &Format) -> bool {
    format.global != GlobalScale::None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_rows_fit_every_block() {
        for block in [1, 2, 3, 5, 48, 64, 128, 1000] {
            for other in [1, 32, 128] {
                for cols in [0, 1, 7, 96, 1024, 7168, 1 << 20] {
                    let rows = group_rows(&[block, other], cols);
                    assert!(rows >= 1 && (rows == 1 || rows * cols <= GROUP));
                    assert!(is_even_cut(rows, block) && is_even_cut(rows, other));
                }
            }
        }
        assert_eq!(group_rows(&[128], 7168), 8);
        assert_eq!(group_rows(&[128], 64), 1024);
    }
}
