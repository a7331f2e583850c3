//! What `config.json` and `hf_quant_config.json` say about quantisation.

use serde_json::Value;

use crate::checkpoint::Checkpoint;

/// The few facts of a quantisation config that the bytes cannot show.
///
/// Tensors are trusted over the configuration wherever both speak.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuantConfig {
    /// `quantization_config.quant_method`, such as `fp8` or `modelopt`.
    pub method: Option<String>,
    /// `quant_algo` of ModelOpt, such as `NVFP4`.
    pub algo: Option<String>,
    /// `weight_block_size`: rows and columns of an FP8 block.
    pub block: Option<[usize; 2]>,
    /// Whether any key speaks of a 4-bit float format, so that bytes may be codes.
    pub has_fp4: bool,
}

impl QuantConfig {
    /// Reads it from either file; the config's own section comes first.
    pub fn of(checkpoint: &Checkpoint) -> Self {
        let section = checkpoint.config.as_ref().and_then(|c| {
            c.get("quantization_config")
                .or_else(|| c.get("compression_config"))
        });
        let modelopt = checkpoint
            .hf_quant_config
            .as_ref()
            .and_then(|c| c.get("quantization"));
        let text = |key: &str| {
            [section, modelopt]
                .into_iter()
                .flatten()
                .find_map(|v| v.get(key)?.as_str().map(str::to_owned))
        };
        Self {
            method: text("quant_method"),
            algo: text("quant_algo"),
            block: section.and_then(|v| block_size(v.get("weight_block_size")?)),
            has_fp4: FP4_KEYS
                .iter()
                .filter_map(|key| text(key))
                .any(|v| is_fp4(&v))
                || checkpoint.config.as_ref().is_some_and(expert_dtype_is_fp4),
        }
    }

    /// Whether the checkpoint says that it is quantised at all.
    pub fn is_quantised(&self) -> bool {
        self.method.is_some() || self.algo.is_some()
    }
}

/// Keys under which tools name a format: ModelOpt's three, compressed-tensors' one.
const FP4_KEYS: [&str; 4] = ["quant_method", "quant_algo", "moe_quant_algo", "format"];

fn is_fp4(word: &str) -> bool {
    let word = word.to_ascii_lowercase();
    word.contains("nvfp4") || word.contains("mxfp4")
}

/// DeepSeek-V4 names the format of its experts apart from that of the rest.
fn expert_dtype_is_fp4(config: &Value) -> bool {
    config.get("expert_dtype").and_then(Value::as_str) == Some("fp4")
}

fn block_size(value: &Value) -> Option<[usize; 2]> {
    let side = |i: usize| {
        let n = usize::try_from(value.get(i)?.as_u64()?).ok()?;
        (n > 0).then_some(n)
    };
    (value.as_array()?.len() == 2).then_some([side(0)?, side(1)?])
}
