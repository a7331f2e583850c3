//! Runs of weights in groups of integers.
//!
//! AWQ and GPTQ keep the columns outermost, so that the rows of a run lie in a piece of every line.
//! The pieces together are the same layout again, of a weight that has only these rows.

use std::ops::Range;

use blockscale::format::Shape;
use blockscale::int::{IntFormat, IntLayout};
use blockscale_model::catalog::{PartRole, TensorId, Weight};

use super::{Run, RunBytes, Weights};
use crate::ConvertError;
use crate::memory::{Buffer, Buffers};

/// Runs begin at a multiple of so many rows: there codes and zero points of any width begin a word.
pub(crate) const ROW_ALIGNMENT: usize = 32;

/// Bytes that one row takes, rounded up, with its share of the group index.
pub(super) fn row_bytes(format: &IntFormat, cols: usize) -> usize {
    let rows = Shape::new(ROW_ALIGNMENT, cols);
    let parts = [
        format.code_bytes(rows),
        format.scale_bytes(rows),
        format.zero_bytes(rows),
        cols.checked_mul(4),
    ];
    let all = parts.into_iter().map(|bytes| bytes.unwrap_or(usize::MAX));
    all.fold(0, usize::saturating_add).div_ceil(ROW_ALIGNMENT)
}

impl Weights<'_> {
    pub(super) fn read_grouped(
        &self,
        weight: &Weight,
        run: &Run,
        format: &IntFormat,
        buffers: &Buffers,
    ) -> Result<RunBytes, ConvertError> {
        self.check_stated_shape(weight)?;
        let cols = weight.matrices().shape.cols;
        let of_rows = |rows| Shape::new(rows, cols);
        let groups = format.groups(cols);
        let (code_lines, scale_lines, zero_lines) = match format.layout {
            IntLayout::AwqGemm => (cols, groups, groups),
            IntLayout::Gptq | IntLayout::GptqV2 => {
                let words = format.code_bytes(of_rows(1)).unwrap_or(usize::MAX) / 4;
                (words, groups, groups)
            }
            _ => (1, 1, 1),
        };
        let codes = |rows| format.code_bytes(of_rows(rows));
        let scales = |rows| format.scale_bytes(of_rows(rows));
        let zeros = |rows| format.zero_bytes(of_rows(rows));
        let scale_tensor = weight.part(PartRole::BlockScale);
        let zero_tensor = weight.part(PartRole::ZeroPoint);
        let read = |tensor, lines, bytes: &dyn Fn(usize) -> Option<usize>| {
            self.read_lines(weight, run, tensor, lines, bytes, buffers)
        };
        Ok(RunBytes {
            codes: read(weight.codes(), code_lines, &codes)?,
            scales: match scale_tensor {
                Some(tensor) => read(tensor, scale_lines, &scales)?,
                None => Buffer::default(),
            },
            zeros: zero_tensor
                .map(|tensor| read(tensor, zero_lines, &zeros))
                .transpose()?,
            groups: weight
                .part(PartRole::GroupIndex)
                .map(|tensor| self.read_whole(tensor).map(Buffer::from))
                .transpose()?,
            global: 1.0,
        })
    }

    /// The rows of a run out of a tensor whose `lines` lines each hold all rows. `bytes` is what
    /// some number of rows take in all lines together.
    fn read_lines(
        &self,
        weight: &Weight,
        run: &Run,
        tensor: TensorId,
        lines: usize,
        bytes: &dyn Fn(usize) -> Option<usize>,
        buffers: &Buffers,
    ) -> Result<Buffer, ConvertError> {
        let in_line = |rows: usize| bytes(rows).unwrap_or(usize::MAX) / lines.max(1);
        let line = in_line(weight.matrices().shape.rows);
        let Range { start, end } = in_line(run.rows.start)..in_line(run.rows.end);
        let first = (run.matrix * lines * line + start) as u64;
        let mut read = buffers.get(lines * (end - start));
        if start == 0 && end == line || lines == 1 {
            self.read_tensor(tensor, first, &mut read)?;
            return Ok(read);
        }
        for (i, piece) in read.chunks_exact_mut((end - start).max(1)).enumerate() {
            self.read_tensor(tensor, first + (i * line) as u64, piece)?;
        }
        Ok(read)
    }

    fn read_whole(&self, tensor: TensorId) -> Result<Vec<u8>, ConvertError> {
        let mut bytes = vec![0; self.tensor_len(tensor)];
        self.read_tensor(tensor, 0, &mut bytes)?;
        Ok(bytes)
    }

    /// The shape that follows from the tensors has to be the one that the file states in numbers:
    /// packed codes do not show where the last columns end.
    fn check_stated_shape(&self, weight: &Weight) -> Result<(), ConvertError> {
        let Some(tensor) = weight.part(PartRole::StatedShape) else {
            return Ok(());
        };
        let bytes = self.read_whole(tensor)?;
        let sizes = bytes
            .as_chunks::<8>()
            .0
            .iter()
            .map(|&b| i64::from_le_bytes(b));
        let stated: Vec<i64> = sizes.collect();
        let same = stated.len() == weight.shape.len()
            && weight
                .shape
                .iter()
                .zip(&stated)
                .all(|(&found, &stated)| i64::try_from(found) == Ok(stated));
        if same {
            return Ok(());
        }
        Err(ConvertError::StatedShape {
            tensor: self.checkpoint.tensors[tensor].name.clone(),
            stated,
            found: weight.shape.clone(),
        })
    }
}
