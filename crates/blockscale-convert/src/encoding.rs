//! Numbers of a part encoded afresh.

use std::borrow::Cow;

use blockscale::encode::{self, Intermediate, Scheme, narrow};
use blockscale::format::{Format, Shape};
use blockscale::int::IntFormat;
use blockscale::{LenMismatch, Real, bf16, f16};
use blockscale_model::Dtype;
use blockscale_model::catalog::Encoding;

use crate::transform::TensorScales;

/// Numbers, and how they are stored in the source.
#[derive(Clone, Copy)]
pub(crate) struct Numbers<'a> {
    pub(crate) from: &'a Encoding,
    pub(crate) shape: Shape,
    pub(crate) values: &'a [f32],
    /// Their bytes in the source, where it has plain numbers.
    pub(crate) stored: &'a [u8],
}

impl<'a> Numbers<'a> {
    /// The numbers in a type in which they are exactly what was read.
    fn of<T: Real>(&self) -> Cow<'a, [T]> {
        match bytemuck::try_cast_slice(self.stored) {
            Ok(stored) if stored.len() == self.values.len() => Cow::Borrowed(stored),
            _ => self
                .values
                .iter()
                .map(|&value| T::from_f32(value))
                .collect(),
        }
    }
}

/// Where the scales of a part are.
pub(crate) enum Scales<'a> {
    /// They follow from its numbers, and go there.
    Own(&'a mut [u8]),
    /// One stands for all of the weight.
    Shared(&'a [u8]),
}

/// A block format of numbers, by a scheme.
///
/// Some libraries compute in the type of the weight, so they are given that: exactly the numbers
/// that were read. What was decoded from scales counts as F32.
pub(crate) fn blocks(
    to: &Format,
    scheme: &Scheme,
    numbers: Numbers<'_>,
    global: f32,
    codes: &mut [u8],
    scales: Scales<'_>,
) -> Result<(), LenMismatch> {
    let shape = numbers.shape;
    match given_as(scheme, numbers.from) {
        Dtype::BF16 => blocks_of(
            to,
            scheme,
            shape,
            &numbers.of::<bf16>(),
            global,
            codes,
            scales,
        ),
        Dtype::F16 => blocks_of(
            to,
            scheme,
            shape,
            &numbers.of::<f16>(),
            global,
            codes,
            scales,
        ),
        _ => blocks_of(to, scheme, shape, numbers.values, global, codes, scales),
    }
}

/// The type that numbers are given to a scheme in. One that computes in F32 widens 16 bits itself, and
/// knows better ways with them.
fn given_as(scheme: &Scheme, from: &Encoding) -> Dtype {
    match from {
        Encoding::Plain(dtype) if scheme.intermediate == Intermediate::F32 => *dtype,
        from => type_of(scheme, from),
    }
}

fn blocks_of<T: Real>(
    to: &Format,
    scheme: &Scheme,
    shape: Shape,
    values: &[T],
    global: f32,
    codes: &mut [u8],
    scales: Scales<'_>,
) -> Result<(), LenMismatch> {
    match scales {
        Scales::Own(scales) => {
            encode::encode_rows_with(to, scheme, shape, values, global, codes, scales)
        }
        Scales::Shared(scale) => {
            encode::encode_codes_with(to, scheme, shape, values, scale, global, codes)
        }
    }
}

/// The scale of a format with one for all of the weight.
pub(crate) fn one_scale(
    to: &Format,
    scheme: &Scheme,
    from: &Encoding,
    tensor: TensorScales,
) -> Result<Vec<u8>, LenMismatch> {
    fn of<T: Real>(
        to: &Format,
        scheme: &Scheme,
        tensor: TensorScales,
    ) -> Result<Vec<u8>, LenMismatch> {
        let mut scale = vec![0; to.scale.bytes()];
        let (one, largest) = (Shape::new(1, 1), [T::from_f32(tensor.amax)]);
        encode::choose_scales_with(to, scheme, one, &largest, tensor.global, &mut scale)?;
        Ok(scale)
    }
    match type_of(scheme, from) {
        Dtype::BF16 => of::<bf16>(to, scheme, tensor),
        Dtype::F16 => of::<f16>(to, scheme, tensor),
        _ => of::<f32>(to, scheme, tensor),
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

/// Plain numbers in little-endian bytes.
pub(crate) fn plain(dtype: Dtype, values: &[f32], bytes: &mut [u8]) -> Result<(), LenMismatch> {
    match dtype {
        Dtype::BF16 => narrow_to::<bf16>(values, bytes),
        Dtype::F16 => narrow_to::<f16>(values, bytes),
        _ => narrow_to::<f32>(values, bytes),
    }
}

fn narrow_to<T: Real>(values: &[f32], bytes: &mut [u8]) -> Result<(), LenMismatch> {
    if let Ok(out) = bytemuck::try_cast_slice_mut::<u8, T>(bytes) {
        return narrow(values, out);
    }
    // Bytes of a vector may begin anywhere.
    for (bytes, value) in bytes.chunks_exact_mut(size_of::<T>()).zip(values) {
        bytes.copy_from_slice(bytemuck::bytes_of(&T::from_f32(*value)));
    }
    Ok(())
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
