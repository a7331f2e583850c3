//! Tensor entries, and whether their data lie where a file of this length can hold them.

use std::collections::HashSet;
use std::ops::Range;

use safetensors::Dtype;

use super::cursor::{Cursor, Stop};
use super::error::GgufError;
use super::ggml_type::GgmlType;
use crate::limits::MAX_TENSORS;

/// The most axes that a tensor of ggml has.
pub const MAX_DIMS: u32 = 4;

/// Bytes of the shortest entry: an empty name, no axes, a type and an offset.
const MIN_TENSOR_BYTES: u64 = 8 + 4 + 4 + 8;

/// A tensor as its file's header describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GgufTensor {
    /// Name, unique in the file.
    pub name: String,
    /// Elements along each axis, the contiguous axis last (the file has it first); empty for a
    /// scalar.
    pub shape: Vec<usize>,
    /// Type of the elements.
    pub kind: GgmlType,
    /// Where its bytes lie in the file, counted from the file's first byte.
    pub range: Range<u64>,
}

impl GgufTensor {
    /// The tensor as stored: its own dtype and shape, or for blocks U8 and rows of bytes.
    pub(crate) fn stored(&self) -> (Dtype, Vec<usize>) {
        let dtype = match self.kind {
            GgmlType::F32 => Dtype::F32,
            GgmlType::F16 => Dtype::F16,
            GgmlType::Bf16 => Dtype::BF16,
            GgmlType::F64 => Dtype::F64,
            GgmlType::I8 => Dtype::I8,
            GgmlType::I16 => Dtype::I16,
            GgmlType::I32 => Dtype::I32,
            GgmlType::I64 => Dtype::I64,
            _ => Dtype::U8,
        };
        let mut shape = self.shape.clone();
        if let Some(last) = shape.last_mut() {
            let blocks = *last / self.kind.block_elements();
            *last = match self.kind.block_elements() {
                1 => *last,
                _ => blocks * self.kind.block_bytes(),
            };
        }
        (dtype, shape)
    }
}

/// Reads the entries. Their ranges are still counted from the start of the data.
pub(super) fn read_tensors(cursor: &mut Cursor<'_>, count: u64) -> Result<Vec<GgufTensor>, Stop> {
    cursor.expect(count, MIN_TENSOR_BYTES)?;
    if count > MAX_TENSORS as u64 {
        return Err(Stop::Fault(GgufError::TooManyTensors {
            limit: MAX_TENSORS,
            found: count,
        }));
    }
    let tensors: Result<Vec<_>, Stop> = (0..count).map(|_| read_tensor(cursor)).collect();
    let tensors = tensors?;

    let mut seen = HashSet::with_capacity(tensors.len());
    match tensors.iter().find(|tensor| !seen.insert(&tensor.name)) {
        Some(tensor) => Err(Stop::Fault(GgufError::DuplicateName {
            tensor: tensor.name.clone(),
        })),
        None => Ok(tensors),
    }
}

fn read_tensor(cursor: &mut Cursor<'_>) -> Result<GgufTensor, Stop> {
    let name = cursor.name()?;
    let axes = cursor.u32()?;
    if axes > MAX_DIMS {
        return Err(Stop::Fault(GgufError::TooManyDims {
            tensor: name.to_owned(),
            limit: MAX_DIMS,
            found: axes,
        }));
    }
    let dims: Result<Vec<u64>, Stop> = (0..axes).map(|_| cursor.u64()).collect();
    let mut shape = dims?;
    shape.reverse();
    let id = cursor.u32()?;
    let kind = GgmlType::from_id(id).ok_or_else(|| GgufError::UnknownType {
        tensor: name.to_owned(),
        id,
    })?;
    let offset = cursor.u64()?;

    let bytes = size_of(name, kind, &shape)?;
    let end = end_of(name, 0, offset, bytes)?;
    Ok(GgufTensor {
        name: name.to_owned(),
        shape: shape.into_iter().map(|dim| dim as usize).collect(),
        kind,
        range: offset..end,
    })
}

fn size_of(name: &str, kind: GgmlType, shape: &[u64]) -> Result<u64, GgufError> {
    let row = shape.last().copied().unwrap_or(1);
    if !row.is_multiple_of(kind.block_elements() as u64) {
        return Err(GgufError::PartialBlock {
            tensor: name.to_owned(),
            kind,
            row,
        });
    }
    tensor_bytes(kind, shape).ok_or_else(|| GgufError::SizeOverflows {
        tensor: name.to_owned(),
        kind,
        shape: shape.to_vec(),
    })
}

/// Bytes of a tensor whose rows are whole blocks; `None` if an axis does not fit `usize`, or a
/// product of axes 64 bits. An empty axis counts as 1 in that, so the order of axes does not
/// matter.
fn tensor_bytes(kind: GgmlType, shape: &[u64]) -> Option<u64> {
    let mut elements = 1u64;
    for &dim in shape {
        usize::try_from(dim).ok()?;
        elements = elements.checked_mul(dim.max(1))?;
    }
    let blocks = elements / kind.block_elements() as u64;
    let bytes = blocks.checked_mul(kind.block_bytes() as u64)?;
    Some(if shape.contains(&0) { 0 } else { bytes })
}

/// End of `bytes` bytes at `offset` in data that begin at `data_start`.
fn end_of(name: &str, data_start: u64, offset: u64, bytes: u64) -> Result<u64, GgufError> {
    data_start
        .checked_add(offset)
        .and_then(|start| start.checked_add(bytes))
        .ok_or_else(|| GgufError::OffsetOverflows {
            tensor: name.to_owned(),
            offset,
            bytes,
        })
}

/// Moves the ranges to where the data lie in the file, and checks them: aligned, apart from each
/// other, inside the file. Any order and unused bytes between them are fine.
pub(super) fn place(
    tensors: &mut [GgufTensor],
    data_start: u64,
    alignment: u64,
    file_len: u64,
) -> Result<(), GgufError> {
    for GgufTensor { name, range, .. } in tensors.iter_mut() {
        let offset = range.start;
        if !offset.is_multiple_of(alignment) {
            return Err(GgufError::Misaligned {
                tensor: name.clone(),
                alignment,
                offset,
            });
        }
        let bytes = range.end - offset;
        let end = end_of(name, data_start, offset, bytes)?;
        *range = end - bytes..end;
    }
    let mut in_order: Vec<&GgufTensor> = tensors.iter().collect();
    in_order.sort_by_key(|tensor| (tensor.range.start, tensor.range.end));
    check_apart(&in_order)?;
    check_inside(&in_order, file_len)
}

/// No two tensors share a byte. An empty one shares none, wherever it stands.
fn check_apart(in_order: &[&GgufTensor]) -> Result<(), GgufError> {
    let mut before: Option<&GgufTensor> = None;
    for tensor in in_order.iter().filter(|tensor| !tensor.range.is_empty()) {
        match before {
            Some(before) if tensor.range.start < before.range.end => {
                return Err(GgufError::Overlap {
                    first: before.name.clone(),
                    second: tensor.name.clone(),
                    at: tensor.range.start,
                });
            }
            _ => before = Some(tensor),
        }
    }
    Ok(())
}

fn check_inside(in_order: &[&GgufTensor], file_len: u64) -> Result<(), GgufError> {
    let covered = in_order.iter().map(|tensor| tensor.range.end).max();
    match in_order.iter().find(|tensor| tensor.range.end > file_len) {
        Some(cut) => Err(GgufError::EndsEarly {
            tensor: cut.name.clone(),
            expected: covered.unwrap_or_default(),
            found: file_len,
        }),
        None => Ok(()),
    }
}
