//! One block format to another on the codes themselves.
//!
//! | from | to | codes | function |
//! |------|----|-------|----------|
//! | MXFP4 | NVFP4 | unchanged where the scale is in range | [`Mxfp4ToNvfp4`] |
//! | MXFP4 | FP8 128x128 | exact where the scales of a block are near each other | [`mxfp4_to_fp8_block`] |
//! | NVFP4 | FP8 128x128 UE8M0 | as decoding and encoding gives them | [`nvfp4_to_fp8_block_ue8m0`] |
//! | NVFP4 with a multiplier | NVFP4 with a divisor, and back | unchanged | [`invert_global_scale`] |
//! | one code a byte | dense codes, and back | moved | [`repack_codes`] |
//! | one scale a tensor | a grid of blocks | unchanged | [`spread_tensor_scale`] |
//! | scales of any type | F32 scales | unchanged | [`widen_scales`] |
//! | scales that are powers of two | UE8M0 | unchanged | [`narrow_scales_to_e8m0`] |
//! | float scales | powers of two | changed where the scale grows | [`round_scales_up_to_pow2`] |

mod mxfp4_to_fp8;
mod mxfp4_to_nvfp4;
mod nvfp4_to_fp8;
mod packing;
mod pow2;
mod scales;

use std::fmt;

pub use mxfp4_to_fp8::{Mxfp4ToFp8, mxfp4_to_fp8_block};
pub use mxfp4_to_nvfp4::{Mxfp4ToNvfp4, Nvfp4Blocks};
pub use nvfp4_to_fp8::nvfp4_to_fp8_block_ue8m0;
pub use packing::repack_codes;
pub use pow2::round_scales_up_to_pow2;
pub use scales::{
    InvertedScale, invert_global_scale, narrow_scales_to_e8m0, spread_tensor_scale, widen_scales,
};

use crate::{Format, LenMismatch};

/// Why codes or scales could not be carried over.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum TranscodeError {
    /// A slice is not as long as the shape asks for.
    Len(LenMismatch),
    /// The step does not lead from one format to the other.
    Formats {
        /// The format of the input.
        from: Format,
        /// The format asked for.
        to: Format,
    },
    /// A scale that is negative, infinite or NaN: no power of two stands for it.
    Scale {
        /// Which scale of the run, counted row by row.
        index: usize,
        /// Its value.
        value: f32,
    },
    /// A scale that must be a power of two and is not.
    NotPowerOfTwo {
        /// Which scale of the run, counted row by row.
        index: usize,
        /// Its value.
        value: f32,
    },
}

impl fmt::Display for TranscodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Len(error) => error.fmt(f),
            Self::Formats { from, to } => write!(
                f,
                "`{from}` cannot become `{to}` by this step: rounding scales up needs the same 8-bit \
                 element and block, no global scale, and UE8M0 or F32 scales to write; decode and \
                 encode instead"
            ),
            Self::Scale { index, value } => write!(
                f,
                "scale {index} is {value}, and no power of two stands for that; decode the source \
                 to see which values it spoils"
            ),
            Self::NotPowerOfTwo { index, value } => write!(
                f,
                "scale {index} is {value:e}, which UE8M0 cannot hold; requantise its block with a \
                 power of two as scale"
            ),
        }
    }
}

impl core::error::Error for TranscodeError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Len(error) => Some(error),
            Self::Formats { .. } | Self::Scale { .. } | Self::NotPowerOfTwo { .. } => None,
        }
    }
}

impl From<LenMismatch> for TranscodeError {
    fn from(error: LenMismatch) -> Self {
        Self::Len(error)
    }
}
