//! AVX2 and F16C.

pub(super) mod amax;
pub(super) mod convert;
pub(super) mod decode;
mod eights;
pub(super) mod encode;
mod fp4;
mod fp8;
pub(super) mod layout;
mod quotients;
mod rounding;
pub(super) mod scales;
mod source;
pub(super) mod stats;
pub(super) mod transcode;
mod vector;
mod window;

use vector::Avx2;
