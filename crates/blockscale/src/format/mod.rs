//! What a block format is made of, as a value, and the sizes that follow from it.

mod geometry;
mod parts;

use std::fmt;

use crate::real::{product, quotient};

pub use geometry::Shape;
pub use parts::{Block, Element, GlobalScale, Packing, ScaleElement};

/// A block format: what the codes are, what one scale covers, what a scale is, and the level above
/// it.
///
/// Codes lie row by row, packed as [`Packing`] says. Scales lie row by row as well, in little-endian
/// bytes, one for each block of the grid; blocks at the right and bottom edge cover what is there.
///
/// The fields are public: any combination is a format that can be decoded and encoded.
///
/// ```
/// use blockscale::format::Format;
/// use blockscale::{ScaleElement, Shape};
///
/// // compressed-tensors stores FP8 block scales in the type of the model.
/// let format = Format { scale: ScaleElement::Bf16, ..Format::FP8_BLOCK };
/// assert_eq!(format.scale_bytes(Shape::new(256, 256)), Some(2 * 2 * 2));
/// assert_eq!(format.to_string(), "E4M3 128x128, BF16 scale");
/// assert_eq!(Format::FP8_BLOCK.to_string(), "FP8 128x128");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format {
    /// Type of the codes.
    pub element: Element,
    /// How they lie in bytes.
    pub packing: Packing,
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
        packing: Packing::Dense,
        block: Block::Grid { rows: 1, cols: 16 },
        scale: ScaleElement::E4m3Fn,
        global: GlobalScale::Multiplier,
    };

    /// [`NVFP4`](Self::NVFP4) with an F32 that divides (compressed-tensors' `weight_global_scale`).
    pub const NVFP4_DIVISOR: Self = Self {
        global: GlobalScale::Divisor,
        ..Self::NVFP4
    };

    /// [`NVFP4`](Self::NVFP4) without a scale of the tensor (torchao's one-level form, MLX).
    pub const NVFP4_ONE_LEVEL: Self = Self {
        global: GlobalScale::None,
        ..Self::NVFP4
    };

    /// OCP MXFP4: E2M1, one power of two for 32 columns.
    pub const MXFP4: Self = Self {
        element: Element::E2m1,
        packing: Packing::Dense,
        block: Block::Grid { rows: 1, cols: 32 },
        scale: ScaleElement::E8m0Fnu,
        global: GlobalScale::None,
    };

    /// OCP MXFP6 with E2M3 elements, four codes in three bytes (compressed-tensors, Quark).
    pub const MXFP6_E2M3: Self = Self {
        element: Element::E2m3,
        ..Self::MXFP4
    };

    /// OCP MXFP6 with E3M2 elements, four codes in three bytes (Quark).
    pub const MXFP6_E3M2: Self = Self {
        element: Element::E3m2,
        ..Self::MXFP4
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
        packing: Packing::Dense,
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

    /// E4M3 with one F32 scale for 128 columns of a row (DeepSeek's activations).
    pub const FP8_TOKEN: Self = Self {
        block: Block::Grid { rows: 1, cols: 128 },
        ..Self::FP8_BLOCK
    };

    /// [`FP8_TOKEN`](Self::FP8_TOKEN) with powers of two as scales.
    pub const FP8_TOKEN_UE8M0: Self = Self {
        scale: ScaleElement::E8m0Fnu,
        ..Self::FP8_TOKEN
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

    /// The same format with codes packed as `packing` says.
    ///
    /// ```
    /// use blockscale::format::Packing;
    /// use blockscale::Format;
    ///
    /// assert_eq!(Format::MXFP6_E2M3.row_bytes(32), 24);
    /// assert_eq!(Format::MXFP6_E2M3.packed(Packing::Bytes).row_bytes(32), 32);
    /// ```
    pub const fn packed(self, packing: Packing) -> Self {
        Self { packing, ..self }
    }

    /// The scale that elements are multiplied by, from the little-endian bytes of a block's scale and
    /// the global one; NaN where `scale` does not have the bytes of one scale.
    ///
    /// ```
    /// use blockscale::Format;
    ///
    /// assert_eq!(Format::NVFP4.effective_scale(&[0x40], 0.25), 0.5);
    /// assert_eq!(Format::NVFP4_DIVISOR.effective_scale(&[0x40], 4.0), 0.5);
    /// assert_eq!(Format::MXFP4.effective_scale(&[120], f32::NAN), 0.0078125);
    /// ```
    pub fn effective_scale(&self, scale: &[u8], global: f32) -> f32 {
        self.combine(self.scale.decode(scale), global)
    }

    /// The scales of both levels as one.
    pub(crate) fn combine(&self, scale: f32, global: f32) -> f32 {
        match self.global {
            GlobalScale::None => scale,
            GlobalScale::Multiplier => product(scale, global),
            GlobalScale::Divisor => quotient(scale, global),
        }
    }
}

/// The usual name, `NVFP4` or `FP8 128x128 UE8M0`; for a format without one, its parts.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Self::NVFP4 => "NVFP4",
            Self::NVFP4_DIVISOR => "NVFP4 (divisor)",
            Self::NVFP4_ONE_LEVEL => "NVFP4 (one level)",
            Self::MXFP4 => "MXFP4",
            Self::MXFP6_E2M3 => "MXFP6 E2M3",
            Self::MXFP6_E3M2 => "MXFP6 E3M2",
            Self::MXFP8_E4M3 => "MXFP8 E4M3",
            Self::MXFP8_E5M2 => "MXFP8 E5M2",
            Self::FP8_BLOCK => "FP8 128x128",
            Self::FP8_BLOCK_UE8M0 => "FP8 128x128 UE8M0",
            Self::FP8_TOKEN => "FP8 1x128",
            Self::FP8_TOKEN_UE8M0 => "FP8 1x128 UE8M0",
            Self::FP8_CHANNEL => "FP8 per channel",
            Self::FP8_TENSOR => "FP8 per tensor",
            Self {
                element,
                packing,
                block,
                scale,
                global,
            } => {
                let gaps = match packing {
                    Packing::Bytes if element.bits() < 8 => ", one code a byte",
                    _ => "",
                };
                return write!(f, "{element} {block}, {scale} scale{global}{gaps}");
            }
        };
        f.pad(name)
    }
}
