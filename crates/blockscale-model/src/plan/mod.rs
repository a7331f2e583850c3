//! What a conversion will do, down to the last byte.
//!
//! [`Plan::build`] takes a catalog and a recipe and settles every output tensor:
//! name, dtype, shape, shard, byte range, and the source rows that it is made
//! from. It is pure and deterministic, so two machines that plan the same
//! conversion agree without talking to each other.

mod build;
mod compressed_tensors;
mod config_out;
mod deepseek_config;
mod error;
mod expectation;
pub(crate) mod experts;
mod form;
mod integers;
mod join;
mod layout;
mod order;
mod pairs;
mod rebuilt;
mod settle;
mod shards;
mod step;
mod summary;
mod tensors;
mod units;
mod worker;

pub use error::PlanError;
pub use expectation::Expectation;
pub use step::Step;
pub use summary::{Summary, SummaryLine};
pub use worker::{Worker, WorkerError};

use std::ops::Range;

use blockscale::layout::ScaleLayout;
use safetensors::Dtype;

use crate::catalog::{Axes, Catalog, GateUp, Member, PartRole, RowOrder, TensorId};
use crate::checkpoint::Checkpoint;
use crate::finding::Finding;
use crate::recipe::Recipe;

/// Choices that are not part of a recipe.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// Bytes of tensor data after which a new shard begins. One weight is never
    /// split, so a shard may be larger.
    pub max_shard_bytes: u64,
    /// The runtime's layout in which block-scaled weights are written.
    pub layout: ScaleLayout,
}

impl Default for PlanOptions {
    fn default() -> Self {
        Self {
            max_shard_bytes: 5 << 30,
            layout: ScaleLayout::Linear,
        }
    }
}

/// Everything that a conversion writes.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Name of the recipe.
    pub recipe: String,
    /// Every output weight, in shard order.
    pub weights: Vec<PlannedWeight>,
    /// Every output shard.
    pub shards: Vec<PlannedShard>,
    /// Files written from the plan itself: configs and the index, in this order,
    /// after all shards.
    pub documents: Vec<Document>,
    /// Files copied from the source: tokenizer and the like.
    pub copied_files: Vec<String>,
    /// Source tensors that have no place in the output, and why.
    pub dropped: Vec<Dropped>,
    /// What the reader should know.
    pub findings: Vec<Finding>,
    /// Counts by kind.
    pub summary: Summary,
}

/// One output weight.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedWeight {
    /// Its name in the output.
    pub name: String,
    /// Its shape in elements.
    pub shape: Vec<usize>,
    /// The rule that decided, as an index into the recipe's rules.
    pub rule: usize,
    /// The source rows it is made of, stacked in this order.
    pub pieces: Vec<Piece>,
    /// What is done to them.
    pub step: Step,
    /// What the numbers must satisfy afterwards.
    pub expectation: Expectation,
    /// A rounding that should change nothing; if it does, it is reported.
    pub should_be_exact: bool,
    /// Weights with the same group share one global scale.
    pub global_group: Option<usize>,
    /// The order of its codes and scales.
    pub layout: ScaleLayout,
    /// Whether it holds gate and up in one, and in which order.
    pub gate_up: GateUp,
    /// Whether the pieces make up each matrix gate first, and its rows are written in turn.
    pub in_turn: bool,
    /// The axes of its matrices in the file.
    pub axes: Axes,
    /// The weights that are put on top of each other in it, as they would be called by themselves.
    pub members: Vec<Member>,
    /// The tensors that hold it.
    pub tensors: Vec<PlannedTensor>,
    /// The shard that holds them.
    pub shard: usize,
}

impl PlannedWeight {
    /// The tensor of that role.
    pub fn tensor(&self, role: PartRole) -> Option<&PlannedTensor> {
        self.tensors.iter().find(|t| t.role == role)
    }

    /// Whether its numbers pass through its step, and not as bytes beside it.
    pub fn is_computed(&self) -> bool {
        self.tensors.iter().any(|t| t.origin == Origin::Computed)
    }

    /// Bytes of all its tensors.
    pub fn bytes(&self) -> u64 {
        self.tensors
            .iter()
            .map(|t| t.range.end - t.range.start)
            .sum()
    }
}

/// Rows of a source weight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Index into [`Catalog::weights`].
    pub weight: usize,
    /// Rows, counted through all matrices of the weight.
    pub rows: Range<usize>,
    /// The order of gate and up in which the rows of each matrix are counted; `None`: as stored.
    /// In a bias it is the order that its last axis gets.
    pub order: Option<RowOrder>,
}

/// One output tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedTensor {
    /// Its name.
    pub name: String,
    /// Its dtype.
    pub dtype: Dtype,
    /// Its shape as written in the header.
    pub shape: Vec<usize>,
    /// What it is to its weight.
    pub role: PartRole,
    /// Where it lies in its shard, absolute in the file.
    pub range: Range<u64>,
    /// Where its bytes come from.
    pub origin: Origin,
}

impl PlannedTensor {
    /// Source bytes that it is copied from, in order; empty if it is not copied.
    pub fn copied_from(&self) -> &[SourceBytes] {
        match &self.origin {
            Origin::Copied(ranges) => ranges,
            _ => &[],
        }
    }

    /// Source tensors whose bytes it takes over, as they are or inverted.
    pub fn sources(&self) -> impl Iterator<Item = TensorId> {
        let inverted = match self.origin {
            Origin::Reciprocal(tensor) => Some(tensor),
            _ => None,
        };
        let copied = self.copied_from().iter().map(|source| source.tensor);
        copied.chain(inverted)
    }
}

/// Where the bytes of an output tensor come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Computed by the weight's step.
    Computed,
    /// Copied from these source bytes, in order.
    Copied(Vec<SourceBytes>),
    /// The reciprocals of the F32 values of a source tensor.
    Reciprocal(TensorId),
    /// F32 ones.
    Ones,
    /// These bytes, which the plan knows.
    Given(Vec<u8>),
}

/// A byte range of a source tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceBytes {
    /// The tensor.
    pub tensor: TensorId,
    /// Bytes, counted from the start of the tensor.
    pub range: Range<u64>,
}

/// One output shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedShard {
    /// File name.
    pub name: String,
    /// Length prefix and header, as written.
    pub header: Vec<u8>,
    /// Length of the whole file.
    pub len: u64,
    /// The weights in it, as a range of [`Plan::weights`].
    pub weights: Range<usize>,
}

/// A small file that the plan writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// File name.
    pub name: String,
    /// Content.
    pub bytes: Vec<u8>,
}

/// A source tensor that has no place in the output.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Dropped {
    /// Its name.
    pub tensor: String,
    /// Why the output has no use for it.
    pub reason: &'static str,
}

impl Plan {
    /// Plans the conversion of `checkpoint` by `recipe`.
    ///
    /// # Errors
    /// [`PlanError`] when a weight cannot be read, is met by no rule, or cannot
    /// become what its rule asks for. Nothing is guessed.
    pub fn build(
        checkpoint: &Checkpoint,
        catalog: &Catalog,
        recipe: &Recipe,
        options: &PlanOptions,
    ) -> Result<Self, PlanError> {
        build::build(checkpoint, catalog, recipe, options)
    }

    /// Bytes of all output shards, headers included.
    pub fn output_bytes(&self) -> u64 {
        self.shards.iter().map(|s| s.len).sum()
    }
}
