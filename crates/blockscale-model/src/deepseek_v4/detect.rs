//! Telling DeepSeek-V4 from its relatives.

use serde_json::Value;

use super::arch::DeepSeekV4;

/// Which architecture a `config.json` announces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Detection {
    /// DeepSeek-V4.
    V4,
    /// A relative of DeepSeek-V4 that must not be treated as one.
    Unsupported {
        /// The `model_type` found.
        model_type: String,
        /// What is different about it.
        reason: &'static str,
    },
    /// Another model, or none named.
    Other,
}

const V41_REASON: &str = "DeepSeek-V4.1 differs from V4 in ways that a conversion for V4 would get \
     wrong: 32x32 FP8 blocks, compression ratios 0, 1 and 2, compressors shared between layers, \
     Engram tables";
const RELATIVE_REASON: &str = "only DeepSeek-V4 itself is known; the names and shapes of this \
     relative are not";

impl DeepSeekV4 {
    /// Which architecture `config` announces, by `model_type`, else by `architectures`.
    pub fn detect(config: &Value) -> Detection {
        let announced = config["model_type"].as_str();
        let Some(model_type) = announced.or_else(|| config["architectures"][0].as_str()) else {
            return Detection::Other;
        };
        let folded = model_type.to_ascii_lowercase().replace(['_', '-', '.'], "");
        let Some(rest) = folded.strip_prefix("deepseekv4") else {
            return Detection::Other;
        };
        let reason = match rest {
            "" | "forcausallm" => return Detection::V4,
            _ if rest.starts_with('1') => V41_REASON,
            _ => RELATIVE_REASON,
        };
        Detection::Unsupported {
            model_type: model_type.to_owned(),
            reason,
        }
    }
}
