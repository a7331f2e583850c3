//! The weights of a checkpoint under names that two checkpoints share.

use std::collections::HashSet;
use std::ops::Range;

use crate::catalog::{Catalog, Weight, module_of};
use crate::checkpoint::Checkpoint;
use crate::deepseek_v4::{self, DeepSeekV4, Detection};
use crate::plan::experts;

/// Rows of a weight, under a name that does not depend on who wrote the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparable {
    /// The shared name.
    pub name: String,
    /// Index into [`Catalog::weights`].
    pub weight: usize,
    /// Rows, counted through all matrices of the weight.
    pub rows: Range<usize>,
}

/// Modules that a conversion may have joined: the joined name, its members in row order.
const JOINED: [(&str, [&str; 2]); 1] = [("fused_wkv_wgate", ["wkv", "wgate"])];

/// Lists every weight once. In a DeepSeek-V4 checkpoint names are in the native
/// spelling, stacked experts and joined compressors taken apart; other names stay
/// as they are.
pub fn comparables(checkpoint: &Checkpoint, catalog: &Catalog) -> Vec<Comparable> {
    let config = checkpoint.config.as_ref();
    // A checkpoint without a config may be any model; its names have to tell.
    let is_v4 = config.is_none_or(|c| DeepSeekV4::detect(c) == Detection::V4);
    let mut seen = HashSet::new();
    let mut all = Vec::with_capacity(catalog.weights.len());
    for (index, weight) in catalog.weights.iter().enumerate() {
        let whole = || vec![(shared_name(weight), 0..weight.matrices().total_rows())];
        for (name, rows) in if is_v4 { native_parts(weight) } else { whole() } {
            // Two tensors under one shared name keep their own names.
            let name = if seen.insert(name.clone()) {
                name
            } else {
                weight.name.clone()
            };
            all.push(Comparable {
                name,
                weight: index,
                rows,
            });
        }
    }
    all
}

/// Stacked experts have no `.weight` in some dialects and get one in others.
fn shared_name(weight: &Weight) -> String {
    let stacked = weight.shape.len() > 2 && !weight.name.ends_with(".weight");
    if stacked {
        format!("{}.weight", weight.name)
    } else {
        weight.name.clone()
    }
}

fn native_parts(weight: &Weight) -> Vec<(String, Range<usize>)> {
    let rows = weight.matrices().total_rows();
    if let (Some((layer, kind)), &[count, matrix_rows, _]) = (
        deepseek_v4::fused_experts(&weight.name),
        weight.shape.as_slice(),
    ) {
        let split = experts::split(layer, kind, count, matrix_rows);
        return split
            .into_iter()
            .map(|part| (part.name, part.rows))
            .collect();
    }
    let joined = JOINED.iter().find_map(|(joined, members)| {
        let parent = module_of(&weight.name).strip_suffix(joined)?;
        Some(members.map(|member| format!("{parent}{member}.weight")))
    });
    if let (Some([first, second]), 0) = (joined, rows % 2) {
        return vec![(first, 0..rows / 2), (second, rows / 2..rows)];
    }
    let native = deepseek_v4::to_native(&weight.name).map(std::borrow::Cow::into_owned);
    vec![(native.unwrap_or_else(|| shared_name(weight)), 0..rows)]
}
