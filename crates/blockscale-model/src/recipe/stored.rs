//! Ways of storing a weight, as rules tell them apart.

use blockscale::format::{Element, ScaleElement};
use serde::{Deserialize, Serialize};

use crate::catalog::Encoding;

/// Ways a weight may be stored, as `stored` and `accept` name them: `plain`, `nvfp4`, `mxfp4`,
/// `mxfp6`, `fp8` (MXFP8 too), `int`, `ggml` and `other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stored {
    /// F32, BF16 or F16 numbers.
    Plain,
    /// Any NVFP4.
    Nvfp4,
    /// MXFP4.
    Mxfp4,
    /// MXFP6 of either element.
    Mxfp6,
    /// FP8 with any scale.
    Fp8,
    /// Integers in groups: AWQ, GPTQ, compressed-tensors, ModelOpt, MLX.
    Int,
    /// Blocks of ggml, from a GGUF file.
    Ggml,
    /// Integers and everything else that is copied, never converted.
    Other,
}

impl Stored {
    /// Every kind.
    pub const ALL: [Self; 8] = [
        Self::Plain,
        Self::Nvfp4,
        Self::Mxfp4,
        Self::Mxfp6,
        Self::Fp8,
        Self::Int,
        Self::Ggml,
        Self::Other,
    ];

    /// The kind of an encoding.
    pub fn of(encoding: &Encoding) -> Self {
        match encoding {
            _ if encoding.is_plain_float() => Self::Plain,
            Encoding::Plain(_) => Self::Other,
            Encoding::Block(format) => match (format.element, format.scale) {
                (Element::E4m3Fn | Element::E4m3Fnuz | Element::E5m2, _) => Self::Fp8,
                (Element::E2m3 | Element::E3m2, _) => Self::Mxfp6,
                (Element::E2m1, ScaleElement::E4m3Fn) => Self::Nvfp4,
                (Element::E2m1, ScaleElement::E8m0Fnu) => Self::Mxfp4,
                _ => Self::Other,
            },
            Encoding::Grouped(_) => Self::Int,
            Encoding::Ggml(_) => Self::Ggml,
        }
    }

    /// The word that recipes use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Nvfp4 => "nvfp4",
            Self::Mxfp4 => "mxfp4",
            Self::Mxfp6 => "mxfp6",
            Self::Fp8 => "fp8",
            Self::Int => "int",
            Self::Ggml => "ggml",
            Self::Other => "other",
        }
    }
}
