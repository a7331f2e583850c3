//! Numbers of one type to another.

use crate::Real;

pub(crate) fn widen<T: Real>(values: &[T], out: &mut [f32]) {
    for (out, value) in out.iter_mut().zip(values) {
        *out = value.to_f32();
    }
}

pub(crate) fn narrow<T: Real>(values: &[f32], out: &mut [T]) {
    for (out, value) in out.iter_mut().zip(values) {
        *out = T::from_f32(*value);
    }
}
