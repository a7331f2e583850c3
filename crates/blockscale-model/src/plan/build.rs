//! From a catalog and a recipe to a plan.

use std::collections::HashSet;

use blockscale::format::ScaleElement;
use blockscale::layout::ScaleLayout;

use super::config_out::{self, Outcome};
use super::settle::{Groups, Settling};
use super::units::{Unit, check_names, check_shapes, name_units};
use super::{
    Dropped, Plan, PlanError, PlanOptions, PlannedTensor, PlannedWeight, join, order, pairs,
    shards, summary,
};
use crate::catalog::{Catalog, PartRole, TensorId};
use crate::checkpoint::Checkpoint;
use crate::deepseek_v4::{DeepSeekV4, Detection};
use crate::recipe::{Naming, Recipe, Rule, Stored, Target};

pub(super) fn build(
    checkpoint: &Checkpoint,
    catalog: &Catalog,
    recipe: &Recipe,
    options: &PlanOptions,
) -> Result<Plan, PlanError> {
    if !catalog.refusals.is_empty() {
        return Err(PlanError::Refused(catalog.refusals.clone()));
    }
    check_model(checkpoint, recipe)?;
    let mut findings = checkpoint.findings.clone();
    findings.extend(catalog.findings.iter().cloned());

    let units = name_units(catalog, recipe.naming, &mut findings);
    check_names(&units, catalog)?;
    if recipe.naming != Naming::Keep {
        check_shapes(&units, checkpoint, catalog, &mut findings)?;
    }
    let decided = decide(units, catalog, recipe)?;
    let mut joined = join::modules(decided, recipe)?;
    if recipe.naming == Naming::DeepseekV4Hf {
        joined = join::experts(joined, recipe)?;
    }

    let joined = pairs::join(joined, recipe, options.layout)?;

    let mut settling = Settling {
        checkpoint,
        catalog,
        recipe,
        model_dtype: model_dtype(checkpoint),
        layout: options.layout,
        groups: Groups::default(),
    };
    let mut weights = Vec::with_capacity(joined.len());
    for (unit, rule) in joined {
        weights.push(settling.weight(unit, rule, &mut findings)?);
    }
    order::follow_with_biases(&mut weights, catalog);
    if order::is_of_experts(options.layout)
        && weights.iter().all(|w| w.layout == ScaleLayout::Linear)
    {
        return Err(PlanError::NoExperts(options.layout));
    }
    let dropped = dropped(&weights, checkpoint, catalog);
    let has_index = checkpoint.shards.len() > 1 || checkpoint.has_index;
    let shards = shards::place(&mut weights, catalog, options, has_index)?;
    let outcome = Outcome {
        checkpoint,
        catalog,
        recipe,
        weights: &weights,
        shards: &shards,
    };
    let documents = config_out::documents(&outcome, has_index || shards.len() > 1)?;
    let summary = summary::summarise(&weights, catalog, recipe);
    Ok(Plan {
        recipe: recipe.name.clone(),
        weights,
        shards,
        documents,
        copied_files: checkpoint.other_files.clone(),
        dropped,
        findings,
        summary,
    })
}

fn check_model(checkpoint: &Checkpoint, recipe: &Recipe) -> Result<(), PlanError> {
    let config = checkpoint.config.as_ref();
    if let Some(Detection::Unsupported { model_type, reason }) = config.map(DeepSeekV4::detect) {
        return Err(PlanError::UnsupportedModel {
            model_type,
            reason: reason.to_string(),
        });
    }
    let found = config
        .and_then(|c| c.get("model_type")?.as_str())
        .map(str::to_owned);
    let fits = recipe.model_types.is_empty()
        || found
            .as_ref()
            .is_some_and(|f| recipe.model_types.contains(f));
    if fits {
        return Ok(());
    }
    Err(PlanError::OtherModel {
        recipe: recipe.name.clone(),
        expected: recipe.model_types.clone(),
        found,
    })
}

/// The dtype that the config states, as a type of float scales.
fn model_dtype(checkpoint: &Checkpoint) -> ScaleElement {
    let config = checkpoint.config.as_ref();
    let dtype = config.and_then(|c| c.get("dtype").or_else(|| c.get("torch_dtype")));
    match dtype.and_then(|d| d.as_str()) {
        Some("bfloat16") => ScaleElement::Bf16,
        Some("float16") => ScaleElement::F16,
        _ => ScaleElement::F32,
    }
}

/// A unit and the rule that decides.
pub(super) type Decided = (Unit, usize);

/// Finds each unit's rule, and the rules that decide nothing.
fn decide(units: Vec<Unit>, catalog: &Catalog, recipe: &Recipe) -> Result<Vec<Decided>, PlanError> {
    let mut used = vec![false; recipe.rules.len()];
    let mut decided = Vec::with_capacity(units.len());
    for unit in units {
        let rule = recipe
            .rule_for(&unit.name, &unit.encoding, &unit.shape)
            .ok_or_else(|| PlanError::NoRule {
                recipe: recipe.name.clone(),
                weight: unit.name.clone(),
            })?;
        used[rule] = true;
        check_accepted(&unit, &recipe.rules[rule], catalog)?;
        decided.push((unit, rule));
    }
    // A final catch-all has nothing left to do when every weight met its rule.
    let catch_all = |i: usize| {
        i + 1 == recipe.rules.len()
            && recipe.rules[i].to == Target::Keep
            && recipe.rules[i].patterns.iter().any(|p| p.as_str() == "*")
    };
    match (0..used.len()).find(|&i| !used[i] && !recipe.rules[i].optional && !catch_all(i)) {
        None => Ok(decided),
        Some(i) => Err(PlanError::RuleMatchesNothing {
            recipe: recipe.name.clone(),
            rule: i + 1,
            patterns: recipe.rules[i]
                .patterns
                .iter()
                .map(|p| p.as_str().to_owned())
                .collect(),
        }),
    }
}

fn check_accepted(unit: &Unit, rule: &Rule, catalog: &Catalog) -> Result<(), PlanError> {
    if rule.accept.is_empty() || rule.accept.contains(&Stored::of(&unit.encoding)) {
        return Ok(());
    }
    Err(PlanError::NotAccepted {
        weight: catalog.weights[unit.pieces[0].weight].name.clone(),
        expected: rule
            .accept
            .iter()
            .map(|s| s.name())
            .collect::<Vec<_>>()
            .join(", "),
        found: unit.encoding.to_string(),
    })
}

/// Activation scales that no output tensor takes over: they have no use once their weight leaves
/// the format that they were made for.
fn dropped(weights: &[PlannedWeight], checkpoint: &Checkpoint, catalog: &Catalog) -> Vec<Dropped> {
    let mut settled: HashSet<TensorId> = weights
        .iter()
        .flat_map(|w| &w.tensors)
        .flat_map(PlannedTensor::sources)
        .collect();
    weights
        .iter()
        .flat_map(|w| &w.pieces)
        .filter_map(|piece| catalog.weights[piece.weight].part(PartRole::InputScale))
        .filter(|tensor| settled.insert(*tensor))
        .map(|tensor| Dropped {
            tensor: checkpoint.tensors[tensor].name.clone(),
            reason: "activation scale of a format that the weight no longer has",
        })
        .collect()
}
