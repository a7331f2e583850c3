//! Runs decoded to numbers, rows in parallel.

use std::ops::Range;

use blockscale::decode::{Rows, decode_rows, widen};
use blockscale::format::Shape;
use blockscale::ggml::{self, GgmlType};
use blockscale::int::{self, IntParts};
use blockscale::{LenMismatch, Real, bf16, f16};
use blockscale_model::Dtype;
use blockscale_model::catalog::{Encoding, Weight};
use rayon::prelude::*;

use super::{
    RunBytes, alignment, codes_of, ggml_row_bytes, group_rows, plain_row_bytes, scale_range,
};
use crate::ConvertError;

/// The stored bytes of a run, or of some rows of one.
#[derive(Clone, Copy)]
pub(crate) struct Stored<'a> {
    pub(crate) codes: &'a [u8],
    pub(crate) scales: &'a [u8],
    pub(crate) zeros: Option<&'a [u8]>,
    pub(crate) groups: Option<&'a [u8]>,
    pub(crate) global: f32,
}

impl<'a> From<&'a RunBytes> for Stored<'a> {
    fn from(bytes: &'a RunBytes) -> Self {
        Self {
            codes: &bytes.codes,
            scales: &bytes.scales,
            zeros: bytes.zeros.as_deref(),
            groups: bytes.groups.as_deref(),
            global: bytes.global,
        }
    }
}

/// How the numbers of a weight are stored, with its name for messages.
#[derive(Clone, Copy)]
pub(crate) struct Decoder<'a> {
    pub(crate) name: &'a str,
    pub(crate) encoding: Encoding,
}

/// Decodes a run to f32, rows in parallel.
///
/// # Errors
/// [`ConvertError::NotNumbers`] for integers and the like, and bytes that do not fit the shape.
pub fn decode(weight: &Weight, shape: Shape, bytes: &RunBytes) -> Result<Vec<f32>, ConvertError> {
    let decoder = Decoder {
        name: &weight.name,
        encoding: weight.encoding,
    };
    let stored = Stored::from(bytes);
    decoder.check(shape, stored)?;
    let mut values = vec![0.0; shape.rows * shape.cols];
    if shape.cols == 0 {
        return Ok(values);
    }
    let step = group_rows(&[alignment(&weight.encoding, shape.rows)], shape.cols);
    values
        .par_chunks_mut(step * shape.cols)
        .enumerate()
        .try_for_each(|(i, values)| {
            let rows = i * step..i * step + values.len() / shape.cols;
            decoder.rows(shape, rows, stored, values)
        })?;
    Ok(values)
}

impl Decoder<'_> {
    /// Whether these are numbers, and as many bytes as their shape asks for.
    pub(crate) fn check(&self, shape: Shape, stored: Stored<'_>) -> Result<(), ConvertError> {
        match self.encoding {
            Encoding::Plain(dtype @ (Dtype::F32 | Dtype::BF16 | Dtype::F16)) => {
                let bytes = shape.rows.checked_mul(plain_row_bytes(dtype, shape.cols));
                same_length("values", bytes, stored.codes)
            }
            Encoding::Plain(dtype) => Err(ConvertError::NotNumbers {
                tensor: self.name.to_owned(),
                dtype,
            }),
            Encoding::Block(format) => {
                let (codes, scales) = (format.code_bytes(shape), format.scale_bytes(shape));
                same_length("codes", codes, stored.codes)?;
                same_length("scales", scales, stored.scales)
            }
            Encoding::Ggml(kind) => {
                let bytes = shape.rows.checked_mul(ggml_row_bytes(kind, shape.cols));
                same_length("blocks", bytes, stored.codes)
            }
            // Decoding checks all of the parts each time.
            Encoding::Grouped(_) => Ok(()),
        }
    }

    /// Decodes some rows of a run of that shape, in this thread. They begin where a block of rows
    /// begins, or lie within one. The bytes are checked before.
    pub(crate) fn rows(
        &self,
        shape: Shape,
        rows: Range<usize>,
        stored: Stored<'_>,
        out: &mut [f32],
    ) -> Result<(), ConvertError> {
        match self.encoding {
            Encoding::Plain(dtype) => self.plain(dtype, shape, rows, stored, out),
            Encoding::Block(format) => {
                let part = Rows {
                    codes: &stored.codes[codes_of(&format, shape.cols, &rows)],
                    scales: &stored.scales[scale_range(&format, shape, 0, &rows)],
                    global: stored.global,
                };
                Ok(decode_rows(
                    &format,
                    Shape::new(rows.len(), shape.cols),
                    part,
                    out,
                )?)
            }
            Encoding::Grouped(format) => {
                let parts = IntParts {
                    codes: stored.codes,
                    scales: stored.scales,
                    zeros: stored.zeros,
                    groups: stored.groups,
                };
                int::decode_rows(&format, shape, parts, rows, out).map_err(|problem| {
                    ConvertError::Integers {
                        tensor: self.name.to_owned(),
                        problem,
                    }
                })
            }
            Encoding::Ggml(kind) => {
                ggml_rows(kind, shape, rows, stored, out).map_err(|problem| ConvertError::Ggml {
                    tensor: self.name.to_owned(),
                    problem,
                })
            }
        }
    }

    fn plain(
        &self,
        dtype: Dtype,
        shape: Shape,
        rows: Range<usize>,
        stored: Stored<'_>,
        out: &mut [f32],
    ) -> Result<(), ConvertError> {
        let row = plain_row_bytes(dtype, shape.cols);
        let bytes = &stored.codes[rows.start * row..rows.end * row];
        match dtype {
            Dtype::F32 => widened::<f32>(bytes, out),
            Dtype::BF16 => widened::<bf16>(bytes, out),
            Dtype::F16 => widened::<f16>(bytes, out),
            dtype => Err(ConvertError::NotNumbers {
                tensor: self.name.to_owned(),
                dtype,
            }),
        }
    }
}

fn same_length(
    what: &'static str,
    expected: Option<usize>,
    found: &[u8],
) -> Result<(), ConvertError> {
    let (expected, found) = (expected.unwrap_or(usize::MAX), found.len());
    if expected == found {
        return Ok(());
    }
    Err(LenMismatch {
        what,
        expected,
        found,
    }
    .into())
}

/// Blocks of ggml, multiplied by the scale beside them.
fn ggml_rows(
    kind: GgmlType,
    shape: Shape,
    rows: Range<usize>,
    stored: Stored<'_>,
    out: &mut [f32],
) -> Result<(), ggml::GgmlError> {
    let row = ggml_row_bytes(kind, shape.cols);
    let blocks = &stored.codes[rows.start * row..rows.end * row];
    ggml::decode_rows(kind, Shape::new(rows.len(), shape.cols), blocks, out)?;
    for value in out {
        *value *= stored.global;
    }
    Ok(())
}

/// Files are little endian; so is every target that this crate builds for.
fn widened<T: Real>(bytes: &[u8], out: &mut [f32]) -> Result<(), ConvertError> {
    if let Ok(values) = bytemuck::try_cast_slice::<u8, T>(bytes) {
        return Ok(widen(values, out)?);
    }
    // Bytes of a vector may begin anywhere.
    for (value, bytes) in out.iter_mut().zip(bytes.chunks_exact(size_of::<T>())) {
        *value = bytemuck::pod_read_unaligned::<T>(bytes).to_f32();
    }
    Ok(())
}
