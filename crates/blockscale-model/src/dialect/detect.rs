//! What the config announces.

use serde_json::Value;

use super::Dialect;
use crate::Checkpoint;

impl Dialect {
    /// The dialect that the checkpoint's configs announce, if they announce one.
    ///
    /// `quant_method` comes first. A config without it may still be ModelOpt's
    /// (`hf_quant_config.json`) or MLX's (`quantization` with a `group_size`).
    pub fn announced(checkpoint: &Checkpoint) -> Option<Self> {
        let config = checkpoint.config.as_ref();
        let section = |key: &str| config.and_then(|c| c.get(key)).filter(|v| !v.is_null());
        let quantization = section("quantization_config").or_else(|| section("compression_config"));
        let method = quantization
            .and_then(|q| q.get("quant_method"))
            .and_then(Value::as_str);
        match method {
            Some("modelopt" | "modelopt_fp4") => Some(Self::Modelopt),
            Some("compressed-tensors") => Some(Self::CompressedTensors),
            Some("fp8") => Some(Self::Deepseek),
            Some("mxfp4") => Some(Self::GptOss),
            Some("quark") => Some(Self::Quark),
            Some("torchao") => Some(Self::Torchao),
            Some("awq") => Some(Self::Awq),
            Some("gptq") => Some(Self::Gptq),
            _ if section("quantization").is_some_and(is_mlx) => Some(Self::Mlx),
            _ if checkpoint.hf_quant_config.is_some() => Some(Self::Modelopt),
            _ => None,
        }
    }
}

fn is_mlx(quantization: &Value) -> bool {
    quantization.get("group_size").is_some() && quantization.get("bits").is_some()
}
