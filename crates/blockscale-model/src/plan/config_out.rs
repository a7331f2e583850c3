//! The small files of the output: configs that describe what was written, and the index.

use std::collections::{BTreeMap, BTreeSet};

use blockscale::format::Format;
use serde_json::{Map, Value, json};

use super::{Document, PlanError, PlannedShard, PlannedWeight, Step, deepseek_config};
use crate::catalog::{Catalog, Encoding, PartRole};
use crate::checkpoint::Checkpoint;
use crate::recipe::{Naming, Recipe};
use crate::{ShardName, write_index};

/// Name of the index of a sharded checkpoint.
const INDEX: &str = "model.safetensors.index.json";

/// A finished plan, as far as its configs are concerned.
pub(super) struct Outcome<'a> {
    pub(super) checkpoint: &'a Checkpoint,
    pub(super) catalog: &'a Catalog,
    pub(super) recipe: &'a Recipe,
    pub(super) weights: &'a [PlannedWeight],
    pub(super) shards: &'a [PlannedShard],
}

impl Outcome<'_> {
    /// The encoding that a planned weight is written in.
    pub(super) fn encoding(&self, weight: &PlannedWeight) -> Encoding {
        weight
            .step
            .result(&self.catalog.weights[weight.pieces[0].weight].encoding)
    }

    /// Modules written as plain matrices.
    pub(super) fn plain_modules(&self) -> Vec<String> {
        self.weights
            .iter()
            .filter(|w| w.shape.len() >= 2 && self.encoding(w).is_plain_float())
            .map(|w| crate::catalog::module_of(&w.name).to_owned())
            .collect()
    }
}

/// The producer that configs name.
pub(super) fn producer() -> Value {
    json!({ "name": "blockscale", "version": env!("CARGO_PKG_VERSION") })
}

/// The documents, in the order in which they are to be written: the index last.
pub(super) fn documents(
    outcome: &Outcome<'_>,
    with_index: bool,
) -> Result<Vec<Document>, PlanError> {
    let Configs {
        config,
        hf_quant_config,
    } = match outcome.recipe.naming {
        Naming::DeepseekV4 => deepseek_config::configs(outcome),
        Naming::Keep => configs(outcome)?,
    };
    let mut documents = Vec::new();
    if let Some(value) = hf_quant_config {
        documents.push(json_document("hf_quant_config.json", &value));
    }
    if let Some(value) = config {
        documents.push(json_document("config.json", &value));
    }
    if with_index {
        documents.push(Document {
            name: INDEX.to_owned(),
            bytes: index(outcome),
        });
    }
    Ok(documents)
}

pub(super) struct Configs {
    pub(super) config: Option<Value>,
    pub(super) hf_quant_config: Option<Value>,
}

fn json_document(name: &str, value: &Value) -> Document {
    Document {
        name: name.to_owned(),
        bytes: format!("{value:#}\n").into_bytes(),
    }
}

fn index(outcome: &Outcome<'_>) -> Vec<u8> {
    let mut map = BTreeMap::new();
    let mut total = 0;
    for weight in outcome.weights {
        let shard = &outcome.shards[weight.shard].name;
        for tensor in &weight.tensors {
            if let Ok(name) = ShardName::new(shard) {
                map.insert(tensor.name.clone(), name);
            }
            total += tensor.range.end - tensor.range.start;
        }
    }
    write_index(&map, total)
}

/// Configs of a checkpoint whose names stay: what is left of the source's
/// quantisation, or the description of the one format that was written.
fn configs(outcome: &Outcome<'_>) -> Result<Configs, PlanError> {
    let source = outcome.checkpoint;
    let mut written: BTreeSet<String> = BTreeSet::new();
    let mut new_format: Option<Format> = None;
    let mut decoded = Vec::new();
    for weight in outcome.weights {
        let encoding = outcome.encoding(weight);
        if let Encoding::Block(format) = encoding {
            written.insert(format.to_string());
            if weight.step != Step::Copy {
                new_format = Some(format);
            }
        } else if weight.step != Step::Copy {
            decoded.push(crate::catalog::module_of(&weight.name).to_owned());
        }
    }
    match new_format {
        Some(_) if written.len() > 1 => Err(PlanError::MixedFormats {
            formats: written.into_iter().collect(),
        }),
        Some(format) => Ok(describe(outcome, &format)),
        None if written.is_empty() => Ok(Configs {
            config: source.config.clone().map(without_quantisation),
            hf_quant_config: None,
        }),
        None => Ok(Configs {
            config: source
                .config
                .clone()
                .map(|c| ignoring(c, "quantization_config", &decoded)),
            hf_quant_config: source
                .hf_quant_config
                .clone()
                .map(|c| ignoring(c, "quantization", &decoded)),
        }),
    }
}

fn without_quantisation(mut config: Value) -> Value {
    if let Value::Object(map) = &mut config {
        map.shift_remove("quantization_config");
        map.shift_remove("compression_config");
    }
    config
}

/// Adds decoded modules to the list of modules that are not quantised, under
/// the name that the section already uses for that list.
fn ignoring(mut config: Value, section: &str, decoded: &[String]) -> Value {
    let lists = ["ignore", "modules_to_not_convert", "exclude_modules"];
    if let Some(Value::Object(section)) = config.get_mut(section)
        && !decoded.is_empty()
    {
        let key = lists
            .into_iter()
            .find(|k| section.contains_key(*k))
            .unwrap_or("ignore");
        let list = section.entry(key).or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            list.extend(decoded.iter().map(|m| json!(m)));
        }
    }
    config
}

/// Configs that describe one format: ModelOpt's for NVFP4, DeepSeek's for FP8 blocks.
fn describe(outcome: &Outcome<'_>, format: &Format) -> Configs {
    let ignore = outcome.plain_modules();
    let (section, hf_quant_config) = if *format == Format::NVFP4 {
        let algo = nvfp4_algo(outcome);
        (
            nvfp4_section(algo, &ignore),
            Some(nvfp4_document(algo, &ignore)),
        )
    } else {
        (fp8_section(format, &ignore), None)
    };
    let config = outcome.checkpoint.config.clone().map(|config| {
        let mut config = without_quantisation(config);
        if let Value::Object(map) = &mut config {
            map.insert("quantization_config".to_owned(), section);
        }
        config
    });
    Configs {
        config,
        hf_quant_config,
    }
}

/// Without activation scales the weights alone are quantised.
fn nvfp4_algo(outcome: &Outcome<'_>) -> &'static str {
    let calibrated = outcome
        .weights
        .iter()
        .any(|w| w.tensor(PartRole::InputScale).is_some());
    if calibrated { "NVFP4" } else { "W4A16_NVFP4" }
}

fn nvfp4_section(algo: &str, ignore: &[String]) -> Value {
    json!({
        "config_groups": { "group_0": {
            "weights": { "dynamic": false, "num_bits": 4, "type": "float", "group_size": 16 },
            "targets": ["Linear"],
        } },
        "ignore": ignore,
        "quant_algo": algo,
        "producer": producer(),
        "quant_method": "modelopt",
    })
}

fn nvfp4_document(algo: &str, exclude: &[String]) -> Value {
    json!({
        "producer": producer(),
        "quantization": {
            "quant_algo": algo,
            "kv_cache_quant_algo": null,
            "group_size": 16,
            "exclude_modules": exclude,
        },
    })
}

fn fp8_section(format: &Format, ignore: &[String]) -> Value {
    let mut section = fp8_block_keys(*format == Format::FP8_BLOCK_UE8M0);
    section.insert("modules_to_not_convert".to_owned(), json!(ignore));
    Value::Object(section)
}

/// The keys by which loaders know DeepSeek's 128x128 FP8.
fn fp8_block_keys(ue8m0: bool) -> Map<String, Value> {
    let mut section = Map::new();
    section.insert("quant_method".to_owned(), json!("fp8"));
    section.insert("fmt".to_owned(), json!("e4m3"));
    section.insert("activation_scheme".to_owned(), json!("dynamic"));
    section.insert("weight_block_size".to_owned(), json!([128, 128]));
    if ue8m0 {
        section.insert("scale_fmt".to_owned(), json!("ue8m0"));
    }
    section
}

/// [`fp8_block_keys`] with power-of-two scales, as every DeepSeek-V4 form has them.
pub(super) fn fp8_ue8m0_keys() -> Map<String, Value> {
    fp8_block_keys(true)
}
