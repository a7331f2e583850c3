//! Scales chosen by the error that they leave.

use super::policy::Divisor;
use crate::encode::{ErrorMeasure, Scheme, round_scale, unrounded_scale};
use crate::{Format, Real, ScaleElement};

/// The better of two scales, the first where they tie.
pub(super) fn four_over_six<'a, T: Real>(
    format: &Format,
    scheme: &Scheme,
    measure: ErrorMeasure,
    amax: f32,
    global: f32,
    rows: &(impl Iterator<Item = &'a [T]> + Clone),
) -> f32 {
    let six = unrounded_scale::<T>(format, scheme, amax, global);
    let candidates = [six, six * 1.5];
    let candidates = candidates.map(|scale| round_scale(format, scheme, amax, global, scale));
    least(candidates, |scale| {
        error(format, scheme, measure, scale, global, rows.clone())
    })
}

/// The candidate of [`ScaleRule::MseSearch`](crate::encode::ScaleRule::MseSearch) with the smallest
/// squared error.
pub(super) fn least_square<'a, T: Real>(
    format: &Format,
    scheme: &Scheme,
    amax: f32,
    global: f32,
    rows: &(impl Iterator<Item = &'a [T]> + Clone),
) -> f32 {
    let first = unrounded_scale::<T>(format, scheme, amax, global);
    let round = |scale| round_scale(format, scheme, amax, global, scale);
    let error = |scale| {
        let measure = ErrorMeasure::Squared;
        error(format, scheme, measure, scale, global, rows.clone())
    };
    if format.scale == ScaleElement::E8m0Fnu {
        return least([1.0, 0.5, 0.25].map(|part| round(first * part)), error);
    }
    let others = (16..=48_u8).map(|part| round(first * (f32::from(part) / 32.0)));
    least(core::iter::once(round(first)).chain(others), error)
}

/// The first of the candidates that no other is below.
fn least(candidates: impl IntoIterator<Item = f32>, error: impl Fn(f32) -> f64) -> f32 {
    let (mut best, mut smallest) = (f32::NAN, f64::INFINITY);
    for candidate in candidates {
        let error = error(candidate);
        if best.is_nan() || error < smallest {
            (best, smallest) = (candidate, error);
        }
    }
    best
}

fn error<'a, T: Real>(
    format: &Format,
    scheme: &Scheme,
    measure: ErrorMeasure,
    scale: f32,
    global: f32,
    rows: impl Iterator<Item = &'a [T]>,
) -> f64 {
    let divisor = Divisor::new(format, scheme, scale, global);
    let effective = format.combine(scale, global);
    let finite = rows.flatten().filter(|value| value.to_f32().is_finite());
    finite.fold(0.0, |sum, value| {
        let code = divisor.code(format, scheme, *value);
        let decoded = format.element.decode(code) * effective;
        let difference = f64::from(decoded) - f64::from(value.to_f32());
        sum + match measure {
            ErrorMeasure::Absolute => difference.abs(),
            ErrorMeasure::Squared => difference * difference,
        }
    })
}
