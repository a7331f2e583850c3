//! 128-bit vectors of WebAssembly.

mod decode;
mod vector;

use super::{ByteKernels, Kernels};
use crate::Real;

impl<T: Real> Kernels<T> {
    pub(super) const SIMD128: Self = Self {
        decode_rows: decode::decode_rows,
        ..Self::SCALAR
    };
}

impl ByteKernels {
    pub(super) const SIMD128: Self = Self { ..Self::SCALAR };
}
