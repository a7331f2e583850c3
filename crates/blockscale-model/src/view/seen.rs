//! The bytes of a view to scales and numbers.

use blockscale::format::{Format, Shape};
use blockscale::ggml::{self, GgmlType};
use blockscale::int::{self, IntFormat, IntParts};
use blockscale::layout::{
    Codes, LayoutError, ScaleLayout, Scales, unpermute_codes, unpermute_scales,
};
use safetensors::Dtype;

use super::pieces::Piece;
use super::{View, ViewError};
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
    /// Numbers of a form that has no codes beside scales: groups of integers and ggml's blocks.
    Decoded(Vec<f32>),
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
                let mut codes = self.codes(&format, codes)?;
                self.as_if.order_nibbles(&format, &mut codes);
                Ok(Seen::Blocks { scales, codes })
            }
            Encoding::Grouped(format) => self.integers(&format, &given).map(Seen::Decoded),
            Encoding::Ggml(kind) => self.ggml(kind, &given).map(Seen::Decoded),
        }
    }

    fn plane(&self, format: &Format, given: &Given<'_>) -> Result<ScalePlane, ViewError> {
        let stored = given.role(PartRole::BlockScale);
        let wanted = self.linear_scales(format);
        let layout = self.scale_layout();
        let bytes = if layout == ScaleLayout::Linear && self.weight.layout == ScaleLayout::Linear {
            stored.to_vec()
        } else {
            let matrices = self.weight.matrices();
            let plane = format.scale_bytes(matrices.shape).unwrap_or(usize::MAX);
            let mut linear = self.room(plane.saturating_mul(matrices.count))?;
            let stored = Scales {
                layout,
                element: format.scale,
                bytes: stored,
            };
            unpermute_scales(self.weight.scale_stack(format), stored, &mut linear)
                .map_err(|problem| self.layout_error(problem))?;
            linear[wanted.start as usize..wanted.end as usize].to_vec()
        };
        Ok(ScalePlane {
            format: self.format_as_if(*format),
            shape: format.scale_shape(self.shape()),
            bytes,
            global: given.global(),
        })
    }

    fn codes(&self, format: &Format, stored: &[u8]) -> Result<Vec<u8>, ViewError> {
        if self.weight.layout == ScaleLayout::Linear {
            return Ok(stored.to_vec());
        }
        let matrices = self.weight.matrices();
        let row = format.row_bytes(matrices.shape.cols);
        let mut linear = self.room(row.saturating_mul(matrices.total_rows()))?;
        let codes = Codes {
            layout: self.weight.layout,
            bytes: stored,
        };
        unpermute_codes(self.weight.code_stack(format), codes, &mut linear)
            .map_err(|problem| self.layout_error(problem))?;
        let first = self.region.matrix * matrices.shape.rows;
        let rows = first + self.region.rows.start..first + self.region.rows.end;
        Ok(linear[rows.start * row..rows.end * row].to_vec())
    }

    fn integers(&self, format: &IntFormat, given: &Given<'_>) -> Result<Vec<f32>, ViewError> {
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
        Ok(values)
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

    fn ggml(&self, kind: GgmlType, given: &Given<'_>) -> Result<Vec<f32>, ViewError> {
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
        Ok(values)
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

    fn layout_error(&self, problem: LayoutError) -> ViewError {
        ViewError::Layout {
            tensor: self.weight.name.clone(),
            problem,
        }
    }

    /// Pairs the pieces with their bytes.
    fn given<'b>(&self, pieces: &[Piece], bytes: &[&'b [u8]]) -> Result<Given<'b>, ViewError> {
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
struct Given<'b>(Vec<(PartRole, &'b [u8])>);

impl<'b> Given<'b> {
    fn find(&self, role: PartRole) -> Option<&'b [u8]> {
        let part = self.0.iter().find(|(found, _)| *found == role);
        part.map(|&(_, bytes)| bytes)
    }

    fn role(&self, role: PartRole) -> &'b [u8] {
        self.find(role).unwrap_or(&[])
    }

    fn global(&self) -> f32 {
        match self.role(PartRole::GlobalScale) {
            &[a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
            _ => 1.0,
        }
    }
}
