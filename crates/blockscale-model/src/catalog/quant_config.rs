//! What `config.json` and `hf_quant_config.json` say about quantisation.

use blockscale::format::Element;
use serde_json::Value;

use super::int_config::{IntConfig, six_bit_float};
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
    /// `weight_block_size` or `block_structure`: rows and columns of an FP8 block.
    pub block: Option<[usize; 2]>,
    /// Whether any key speaks of a 4-bit float format, so that bytes may be codes.
    pub has_fp4: bool,
    /// What it says of integers in groups.
    pub integers: IntConfig,
    /// The 6-bit float that it names, so that bytes may be codes of it.
    pub six_bit: Option<Element>,
}

impl QuantConfig {
    /// Reads it from either file; the config's own section comes first.
    pub fn of(checkpoint: &Checkpoint) -> Self {
        let config = checkpoint.config.as_ref();
        let section = config.and_then(|c| {
            c.get("quantization_config")
                .or_else(|| c.get("compression_config"))
        });
        let mlx = config.and_then(|c| c.get("quantization"));
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
            block: section.and_then(|v| {
                v.get("weight_block_size")
                    .and_then(block_size)
                    .or_else(|| group_block(v))
            }),
            has_fp4: FP4_KEYS
                .iter()
                .filter_map(|key| text(key))
                .any(|v| is_fp4(&v))
                || config.is_some_and(expert_dtype_is_fp4),
            integers: IntConfig::of(section, mlx, modelopt),
            six_bit: six_bit_float(section),
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

/// `block_structure` of compressed-tensors, where all groups agree.
fn group_block(section: &Value) -> Option<[usize; 2]> {
    let groups = section.get("config_groups")?.as_object()?;
    let mut blocks = groups
        .values()
        .filter_map(|g| block_size(g.get("weights")?.get("block_structure")?));
    let first = blocks.next()?;
    blocks.all(|block| block == first).then_some(first)
}

fn block_size(value: &Value) -> Option<[usize; 2]> {
    let side = |i: usize| {
        let n = usize::try_from(value.get(i)?.as_u64()?).ok()?;
        (n > 0).then_some(n)
    };
    (value.as_array()?.len() == 2).then_some([side(0)?, side(1)?])
}
