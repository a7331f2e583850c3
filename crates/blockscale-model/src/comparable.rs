//! The weights of a checkpoint under names that two checkpoints share.

use std::collections::HashSet;
use std::ops::Range;

use crate::catalog::{Catalog, Weight, module_of};
use crate::deepseek_v4;
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

/// Lists every weight once: DeepSeek-V4 names in the native spelling, stacked
/// experts and joined compressors taken apart, all other names as they are.
pub fn comparables(catalog: &Catalog) -> Vec<Comparable> {
    let mut seen = HashSet::new();
    let mut all = Vec::with_capacity(catalog.weights.len());
    for (index, weight) in catalog.weights.iter().enumerate() {
        for (name, rows) in parts(weight) {
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

fn parts(weight: &Weight) -> Vec<(String, Range<usize>)> {
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
    let name = deepseek_v4::to_native(&weight.name)
        .map_or_else(|| weight.name.clone(), std::borrow::Cow::into_owned);
    vec![(name, 0..rows)]
}
