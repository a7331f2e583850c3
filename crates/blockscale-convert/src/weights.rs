//! Reading logical weights by runs of rows.
//!
//! A run is a number of whole rows of one matrix, starting where a scale block
//! starts, so that it can be decoded on its own.

use std::ops::Range;

use blockscale::decode::{Rows, decode_rows};
use blockscale::format::{Block, Format, GlobalScale, Shape};
use blockscale::{Real, bf16, f16};
use blockscale_model::catalog::{Catalog, Encoding, PartRole, Weight};
use blockscale_model::{Checkpoint, Dtype};
use rayon::prelude::*;

use crate::ConvertError;
use crate::source::Source;

/// Whole rows of one matrix of a weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Index into [`Catalog::weights`].
    pub weight: usize,
    /// Which of the weight's matrices.
    pub matrix: usize,
    /// Rows of that matrix; the first is the first of a scale block.
    pub rows: Range<usize>,
}

/// The stored bytes of a run.
#[derive(Clone, Debug, Default)]
pub struct RunBytes {
    /// Codes, or plain numbers.
    pub codes: Vec<u8>,
    /// The scale rows that cover the run.
    pub scales: Vec<u8>,
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
        let weight = self.weight(run);
        let matrix = weight.matrices().shape;
        let (row_bytes, block) = match weight.encoding {
            Encoding::Plain(dtype) => (plain_row_bytes(dtype, matrix.cols), 1),
            Encoding::Block(format) => (
                format.row_bytes(matrix.cols),
                run_alignment(&format, matrix.rows),
            ),
        };
        if !run.rows.start.is_multiple_of(block) {
            return Err(ConvertError::InsideBlock {
                tensor: weight.name.clone(),
                row: run.rows.start,
                block,
            });
        }
        let first_row = run.matrix * matrix.rows + run.rows.start;
        let mut codes = vec![0; run.rows.len() * row_bytes];
        self.read_tensor(
            weight.codes(),
            first_row as u64 * row_bytes as u64,
            &mut codes,
        )?;
        let (scales, global) = match weight.encoding {
            Encoding::Plain(_) => (Vec::new(), 1.0),
            Encoding::Block(format) => (
                self.read_scales(weight, run, &format)?,
                self.read_global(weight, run.matrix)?,
            ),
        };
        Ok(RunBytes {
            codes,
            scales,
            global,
        })
    }

    fn read_scales(
        &self,
        weight: &Weight,
        run: &Run,
        format: &Format,
    ) -> Result<Vec<u8>, ConvertError> {
        let Some(tensor) = weight.part(PartRole::BlockScale) else {
            return Ok(Vec::new());
        };
        let matrix = weight.matrices().shape;
        let range = scale_range(format, matrix, run.matrix, &run.rows);
        let mut scales = vec![0; range.len()];
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

/// Decodes a run to f32, rows in parallel.
///
/// # Errors
/// [`ConvertError::NotNumbers`] for integers and the like.
pub fn decode(weight: &Weight, shape: Shape, bytes: &RunBytes) -> Result<Vec<f32>, ConvertError> {
    let mut values = vec![0.0; shape.rows * shape.cols];
    match weight.encoding {
        Encoding::Plain(Dtype::F32) => widen::<f32>(&bytes.codes, &mut values),
        Encoding::Plain(Dtype::BF16) => widen::<bf16>(&bytes.codes, &mut values),
        Encoding::Plain(Dtype::F16) => widen::<f16>(&bytes.codes, &mut values),
        Encoding::Plain(dtype) => {
            return Err(ConvertError::NotNumbers {
                tensor: weight.name.clone(),
                dtype,
            });
        }
        Encoding::Block(format) => {
            let rows = Rows {
                codes: &bytes.codes,
                scales: &bytes.scales,
                global: bytes.global,
            };
            decode_parallel(&format, shape, rows, &mut values)?;
        }
    }
    Ok(values)
}

/// [`decode_rows`], split over threads at scale blocks.
pub(crate) fn decode_parallel(
    format: &Format,
    shape: Shape,
    rows: Rows<'_>,
    out: &mut [f32],
) -> Result<(), ConvertError> {
    let step = split_rows(format, shape);
    if shape.cols == 0 || step >= shape.rows {
        return Ok(decode_rows(format, shape, rows, out)?);
    }
    out.par_chunks_mut(step * shape.cols)
        .enumerate()
        .try_for_each(|(i, out)| {
            let range = i * step..i * step + out.len() / shape.cols;
            let part = Rows {
                codes: &rows.codes[codes_of(format, shape.cols, &range)],
                scales: &rows.scales[scale_range(format, shape, 0, &range)],
                global: rows.global,
            };
            Ok(decode_rows(
                format,
                Shape::new(range.len(), shape.cols),
                part,
                out,
            )?)
        })
}

/// Rows of which a run has to begin at a multiple. One scale for all rows fits
/// any run.
pub(crate) fn run_alignment(format: &Format, rows: usize) -> usize {
    match format.block {
        Block::Tensor => 1,
        _ => format.block_rows(rows).max(1),
    }
}

/// Rows that one thread takes at a time: whole scale blocks, and enough elements
/// to be worth a task.
pub(crate) fn split_rows(format: &Format, shape: Shape) -> usize {
    rows_per_task(shape.cols).next_multiple_of(run_alignment(format, shape.rows))
}

/// Rows that make a task of about 64 Ki elements.
pub(crate) fn rows_per_task(cols: usize) -> usize {
    (1 << 16) / cols.max(1) + 1
}

pub(crate) fn codes_of(format: &Format, cols: usize, rows: &Range<usize>) -> Range<usize> {
    let row = format.row_bytes(cols);
    rows.start * row..rows.end * row
}

fn widen<T: Real>(bytes: &[u8], out: &mut [f32]) {
    let size = size_of::<T>();
    out.par_chunks_mut(1 << 16)
        .zip(bytes.par_chunks(size << 16))
        .for_each(|(out, bytes)| {
            for (value, bytes) in out.iter_mut().zip(bytes.chunks_exact(size)) {
                // Files are little endian; so is every target that this crate builds for.
                *value = bytemuck::pod_read_unaligned::<T>(bytes).to_f32();
            }
        });
}

/// Whether a format stores a second-level scale.
pub(crate) fn has_global(format: &Format) -> bool {
    format.global != GlobalScale::None
}
