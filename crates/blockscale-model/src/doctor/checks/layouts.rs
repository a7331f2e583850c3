//! Layouts that the file names.

use std::collections::BTreeMap;

use blockscale::layout::ScaleLayout;

use super::super::rules::LAYOUT_ON_DISK;
use super::super::{Diagnosis, Subject};
use crate::catalog::Weight;

/// One diagnosis for each layout.
pub(super) fn on_disk(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
    let mut by_layout: BTreeMap<&str, Vec<&Weight>> = BTreeMap::new();
    for weight in &subject.catalog.weights {
        if weight.layout != ScaleLayout::Linear {
            by_layout
                .entry(weight.layout.name())
                .or_default()
                .push(weight);
        }
    }
    for (layout, weights) in by_layout {
        let Some(first) = weights.first() else {
            continue;
        };
        let message = format!("{} weights are in layout `{layout}`", weights.len());
        found.push(
            Diagnosis::new(&LAYOUT_ON_DISK, message)
                .of_tensor(&first.name)
                .in_file(subject.file_of(first)),
        );
    }
}
