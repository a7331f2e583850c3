//! Stacked experts taken apart: one 3-D weight becomes one weight per expert.

use std::ops::Range;

use crate::deepseek_v4::{FusedExperts, Layer};

/// One expert's part of a stacked weight.
pub(crate) struct ExpertPart {
    /// Native name.
    pub(crate) name: String,
    /// Rows, counted through all matrices, the rows of w1 above those of w3 in each.
    pub(crate) rows: Range<usize>,
}

/// The parts of a stacked weight with `experts` matrices of `rows` rows, gate first.
pub(crate) fn split(
    layer: Layer,
    kind: FusedExperts,
    experts: usize,
    rows: usize,
) -> Vec<ExpertPart> {
    let names: &[&str] = match kind {
        FusedExperts::GateUp => &["w1", "w3"],
        FusedExperts::Down => &["w2"],
    };
    let part_rows = rows / names.len();
    let mut parts = Vec::with_capacity(experts * names.len());
    for expert in 0..experts {
        for (i, name) in names.iter().enumerate() {
            let start = expert * rows + i * part_rows;
            parts.push(ExpertPart {
                name: format!("{layer}ffn.experts.{expert}.{name}.weight"),
                rows: start..start + part_rows,
            });
        }
    }
    parts
}
