//! The config against the tensors.

use std::collections::BTreeMap;

use blockscale::format::{Block, Element, ScaleElement};
use serde_json::Value;

use super::super::rules::{
    BLOCK_SIZE_DISAGREES, IGNORED_BUT_QUANTISED, NOT_IGNORED, QUANTISATION_NOT_ANNOUNCED,
    SCALE_PER_TENSOR, TIED_EMBEDDINGS,
};
use super::super::{Diagnosis, Subject};
use super::ignored::Ignored;
use super::siblings::kind_of;
use crate::catalog::{Encoding, PartRole, ScaleProblem, Weight};
use crate::checkpoint::NameList;

/// Modules that the config excludes, and modules that it should exclude.
pub(super) fn excluded(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    let ignored = Ignored::of(subject.checkpoint);
    // A list beside FP8 of its own says which modules are not FP4.
    let quantisation = &subject.quantisation;
    let only_fp4 = quantisation.method.as_deref() == Some("fp8")
        || quantisation.algo.as_deref() == Some("MIXED_PRECISION");
    let mut kinds: BTreeMap<String, [Vec<&Weight>; 2]> = BTreeMap::new();
    for weight in &subject.catalog.weights {
        let scaled = weight.encoding.is_scaled();
        let judged = scaled && (!only_fp4 || is_fp4(weight));
        if judged && let Some(pattern) = ignored.pattern_for(weight.module()) {
            let message = format!(
                "it is {}, and the config excludes `{pattern}`",
                weight.encoding
            );
            found.push(
                Diagnosis::new(&IGNORED_BUT_QUANTISED, message)
                    .of_tensor(&weight.name)
                    .in_file(subject.file_of(weight)),
            );
        }
        if scaled || (weight.encoding.is_plain_float() && weight.shape.len() > 1) {
            let kind = kinds.entry(kind_of(&weight.name)).or_default();
            kind[usize::from(scaled)].push(weight);
        }
    }
    if !ignored.is_stated() {
        return;
    }
    for [plain, scaled] in kinds.values() {
        let (Some(like), true) = (scaled.first(), plain.len() < scaled.len()) else {
            continue;
        };
        let forgotten: Vec<&str> = plain
            .iter()
            .map(|weight| weight.module())
            .filter(|module| ignored.pattern_for(module).is_none())
            .collect();
        if let Some(first) = forgotten.first() {
            let message = format!(
                "plain, while `{}` and {} others of its kind are {}; not excluded: {}",
                like.name,
                scaled.len() - 1,
                like.encoding,
                NameList(&forgotten)
            );
            found.push(Diagnosis::new(&NOT_IGNORED, message).of_tensor(*first));
        }
    }
}

fn is_fp4(weight: &Weight) -> bool {
    let format = weight.encoding.format();
    format.is_some_and(|format| format.element == Element::E2m1)
}

/// Quantised weights of which no config speaks.
pub(super) fn announced(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    let Some(config) = &subject.checkpoint.config else {
        return;
    };
    let keys = ["quantization_config", "compression_config", "quantization"];
    let says = keys
        .iter()
        .any(|key| config.get(key).is_some_and(|v| !v.is_null()));
    if says || subject.checkpoint.hf_quant_config.is_some() {
        return;
    }
    let scaled = subject
        .catalog
        .weights
        .iter()
        .filter(|w| w.encoding.is_scaled());
    let scaled: Vec<&str> = scaled.map(|weight| weight.name.as_str()).collect();
    if !scaled.is_empty() {
        let message = format!(
            "{} weights are quantised: {}",
            scaled.len(),
            NameList(&scaled)
        );
        found.push(Diagnosis::new(&QUANTISATION_NOT_ANNOUNCED, message).in_file("config.json"));
    }
}

/// Block and group sizes.
pub(super) fn block_size(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    let config = subject.checkpoint.config.as_ref();
    let section = config.and_then(|c| c.get("quantization_config"));
    per_tensor(subject, found);
    if let Some(stated) = subject.quantisation.block {
        found.extend(subject.catalog.refusals.iter().filter_map(|refusal| {
            let block = other_block(subject, &refusal.tensor, &refusal.problem)?;
            let [rows, cols] = stated;
            let message = format!(
                "the config says blocks of {rows} x {cols}, the scales are those of {block} x {block}"
            );
            Some(
                Diagnosis::new(&BLOCK_SIZE_DISAGREES, message)
                    .of_tensor(&refusal.tensor)
                    .in_file(&refusal.file),
            )
        }));
    }
    for stated in section.map(group_sizes).unwrap_or_default() {
        let fits = |weight: &&Weight| group_of(weight).is_some_and(|group| group == stated);
        let other = |weight: &&Weight| group_of(weight).is_some_and(|group| group != stated);
        let weights = subject.catalog.weights.iter();
        // Where some weight has that size, other groups may be of another format.
        if weights.clone().any(|weight| fits(&weight)) {
            continue;
        }
        if let Some(weight) = weights.clone().find(other) {
            let message = format!(
                "the config says `group_size` is {stated}, the scales are for {} columns",
                group_of(weight).unwrap_or(0)
            );
            found.push(
                Diagnosis::new(&BLOCK_SIZE_DISAGREES, message)
                    .of_tensor(&weight.name)
                    .in_file(subject.file_of(weight)),
            );
        }
    }
}

/// FP8 with one scale where the config promises blocks.
fn per_tensor(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    let Some([rows, cols]) = subject.quantisation.block else {
        return;
    };
    for weight in &subject.catalog.weights {
        let Some(format) = weight.encoding.format() else {
            continue;
        };
        if format.block != Block::Tensor || format.scale == ScaleElement::E8m0Fnu {
            continue;
        }
        let (name, file) = subject
            .part(weight, PartRole::BlockScale)
            .unwrap_or((&weight.name, subject.file_of(weight)));
        let message = format!("one scale, and the config says blocks of {rows} x {cols}");
        found.push(
            Diagnosis::new(&SCALE_PER_TENSOR, message)
                .of_tensor(name)
                .in_file(file),
        );
    }
}

/// The side of square blocks that a refused plane fits.
fn other_block(subject: &Subject<'_>, tensor: &str, problem: &ScaleProblem) -> Option<usize> {
    let ScaleProblem::Shape { found, .. } = problem else {
        return None;
    };
    let [rows, cols] = subject.checkpoint.tensor(tensor)?.shape[..] else {
        return None;
    };
    [256, 128, 64, 32]
        .into_iter()
        .find(|side| found[..] == [rows.div_ceil(*side), cols.div_ceil(*side)])
}

/// Every `group_size` of the config's groups of weights.
fn group_sizes(section: &Value) -> Vec<u64> {
    let groups = section.get("config_groups").and_then(Value::as_object);
    let groups = groups.into_iter().flat_map(|groups| groups.values());
    groups
        .filter_map(|group| group.get("weights")?.get("group_size")?.as_u64())
        .collect()
}

/// Columns that one scale of a weight covers, in formats that have groups.
fn group_of(weight: &Weight) -> Option<u64> {
    match &weight.encoding {
        Encoding::Block(format) => match format.block {
            Block::Grid { rows: 1, cols } => Some(cols as u64),
            _ => None,
        },
        Encoding::Grouped(format) => Some(format.group_cols as u64),
        _ => None,
    }
}

/// Whether the output head is the embedding.
pub(super) fn tied(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    let config = subject.checkpoint.config.as_ref();
    let stated = config.and_then(|c| c.get("tie_word_embeddings")?.as_bool());
    let Some(stated) = stated else { return };
    let named = |ends: &[&str]| {
        let is = |name: &str| {
            ends.iter()
                .any(|end| name == *end || name.ends_with(&format!(".{end}")))
        };
        subject
            .catalog
            .weights
            .iter()
            .find(|weight| is(&weight.name))
    };
    let embedding = named(&["embed_tokens.weight", "embed.weight", "wte.weight"]);
    let head = named(&["lm_head.weight", "head.weight"]);
    let message = match (stated, embedding, head) {
        (true, Some(embedding), Some(head)) => {
            let row = |weight: &Weight| subject.evidence(&weight.name).map(|e| &e.sketch);
            let (ours, theirs) = (row(embedding), row(head));
            if ours.is_none() || theirs.is_none() || ours == theirs {
                return;
            }
            format!(
                "tied, but `{}` and `{}` hold different numbers",
                embedding.name, head.name
            )
        }
        (false, Some(embedding), None) => {
            format!("not tied, but there is no head beside `{}`", embedding.name)
        }
        _ => return,
    };
    let message = format!("`tie_word_embeddings` says {message}");
    found.push(Diagnosis::new(&TIED_EMBEDDINGS, message).in_file("config.json"));
}
