//! Runs decoded to numbers, rows in parallel.

use blockscale::decode::{Rows, decode_rows};
use blockscale::format::{Format, Shape};
use blockscale::ggml::{self, GgmlType};
use blockscale::{Real, bf16, f16};
use blockscale_model::Dtype;
use blockscale_model::catalog::{Encoding, Weight};
use rayon::prelude::*;

use super::{RunBytes, codes_of, ggml_row_bytes, grouped, rows_per_task, scale_range, split_rows};
use crate::ConvertError;

/// Decodes a run to f32, rows in parallel.
///
/// # Errors
/// [`ConvertError::NotNumbers`] for integers and the like, and bytes that do not fit the shape.
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
        Encoding::Grouped(format) => {
            grouped::decode(&format, shape, bytes, &mut values).map_err(|problem| {
                ConvertError::Integers {
                    tensor: weight.name.clone(),
                    problem,
                }
            })?;
        }
        Encoding::Ggml(kind) => {
            decode_ggml(kind, shape, bytes, &mut values).map_err(|problem| ConvertError::Ggml {
                tensor: weight.name.clone(),
                problem,
            })?;
        }
    }
    Ok(values)
}

/// [`decode_rows`], split over threads at scale blocks.
fn decode_parallel(
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

/// Decodes blocks of ggml, rows in parallel, and multiplies by the scale beside them.
fn decode_ggml(
    kind: GgmlType,
    shape: Shape,
    bytes: &RunBytes,
    out: &mut [f32],
) -> Result<(), ggml::GgmlError> {
    if shape.cols == 0 {
        return Ok(());
    }
    let step = rows_per_task(shape.cols);
    let row = ggml_row_bytes(kind, shape.cols);
    out.par_chunks_mut(step * shape.cols)
        .zip(bytes.codes.par_chunks(step * row))
        .try_for_each(|(out, blocks)| {
            let rows = Shape::new(out.len() / shape.cols, shape.cols);
            ggml::decode_rows(kind, rows, blocks, out)?;
            for value in out {
                *value *= bytes.global;
            }
            Ok(())
        })
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
