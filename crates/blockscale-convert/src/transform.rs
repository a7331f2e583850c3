//! One run through its step: source bytes in, output bytes and their check out.
//!
//! The output is decoded again from the bytes that will be written and compared
//! with the decoded source, value by value, before it leaves this module.

use std::ops::Range;

use blockscale::decode::Rows;
use blockscale::format::{Format, Shape};
use blockscale::stats::ErrorStats;
use blockscale::transcode::{self, Mxfp4ToNvfp4};
use blockscale::{Real, bf16, f16};
use blockscale_model::Dtype;
use blockscale_model::catalog::{Encoding, Weight};
use blockscale_model::plan::Step;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::ConvertError;
use crate::encoding::{self, IntPlaneSizes, Planes};
use crate::weights::{
    INT_ROW_ALIGNMENT, Run, RunBytes, codes_of, decode, has_global, rows_per_task, scale_range,
    split_rows,
};

/// NaN positions that a report lists.
pub(crate) const LISTED_NANS: usize = 8;

/// A run after its step.
pub(crate) struct Transformed {
    /// What is written of it.
    pub(crate) planes: Planes,
    /// Row by row, source against output.
    pub(crate) stats: Vec<ErrorStats>,
    /// Rows and columns of the run where the source is NaN, the first few.
    pub(crate) nans: Vec<[usize; 2]>,
    /// Blocks that a cast left as they are, and those that it rounded.
    pub(crate) blocks: Option<CastBlocks>,
}

/// How the blocks of a weight fared that was cast on its codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CastBlocks {
    /// Blocks of which every value stays.
    pub lossless: u64,
    /// Blocks that were encoded anew.
    pub rounded: u64,
}

impl CastBlocks {
    /// Adds the blocks of another part.
    pub(crate) fn add(&mut self, other: Self) {
        self.lossless += other.lossless;
        self.rounded += other.rounded;
    }
}

/// Scales that a run shares with all of its weight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorScales {
    /// The second-level scale to write, as stored; 1 where there is none.
    pub(crate) global: f32,
    /// Largest magnitude of the weight, for a format with one scale for all of it.
    pub(crate) amax: f32,
    /// The way from MXFP4 to NVFP4, which goes by all scales of the weight.
    pub(crate) cast: Mxfp4ToNvfp4,
}

/// Applies `step` to a run of `weight`, stored as `source` and decoded as `values`.
pub(crate) fn apply(
    step: &Step,
    weight: &Weight,
    run: &Run,
    source: &RunBytes,
    values: &[f32],
    tensor: TensorScales,
) -> Result<Transformed, ConvertError> {
    let shape = Shape::new(run.rows.len(), weight.matrices().shape.cols);
    let mut blocks = None;
    let planes: Planes = match *step {
        Step::Copy | Step::RestateGlobal { .. } => {
            (source.codes.clone(), source.scales.clone()).into()
        }
        Step::Decode(dtype) => (narrow(dtype, values), Vec::new()).into(),
        Step::Encode { to, by } => {
            let scheme = by.scheme(&to);
            encoding::blocks(&to, &scheme, &weight.encoding, shape, values, tensor)?
        }
        Step::EncodeInt { to, rule } => {
            encoding::integers(&to, rule, shape, values).map_err(|problem| {
                ConvertError::Integers {
                    tensor: weight.name.clone(),
                    problem,
                }
            })?
        }
        Step::RoundScalesUp { to } => round_scales_up(weight, &to, run, shape, source)?.into(),
        Step::WidenScales { to } => {
            (source.codes.clone(), widen_scales(weight, &to, source)?).into()
        }
        Step::CastMxfp4 { to } => {
            let (codes, scales, counts) = cast(&to, shape, source, tensor.cast)?;
            blocks = Some(counts);
            (codes, scales).into()
        }
        Step::SpreadScale { to } => {
            (source.codes.clone(), spread_scale(&to, shape, source)?).into()
        }
    };
    let (stats, nans) = check(step, weight, shape, values, &planes, tensor.global)?;
    Ok(Transformed {
        planes,
        stats,
        nans,
        blocks,
    })
}

fn narrow(dtype: Dtype, values: &[f32]) -> Vec<u8> {
    match dtype {
        Dtype::BF16 => narrow_to::<bf16>(values),
        Dtype::F16 => narrow_to::<f16>(values),
        _ => narrow_to::<f32>(values),
    }
}

fn narrow_to<T: Real>(values: &[f32]) -> Vec<u8> {
    let size = size_of::<T>();
    let mut bytes = vec![0; values.len() * size];
    bytes
        .par_chunks_mut(size << 16)
        .zip(values.par_chunks(1 << 16))
        .for_each(|(bytes, values)| {
            for (bytes, value) in bytes.chunks_exact_mut(size).zip(values) {
                bytes.copy_from_slice(bytemuck::bytes_of(&T::from_f32(*value)));
            }
        });
    bytes
}

fn cast(
    to: &Format,
    shape: Shape,
    source: &RunBytes,
    way: Mxfp4ToNvfp4,
) -> Result<(Vec<u8>, Vec<u8>, CastBlocks), ConvertError> {
    let rows = Rows {
        codes: &source.codes,
        scales: &source.scales,
        global: source.global,
    };
    let mut codes = vec![0; shape.rows * to.row_bytes(shape.cols)];
    let mut scales = vec![0; scale_range(to, shape, 0, &(0..shape.rows)).len()];
    let mut counts = CastBlocks::default();
    let mut count = |_, lossless| {
        let slot = if lossless {
            &mut counts.lossless
        } else {
            &mut counts.rounded
        };
        *slot += 1;
    };
    if has_global(to) {
        way.rows(shape, rows, &mut codes, &mut scales, &mut count)?;
    } else {
        transcode::mxfp4_to_fp8_block(shape, rows, &mut codes, &mut scales, &mut count)?;
    }
    Ok((codes, scales, counts))
}

fn source_format<'a>(weight: &'a Weight, to: &'a Format) -> &'a Format {
    weight.encoding.format().unwrap_or(to)
}

fn round_scales_up(
    weight: &Weight,
    to: &Format,
    run: &Run,
    shape: Shape,
    source: &RunBytes,
) -> Result<(Vec<u8>, Vec<u8>), ConvertError> {
    let from = source_format(weight, to);
    let mut codes = vec![0; source.codes.len()];
    let mut scales = vec![0; scale_range(to, shape, 0, &(0..shape.rows)).len()];
    let rows = Rows {
        codes: &source.codes,
        scales: &source.scales,
        global: source.global,
    };
    transcode::round_scales_up_to_pow2(from, to, shape, rows, &mut codes, &mut scales).map_err(
        |problem| ConvertError::Scale {
            tensor: weight.name.clone(),
            first_row: run.rows.start,
            problem,
        },
    )?;
    Ok((codes, scales))
}

fn widen_scales(weight: &Weight, to: &Format, source: &RunBytes) -> Result<Vec<u8>, ConvertError> {
    let from = source_format(weight, to).scale;
    let mut scales = vec![0; source.scales.len() / from.bytes() * to.scale.bytes()];
    transcode::widen_scales(from, &source.scales, &mut scales)?;
    Ok(scales)
}

fn spread_scale(to: &Format, shape: Shape, source: &RunBytes) -> Result<Vec<u8>, ConvertError> {
    let mut scales = vec![0; scale_range(to, shape, 0, &(0..shape.rows)).len()];
    transcode::spread_tensor_scale(to, shape, &source.scales, &mut scales)?;
    Ok(scales)
}

/// Decodes the bytes to be written and compares them with the source's values.
fn check(
    step: &Step,
    weight: &Weight,
    shape: Shape,
    values: &[f32],
    planes: &Planes,
    global: f32,
) -> Result<(Vec<ErrorStats>, Vec<[usize; 2]>), ConvertError> {
    let encoding = step.result(&weight.encoding);
    if shape.cols == 0 || shape.rows == 0 {
        return Ok((Vec::new(), Vec::new()));
    }
    let rows_per_part = match &encoding {
        Encoding::Block(format) => split_rows(format, shape),
        Encoding::Grouped(_) => rows_per_task(shape.cols).next_multiple_of(INT_ROW_ALIGNMENT),
        Encoding::Plain(_) | Encoding::Ggml(_) => rows_per_task(shape.cols),
    };
    let parts: Vec<Vec<ErrorStats>> = values
        .par_chunks(rows_per_part * shape.cols)
        .enumerate()
        .map(|(i, values)| {
            let rows = i * rows_per_part..i * rows_per_part + values.len() / shape.cols;
            let out = decode_output(weight, &encoding, shape, &rows, planes, global)?;
            let pairs = values.chunks(shape.cols).zip(out.chunks(shape.cols));
            pairs.map(|(w, q)| Ok(ErrorStats::of_row(w, q)?)).collect()
        })
        .collect::<Result<_, ConvertError>>()?;
    let stats = parts.concat();
    let nans = nan_positions(values, shape.cols, &stats);
    Ok((stats, nans))
}

fn decode_output(
    weight: &Weight,
    encoding: &Encoding,
    shape: Shape,
    rows: &Range<usize>,
    planes: &Planes,
    global: f32,
) -> Result<Vec<f32>, ConvertError> {
    let part = Shape::new(rows.len(), shape.cols);
    let whole = (0..planes.codes.len(), 0..planes.scales.len(), 0..0);
    let (codes, scales, zeros) = match encoding {
        Encoding::Plain(dtype) => {
            let row = crate::weights::plain_row_bytes(*dtype, shape.cols);
            (rows.start * row..rows.end * row, 0..0, 0..0)
        }
        Encoding::Block(format) => (
            codes_of(format, shape.cols, rows),
            scale_range(format, shape, 0, rows),
            0..0,
        ),
        Encoding::Grouped(format) => {
            let before = |end| IntPlaneSizes::of(format, Shape::new(end, shape.cols));
            let (start, end) = (before(rows.start), before(rows.end));
            (
                start.codes..end.codes,
                start.scales..end.scales,
                start.zeros..end.zeros,
            )
        }
        // Never computed, only copied.
        Encoding::Ggml(_) => whole,
    };
    let bytes = RunBytes {
        codes: planes.codes[codes].to_vec(),
        scales: planes.scales[scales].to_vec(),
        zeros: planes.zeros.as_ref().map(|all| all[zeros].to_vec()),
        groups: None,
        global,
    };
    let output = Weight {
        encoding: *encoding,
        ..weight.clone()
    };
    decode(&output, part, &bytes)
}

/// The first NaNs of the run; rows without one are skipped by their statistics.
pub(crate) fn nan_positions(values: &[f32], cols: usize, stats: &[ErrorStats]) -> Vec<[usize; 2]> {
    let rows = stats.iter().enumerate().filter(|(_, s)| s.ref_nan > 0);
    rows.flat_map(|(row, _)| {
        let values = &values[row * cols..(row + 1) * cols];
        values
            .iter()
            .enumerate()
            .filter(|(_, v)| v.is_nan())
            .map(move |(col, _)| [row, col])
    })
    .take(LISTED_NANS)
    .collect()
}
