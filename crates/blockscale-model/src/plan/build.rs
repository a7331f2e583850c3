//! From a catalog and a recipe to a plan.

use std::collections::{HashMap, HashSet};

use super::config_out::{self, Outcome};
use super::{Dropped, Piece, Plan, PlanError, PlanOptions, PlannedWeight, Step};
use super::{experts, join, shards, step, summary, tensors};
use crate::catalog::{Catalog, Encoding, PartRole, Weight};
use crate::checkpoint::{Checkpoint, NameList};
use crate::deepseek_v4::{self, DeepSeekV4, Detection};
use crate::finding::{Finding, Severity};
use crate::recipe::{Naming, Recipe, Rule, Stored, Target};

/// A weight of the output before its tensors are settled.
pub(super) struct Unit {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) encoding: Encoding,
    pub(super) pieces: Vec<Piece>,
}

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
    if recipe.naming == Naming::DeepseekV4 {
        check_shapes(&units, checkpoint, catalog, &mut findings)?;
    }
    let decided = decide(units, catalog, recipe)?;
    let joined = join::modules(decided, recipe)?;

    let mut groups = Groups::default();
    let mut weights = Vec::with_capacity(joined.len());
    for (unit, rule) in joined {
        weights.push(plan_weight(
            unit,
            rule,
            checkpoint,
            catalog,
            recipe,
            &mut groups,
            &mut findings,
        )?);
    }
    let dropped = dropped(&weights, checkpoint, catalog);
    let has_index = checkpoint.shards.len() > 1 || checkpoint.has_index;
    let shards = shards::place(&mut weights, options, has_index)?;
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

/// Gives every source weight its output name, taking stacked experts apart.
fn name_units(catalog: &Catalog, naming: Naming, findings: &mut Vec<Finding>) -> Vec<Unit> {
    let mut units = Vec::with_capacity(catalog.weights.len());
    for (index, weight) in catalog.weights.iter().enumerate() {
        let whole = |name: String| Unit {
            name,
            shape: weight.shape.clone(),
            encoding: weight.encoding,
            pieces: vec![Piece {
                weight: index,
                rows: 0..weight.matrices().total_rows(),
            }],
        };
        match naming {
            Naming::Keep => units.push(whole(weight.name.clone())),
            Naming::DeepseekV4 => match native_units(index, weight) {
                Some(split) => units.extend(split),
                None => match deepseek_v4::to_native(&weight.name) {
                    Some(native) => units.push(whole(native.into_owned())),
                    None => {
                        findings.push(unknown_name(weight));
                        units.push(whole(weight.name.clone()));
                    }
                },
            },
        }
    }
    units
}

/// The experts of a stacked weight, or `None` if it is not one.
fn native_units(index: usize, weight: &Weight) -> Option<Vec<Unit>> {
    let (layer, kind) = deepseek_v4::fused_experts(&weight.name)?;
    let &[experts, rows, cols] = weight.shape.as_slice() else {
        return None;
    };
    let parts = experts::split(layer, kind, experts, rows);
    let units = parts.into_iter().map(|part| Unit {
        name: part.name,
        shape: vec![part.rows.len(), cols],
        encoding: weight.encoding,
        pieces: vec![Piece {
            weight: index,
            rows: part.rows,
        }],
    });
    Some(units.collect())
}

fn unknown_name(weight: &Weight) -> Finding {
    Finding {
        severity: Severity::Warning,
        code: "unknown-name",
        file: None,
        tensor: Some(weight.name.clone()),
        message: format!(
            "`{}` is not a name of this architecture in any known spelling; its name is kept",
            weight.name
        ),
    }
}

fn check_names(units: &[Unit], catalog: &Catalog) -> Result<(), PlanError> {
    let mut seen: HashMap<&str, &Unit> = HashMap::with_capacity(units.len());
    let source = |unit: &Unit| catalog.weights[unit.pieces[0].weight].name.clone();
    for unit in units {
        if let Some(other) = seen.insert(&unit.name, unit) {
            return Err(PlanError::SameName {
                name: unit.name.clone(),
                first: source(other),
                second: source(unit),
            });
        }
    }
    Ok(())
}

/// Holds every weight against the shape that the config gives it, so that a
/// tensor of one module under another's name is caught before it is written.
fn check_shapes(
    units: &[Unit],
    checkpoint: &Checkpoint,
    catalog: &Catalog,
    findings: &mut Vec<Finding>,
) -> Result<(), PlanError> {
    let warning = |code, tensor, message| Finding {
        severity: Severity::Warning,
        code,
        file: None,
        tensor,
        message,
    };
    let arch = match checkpoint.config.as_ref().map(DeepSeekV4::from_config) {
        Some(Ok(arch)) => arch,
        Some(Err(error)) => {
            findings.push(warning(
                "config-incomplete",
                None,
                format!("{error}; shapes are not checked against the architecture"),
            ));
            return Ok(());
        }
        None => return Ok(()),
    };
    for unit in units {
        let Some(expected) = arch.expected_shape(&unit.name) else {
            continue;
        };
        if expected != unit.shape {
            return Err(PlanError::WrongShape {
                weight: unit.name.clone(),
                source_name: catalog.weights[unit.pieces[0].weight].name.clone(),
                expected,
                found: unit.shape.clone(),
            });
        }
    }
    let present: HashSet<&str> = units.iter().map(|u| u.name.as_str()).collect();
    let absent: Vec<String> = arch
        .tensor_names()
        .filter(|name| !present.contains(name.as_str()))
        .collect();
    if let Some(first) = absent.first() {
        findings.push(warning(
            "weights-missing",
            Some(first.clone()),
            format!(
                "config.json describes {} weights that are not in the checkpoint: {}",
                absent.len(),
                NameList(&absent)
            ),
        ));
    }
    Ok(())
}

/// A unit and the rule that decides it, as an index into the recipe's rules.
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

/// Numbers the groups of weights that share a global scale.
#[derive(Default)]
struct Groups(HashMap<String, usize>);

impl Groups {
    fn of(&mut self, module: String) -> usize {
        let next = self.0.len();
        *self.0.entry(module).or_insert(next)
    }
}

fn plan_weight(
    unit: Unit,
    rule_index: usize,
    checkpoint: &Checkpoint,
    catalog: &Catalog,
    recipe: &Recipe,
    groups: &mut Groups,
    findings: &mut Vec<Finding>,
) -> Result<PlannedWeight, PlanError> {
    let rule = &recipe.rules[rule_index];
    let step = match check_fits(&unit, rule.to) {
        Ok(()) => choose_step(&unit, rule, catalog)?,
        Err(error) if rule.matrices => {
            findings.push(Finding {
                severity: Severity::Warning,
                code: "kept-as-it-is",
                file: None,
                tensor: Some(unit.name.clone()),
                message: error.to_string(),
            });
            Step::Copy
        }
        Err(error) => return Err(error),
    };
    let shares = rule.share_global && matches!(step, Step::Encode { .. });
    let global_group = shares.then(|| rule.member(&unit.name)).flatten();
    Ok(PlannedWeight {
        tensors: tensors::tensors(&unit, &step, rule, checkpoint, catalog),
        rule: rule_index,
        expectation: step.expectation(&unit.encoding),
        should_be_exact: rule.exact && step != Step::Copy,
        global_group: global_group.map(|member| groups.of(member.joined)),
        shard: 0,
        step,
        name: unit.name,
        shape: unit.shape,
        pieces: unit.pieces,
    })
}

fn choose_step(unit: &Unit, rule: &Rule, catalog: &Catalog) -> Result<Step, PlanError> {
    let not_numbers = || PlanError::NotNumbers {
        weight: unit.name.clone(),
        found: unit.encoding.to_string(),
        to: rule.to,
    };
    let step = step::choose(&unit.encoding, rule.to, rule.scale_rule).ok_or_else(not_numbers)?;
    // Bytes of differently stored parts cannot be put on top of each other.
    let alike = unit
        .pieces
        .iter()
        .all(|p| catalog.weights[p.weight].encoding == unit.encoding);
    match (step, rule.to.plain_dtype()) {
        (Step::Copy, Some(dtype)) if !alike => Ok(Step::Decode(dtype)),
        _ => Ok(step),
    }
}

/// Whether the shape has the rows, columns and whole blocks that the target needs.
fn check_fits(unit: &Unit, to: Target) -> Result<(), PlanError> {
    let Some(format) = to.format() else {
        return Ok(());
    };
    if unit.shape.len() < 2 {
        return Err(PlanError::NotAMatrix {
            weight: unit.name.clone(),
            shape: unit.shape.clone(),
            to,
        });
    }
    let cols = unit.shape.last().copied().unwrap_or(0);
    match format.block {
        blockscale::format::Block::Grid {
            rows: 1,
            cols: block,
        } if cols % block != 0 => Err(PlanError::PartialBlock {
            weight: unit.name.clone(),
            cols,
            to,
            block,
        }),
        _ => Ok(()),
    }
}

/// Activation scales have no use once their weight leaves the format they were made for.
fn dropped(weights: &[PlannedWeight], checkpoint: &Checkpoint, catalog: &Catalog) -> Vec<Dropped> {
    weights
        .iter()
        .filter(|w| w.step != Step::Copy)
        .flat_map(|w| &w.pieces)
        .filter_map(|piece| catalog.weights[piece.weight].part(PartRole::InputScale))
        .map(|tensor| Dropped {
            tensor: checkpoint.tensors[tensor].name.clone(),
            reason: "activation scale of a format that the weight no longer has",
        })
        .collect()
}
