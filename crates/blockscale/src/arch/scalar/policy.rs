//! Numbers to codes in the ways of other libraries.

use crate::element::EncodePolicy;
use crate::encode::{Intermediate, Quotient, Scheme, ZeroScale};
use crate::{Format, GlobalScale, Real, bits};

/// What a number of a block is divided or multiplied by.
#[derive(Clone, Copy)]
pub(super) enum Divisor {
    /// Whatever the number is, its code is zero.
    Zero,
    /// The code is that of the number divided by zero.
    ZeroKept,
    By(f32),
    Times(f32),
}

impl Divisor {
    pub(super) fn new(format: &Format, scheme: &Scheme, scale: f32, global: f32) -> Self {
        let effective = format.combine(scale, global);
        if effective == 0.0 {
            return match scheme.zero {
                ZeroScale::Kept => Self::ZeroKept,
                _ => Self::Zero,
            };
        }
        let is_subnormal = effective < f32::MIN_POSITIVE;
        match scheme.quotient {
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

    pub(super) fn code<T: Real>(self, format: &Format, scheme: &Scheme, value: T) -> u8 {
        let x = value.to_f32();
        let quotient = match self {
            Self::Zero => return 0,
            // The NaN that an operation makes has the sign that x86 gives it, which depends on the
            // machine and is written out therefore.
            Self::ZeroKept if x == 0.0 => -f32::NAN,
            Self::ZeroKept if x.is_nan() => x,
            Self::ZeroKept => f32::INFINITY.copysign(x),
            Self::By(scale) => x / scale,
            Self::Times(reciprocal) => x * reciprocal,
        };
        let quotient = match scheme.intermediate {
            Intermediate::ScalesAndQuotients => T::from_f32(quotient).to_f32(),
            Intermediate::F32 | Intermediate::Scales => quotient,
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
    let divisor = Divisor::new(format, scheme, scale, global);
    let stride = format.code_stride();
    for (value, col) in values.iter().zip(first..) {
        let code = divisor.code(format, scheme, *value);
        if stride == 8 {
            row[col] = code;
        } else {
            bits::put(row, stride, col, code);
        }
    }
}
