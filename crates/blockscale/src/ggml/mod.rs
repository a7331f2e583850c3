//! Weights as ggml and GGUF files hold them: blocks of scales and codes in one.
//!
//! The other modules work on planes, codes apart from scales, with the even column in the low half
//! of a byte. ggml puts the scale of a block before its codes, and the *first half* of a block in
//! the low halves of its bytes, so that neither the codes nor the scales of one can be read as
//! those of the other. [`decode_rows`] and [`encode_rows`] turn blocks to numbers and back;
//! [`pack_mxfp4`], [`unpack_mxfp4`], [`pack_nvfp4`] and [`unpack_nvfp4`] move codes and scales between
//! blocks and planes, which loses nothing.
//!
//! | type | id | elements | bytes | of a block |
//! |------|----|----------|-------|------------|
//! | [`F32`](GgmlType::F32) | 0 | 1 | 4 | |
//! | [`F16`](GgmlType::F16) | 1 | 1 | 2 | |
//! | [`Q4_0`](GgmlType::Q4_0) | 2 | 32 | 18 | f16 `d`; 16 bytes of codes: `(q - 8) * d` |
//! | [`Q8_0`](GgmlType::Q8_0) | 8 | 32 | 34 | f16 `d`; 32 signed bytes: `q * d` |
//! | [`Bf16`](GgmlType::Bf16) | 30 | 1 | 2 | |
//! | [`Mxfp4`](GgmlType::Mxfp4) | 39 | 32 | 17 | UE8M0; 16 bytes of E2M1 codes |
//! | [`Nvfp4`](GgmlType::Nvfp4) | 40 | 64 | 36 | 4 UE4M3; for each of these 8 bytes of E2M1 codes |
//!
//! All numbers are little-endian. Code 8 of E2M1 is +0 here, since ggml decodes through a table of
//! integers. A tensor of NVFP4 may have an F32 scale beside it (`<name>.scale`), which ggml applies
//! after the product and [`decode_rows`] does not apply.

mod blocks;
mod decode;
mod encode;
mod repack;
mod steps;
mod ue4m3;

use std::fmt;

pub use decode::decode_rows;
pub use encode::encode_rows;
pub use repack::{pack_mxfp4, pack_nvfp4, unpack_mxfp4, unpack_nvfp4};
pub use steps::GgmlSteps;
pub use ue4m3::{ue4m3_from_f32, ue4m3_to_f32};

use crate::LenMismatch;

/// The tensor types of ggml that this crate reads and writes.
///
/// ```
/// use blockscale::ggml::GgmlType;
///
/// // A row of 4096 columns.
/// assert_eq!(GgmlType::Mxfp4.row_bytes(4096), Some(4096 / 32 * 17));
/// assert_eq!(GgmlType::Nvfp4.row_bytes(32), None); // half a block
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GgmlType {
    /// Plain `f32`.
    F32,
    /// Plain IEEE half.
    F16,
    /// 4-bit integers less 8, one f16 scale for 32.
    Q4_0,
    /// 8-bit integers, one f16 scale for 32.
    Q8_0,
    /// Plain `bf16`.
    Bf16,
    /// E2M1, one UE8M0 scale for 32.
    Mxfp4,
    /// E2M1, one UE4M3 scale for 16, 64 a block.
    Nvfp4,
}

impl GgmlType {
    /// All of them, in the order of their ids.
    pub const ALL: [Self; 7] = [
        Self::F32,
        Self::F16,
        Self::Q4_0,
        Self::Q8_0,
        Self::Bf16,
        Self::Mxfp4,
        Self::Nvfp4,
    ];

    /// The type with this id in `enum ggml_type`, `None` for one that this crate does not know.
    ///
    /// ```
    /// use blockscale::ggml::GgmlType;
    ///
    /// assert_eq!(GgmlType::from_id(39), Some(GgmlType::Mxfp4));
    /// assert_eq!(GgmlType::from_id(12), None); // Q4_K
    /// ```
    pub fn from_id(id: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.id() == id)
    }

    /// The id in `enum ggml_type`, which a GGUF file stores.
    pub const fn id(self) -> u32 {
        match self {
            Self::F32 => 0,
            Self::F16 => 1,
            Self::Q4_0 => 2,
            Self::Q8_0 => 8,
            Self::Bf16 => 30,
            Self::Mxfp4 => 39,
            Self::Nvfp4 => 40,
        }
    }

    /// Elements of a block. Rows are a whole number of blocks.
    pub const fn block_len(self) -> usize {
        match self {
            Self::F32 | Self::F16 | Self::Bf16 => 1,
            Self::Q4_0 | Self::Q8_0 | Self::Mxfp4 => 32,
            Self::Nvfp4 => 64,
        }
    }

    /// Bytes of a block.
    pub const fn block_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
            Self::Q4_0 => 18,
            Self::Q8_0 => 34,
            Self::Mxfp4 => 17,
            Self::Nvfp4 => 36,
        }
    }

    /// Bytes of a row, `None` where `cols` is no whole number of blocks or the bytes overflow.
    ///
    /// ```
    /// use blockscale::ggml::GgmlType;
    ///
    /// assert_eq!(GgmlType::Nvfp4.row_bytes(128), Some(72));
    /// assert_eq!(GgmlType::Nvfp4.row_bytes(96), None);
    /// ```
    pub const fn row_bytes(self, cols: usize) -> Option<usize> {
        if !cols.is_multiple_of(self.block_len()) {
            return None;
        }
        (cols / self.block_len()).checked_mul(self.block_bytes())
    }

    /// The name that ggml prints, such as `Q8_0`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "F32",
            Self::F16 => "F16",
            Self::Q4_0 => "Q4_0",
            Self::Q8_0 => "Q8_0",
            Self::Bf16 => "BF16",
            Self::Mxfp4 => "MXFP4",
            Self::Nvfp4 => "NVFP4",
        }
    }
}

impl fmt::Display for GgmlType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Why rows could not be read or written as ggml blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GgmlError {
    /// A slice is not as long as the shape asks for.
    Len(LenMismatch),
    /// A row is no whole number of blocks.
    Cols {
        /// The type.
        ty: GgmlType,
        /// The columns of a row.
        cols: usize,
    },
}

impl fmt::Display for GgmlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Len(error) => error.fmt(f),
            Self::Cols { ty, cols } => write!(
                f,
                "rows of {cols} columns cannot be `{ty}`, whose blocks hold {}; store this tensor \
                 in a type without blocks, such as `BF16`",
                ty.block_len()
            ),
        }
    }
}

impl core::error::Error for GgmlError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Len(error) => Some(error),
            Self::Cols { .. } => None,
        }
    }
}

impl From<LenMismatch> for GgmlError {
    fn from(error: LenMismatch) -> Self {
        Self::Len(error)
    }
}
