//! Numbers to codes in the ways of other libraries.

use crate::element::EncodePolicy;
use crate::encode::{Quotient, Scheme};
use crate::{Format, GlobalScale, Real, bits};

/// What a number of a block is divided or multiplied by.
#[derive(Clone, Copy)]
pub(super) enum Divisor {
    /// Whatever the number is, its code is zero.
    Zero,
    By(f32),
    Times(f32),
}

impl Divisor {
    pub(super) fn new(format: &Format, quotient: Quotient, scale: f32, global: f32) -> Self {
        let effective = format.combine(scale, global);
        if effective == 0.0 {
            return Self::Zero;
        }
        let is_subnormal = effective < f32::MIN_POSITIVE;
        match quotient {
            Quotient::Divide => Self::By(effective),
            Quotient::DivideNormal if is_subnormal => Self::By(f32::MIN_POSITIVE),
            Quotient::DivideNormal => Self::By(effective),
            Quotient::ReciprocalNormal if is_subnormal => Self::Times(1.0),
            Quotient::Reciprocal | Quotient::ReciprocalNormal => Self::Times(1.0 / effective),
            Quotient::ReciprocalByLevel => Self::Times(match format.global {
                GlobalScale::None => 1.0 / scale,
                GlobalScale::Multiplier => (1.0 / global) / scale,
                GlobalScale::Divisor => global / scale,
            }),
        }
    }

    pub(super) fn code(self, format: &Format, scheme: &Scheme, x: f32) -> u8 {
        let quotient = match self {
            Self::Zero => return 0,
            Self::By(scale) => x / scale,
            Self::Times(reciprocal) => x * reciprocal,
        };
        if scheme.policy == EncodePolicy::DEFAULT {
            return format.element.encode(quotient);
        }
        format.element.encode_with(quotient, &scheme.policy)
    }
}

/// The values of a block in one row, which start in column `first`, to codes.
pub(super) fn run<T: Real>(
    format: &Format,
    scheme: &Scheme,
    values: &[T],
    scale: &[u8],
    global: f32,
    first: usize,
    row: &mut [u8],
) {
    let scale = format.scale.decode(scale);
    let divisor = Divisor::new(format, scheme.quotient, scale, global);
    let stride = format.code_stride();
    for (value, col) in values.iter().zip(first..) {
        let code = divisor.code(format, scheme, value.to_f32());
        if stride == 8 {
            row[col] = code;
        } else {
            bits::put(row, stride, col, code);
        }
    }
}
