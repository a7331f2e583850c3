//! Which tool's conventions a checkpoint follows.
//!
//! A dialect is how a tool names the parts of a weight and describes them in the
//! config. The config announces it; the tensors decide: a weight is read by the
//! names and dtypes that stand in the file, whatever the config says.

mod detect;
mod spelling;
mod written;

pub(crate) use spelling::{SPELLINGS, Spelling};
pub(crate) use written::{BlockAxis, RowScale, Written};

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A tool's conventions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Dialect {
    /// NVIDIA ModelOpt: `weight`, `weight_scale`, `weight_scale_2` (a multiplier).
    Modelopt,
    /// compressed-tensors and llm-compressor: `weight_packed`, `weight_scale`,
    /// `weight_global_scale` (a divisor).
    CompressedTensors,
    /// DeepSeek: `weight` with `weight_scale_inv` or `.scale`, both multipliers.
    Deepseek,
    /// gpt-oss: `_blocks` and `_scales`, stacked experts.
    GptOss,
    /// AMD Quark: `weight` and `weight_scale` in bytes.
    Quark,
    /// torchao: tensors of a subclass, flattened.
    Torchao,
    /// MLX: `weight` in 32-bit words, `scales`, `biases`.
    Mlx,
    /// AutoAWQ: `qweight`, `qzeros`, `scales`.
    Awq,
    /// GPTQ: the same names in another order, with `g_idx`.
    Gptq,
    /// GGUF: scales inside the blocks.
    Gguf,
}

impl Dialect {
    /// Every dialect that can be written.
    pub const WRITTEN: [Self; 4] = [
        Self::Modelopt,
        Self::CompressedTensors,
        Self::Deepseek,
        Self::GptOss,
    ];

    /// The name in recipes and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Modelopt => "modelopt",
            Self::CompressedTensors => "compressed-tensors",
            Self::Deepseek => "deepseek",
            Self::GptOss => "gpt-oss",
            Self::Quark => "quark",
            Self::Torchao => "torchao",
            Self::Mlx => "mlx",
            Self::Awq => "awq",
            Self::Gptq => "gptq",
            Self::Gguf => "gguf",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A word that names no dialect that can be written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no dialect that can be written; there are modelopt, compressed-tensors, deepseek and gpt-oss"
)]
pub struct UnknownDialect(pub String);

impl FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(text: &str) -> Result<Self, UnknownDialect> {
        Self::WRITTEN
            .into_iter()
            .find(|d| d.name() == text)
            .ok_or_else(|| UnknownDialect(text.to_owned()))
    }
}
