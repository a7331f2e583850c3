//! Numbers to groups of integers.

use super::layout::{IntFormat, IntLayout, write};
use super::{IntError, IntPartsMut};
use crate::encode::write_scale;
use crate::{LenMismatch, Real, Shape};

/// How scale and zero point of a group follow from its numbers. `b` is the bits of an integer.
///
/// ```
/// use blockscale::int::{IntFormat, IntLayout, IntPartsMut, IntRule, encode};
/// use blockscale::{ScaleElement, Shape};
///
/// let (scale, layout) = (ScaleElement::F32, IntLayout::CompressedTensors);
/// let format = IntFormat { bits: 4, group_cols: 0, scale, layout };
/// let scale_by = |rule, zeros| {
///     let (mut codes, mut scales) = ([0; 4], [0; 4]);
///     let parts = IntPartsMut { codes: &mut codes, scales: &mut scales, zeros };
///     encode(&format, rule, Shape::new(1, 2), &[-7.5_f32, 7.5], parts)
///         .map(|()| f32::from_le_bytes(scales))
/// };
/// assert_eq!(scale_by(IntRule::Symmetric, None)?, 7.5 / 7.0);
/// assert_eq!(scale_by(IntRule::SymmetricFull, None)?, 1.0);
/// assert_eq!(scale_by(IntRule::Affine, Some(&mut [0; 4]))?, 1.0);
/// # Ok::<(), blockscale::int::IntError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum IntRule {
    /// `s = amax / (2^(b-1) - 1)`, no zero point: the largest magnitude gets the largest code, and
    /// the smallest code goes unused (ModelOpt).
    Symmetric,
    /// `s = amax / ((2^b - 1) / 2)`, no zero point: a little finer, and the largest magnitude may
    /// round down (compressed-tensors).
    SymmetricFull,
    /// `s = (max - min) / (2^b - 1)`, `z = round(-min / s)`, where `min` is at most and `max` at
    /// least zero, so that zero stays zero (AWQ, GPTQ). [`IntLayout::Gptq`] cannot store a `z` of 0
    /// and takes 1.
    Affine,
    /// `s = (max - min) / (2^b - 1)` and the bias `min`, for MLX' layout: both ends come back, but a
    /// zero in between need not.
    MinMax,
    /// MLX' rule: `s` as in `Affine`, of either sign, so that the end of larger magnitude is a
    /// whole multiple of it and becomes the bias.
    Mlx,
}

/// Encodes a whole weight.
///
/// `shape` is that of the weight, `values` its numbers row by row. Integers are quotients in `f32`
/// by the scale as it is stored, rounded half to even, and kept in range. A group of zeros gets the
/// scale 1, or zero point 0. NaN and infinities do not count for a scale; NaN becomes the zero
/// point. Without room for zero points the rule must be a symmetric one, and for MLX it must be
/// [`IntRule::Mlx`].
///
/// # Errors
///
/// [`IntError`] where a slice does not fit the shape, the layout has no such integers, or the rule
/// needs zero points that there is no room for. Nothing is written then.
///
/// ```
/// use blockscale::int::{IntFormat, IntLayout, IntPartsMut, IntRule, encode};
/// use blockscale::{ScaleElement, Shape};
///
/// let (scale, layout) = (ScaleElement::F32, IntLayout::CompressedTensors);
/// let format = IntFormat { bits: 4, group_cols: 0, scale, layout };
/// let values = [-7.0_f32, -3.0, 0.0, 1.0, 2.0, 3.0, 5.0, 7.0];
/// let (mut codes, mut scales) = ([0; 4], [0; 4]);
/// let parts = IntPartsMut { codes: &mut codes, scales: &mut scales, zeros: None };
/// encode(&format, IntRule::Symmetric, Shape::new(1, 8), &values, parts)?;
/// assert_eq!(u32::from_le_bytes(codes), 0xfdba_9851);
/// assert_eq!(f32::from_le_bytes(scales), 1.0);
/// # Ok::<(), blockscale::int::IntError>(())
/// ```
pub fn encode<T: Real>(
    format: &IntFormat,
    rule: IntRule,
    shape: Shape,
    values: &[T],
    mut parts: IntPartsMut<'_>,
) -> Result<(), IntError> {
    let zeros = parts.zeros.as_ref().map(|zeros| zeros.len());
    format.check(shape, parts.codes.len(), parts.scales.len(), zeros)?;
    let has_bias = matches!(rule, IntRule::Mlx | IntRule::MinMax);
    let needs_zeros = has_bias || rule == IntRule::Affine;
    let takes_bias = format.layout == IntLayout::Mlx;
    if needs_zeros && zeros.is_none() || takes_bias != has_bias {
        let layout = format.layout;
        return Err(IntError::Zeros { layout });
    }
    LenMismatch::check("values", shape.len(), values.len())?;
    if values.is_empty() {
        return Ok(());
    }
    parts.codes.fill(0);
    if let Some(zeros) = &mut parts.zeros {
        zeros.fill(0);
    }
    let group_cols = match format.group_cols {
        0 => shape.cols,
        cols => cols,
    };
    for (row, values) in values.chunks_exact(shape.cols).enumerate() {
        for (group, values) in values.chunks(group_cols).enumerate() {
            let first = group * group_cols;
            encode_group(format, rule, shape, values, (row, group, first), &mut parts);
        }
    }
    Ok(())
}

/// `at` is the row, the group in it and the column where that starts.
fn encode_group<T: Real>(
    format: &IntFormat,
    rule: IntRule,
    shape: Shape,
    values: &[T],
    at: (usize, usize, usize),
    parts: &mut IntPartsMut<'_>,
) {
    let (row, group, first) = at;
    let Affine { scale, zero, bias } = affine(format, rule, values);
    let index = format.scale_index(shape, row, group);
    let size = format.scale.bytes();
    write_scale(
        format.scale,
        scale,
        &mut parts.scales[index * size..][..size],
    );
    match (&mut parts.zeros, format.layout) {
        (Some(biases), IntLayout::Mlx) => {
            write_scale(format.scale, bias, &mut biases[index * size..][..size]);
        }
        (Some(zeros), _) => {
            let place = format.zero_place(shape, row, group);
            write(
                zeros,
                &place,
                format.bits,
                (zero + format.zero_offset()) as u8,
            );
        }
        (None, _) => {}
    }
    let largest = f32::from(u8::MAX >> (8 - format.bits));
    for (value, col) in values.iter().zip(first..) {
        let quotient = libm::rintf((value.to_f32() - bias) / scale) + zero as f32;
        let quotient = if quotient.is_nan() {
            zero as f32
        } else {
            quotient
        };
        let stored = quotient.clamp(0.0, largest) as u8;
        let stored = match format.layout {
            IntLayout::Modelopt => stored.wrapping_sub(8),
            _ => stored,
        };
        write(
            parts.codes,
            &format.code_place(shape, row, col),
            format.bits,
            stored,
        );
    }
}

/// A number is `(code - zero) * scale + bias`.
struct Affine {
    scale: f32,
    zero: i32,
    bias: f32,
}

fn affine<T: Real>(format: &IntFormat, rule: IntRule, values: &[T]) -> Affine {
    let finite = || {
        values
            .iter()
            .map(|value| value.to_f32())
            .filter(|x| x.is_finite())
    };
    let (min, max) = (finite().fold(0.0, f32::min), finite().fold(0.0, f32::max));
    let amax = max.max(-min);
    let codes = f32::from(u8::MAX >> (8 - format.bits));
    let positive = |scale: f32| {
        let scale = format.scale.round(scale);
        if scale == 0.0 { 1.0 } else { scale }
    };
    let symmetric = |scale| Affine {
        scale: positive(scale),
        zero: format.middle(),
        bias: 0.0,
    };
    match rule {
        // One bit has a sign and nothing else: -1 and 0.
        IntRule::Symmetric => symmetric(amax / ((codes - 1.0) / 2.0).max(1.0)),
        IntRule::SymmetricFull => symmetric(amax / (codes / 2.0)),
        IntRule::Affine => {
            let scale = positive(max / codes - min / codes);
            let zero = libm::rintf(-min / scale).clamp(0.0, codes) as i32;
            let zero = zero.max(-format.zero_offset());
            Affine {
                scale,
                zero,
                bias: 0.0,
            }
        }
        IntRule::MinMax | IntRule::Mlx => {
            let min = finite().reduce(f32::min).unwrap_or(0.0);
            let max = finite().reduce(f32::max).unwrap_or(0.0);
            let (scale, bias) = match rule {
                IntRule::Mlx => whole_steps(codes, min, max),
                _ => (max / codes - min / codes, min),
            };
            Affine {
                scale: if scale == 0.0 {
                    1.0
                } else {
                    format.scale.round(scale)
                },
                zero: 0,
                bias: format.scale.round(bias),
            }
        }
    }
}

/// MLX' scale and bias of a group from `min` to `max`.
fn whole_steps(codes: f32, min: f32, max: f32) -> (f32, f32) {
    let step = ((max - min) / codes).max(1e-7);
    let (step, edge) = if min.abs() > max.abs() {
        (step, min)
    } else {
        (-step, max)
    };
    let steps = libm::rintf(edge / step);
    if steps == 0.0 {
        (step, 0.0)
    } else {
        (edge / steps, edge)
    }
}
