//! Codes to numbers.

use super::Avx2;
use crate::arch::vector;
use crate::decode::Rows;
use crate::{Format, Real, Shape};

#[target_feature(enable = "avx2,f16c")]
pub(in crate::arch) fn decode_rows<T: Real>(
    format: &Format,
    shape: Shape,
    rows: Rows<'_>,
    out: &mut [T],
) {
    vector::decode::decode_rows(Avx2::new(), format, shape, rows, out);
}
