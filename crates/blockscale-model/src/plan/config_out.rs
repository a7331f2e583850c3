//! The small files of the output: configs that describe what was written, and the index.

use std::collections::{BTreeMap, BTreeSet};

use blockscale::format::{Block, Element, Format, GlobalScale};
use serde_json::{Map, Value, json};

use super::form::Form;
use super::{
    Document, PlanError, PlannedShard, PlannedWeight, Step, compressed_tensors, deepseek_config,
};
use crate::catalog::{Catalog, Encoding, PartRole};
use crate::checkpoint::Checkpoint;
use crate::deepseek_v4::Spelling;
use crate::dialect::Dialect;
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
    } = match outcome.recipe.naming.spelling() {
        Some(Spelling::Native | Spelling::HalfNative) if deepseek_config::describes(outcome) => {
            deepseek_config::configs(outcome)
        }
        _ => configs(outcome)?,
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

/// What is left of the source's quantisation, or the description of the one
/// form that was written.
fn configs(outcome: &Outcome<'_>) -> Result<Configs, PlanError> {
    let source = outcome.checkpoint;
    let renamed = outcome.recipe.naming != Naming::Keep;
    let mut written = BTreeSet::new();
    let mut described = None;
    let mut decoded = Vec::new();
    for weight in outcome.weights {
        let to = outcome.recipe.rules[weight.rule].to;
        let relabelled = outcome.recipe.dialect.is_some() && to.format().is_some();
        let changed = weight.step != Step::Copy || relabelled;
        if let Some(form) = Form::of(weight, &outcome.encoding(weight)) {
            written.insert(form.to_string());
            if (changed || renamed) && form.is_described() {
                described = Some(form);
            }
        } else if changed {
            decoded.push(crate::catalog::module_of(&weight.name).to_owned());
        }
    }
    match described {
        Some(_) if written.len() > 1 => Err(PlanError::MixedFormats {
            formats: written.into_iter().collect(),
        }),
        Some(Form::Blocks(format)) => Ok(describe(outcome, &format)),
        Some(Form::Integers(form)) => {
            let section = compressed_tensors::integers(&form, &outcome.plain_modules());
            // Words do not tell how many bits an integer has: without a config no one could read it.
            let config = source.config.clone().or(Some(json!({})));
            Ok(with_section(config, section, None))
        }
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
        // MLX has a section of its own.
        if map
            .get("quantization")
            .is_some_and(|q| q.get("bits").is_some())
        {
            map.shift_remove("quantization");
        }
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

/// Configs that describe one format in the words of its dialect.
fn describe(outcome: &Outcome<'_>, format: &Format) -> Configs {
    let ignore = outcome.plain_modules();
    let dialect = outcome
        .recipe
        .dialect
        .unwrap_or_else(|| Dialect::usual(format));
    let (section, hf_quant_config) = match dialect {
        Dialect::CompressedTensors => (compressed_tensors::blocks(format, &ignore), None),
        Dialect::Modelopt => {
            let algo = modelopt_algo(outcome, format);
            (
                modelopt_section(algo, format, &ignore),
                Some(modelopt_document(algo, format, &ignore)),
            )
        }
        Dialect::GptOss => (mxfp4_section(&ignore), None),
        _ => (fp8_section(format, &ignore), None),
    };
    with_section(outcome.checkpoint.config.clone(), section, hf_quant_config)
}

/// A config, if there is one, with another section on quantisation.
fn with_section(config: Option<Value>, section: Value, hf_quant_config: Option<Value>) -> Configs {
    let config = config.map(|config| {
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

/// ModelOpt's name of a format. Without activation scales the weights of NVFP4
/// alone are quantised.
fn modelopt_algo(outcome: &Outcome<'_>, format: &Format) -> &'static str {
    let calibrated = outcome
        .weights
        .iter()
        .any(|w| w.tensor(PartRole::InputScale).is_some());
    match (format.element, format.block) {
        (Element::E2m1, _) if format.global == GlobalScale::None => "W4A16_MXFP4",
        (Element::E2m1, _) if calibrated => "NVFP4",
        (Element::E2m1, _) => "W4A16_NVFP4",
        (_, Block::Row) => "FP8_PER_CHANNEL_PER_TOKEN",
        _ => "MXFP8",
    }
}

/// Columns that one scale covers, where the format has groups of columns.
fn group_size(format: &Format) -> Option<usize> {
    match format.block {
        Block::Grid { rows: 1, cols } => Some(cols),
        _ => None,
    }
}

fn modelopt_section(algo: &str, format: &Format, ignore: &[String]) -> Value {
    let mut weights = Map::new();
    weights.insert("dynamic".to_owned(), json!(false));
    weights.insert("num_bits".to_owned(), json!(format.element.bits()));
    weights.insert("type".to_owned(), json!("float"));
    weights.extend(group_size(format).map(|n| ("group_size".to_owned(), json!(n))));
    json!({
        "config_groups": { "group_0": { "weights": weights, "targets": ["Linear"] } },
        "ignore": ignore,
        "quant_algo": algo,
        "producer": producer(),
        "quant_method": "modelopt",
    })
}

fn modelopt_document(algo: &str, format: &Format, exclude: &[String]) -> Value {
    let mut quantization = Map::new();
    quantization.insert("quant_algo".to_owned(), json!(algo));
    quantization.insert("kv_cache_quant_algo".to_owned(), Value::Null);
    quantization.extend(group_size(format).map(|n| ("group_size".to_owned(), json!(n))));
    quantization.insert("exclude_modules".to_owned(), json!(exclude));
    json!({ "producer": producer(), "quantization": quantization })
}

fn mxfp4_section(ignore: &[String]) -> Value {
    json!({ "quant_method": "mxfp4", "modules_to_not_convert": ignore })
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
