//! The byte ranges of a view.

use std::ops::Range;

use blockscale::format::{Block, Format, GlobalScale};
use blockscale::layout::ScaleLayout;

use super::{View, ViewError};
use crate::catalog::{Encoding, PartRole};

/// A byte range that a view needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What the bytes are.
    pub role: PartRole,
    /// Which of [`Checkpoint::shards`](crate::Checkpoint::shards) holds them.
    pub shard: usize,
    /// Where they lie in that file.
    pub range: Range<u64>,
}

impl View<'_> {
    /// The ranges that hold the scales of the view, the global one included.
    ///
    /// # Errors
    /// [`ViewError::NoScales`] where there is no plane of scales of its own.
    pub fn scale_pieces(&self) -> Result<Vec<Piece>, ViewError> {
        let Encoding::Block(format) = self.weight.encoding else {
            return Err(self.no_scales());
        };
        let scales = match self.has_scales_in_rows() {
            true => self.piece(PartRole::BlockScale, self.linear_scales(&format))?,
            false => self.whole(PartRole::BlockScale)?,
        };
        let pieces = [scales, self.global()?];
        Ok(pieces.into_iter().flatten().collect())
    }

    /// The ranges that hold all of the view: codes first, then what belongs to them.
    ///
    /// # Errors
    /// [`ViewError::OutsideTensor`] where a tensor is shorter than the weight's shape asks for.
    pub fn pieces(&self) -> Result<Vec<Piece>, ViewError> {
        let cols = self.weight.matrices().shape.cols;
        let codes = match self.weight.encoding {
            Encoding::Plain(dtype) => self.rows_of_codes((dtype.bitsize() * cols).div_ceil(8))?,
            Encoding::Ggml(kind) => {
                self.rows_of_codes(kind.row_bytes(cols).unwrap_or(usize::MAX))?
            }
            Encoding::Grouped(_) => return self.grouped(),
            Encoding::Block(_)
                if self.weight.layout != ScaleLayout::Linear
                    || self.as_if.reading.code_rows.is_some() =>
            {
                self.whole(PartRole::Codes)?
            }
            Encoding::Block(format) => self.rows_of_codes(format.row_bytes(cols))?,
        };
        let mut pieces: Vec<Piece> = codes.into_iter().collect();
        match self.weight.encoding {
            Encoding::Block(_) => pieces.extend(self.scale_pieces()?),
            _ => pieces.extend(self.global()?),
        }
        Ok(pieces)
    }

    pub(super) fn no_scales(&self) -> ViewError {
        ViewError::NoScales {
            tensor: self.weight.name.clone(),
            encoding: self.weight.encoding,
        }
    }

    /// The bytes of the view's scales in a plane that lies row by row. A tensor scale stands for
    /// every matrix of a stack.
    pub(super) fn linear_scales(&self, format: &Format) -> Range<u64> {
        let matrix = self.weight.matrices().shape;
        let plane = format.scale_shape(matrix);
        let row = plane.cols as u64 * format.scale.bytes() as u64;
        if format.block == Block::Tensor {
            return 0..row;
        }
        let block = format.block_rows(matrix.rows);
        let first = self.region.matrix as u64 * plane.rows as u64;
        let rows = &self.region.rows;
        let (start, end) = (rows.start / block, rows.end.div_ceil(block));
        (first + start as u64) * row..(first + end as u64) * row
    }

    pub(super) fn rows_of_codes(&self, row_bytes: usize) -> Result<Option<Piece>, ViewError> {
        let first = self.region.matrix as u64 * self.weight.matrices().shape.rows as u64;
        let at = |row: usize| (first + row as u64).saturating_mul(row_bytes as u64);
        let rows = &self.region.rows;
        self.piece(PartRole::Codes, at(rows.start)..at(rows.end))
    }

    /// One scale for all matrices, or one each.
    pub(super) fn global(&self) -> Result<Option<Piece>, ViewError> {
        let stored = match self.weight.encoding {
            Encoding::Block(format) => format.global != GlobalScale::None,
            _ => true,
        };
        let Some(tensor) = self.weight.part(PartRole::GlobalScale).filter(|_| stored) else {
            return Ok(None);
        };
        let single = self.checkpoint.tensors[tensor].bytes() == 4;
        let index = if single { 0 } else { self.region.matrix as u64 };
        self.piece(PartRole::GlobalScale, index * 4..index * 4 + 4)
    }

    /// All tensors of groups of integers, as far as they are of the view's matrix: some keep the
    /// columns outermost, so that rows are not together.
    fn grouped(&self) -> Result<Vec<Piece>, ViewError> {
        let count = self.weight.matrices().count.max(1) as u64;
        let of_matrix = [PartRole::Codes, PartRole::BlockScale, PartRole::ZeroPoint];
        let mut pieces = Vec::new();
        for part in &self.weight.parts {
            if of_matrix.contains(&part.role) {
                let bytes = self.checkpoint.tensors[part.tensor].bytes() / count;
                let first = self.region.matrix as u64 * bytes;
                pieces.extend(self.piece(part.role, first..first + bytes)?);
            } else if [PartRole::GroupIndex, PartRole::StatedShape].contains(&part.role) {
                pieces.extend(self.whole(part.role)?);
            }
        }
        Ok(pieces)
    }

    pub(super) fn whole(&self, role: PartRole) -> Result<Option<Piece>, ViewError> {
        match self.weight.part(role) {
            Some(tensor) => self.piece(role, 0..self.checkpoint.tensors[tensor].bytes()),
            None => Ok(None),
        }
    }

    /// A range of the tensor in that role, counted from its first byte.
    pub(super) fn piece(
        &self,
        role: PartRole,
        within: Range<u64>,
    ) -> Result<Option<Piece>, ViewError> {
        let Some(tensor) = self.weight.part(role) else {
            return Ok(None);
        };
        let raw = &self.checkpoint.tensors[tensor];
        if within.end > raw.bytes() {
            return Err(ViewError::OutsideTensor {
                tensor: raw.name.clone(),
                expected: within.end,
                found: raw.bytes(),
            });
        }
        let bytes = within.end - within.start;
        if usize::try_from(bytes).is_err() {
            return Err(ViewError::TooLarge {
                tensor: self.weight.name.clone(),
                bytes,
            });
        }
        Ok(Some(Piece {
            role,
            shard: raw.shard,
            range: raw.range.start + within.start..raw.range.start + within.end,
        }))
    }
}
