//! The documents beside the shards.

use blockscale_model::deepseek_v4::DeepSeekV4;
use serde_json::{Value, json};

use super::SampleDialect;

/// Name of the index.
pub(super) const INDEX: &str = "model.safetensors.index.json";

/// A document and its name.
pub(super) struct Document {
    pub(super) name: &'static str,
    pub(super) bytes: Vec<u8>,
}

/// All documents but the index, `config.json` last.
pub(super) fn all(arch: &DeepSeekV4, dialect: SampleDialect) -> Vec<Document> {
    let ignored = unquantized_modules(arch, dialect);
    vec![
        document("generation_config.json", &generation_config()),
        document("tokenizer_config.json", &tokenizer_config(arch)),
        document("hf_quant_config.json", &hf_quant_config(&ignored)),
        document("config.json", &config(arch, dialect, &ignored)),
    ]
}

fn document(name: &'static str, content: &Value) -> Document {
    Document {
        name,
        bytes: format!("{content:#}\n").into_bytes(),
    }
}

fn generation_config() -> Value {
    json!({
        "_from_model_config": true,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "do_sample": true,
        "temperature": 1.0,
        "top_p": 1.0,
    })
}

fn tokenizer_config(arch: &DeepSeekV4) -> Value {
    json!({
        "add_bos_token": false,
        "add_eos_token": false,
        "bos_token": "<|begin of sentence|>",
        "eos_token": "<|end of sentence|>",
        "model_max_length": MAX_POSITIONS,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "vocab_size": arch.vocab,
    })
}

/// As in the configuration of the release.
const MAX_POSITIONS: u32 = 1_048_576;
const ROPE_WIDTH: usize = 64;
const ROPE_THETA: f64 = 10_000.0;
const COMPRESS_ROPE_THETA: f64 = 160_000.0;

fn unquantized_modules(arch: &DeepSeekV4, dialect: SampleDialect) -> Vec<String> {
    let layers = (0..arch.layers).map(|n| format!("layers.{n}"));
    let layers: Vec<String> = layers
        .chain((0..arch.mtp_layers).map(|n| format!("mtp.{n}")))
        .collect();
    let (outside, prefix, router) = match dialect {
        SampleDialect::Hf => (["lm_head", "model.embed_tokens"], "model.", "mlp.gate"),
        SampleDialect::Native => (["head", "embed"], "", "ffn.gate"),
    };
    let routers = layers
        .iter()
        .map(|layer| format!("{prefix}{layer}.{router}"));
    outside
        .map(str::to_owned)
        .into_iter()
        .chain(routers)
        .collect()
}

fn hf_quant_config(ignored: &[String]) -> Value {
    json!({
        "producer": producer(),
        "quantization": {
            "quant_algo": "NVFP4",
            "kv_cache_quant_algo": null,
            "group_size": 16,
            "exclude_modules": ignored,
        },
    })
}

fn producer() -> Value {
    json!({ "name": "modelopt", "version": "0.47.0" })
}

fn config(arch: &DeepSeekV4, dialect: SampleDialect, ignored: &[String]) -> Value {
    let mut config = settings();
    add_dimensions(&mut config, arch);
    match dialect {
        SampleDialect::Hf => add_transformers_keys(&mut config, arch),
        SampleDialect::Native => add_released_keys(&mut config, arch),
    }
    config["quantization_config"] = quantization_config(ignored);
    config.sort_all_objects();
    config
}

/// What does not depend on the dimensions.
fn settings() -> Value {
    json!({
        "architectures": ["DeepseekV4ForCausalLM"],
        "model_type": "deepseek_v4",
        "attention_bias": false,
        "attention_dropout": 0.0,
        "bos_token_id": 0,
        "compress_rope_theta": COMPRESS_ROPE_THETA,
        "dtype": "bfloat16",
        "eos_token_id": 1,
        "hc_eps": 1e-6,
        "hc_sinkhorn_iters": 20,
        "hidden_act": "silu",
        "index_topk": 16,
        "initializer_range": 0.02,
        "max_position_embeddings": MAX_POSITIONS,
        "norm_topk_prob": true,
        "num_key_value_heads": 1,
        "qk_rope_head_dim": ROPE_WIDTH,
        "rms_norm_eps": 1e-6,
        "rope_theta": ROPE_THETA,
        "routed_scaling_factor": 2.5,
        "scoring_func": "sqrtsoftplus",
        "sliding_window": 128,
        "swiglu_limit": 10.0,
        "tie_word_embeddings": false,
        "topk_method": "noaux_tc",
        "use_cache": true,
    })
}

fn add_dimensions(config: &mut Value, arch: &DeepSeekV4) {
    let dimensions = [
        ("hc_mult", arch.hc_mult),
        ("head_dim", arch.head_dim),
        ("hidden_size", arch.hidden),
        ("index_head_dim", arch.index_head_dim),
        ("index_n_heads", arch.index_heads),
        ("moe_intermediate_size", arch.moe_intermediate),
        ("n_routed_experts", arch.experts),
        ("n_shared_experts", arch.shared_experts),
        ("num_attention_heads", arch.heads),
        ("num_experts_per_tok", arch.experts_per_token),
        ("num_hidden_layers", arch.layers),
        ("num_nextn_predict_layers", arch.mtp_layers),
        ("o_groups", arch.o_groups),
        ("o_lora_rank", arch.o_lora_rank),
        ("q_lora_rank", arch.q_lora_rank),
        ("vocab_size", arch.vocab),
    ];
    for (key, value) in dimensions {
        config[key] = json!(value);
    }
}

fn add_released_keys(config: &mut Value, arch: &DeepSeekV4) {
    let mtp = std::iter::repeat_n(0, arch.mtp_layers);
    let ratios: Vec<u32> = arch.ratios.iter().copied().chain(mtp).collect();
    config["compress_ratios"] = json!(ratios);
    config["num_hash_layers"] = json!(arch.hash_layers);
    config["rope_scaling"] = yarn("type");
}

fn add_transformers_keys(config: &mut Value, arch: &DeepSeekV4) {
    let kind = |ratio: &u32| match ratio {
        4 => "compressed_sparse_attention",
        128 => "heavily_compressed_attention",
        _ => "sliding_attention",
    };
    let layer_types: Vec<_> = arch.ratios.iter().map(kind).collect();
    let routing = |layer| {
        if layer < arch.hash_layers {
            "hash_moe"
        } else {
            "moe"
        }
    };
    let mlp_layer_types: Vec<_> = (0..arch.layers).map(routing).collect();
    let rotary_factor = ROPE_WIDTH as f64 / arch.head_dim as f64;
    let mut compress = yarn("rope_type");
    compress["rope_theta"] = json!(COMPRESS_ROPE_THETA);
    compress["partial_rotary_factor"] = json!(rotary_factor);
    compress["attention_factor"] = json!(1.0);
    let main = json!({
        "partial_rotary_factor": rotary_factor,
        "rope_theta": ROPE_THETA,
        "rope_type": "default",
    });
    config["compress_rates"] =
        json!({ "compressed_sparse_attention": 4, "heavily_compressed_attention": 128 });
    config["layer_types"] = json!(layer_types);
    config["mlp_layer_types"] = json!(mlp_layer_types);
    config["partial_rotary_factor"] = json!(rotary_factor);
    config["rope_parameters"] = json!({ "compress": compress, "main": main });
    config["transformers_version"] = json!("5.24.0");
}

/// The stretching of positions in compressed layers; transformers calls its kind by another key.
fn yarn(kind_key: &str) -> Value {
    json!({
        kind_key: "yarn",
        "beta_fast": 32,
        "beta_slow": 1,
        "factor": 16,
        "original_max_position_embeddings": 65_536,
    })
}

fn quantization_config(ignored: &[String]) -> Value {
    let element = json!({ "dynamic": false, "num_bits": 4, "type": "float", "group_size": 16 });
    json!({
        "config_groups": {
            "group_0": {
                "input_activations": element,
                "weights": element,
                "targets": ["Linear"],
            },
        },
        "ignore": ignored,
        "quant_algo": "NVFP4",
        "producer": producer(),
        "quant_method": "modelopt",
    })
}
