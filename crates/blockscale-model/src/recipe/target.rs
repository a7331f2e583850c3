//! Output formats, as recipes and `--to` name them.

use std::fmt;
use std::str::FromStr;

use blockscale::format::Format;
use safetensors::Dtype;
use serde::{Deserialize, Serialize};

/// What a weight becomes.
///
/// | word | what it writes |
/// | --- | --- |
/// | `keep` | the bytes that are there |
/// | `bf16`, `f16`, `f32` | plain numbers |
/// | `fp8-block`, `fp8-block-ue8m0` | E4M3 in blocks of 128 x 128, with F32 or power-of-two scales |
/// | `fp8-channel`, `fp8-tensor` | E4M3 with one scale a row, or for all |
/// | `nvfp4`, `mxfp4` | E2M1 in blocks of 16 or 32 columns |
/// | `mxfp8` | E4M3 in blocks of 32 columns |
/// | `int4`, `int8` | integers in groups of columns, or one group a row |
///
/// MXFP6 is read and not written: the loaders that are known take it in AMD Quark's files only,
/// whose config is not written here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// Stays as it is, byte for byte.
    Keep,
    /// BF16 numbers.
    Bf16,
    /// F16 numbers.
    F16,
    /// F32 numbers.
    F32,
    /// E4M3 in 128x128 blocks with F32 scales.
    Fp8Block,
    /// E4M3 in 128x128 blocks with power-of-two (E8M0) scales.
    #[serde(rename = "fp8-block-ue8m0")]
    Fp8BlockUe8m0,
    /// E4M3 with one scale for each row.
    Fp8Channel,
    /// E4M3 with one scale for the tensor.
    Fp8Tensor,
    /// E2M1 in blocks of 16 with E4M3 scales and a global scale.
    Nvfp4,
    /// E2M1 in blocks of 32 with E8M0 scales.
    Mxfp4,
    /// E4M3 in blocks of 32 with E8M0 scales.
    Mxfp8,
    /// Integers of 4 bits in groups of columns, 128 unless the rule says otherwise.
    Int4,
    /// Integers of 8 bits with one scale a row, or in groups where the rule says so.
    Int8,
}

impl Target {
    /// Every target that changes a weight.
    pub const CONVERSIONS: [Self; 12] = [
        Self::Bf16,
        Self::F16,
        Self::F32,
        Self::Fp8Block,
        Self::Fp8BlockUe8m0,
        Self::Fp8Channel,
        Self::Fp8Tensor,
        Self::Nvfp4,
        Self::Mxfp4,
        Self::Mxfp8,
        Self::Int4,
        Self::Int8,
    ];

    /// The name used in recipes and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keep => "keep",
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
            Self::F32 => "f32",
            Self::Fp8Block => "fp8-block",
            Self::Fp8BlockUe8m0 => "fp8-block-ue8m0",
            Self::Fp8Channel => "fp8-channel",
            Self::Fp8Tensor => "fp8-tensor",
            Self::Nvfp4 => "nvfp4",
            Self::Mxfp4 => "mxfp4",
            Self::Mxfp8 => "mxfp8",
            Self::Int4 => "int4",
            Self::Int8 => "int8",
        }
    }

    /// The block format written, for targets that have one. A dialect may write
    /// it with the global scale inverted or with scales of another float type.
    pub fn format(self) -> Option<Format> {
        match self {
            Self::Keep | Self::Bf16 | Self::F16 | Self::F32 | Self::Int4 | Self::Int8 => None,
            Self::Fp8Block => Some(Format::FP8_BLOCK),
            Self::Fp8BlockUe8m0 => Some(Format::FP8_BLOCK_UE8M0),
            Self::Fp8Channel => Some(Format::FP8_CHANNEL),
            Self::Fp8Tensor => Some(Format::FP8_TENSOR),
            Self::Nvfp4 => Some(Format::NVFP4),
            Self::Mxfp4 => Some(Format::MXFP4),
            Self::Mxfp8 => Some(Format::MXFP8_E4M3),
        }
    }

    /// Bits of an integer, for targets that are integers in groups.
    pub fn int_bits(self) -> Option<u8> {
        match self {
            Self::Int4 => Some(4),
            Self::Int8 => Some(8),
            _ => None,
        }
    }

    /// The dtype written, for targets without scales.
    pub fn plain_dtype(self) -> Option<Dtype> {
        match self {
            Self::Bf16 => Some(Dtype::BF16),
            Self::F16 => Some(Dtype::F16),
            Self::F32 => Some(Dtype::F32),
            _ => None,
        }
    }

    /// Whether it writes numbers without scales.
    pub fn is_plain(self) -> bool {
        self.plain_dtype().is_some()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no output format; there are {names}", names = names())]
pub struct UnknownTarget(pub String);

fn names() -> String {
    Target::CONVERSIONS.map(Target::name).join(", ")
}

impl FromStr for Target {
    type Err = UnknownTarget;

    fn from_str(text: &str) -> Result<Self, UnknownTarget> {
        Self::CONVERSIONS
            .into_iter()
            .find(|t| t.name() == text)
            .ok_or_else(|| UnknownTarget(text.to_owned()))
    }
}
