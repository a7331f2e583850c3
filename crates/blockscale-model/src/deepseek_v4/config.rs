//! Reading and restoring `config.json`.

use serde_json::{Map, Value};

use super::arch::DeepSeekV4;

/// Why a `config.json` does not describe a DeepSeek-V4 model.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The document is not a JSON object.
    #[error("the configuration is not a JSON object")]
    NotAnObject,
    /// A key that the architecture needs is absent.
    #[error("`{key}` is missing")]
    Missing {
        /// The key, or the keys of which one is needed.
        key: &'static str,
    },
    /// A key holds a value of another type, or out of range.
    #[error("`{key}` must be {expected}, found {found}")]
    Value {
        /// The key, with its index in a list.
        key: String,
        /// What the value must be.
        expected: String,
        /// The value as JSON.
        found: String,
    },
    /// A list has too few entries for the layers.
    #[error("`{key}` has {found} entries for {expected} layers")]
    TooShort {
        /// The key.
        key: &'static str,
        /// Number of layers.
        expected: usize,
        /// Number of entries.
        found: usize,
    },
    /// The released key and the one that transformers writes contradict each other.
    #[error(
        "`{released}` says {released_value} and `{transformers}` says {transformers_value}; remove the wrong one"
    )]
    Contradiction {
        /// Released key.
        released: &'static str,
        /// What it says, as JSON.
        released_value: String,
        /// Key of transformers.
        transformers: &'static str,
        /// What that says in the terms of the released key.
        transformers_value: String,
    },
}

impl DeepSeekV4 {
    /// Reads the dimensions from `config.json`.
    ///
    /// Takes the keys of the releases (`compress_ratios`, `num_hash_layers`) and those that
    /// transformers writes instead (`layer_types` with `compress_rates`, `mlp_layer_types`).
    ///
    /// # Errors
    /// [`ConfigError`] names the key that is missing, has an impossible value, or contradicts
    /// another. Nothing is filled in by guess, except for `num_nextn_predict_layers` (0) and
    /// `n_shared_experts` (1).
    pub fn from_config(config: &Value) -> Result<Self, ConfigError> {
        let config = config.as_object().ok_or(ConfigError::NotAnObject)?;
        let layers = required(config, "num_hidden_layers", MAX_LAYERS)?;
        Ok(Self {
            layers,
            mtp_layers: optional(config, "num_nextn_predict_layers", MAX_LAYERS)?.unwrap_or(0),
            hidden: width(config, "hidden_size")?,
            heads: width(config, "num_attention_heads")?,
            head_dim: width(config, "head_dim")?,
            q_lora_rank: width(config, "q_lora_rank")?,
            o_groups: width(config, "o_groups")?,
            o_lora_rank: width(config, "o_lora_rank")?,
            experts: width(config, "n_routed_experts")?,
            experts_per_token: width(config, "num_experts_per_tok")?,
            shared_experts: optional(config, "n_shared_experts", MAX_WIDTH)?.unwrap_or(1),
            moe_intermediate: width(config, "moe_intermediate_size")?,
            index_heads: width(config, "index_n_heads")?,
            index_head_dim: width(config, "index_head_dim")?,
            hash_layers: hash_layers(config, layers)?,
            vocab: required(config, "vocab_size", MAX_VOCAB)?,
            hc_mult: width(config, "hc_mult")?,
            ratios: ratios(config, layers)?,
        })
    }
}

/// The configuration with the keys of the releases in place of those of transformers.
///
/// Restores `compress_ratios` (with a 0 for each MTP layer, as released), `num_hash_layers`,
/// `qk_rope_head_dim`, `rope_theta`, `compress_rope_theta`, `rope_scaling` and `expert_dtype`,
/// each only where it is absent, and drops the keys that held the same facts. All other keys are
/// kept in their order.
///
/// # Errors
/// [`ConfigError`] as for [`DeepSeekV4::from_config`].
pub fn released_config_keys(config: &Value) -> Result<Map<String, Value>, ConfigError> {
    let arch = DeepSeekV4::from_config(config)?;
    let mut released = config.as_object().ok_or(ConfigError::NotAnObject)?.clone();

    let mtp = std::iter::repeat_n(0, arch.mtp_layers);
    let ratios: Vec<u32> = arch.ratios.iter().copied().chain(mtp).collect();
    restore(&mut released, "compress_ratios", ratios.into());
    restore(&mut released, "num_hash_layers", arch.hash_layers.into());
    if let Some(width) = rotary_width(config, arch.head_dim) {
        restore(&mut released, "qk_rope_head_dim", width.into());
    }
    let rope = &config["rope_parameters"];
    restore(
        &mut released,
        "rope_theta",
        rope["main"]["rope_theta"].clone(),
    );
    restore(
        &mut released,
        "compress_rope_theta",
        rope["compress"]["rope_theta"].clone(),
    );
    restore(
        &mut released,
        "rope_scaling",
        rope_scaling(&rope["compress"]),
    );
    let expert_dtype = &config["quantization_config"]["expert_dtype"];
    restore(&mut released, "expert_dtype", expert_dtype.clone());

    for key in TRANSFORMERS_KEYS {
        released.shift_remove(*key);
    }
    Ok(released)
}

const TRANSFORMERS_KEYS: &[&str] = &[
    "layer_types",
    "compress_rates",
    "mlp_layer_types",
    "partial_rotary_factor",
    "rope_parameters",
];

fn restore(config: &mut Map<String, Value>, key: &str, value: Value) {
    if !value.is_null() && !config.contains_key(key) {
        config.insert(key.to_owned(), value);
    }
}

fn rotary_width(config: &Value, head_dim: usize) -> Option<u64> {
    let nested = &config["rope_parameters"]["main"]["partial_rotary_factor"];
    let factor = config["partial_rotary_factor"]
        .as_f64()
        .or(nested.as_f64())?;
    let width = (factor * head_dim as f64).round();
    (0.0..=head_dim as f64)
        .contains(&width)
        .then_some(width as u64)
}

/// `rope_scaling` as released, from the rotary parameters of the compressed layers: the keys
/// that transformers folded in are taken out again.
fn rope_scaling(compress: &Value) -> Value {
    let (Some(parameters), Some("yarn")) = (compress.as_object(), compress["rope_type"].as_str())
    else {
        return Value::Null;
    };
    let folded_in = [
        "rope_type",
        "rope_theta",
        "partial_rotary_factor",
        "attention_factor",
    ];
    let mut scaling = Map::from_iter([("type".to_owned(), Value::from("yarn"))]);
    let own = parameters
        .iter()
        .filter(|(key, _)| !folded_in.contains(&key.as_str()));
    scaling.extend(own.map(|(key, value)| (key.clone(), value.clone())));
    Value::Object(scaling)
}

/// Largest value taken for a dimension: far above any real model, and such that no product of
/// two dimensions overflows, on 32-bit targets either.
const MAX_WIDTH: usize = 65_535;
const MAX_LAYERS: usize = 4_096;
const MAX_VOCAB: usize = 1 << 24;

fn optional(
    config: &Map<String, Value>,
    key: &'static str,
    max: usize,
) -> Result<Option<usize>, ConfigError> {
    let Some(value) = config.get(key).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    match value
        .as_u64()
        .and_then(|n| usize::try_from(n).ok())
        .filter(|n| *n <= max)
    {
        Some(n) => Ok(Some(n)),
        None => Err(bad_value(key, format!("an integer from 0 to {max}"), value)),
    }
}

fn required(
    config: &Map<String, Value>,
    key: &'static str,
    max: usize,
) -> Result<usize, ConfigError> {
    optional(config, key, max)?.ok_or(ConfigError::Missing { key })
}

fn width(config: &Map<String, Value>, key: &'static str) -> Result<usize, ConfigError> {
    match required(config, key, MAX_WIDTH)? {
        0 => Err(bad_value(key, "at least 1", &Value::from(0))),
        n => Ok(n),
    }
}

fn ratios(config: &Map<String, Value>, layers: usize) -> Result<Vec<u32>, ConfigError> {
    let released = released_ratios(config, layers)?;
    let transformers = layer_type_ratios(config, layers)?;
    match (released, transformers) {
        (Some(released), Some(other)) if released != other => Err(ConfigError::Contradiction {
            released: "compress_ratios",
            released_value: Value::from(released).to_string(),
            transformers: "layer_types",
            transformers_value: Value::from(other).to_string(),
        }),
        (Some(ratios), _) | (None, Some(ratios)) => Ok(ratios),
        (None, None) => Err(ConfigError::Missing {
            key: "compress_ratios` or `layer_types",
        }),
    }
}

/// The entries of a list of one entry a layer; entries beyond the layers describe MTP layers.
fn per_layer<'a>(
    config: &'a Map<String, Value>,
    key: &'static str,
    layers: usize,
) -> Result<Option<&'a [Value]>, ConfigError> {
    let Some(value) = config.get(key).filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let entries = value
        .as_array()
        .ok_or_else(|| bad_value(key, "a list", value))?;
    let too_short = ConfigError::TooShort {
        key,
        expected: layers,
        found: entries.len(),
    };
    entries.get(..layers).map(Some).ok_or(too_short)
}

fn released_ratios(
    config: &Map<String, Value>,
    layers: usize,
) -> Result<Option<Vec<u32>>, ConfigError> {
    let Some(entries) = per_layer(config, "compress_ratios", layers)? else {
        return Ok(None);
    };
    let known = |(layer, entry): (usize, &Value)| match entry.as_u64() {
        Some(0) => Ok(0),
        Some(4) => Ok(4),
        Some(128) => Ok(128),
        _ => Err(bad_value(
            format!("compress_ratios[{layer}]"),
            "0, 4 or 128",
            entry,
        )),
    };
    entries
        .iter()
        .enumerate()
        .map(known)
        .collect::<Result<_, _>>()
        .map(Some)
}

fn layer_type_ratios(
    config: &Map<String, Value>,
    layers: usize,
) -> Result<Option<Vec<u32>>, ConfigError> {
    let Some(entries) = per_layer(config, "layer_types", layers)? else {
        return Ok(None);
    };
    let known = |(layer, entry): (usize, &Value)| match entry.as_str() {
        Some("sliding_attention") => Ok(0),
        Some(kind @ "compressed_sparse_attention") => compress_rate(config, kind, 4),
        Some(kind @ "heavily_compressed_attention") => compress_rate(config, kind, 128),
        _ => Err(bad_value(
            format!("layer_types[{layer}]"),
            "`sliding_attention`, `compressed_sparse_attention` or `heavily_compressed_attention`",
            entry,
        )),
    };
    entries
        .iter()
        .enumerate()
        .map(known)
        .collect::<Result<_, _>>()
        .map(Some)
}

/// The released keys express the kind of a layer by its ratio alone, so that a kind with another
/// ratio than the released one cannot be written down.
fn compress_rate(config: &Map<String, Value>, kind: &str, rate: u32) -> Result<u32, ConfigError> {
    match config
        .get("compress_rates")
        .and_then(|rates| rates.get(kind))
    {
        Some(found) if found.as_u64() != Some(rate.into()) => Err(bad_value(
            format!("compress_rates.{kind}"),
            rate.to_string(),
            found,
        )),
        _ => Ok(rate),
    }
}

fn hash_layers(config: &Map<String, Value>, layers: usize) -> Result<usize, ConfigError> {
    let released = optional(config, "num_hash_layers", MAX_LAYERS)?;
    let transformers = mlp_type_hash_layers(config, layers)?;
    match (released, transformers) {
        (Some(released), Some(other)) if released.min(layers) != other => {
            Err(ConfigError::Contradiction {
                released: "num_hash_layers",
                released_value: released.to_string(),
                transformers: "mlp_layer_types",
                transformers_value: other.to_string(),
            })
        }
        (Some(count), _) | (None, Some(count)) => Ok(count),
        (None, None) => Err(ConfigError::Missing {
            key: "num_hash_layers` or `mlp_layer_types",
        }),
    }
}

/// Number of leading `hash_moe` layers; one behind a `moe` layer cannot be written as a count.
fn mlp_type_hash_layers(
    config: &Map<String, Value>,
    layers: usize,
) -> Result<Option<usize>, ConfigError> {
    let Some(entries) = per_layer(config, "mlp_layer_types", layers)? else {
        return Ok(None);
    };
    let hashed = entries
        .iter()
        .take_while(|entry| entry.as_str() == Some("hash_moe"))
        .count();
    let stray = entries
        .iter()
        .enumerate()
        .skip(hashed)
        .find(|(_, e)| e.as_str() != Some("moe"));
    match stray {
        Some((layer, entry)) => Err(bad_value(
            format!("mlp_layer_types[{layer}]"),
            "`moe` behind the first `moe`",
            entry,
        )),
        None => Ok(Some(hashed)),
    }
}

fn bad_value(key: impl Into<String>, expected: impl Into<String>, found: &Value) -> ConfigError {
    ConfigError::Value {
        key: key.into(),
        expected: expected.into(),
        found: found.to_string(),
    }
}
