//! Plans: what is written, from what, and what is refused.

#[path = "../common/mod.rs"]
mod common;

mod configs;
mod deepseek;
mod experts;
mod fuse;
mod integers;
mod model;
mod orders;
mod refusals;
mod shards;
mod steps;

use blockscale_model::catalog::Catalog;
use blockscale_model::plan::{Plan, PlanError, PlanOptions, PlannedWeight};
use blockscale_model::recipe::Recipe;
use blockscale_model::{Checkpoint, Dtype};

pub(crate) fn try_plan(checkpoint: &Checkpoint, recipe: &Recipe) -> Result<Plan, PlanError> {
    let options = PlanOptions::default();
    Plan::build(checkpoint, &Catalog::of(checkpoint), recipe, &options)
}

pub(crate) fn plan(checkpoint: &Checkpoint, recipe: &Recipe) -> Plan {
    try_plan(checkpoint, recipe).unwrap_or_else(|error| panic!("{error}"))
}

pub(crate) fn weight<'a>(plan: &'a Plan, name: &str) -> &'a PlannedWeight {
    let found = plan.weights.iter().find(|w| w.name == name);
    found.unwrap_or_else(|| panic!("no {name}"))
}

/// Name, dtype and shape of every output tensor.
pub(crate) fn tensors(plan: &Plan) -> Vec<(&str, Dtype, &[usize])> {
    let all = plan.weights.iter().flat_map(|w| &w.tensors);
    all.map(|t| (t.name.as_str(), t.dtype, t.shape.as_slice()))
        .collect()
}

/// The content of a document of the plan, as JSON.
pub(crate) fn document(plan: &Plan, name: &str) -> serde_json::Value {
    let found = plan.documents.iter().find(|d| d.name == name);
    let document = found.unwrap_or_else(|| panic!("no {name}"));
    serde_json::from_slice(&document.bytes).unwrap()
}
