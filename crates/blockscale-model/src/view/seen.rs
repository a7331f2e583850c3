//! The bytes of a view to scales and numbers.

use blockscale::format::{Block, Format, Shape};
use blockscale::ggml::{self, GgmlType};
use blockscale::int::{self, IntFormat, IntParts};
use blockscale::layout::{
    Codes, LayoutError, ScaleLayout, Scales, unpermute_codes, unpermute_scales,
};
use safetensors::Dtype;

use super::pieces::Piece;
use super::{GgmlRows, Groups, View, ViewError};
use crate::catalog::{Encoding, PartRole};

/// The scales of a view, row by row.
#[derive(Clone, Debug, PartialEq)]
pub struct ScalePlane {
    /// The format, with the second level as the view takes it.
    pub format: Format,
    /// Rows and columns of scales.
    pub shape: Shape,
    /// The scales as stored, in little-endian bytes.
    pub bytes: Vec<u8>,
    /// The second-level scale as stored; 1 where there is none.
    pub global: f32,
}

impl ScalePlane {
    /// What elements are multiplied by: the scales of both levels as one.
    pub fn values(&self) -> Vec<f32> {
        let scales = self.bytes.chunks_exact(self.format.scale.bytes());
        scales
            .map(|scale| self.format.effective_scale(scale, self.global))
            .collect()
    }
}

/// The rows of a view.
#[derive(Clone, Debug, PartialEq)]
pub enum Seen {
    /// Codes and scales, row by row.
    Blocks {
        /// The scales.
        scales: ScalePlane,
        /// The codes.
        codes: Vec<u8>,
    },
    /// Plain floats in little-endian bytes.
    Floats {
        /// F32, BF16 or F16.
        dtype: Dtype,
        /// Their bytes.
        bytes: Vec<u8>,
    },
    /// Integers, each with the scale of its group.
    Integers(Groups),
    /// Blocks of codes and scales in one.
    Ggml(GgmlRows),
}

impl View<'_> {
    /// The scales, from the bytes of [`scale_pieces`](Self::scale_pieces) in that order.
    ///
    /// # Errors
    /// [`ViewError`] where the bytes are others than were asked for, or are in no such layout.
    pub fn scales(&self, bytes: &[&[u8]]) -> Result<ScalePlane, ViewError> {
        let Encoding::Block(format) = self.weight.encoding else {
            return Err(self.no_scales());
        };
        let given = self.given(&self.scale_pieces()?, bytes)?;
        self.plane(&format, &given)
    }

    /// The numbers, from the bytes of [`pieces`](Self::pieces) in that order.
    ///
    /// # Errors
    /// [`ViewError`] where the bytes are others than were asked for, do not fit the shape, or are no
    /// numbers.
    pub fn see(&self, bytes: &[&[u8]]) -> Result<Seen, ViewError> {
        let given = self.given(&self.pieces()?, bytes)?;
        let codes = given.role(PartRole::Codes);
        match self.weight.encoding {
            Encoding::Plain(dtype @ (Dtype::F32 | Dtype::BF16 | Dtype::F16)) => Ok(Seen::Floats {
                dtype,
                bytes: codes.to_vec(),
            }),
            Encoding::Plain(dtype) => Err(ViewError::NotNumbers {
                tensor: self.weight.name.clone(),
                dtype,
            }),
            Encoding::Block(format) => {
                let scales = self.plane(&format, &given)?;
                let codes = self.codes(&format, codes)?;
                Ok(Seen::Blocks { scales, codes })
            }
            Encoding::Grouped(format) => self.integers(&format, &given).map(Seen::Integers),
            Encoding::Ggml(kind) => self.ggml(kind, &given).map(Seen::Ggml),
        }
    }

    fn plane(&self, format: &Format, given: &Given<'_>) -> Result<ScalePlane, ViewError> {
        self.check_reading(format)?;
        let stored = given.role(PartRole::BlockScale);
        let (read_as, global) = self.read_as(format, given.global());
        let reading = self.as_if.reading;
        let bytes = match self.has_scales_in_rows() {
            // What is left of the reading changes each scale by itself.
            true => reading.restore_scales(format, self.shape(), stored.to_vec()),
            false => {
                let matrix = self.weight.matrices().shape;
                let own = self.scales_of_matrix(format, stored)?;
                reading.restore_scales(format, matrix, own).map(|plane| {
                    let rows = self.linear_scales(format);
                    // Rows of the stack, of which the plane has those of one matrix.
                    let first = match format.block {
                        Block::Tensor => 0,
                        _ => self.region.matrix * plane.len(),
                    };
                    plane[rows.start as usize - first..rows.end as usize - first].to_vec()
                })
            }
        };
        Ok(ScalePlane {
            shape: format.scale_shape(self.shape()),
            format: read_as,
            bytes: bytes.map_err(|problem| self.layout_error(problem))?,
            global,
        })
    }

    /// The scales of the view's matrix, out of the layout that the file states.
    fn scales_of_matrix(&self, format: &Format, stored: &[u8]) -> Result<Vec<u8>, ViewError> {
        let matrices = self.weight.matrices();
        let len = format.scale_bytes(matrices.shape).unwrap_or(usize::MAX);
        let (first, count) = match format.block {
            Block::Tensor => (0, 1),
            _ => (self.region.matrix.saturating_mul(len), matrices.count),
        };
        let own = |all: &[u8]| {
            let own = all.get(first..first.saturating_add(len));
            own.map(<[u8]>::to_vec)
                .ok_or_else(|| ViewError::OutsideTensor {
                    tensor: self.weight.name.clone(),
                    expected: first.saturating_add(len) as u64,
                    found: all.len() as u64,
                })
        };
        if self.is_in_rows() {
            return own(stored);
        }
        let mut linear = self.room(len.saturating_mul(count))?;
        let stored = Scales {
            layout: self.stated(),
            element: format.scale,
            bytes: stored,
        };
        unpermute_scales(self.weight.scale_stack(format), stored, &mut linear)
            .map_err(|problem| self.layout_error(problem))?;
        own(&linear)
    }

    fn codes(&self, format: &Format, stored: &[u8]) -> Result<Vec<u8>, ViewError> {
        let reading = self.as_if.reading;
        let matrices = self.weight.matrices();
        let row = format.row_bytes(matrices.shape.cols);
        let mut codes = stored.to_vec();
        if self.weight.layout != ScaleLayout::Linear {
            codes = self.room(row.saturating_mul(matrices.total_rows()))?;
            let stored = Codes {
                layout: self.weight.layout,
                bytes: stored,
            };
            unpermute_codes(self.weight.code_stack(format), stored, &mut codes)
                .map_err(|problem| self.layout_error(problem))?;
        } else if reading.code_rows.is_none() {
            reading.restore_in_rows(format, row, &mut codes);
            return Ok(codes);
        }
        let matrix = row * matrices.shape.rows;
        let own = codes[self.region.matrix * matrix..][..matrix].to_vec();
        let own = reading
            .restore_codes(format, matrices.shape, own)
            .map_err(|problem| self.layout_error(problem))?;
        Ok(own[self.region.rows.start * row..self.region.rows.end * row].to_vec())
    }

    fn integers(&self, format: &IntFormat, given: &Given<'_>) -> Result<Groups, ViewError> {
        let parts = IntParts {
            codes: given.role(PartRole::Codes),
            scales: given.role(PartRole::BlockScale),
            zeros: given.find(PartRole::ZeroPoint),
            groups: given.find(PartRole::GroupIndex),
        };
        self.check_stated_shape(given)?;
        let mut values = self.numbers()?;
        let (matrix, rows) = (self.weight.matrices().shape, self.region.rows.clone());
        int::decode_rows(format, matrix, parts, rows, &mut values).map_err(|problem| {
            ViewError::Integers {
                tensor: self.weight.name.clone(),
                problem,
            }
        })?;
        Ok(Groups {
            format: *format,
            matrix,
            rows: self.region.rows.clone(),
            values,
            codes: parts.codes.to_vec(),
            scales: parts.scales.to_vec(),
            zeros: parts.zeros.map(<[u8]>::to_vec),
            groups: parts.groups.map(<[u8]>::to_vec),
        })
    }

    /// Packed codes do not show where the last columns end, so some files state it in numbers.
    fn check_stated_shape(&self, given: &Given<'_>) -> Result<(), ViewError> {
        let Some(bytes) = given.find(PartRole::StatedShape) else {
            return Ok(());
        };
        let sizes = bytes.as_chunks::<8>().0.iter();
        let stated: Vec<i64> = sizes.map(|&size| i64::from_le_bytes(size)).collect();
        let shape = &self.weight.shape;
        let same = |(&found, &stated): (&usize, &i64)| i64::try_from(found) == Ok(stated);
        if stated.len() == shape.len() && shape.iter().zip(&stated).all(same) {
            return Ok(());
        }
        Err(ViewError::StatedShape {
            tensor: self.weight.name.clone(),
            stated,
            found: shape.clone(),
        })
    }

    fn ggml(&self, kind: GgmlType, given: &Given<'_>) -> Result<GgmlRows, ViewError> {
        let mut values = self.numbers()?;
        let blocks = given.role(PartRole::Codes);
        ggml::decode_rows(kind, self.shape(), blocks, &mut values).map_err(|problem| {
            ViewError::Ggml {
                tensor: self.weight.name.clone(),
                problem,
            }
        })?;
        let global = given.global();
        values.iter_mut().for_each(|value| *value *= global);
        Ok(GgmlRows {
            kind,
            shape: self.shape(),
            bytes: blocks.to_vec(),
            global,
            values,
        })
    }

    /// Room for the view's numbers.
    fn numbers(&self) -> Result<Vec<f32>, ViewError> {
        let numbers = self.shape().len();
        let fits = numbers.filter(|&n| n <= isize::MAX as usize / size_of::<f32>());
        let numbers = fits.ok_or_else(|| self.too_large(u64::MAX))?;
        Ok(vec![0.0; numbers])
    }

    fn room(&self, bytes: usize) -> Result<Vec<u8>, ViewError> {
        match isize::try_from(bytes) {
            Ok(_) => Ok(vec![0; bytes]),
            Err(_) => Err(self.too_large(bytes as u64)),
        }
    }

    fn too_large(&self, bytes: u64) -> ViewError {
        ViewError::TooLarge {
            tensor: self.weight.name.clone(),
            bytes,
        }
    }

    pub(super) fn layout_error(&self, problem: LayoutError) -> ViewError {
        ViewError::Layout {
            tensor: self.weight.name.clone(),
            problem,
        }
    }

    /// Pairs the pieces with their bytes.
    pub(super) fn given<'b>(
        &self,
        pieces: &[Piece],
        bytes: &[&'b [u8]],
    ) -> Result<Given<'b>, ViewError> {
        if pieces.len() != bytes.len() {
            return Err(ViewError::Pieces {
                tensor: self.weight.name.clone(),
                expected: pieces.len(),
                found: bytes.len(),
            });
        }
        let mut parts = Vec::new();
        for (piece, &bytes) in pieces.iter().zip(bytes) {
            let (expected, found) = (piece.range.end - piece.range.start, bytes.len() as u64);
            if expected != found {
                return Err(ViewError::PieceLength {
                    tensor: self.weight.name.clone(),
                    role: piece.role,
                    expected,
                    found,
                });
            }
            parts.push((piece.role, bytes));
        }
        Ok(Given(parts))
    }
}

/// Bytes by what they are.
pub(super) struct Given<'b>(Vec<(PartRole, &'b [u8])>);

impl<'b> Given<'b> {
    /// All byte strings in that role, in order.
    pub(super) fn all(&self, role: PartRole) -> impl Iterator<Item = &'b [u8]> + '_ {
        let parts = self.0.iter().filter(move |(found, _)| *found == role);
        parts.map(|&(_, bytes)| bytes)
    }

    fn find(&self, role: PartRole) -> Option<&'b [u8]> {
        let part = self.0.iter().find(|(found, _)| *found == role);
        part.map(|&(_, bytes)| bytes)
    }

    pub(super) fn role(&self, role: PartRole) -> &'b [u8] {
        self.find(role).unwrap_or(&[])
    }

    pub(super) fn global(&self) -> f32 {
        match self.role(PartRole::GlobalScale) {
            &[a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
            _ => 1.0,
        }
    }
}
