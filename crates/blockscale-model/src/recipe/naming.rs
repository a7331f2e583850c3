//! How a recipe spells the names that it writes.

use serde::Deserialize;

use crate::deepseek_v4::Spelling;

/// How output names are spelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Naming {
    /// As the source spells them.
    #[default]
    Keep,
    /// The native names of the DeepSeek-V4 releases, whatever the source's spelling.
    DeepseekV4,
    /// DeepSeek-V4 as transformers saves it by default: native modules under `model.`.
    DeepseekV4HalfNative,
    /// DeepSeek-V4 in Hugging Face names with stacked experts, as transformers has it.
    DeepseekV4Hf,
    /// DeepSeek-V4 in Hugging Face names, one tensor an expert, as llm-compressor writes it.
    DeepseekV4HfPerExpert,
    /// DeepSeek-V4 as ModelOpt exports it.
    DeepseekV4Modelopt,
}

impl Naming {
    /// The spelling of DeepSeek-V4 names that it stands for.
    pub fn spelling(self) -> Option<Spelling> {
        match self {
            Self::Keep => None,
            Self::DeepseekV4 => Some(Spelling::Native),
            Self::DeepseekV4HalfNative => Some(Spelling::HalfNative),
            Self::DeepseekV4Hf => Some(Spelling::Hf),
            Self::DeepseekV4HfPerExpert => Some(Spelling::HfPerExpert),
            Self::DeepseekV4Modelopt => Some(Spelling::Modelopt),
        }
    }
}
