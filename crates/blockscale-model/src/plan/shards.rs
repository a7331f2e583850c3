//! Which weight goes into which output shard, and where in it.

use std::collections::{BTreeMap, HashMap};

use super::{PlanError, PlanOptions, PlannedShard, PlannedWeight, layout};
use crate::catalog::{BAKED_KEY, Catalog, PartRole, ROWS_KEY, RowFacts};
use crate::{NewTensor, lay_out};

/// Puts the weights into shards in order and settles every byte range.
///
/// One file is called `model.safetensors` unless `numbered`.
pub(super) fn place(
    weights: &mut [PlannedWeight],
    catalog: &Catalog,
    options: &PlanOptions,
    numbered: bool,
) -> Result<Vec<PlannedShard>, PlanError> {
    check_names(weights)?;
    let bounds = cut(weights, options.max_shard_bytes);
    let numbered = numbered || bounds.len() > 1;
    let mut shards = Vec::with_capacity(bounds.len());
    for (i, range) in bounds.iter().cloned().enumerate() {
        let name = if numbered {
            format!("model-{:05}-of-{:05}.safetensors", i + 1, bounds.len())
        } else {
            "model.safetensors".to_owned()
        };
        let members = &mut weights[range.clone()];
        let tensors: Vec<NewTensor> = members
            .iter()
            .flat_map(|w| &w.tensors)
            .map(|t| NewTensor {
                name: t.name.clone(),
                dtype: t.dtype,
                shape: t.shape.clone(),
            })
            .collect();
        let layout = lay_out(&tensors, &metadata(members, catalog))?;
        let slots = members.iter_mut().flat_map(|w| {
            w.shard = i;
            &mut w.tensors
        });
        for (tensor, place) in slots.zip(layout.ranges) {
            tensor.range = place;
        }
        shards.push(PlannedShard {
            name,
            header: layout.bytes,
            len: layout.file_len,
            weights: range,
        });
    }
    Ok(shards)
}

/// No two tensors have one name, wherever they lie: an index would lose one of them.
fn check_names(weights: &[PlannedWeight]) -> Result<(), PlanError> {
    let mut holders = HashMap::new();
    for weight in weights {
        for tensor in &weight.tensors {
            if let Some(first) = holders.insert(tensor.name.as_str(), weight.name.as_str()) {
                return Err(PlanError::NameTwice {
                    tensor: tensor.name.clone(),
                    first: first.to_owned(),
                    second: weight.name.clone(),
                });
            }
        }
    }
    Ok(())
}

/// `format: pt` is what loaders of PyTorch models ask for.
fn metadata(weights: &[PlannedWeight], catalog: &Catalog) -> BTreeMap<String, String> {
    let mut metadata = BTreeMap::from([("format".to_owned(), "pt".to_owned())]);
    let encoding = |w: &PlannedWeight| w.step.result(&catalog.weights[w.pieces[0].weight].encoding);
    let baked = layout::listed(weights, encoding);
    if !baked.is_empty() {
        // Strings, lists and numbers only: nothing that JSON cannot hold.
        let text = serde_json::to_string(&baked).unwrap_or_default();
        metadata.insert(BAKED_KEY.to_owned(), text);
    }
    let rows = rows_said(weights);
    if !rows.is_empty() {
        let text = serde_json::to_string(&rows).unwrap_or_default();
        metadata.insert(ROWS_KEY.to_owned(), text);
    }
    metadata
}

/// What the bytes do not show of rows, by the tensor of the codes.
fn rows_said(weights: &[PlannedWeight]) -> BTreeMap<&str, RowFacts> {
    let facts = weights.iter().filter_map(|weight| {
        let codes = weight.tensor(PartRole::Codes)?;
        let facts = RowFacts {
            gate_up: weight.gate_up.order(),
            axes: weight.axes,
            members: weight.members.clone(),
        };
        (facts != RowFacts::default()).then_some((codes.name.as_str(), facts))
    });
    facts.collect()
}

/// Ranges of weights, each of at most `limit` bytes where one weight allows it.
/// There is always at least one, so an empty checkpoint stays a checkpoint.
fn cut(weights: &[PlannedWeight], limit: u64) -> Vec<std::ops::Range<usize>> {
    let mut ranges = Vec::new();
    let (mut start, mut bytes) = (0, 0u64);
    for (i, weight) in weights.iter().enumerate() {
        let own = weight.bytes();
        if i > start && bytes.saturating_add(own) > limit {
            ranges.push(start..i);
            (start, bytes) = (i, 0);
        }
        bytes = bytes.saturating_add(own);
    }
    ranges.push(start..weights.len());
    ranges
}
