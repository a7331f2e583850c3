//! Numbers of a run encoded afresh: block formats and integers in groups, rows in parallel.

use blockscale::encode::{self, Intermediate, Scheme};
use blockscale::format::{Block, Format, Shape};
use blockscale::int::{self, IntError, IntFormat, IntPartsMut, IntRule};
use blockscale::{LenMismatch, Real, bf16, f16};
use blockscale_model::Dtype;
use blockscale_model::catalog::Encoding;
use rayon::prelude::*;

use crate::transform::TensorScales;
use crate::weights::{INT_ROW_ALIGNMENT, rows_per_task, scale_range, split_rows};

/// The planes of an encoded run.
#[derive(Debug, Default)]
pub(crate) struct Planes {
    /// Codes, or plain numbers.
    pub(crate) codes: Vec<u8>,
    /// Block scales; empty for plain numbers.
    pub(crate) scales: Vec<u8>,
    /// Zero points of groups of integers, where they have them.
    pub(crate) zeros: Option<Vec<u8>>,
}

impl From<(Vec<u8>, Vec<u8>)> for Planes {
    fn from((codes, scales): (Vec<u8>, Vec<u8>)) -> Self {
        Self {
            codes,
            scales,
            zeros: None,
        }
    }
}

/// A block format of numbers that are stored as `from`, by a scheme.
///
/// Some libraries compute in the type of the weight, so they are given that: exactly the numbers
/// that were read. What was decoded from scales counts as F32.
pub(crate) fn blocks(
    to: &Format,
    scheme: &Scheme,
    from: &Encoding,
    shape: Shape,
    values: &[f32],
    tensor: TensorScales,
) -> Result<Planes, LenMismatch> {
    match type_of(scheme, from) {
        Dtype::BF16 => blocks_of(to, scheme, shape, &narrowed::<bf16>(values), tensor),
        Dtype::F16 => blocks_of(to, scheme, shape, &narrowed::<f16>(values), tensor),
        _ => blocks_of(to, scheme, shape, values, tensor),
    }
}

/// The global scale of a weight that is stored as `from`.
pub(crate) fn global_scale(to: &Format, scheme: &Scheme, from: &Encoding, amax: f32) -> f32 {
    match type_of(scheme, from) {
        Dtype::BF16 => encode::global_scale_with(to, scheme, bf16::from_f32(amax)),
        Dtype::F16 => encode::global_scale_with(to, scheme, f16::from_f32(amax)),
        _ => encode::global_scale_with(to, scheme, amax),
    }
}

/// The type that a scheme computes in.
fn type_of(scheme: &Scheme, from: &Encoding) -> Dtype {
    match from {
        _ if scheme.intermediate == Intermediate::F32 => Dtype::F32,
        Encoding::Plain(dtype) => *dtype,
        _ => Dtype::F32,
    }
}

fn narrowed<T: Real>(values: &[f32]) -> Vec<T> {
    values.iter().map(|&value| T::from_f32(value)).collect()
}

fn blocks_of<T: Real>(
    to: &Format,
    scheme: &Scheme,
    shape: Shape,
    values: &[T],
    tensor: TensorScales,
) -> Result<Planes, LenMismatch> {
    match to.block {
        Block::Tensor => under_one_scale(to, scheme, shape, values, tensor),
        _ => under_own_scales(to, scheme, shape, values, tensor.global),
    }
}

/// Codes under scales of their own blocks.
fn under_own_scales<T: Real>(
    to: &Format,
    scheme: &Scheme,
    shape: Shape,
    values: &[T],
    global: f32,
) -> Result<Planes, LenMismatch> {
    let row_bytes = to.row_bytes(shape.cols);
    let mut codes = vec![0; shape.rows * row_bytes];
    let mut scales = vec![0; scale_range(to, shape, 0, &(0..shape.rows)).len()];
    let step = split_rows(to, shape);
    let scale_bytes = scale_range(to, shape, 0, &(0..step.min(shape.rows))).len();
    if shape.cols == 0 || shape.rows == 0 {
        return Ok((codes, scales).into());
    }
    codes
        .par_chunks_mut(step * row_bytes)
        .zip(scales.par_chunks_mut(scale_bytes))
        .zip(values.par_chunks(step * shape.cols))
        .try_for_each(|((codes, scales), values)| {
            let part = Shape::new(values.len() / shape.cols, shape.cols);
            encode::encode_rows_with(to, scheme, part, values, global, codes, scales)
        })?;
    Ok((codes, scales).into())
}

/// Codes under one scale for all of the weight.
fn under_one_scale<T: Real>(
    to: &Format,
    scheme: &Scheme,
    shape: Shape,
    values: &[T],
    tensor: TensorScales,
) -> Result<Planes, LenMismatch> {
    let mut scale = vec![0; to.scale.bytes()];
    let (one, largest) = (Shape::new(1, 1), [T::from_f32(tensor.amax)]);
    encode::choose_scales_with(to, scheme, one, &largest, tensor.global, &mut scale)?;
    let row_bytes = to.row_bytes(shape.cols);
    let mut codes = vec![0; shape.rows * row_bytes];
    if shape.cols == 0 || shape.rows == 0 {
        return Ok((codes, scale).into());
    }
    let step = rows_per_task(shape.cols);
    codes
        .par_chunks_mut(step * row_bytes)
        .zip(values.par_chunks(step * shape.cols))
        .try_for_each(|(codes, values)| {
            let part = Shape::new(values.len() / shape.cols, shape.cols);
            encode::encode_codes_with(to, scheme, part, values, &scale, tensor.global, codes)
        })?;
    Ok((codes, scale).into())
}

/// Integers in groups, in a layout whose rows are outermost.
pub(crate) fn integers(
    to: &IntFormat,
    rule: IntRule,
    shape: Shape,
    values: &[f32],
) -> Result<Planes, IntError> {
    let whole = IntPlaneSizes::of(to, shape);
    let mut codes = vec![0; whole.codes];
    let mut scales = vec![0; whole.scales];
    let mut zeros = (rule == IntRule::Affine).then(|| vec![0; whole.zeros]);
    if shape.cols == 0 || shape.rows == 0 {
        return Ok(Planes {
            codes,
            scales,
            zeros,
        });
    }
    let step = rows_per_task(shape.cols).next_multiple_of(INT_ROW_ALIGNMENT);
    let part = IntPlaneSizes::of(to, Shape::new(step, shape.cols));
    let tasks = shape.rows.div_ceil(step);
    let zero_parts: Vec<Option<&mut [u8]>> = match &mut zeros {
        Some(zeros) => zeros.chunks_mut(part.zeros).map(Some).collect(),
        None => (0..tasks).map(|_| None).collect(),
    };
    codes
        .par_chunks_mut(part.codes)
        .zip(scales.par_chunks_mut(part.scales))
        .zip(zero_parts)
        .zip(values.par_chunks(step * shape.cols))
        .try_for_each(|(((codes, scales), zeros), values)| {
            let rows = Shape::new(values.len() / shape.cols, shape.cols);
            let parts = IntPartsMut {
                codes,
                scales,
                zeros,
            };
            int::encode(to, rule, rows, values, parts)
        })?;
    Ok(Planes {
        codes,
        scales,
        zeros,
    })
}

/// Bytes of the planes of some rows of integers. Numbers of that shape are in memory, so that their
/// codes fit too; no bytes stand for those that would not.
#[derive(Clone, Copy, Debug)]
pub(crate) struct IntPlaneSizes {
    pub(crate) codes: usize,
    pub(crate) scales: usize,
    pub(crate) zeros: usize,
}

impl IntPlaneSizes {
    pub(crate) fn of(format: &IntFormat, shape: Shape) -> Self {
        Self {
            codes: format.code_bytes(shape).unwrap_or_default(),
            scales: format.scale_bytes(shape).unwrap_or_default(),
            zeros: format.zero_bytes(shape).unwrap_or_default(),
        }
    }
}
