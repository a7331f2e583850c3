//! Codes to numbers.

use super::vector::Simd128;
use crate::arch::vector;
use crate::decode::Rows;
use crate::{Format, Real, Shape};

pub(in crate::arch) fn decode_rows<T: Real>(
    format: &Format,
    shape: Shape,
    rows: Rows<'_>,
    out: &mut [T],
) {
    vector::decode::decode_rows(Simd128, format, shape, rows, out);
}
