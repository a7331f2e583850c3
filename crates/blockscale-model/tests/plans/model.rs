//! DeepSeek-V4 with everything in NVFP4 under Hugging Face names, as ModelOpt writes it.

use blockscale_model::deepseek_v4::{DeepSeekV4, Part, parse};
use blockscale_model::{Checkpoint, Dtype, NewTensor};
use serde_json::{Value, json};

use crate::common::{checkpoint, nvfp4, tensor};

/// DeepSeek-V4-Pro with two routed experts a layer.
pub(crate) fn small_pro() -> DeepSeekV4 {
    DeepSeekV4 {
        experts: 2,
        ..DeepSeekV4::pro()
    }
}

pub(crate) fn hf_checkpoint(arch: &DeepSeekV4) -> Checkpoint {
    checkpoint(hf_config(arch), &[&hf_tensors(arch)])
}

pub(crate) fn hf_tensors(arch: &DeepSeekV4) -> Vec<NewTensor> {
    let weights = arch.tensor_names().flat_map(|native| {
        let name = parse(&native).unwrap();
        let shape = arch.expected_shape(&native).unwrap();
        let hf = name.to_hf();
        match (stored_plain(name.part), shape.as_slice()) {
            (None, &[rows, cols]) if hf.ends_with(".weight") => {
                nvfp4(hf.strip_suffix(".weight").unwrap(), [rows, cols]).to_vec()
            }
            (dtype, shape) => vec![tensor(&hf, dtype.unwrap_or(Dtype::F32), shape)],
        }
    });
    weights.collect()
}

/// What is not quantised, nor F32.
fn stored_plain(part: Part) -> Option<Dtype> {
    match part {
        Part::Gate | Part::Embed | Part::Head => Some(Dtype::BF16),
        Part::GateTid2eid => Some(Dtype::I64),
        _ => None,
    }
}

/// `config.json` with the keys of transformers.
pub(crate) fn hf_config(arch: &DeepSeekV4) -> Value {
    let mut config: Value = serde_json::from_str(include_str!(
        "../data/headers/modelopt-nvfp4-dsv4.config.json"
    ))
    .unwrap();
    let layer_types = arch.ratios.iter().map(|ratio| match ratio {
        0 => "sliding_attention",
        4 => "compressed_sparse_attention",
        _ => "heavily_compressed_attention",
    });
    let mlp_types = (0..arch.layers).map(|n| {
        if n < arch.hash_layers {
            "hash_moe"
        } else {
            "moe"
        }
    });
    let dimensions = [
        ("num_hidden_layers", arch.layers),
        ("num_nextn_predict_layers", arch.mtp_layers),
        ("hidden_size", arch.hidden),
        ("num_attention_heads", arch.heads),
        ("head_dim", arch.head_dim),
        ("q_lora_rank", arch.q_lora_rank),
        ("o_groups", arch.o_groups),
        ("o_lora_rank", arch.o_lora_rank),
        ("n_routed_experts", arch.experts),
        ("num_experts_per_tok", arch.experts_per_token),
        ("moe_intermediate_size", arch.moe_intermediate),
        ("index_n_heads", arch.index_heads),
        ("index_head_dim", arch.index_head_dim),
        ("vocab_size", arch.vocab),
    ];
    for (key, value) in dimensions {
        config[key] = json!(value);
    }
    config["layer_types"] = json!(layer_types.collect::<Vec<_>>());
    config["mlp_layer_types"] = json!(mlp_types.collect::<Vec<_>>());
    config
}
