//! From raw tensors to logical weights.
//!
//! A checkpoint stores a block-scaled weight as several tensors: its codes, its
//! block scales, perhaps a global scale, perhaps an activation scale. The
//! catalog puts them together by name, wherever they lie, and settles the
//! [`Encoding`] from dtypes and shapes; the configuration only supplies what
//! bytes cannot say (the size of a block, the bits of packed integers, how zero
//! points are stored), and is held against the shapes.
//!
//! Whether a weight holds gate and up in one, in which order, and on which axes, is settled here too
//! ([`GateUp`], [`Axes`]), from what the file, its names and the architecture say.
//!
//! A weight whose scale is missing, doubled or of the wrong shape becomes a
//! [`Refusal`]: it can be listed, but not converted. No scale is ever assumed.

mod baked;
mod expert;
mod format_of;
mod gguf;
mod grouped;
mod int_config;
mod pairing;
mod problem;
mod quant_config;
mod row_facts;
mod row_order;
mod torchao;
mod weight;

pub use baked::{BAKED_KEY, BakedWeight};
pub use expert::{ExpertPart, other_half};
pub(crate) use expert::{held_by, name_of_both, names_of_halves, weight_of_bias};
pub use int_config::{IntConfig, IntGroups, Targeted};
pub use problem::ScaleProblem;
pub use quant_config::QuantConfig;
pub(crate) use row_facts::plain_axes;
pub use row_facts::{Member, ROWS_KEY, RowFacts};
pub use row_order::{Axes, GateUp, RowOrder, UnknownRowOrder};
pub use weight::{Encoding, Matrices, Part, PartRole, TensorId, Weight, module_of};

use std::collections::HashMap;

use crate::checkpoint::Checkpoint;
use crate::finding::Finding;

/// The logical weights of a checkpoint.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Every weight that can be read, in the order of its codes in the checkpoint.
    pub weights: Vec<Weight>,
    /// Weights that cannot be read, and why.
    pub refusals: Vec<Refusal>,
    /// What is unusual, but does not stop a conversion.
    pub findings: Vec<Finding>,
    by_name: HashMap<String, usize>,
}

/// A block-scaled weight that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Name of the tensor that holds the codes.
    pub tensor: String,
    /// File that holds it.
    pub file: String,
    /// What is wrong with its scales.
    pub problem: ScaleProblem,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` in `{}`: {}", self.tensor, self.file, self.problem)
    }
}

impl Catalog {
    /// Pairs the tensors of `checkpoint`.
    pub fn of(checkpoint: &Checkpoint) -> Self {
        let mut catalog = match checkpoint.gguf {
            Some(_) => gguf::catalog(checkpoint),
            None => pairing::pair(checkpoint, &QuantConfig::of(checkpoint)),
        };
        row_facts::settle(checkpoint, &mut catalog);
        catalog.by_name = catalog
            .weights
            .iter()
            .enumerate()
            .map(|(i, w)| (w.name.clone(), i))
            .collect();
        catalog
    }

    /// States the order of gate and up for every weight of which nothing else tells it.
    ///
    /// What the file, its names or its architecture say is not changed.
    pub fn state_gate_up(&mut self, order: RowOrder) {
        let unsaid = |w: &&mut Weight| w.gate_up == GateUp::Unknown;
        for weight in self.weights.iter_mut().filter(unsaid) {
            weight.gate_up = GateUp::Ordered(order);
        }
    }

    /// The weight of that logical name.
    pub fn weight(&self, name: &str) -> Option<&Weight> {
        self.by_name.get(name).map(|&i| &self.weights[i])
    }

    /// Index of the weight of that logical name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }
}
