//! What a block format is made of, as a value, and the sizes that follow from it.

mod geometry;
mod parts;

use std::fmt;

pub use geometry::Shape;
pub use parts::{Block, Element, GlobalScale, ScaleElement};

/// A block format: what the codes are, what one scale covers, what a scale is, and the level above
/// it.
///
/// Codes lie row by row. Two E2M1 codes share a byte, the even column in the low four bits. Scales
/// lie row by row as well, in little-endian bytes, one for each block of the grid; blocks at the
/// right and bottom edge cover what is there.
///
/// The fields are public: any combination is a format that can be decoded and encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// Type of the codes.
    pub element: Element,
    /// What one scale covers.
    pub block: Block,
    /// Type of the scales.
    pub scale: ScaleElement,
    /// The scale of the whole tensor, where there is one, and how it is applied.
    pub global: GlobalScale,
}

impl Format {
    /// NVIDIA's FP4: E2M1, one E4M3 scale for 16 columns, and an F32 that multiplies (ModelOpt's
    /// `weight_scale_2`).
    pub const NVFP4: Self = Self {
        element: Element::E2m1,
        block: Block::Grid { rows: 1, cols: 16 },
        scale: ScaleElement::E4m3Fn,
        global: GlobalScale::Multiplier,
    };

    /// [`NVFP4`](Self::NVFP4) with an F32 that divides (compressed-tensors' `weight_global_scale`).
    pub const NVFP4_DIVISOR: Self = Self {
        global: GlobalScale::Divisor,
        ..Self::NVFP4
    };

    /// OCP MXFP4: E2M1, one power of two for 32 columns.
    pub const MXFP4: Self = Self {
        element: Element::E2m1,
        block: Block::Grid { rows: 1, cols: 32 },
        scale: ScaleElement::E8m0Fnu,
        global: GlobalScale::None,
    };

    /// OCP MXFP8 with E4M3 elements.
    pub const MXFP8_E4M3: Self = Self {
        element: Element::E4m3Fn,
        ..Self::MXFP4
    };

    /// OCP MXFP8 with E5M2 elements.
    pub const MXFP8_E5M2: Self = Self {
        element: Element::E5m2,
        ..Self::MXFP4
    };

    /// E4M3 with one F32 scale for 128 x 128 elements (DeepSeek-V3's `weight_scale_inv`, which
    /// multiplies).
    pub const FP8_BLOCK: Self = Self {
        element: Element::E4m3Fn,
        block: Block::Grid {
            rows: 128,
            cols: 128,
        },
        scale: ScaleElement::F32,
        global: GlobalScale::None,
    };

    /// [`FP8_BLOCK`](Self::FP8_BLOCK) with powers of two as scales (DeepSeek-V4's `.scale`).
    pub const FP8_BLOCK_UE8M0: Self = Self {
        scale: ScaleElement::E8m0Fnu,
        ..Self::FP8_BLOCK
    };

    /// E4M3 with one F32 scale for each row, that is, output channel.
    pub const FP8_CHANNEL: Self = Self {
        block: Block::Row,
        ..Self::FP8_BLOCK
    };

    /// E4M3 with one F32 scale for the whole tensor.
    pub const FP8_TENSOR: Self = Self {
        block: Block::Tensor,
        ..Self::FP8_BLOCK
    };

    /// The scale that elements are multiplied by, from the bytes of a block's scale and the global
    /// one.
    pub(crate) fn effective_scale(&self, scale: &[u8], global: f32) -> f32 {
        let scale = self.scale.decode(scale);
        match self.global {
            GlobalScale::None => scale,
            GlobalScale::Multiplier => scale * global,
            GlobalScale::Divisor => scale / global,
        }
    }
}

/// The usual name, `NVFP4` or `FP8 128x128 UE8M0`; for a format without one, its parts.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Self::NVFP4 => "NVFP4",
            Self::NVFP4_DIVISOR => "NVFP4 (divisor)",
            Self::MXFP4 => "MXFP4",
            Self::MXFP8_E4M3 => "MXFP8 E4M3",
            Self::MXFP8_E5M2 => "MXFP8 E5M2",
            Self::FP8_BLOCK => "FP8 128x128",
            Self::FP8_BLOCK_UE8M0 => "FP8 128x128 UE8M0",
            Self::FP8_CHANNEL => "FP8 per channel",
            Self::FP8_TENSOR => "FP8 per tensor",
            Self {
                element,
                block,
                scale,
                global,
            } => {
                return write!(f, "{element} {block}, {scale} scale{global}");
            }
        };
        f.pad(name)
    }
}
