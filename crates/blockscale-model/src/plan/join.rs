//! Weights put on top of each other: modules that a rule fuses, and stacked experts.

use std::collections::HashMap;

use super::build::Decided;
use super::units::Unit;
use super::{Piece, PlanError};
use crate::catalog::{Encoding, GateUp, Member, RowOrder, held_by};
use crate::deepseek_v4::{Layer, Part, parse};
use crate::dialect::Dialect;
use crate::recipe::{Module, Recipe, Target};

/// Stacks the members of each module whose rule says `fuse`.
pub(super) fn modules(decided: Vec<Decided>, recipe: &Recipe) -> Result<Vec<Decided>, PlanError> {
    let mut members: HashMap<String, Vec<(usize, Unit)>> = HashMap::new();
    let mut joined: Vec<(Slot<'_>, usize)> = Vec::with_capacity(decided.len());
    for (unit, rule) in decided {
        let fusing = &recipe.rules[rule];
        let fuse = fusing.fuse == Some(true);
        let Some(member) = fuse.then(|| fusing.member(&unit.name)).flatten() else {
            joined.push((Slot::Unit(unit), rule));
            continue;
        };
        let known = members.entry(member.joined.clone()).or_default();
        if known.is_empty() {
            joined.push((Slot::Module(member.joined, member.module), rule));
        }
        known.push((member.place, unit));
    }
    joined
        .into_iter()
        .map(|(slot, rule)| match slot {
            Slot::Unit(unit) => Ok((unit, rule)),
            Slot::Module(name, module) => {
                let parts = members.remove(&name).unwrap_or_default();
                Ok((stack(name, module, parts)?, rule))
            }
        })
        .collect()
}

/// A place in the order of the output.
enum Slot<'a> {
    Unit(Unit),
    Module(String, &'a Module),
}

fn stack(name: String, module: &Module, mut parts: Vec<(usize, Unit)>) -> Result<Unit, PlanError> {
    parts.sort_by_key(|(place, _)| *place);
    let absent = (0..module.rows.len()).find(|&i| parts.iter().all(|(place, _)| *place != i));
    if let Some(absent) = absent {
        let missing = module.rows[absent].clone();
        return Err(PlanError::IncompleteModule {
            module: name,
            missing,
        });
    }
    let cols: Vec<usize> = parts
        .iter()
        .map(|(_, unit)| unit.shape.last().copied().unwrap_or(1))
        .collect();
    if cols.iter().any(|&c| c != cols[0]) || parts.iter().any(|(_, u)| u.shape.len() != 2) {
        return Err(PlanError::UnevenModule {
            module: name,
            found: cols,
        });
    }
    // One encoding stands for all in listings; each piece is decoded by its own
    // weight's format and global scale.
    let encoding = parts[0].1.encoding;
    let members: Vec<Member> = parts
        .iter()
        .map(|(_, unit)| Member {
            name: unit.name.clone(),
            rows: unit.shape[0],
        })
        .collect();
    let names: Vec<&str> = members.iter().map(|m| m.name.as_str()).collect();
    let gate_up = held_by(&names);
    let pieces: Vec<Piece> = parts
        .into_iter()
        .flat_map(|(_, unit)| unit.pieces)
        .collect();
    let rows = pieces.iter().map(|p| p.rows.len()).sum();
    Ok(Unit {
        gate_up,
        members,
        ..Unit::new(name, vec![rows, cols[0]], encoding, pieces)
    })
}

/// Stacks the experts of each layer into the two 3-D weights of transformers:
/// of each expert the rows of w1 and of w3, and w2.
///
/// Plain numbers have w1 above w3. The one stacked block format is that of gpt-oss, which has their
/// rows in turn.
pub(super) fn experts(decided: Vec<Decided>, recipe: &Recipe) -> Result<Vec<Decided>, PlanError> {
    let mut stacks: HashMap<String, (Stack, usize)> = HashMap::new();
    let mut order = Vec::with_capacity(decided.len());
    for (unit, rule) in decided {
        let Some((name, expert, place)) = stack_of(&unit.name) else {
            order.push(Ordered::Unit(unit, rule));
            continue;
        };
        let to = recipe.rules[rule].to;
        let plain = match to {
            Target::Keep => unit.encoding.is_plain_float(),
            to => to.is_plain(),
        };
        let gpt_oss = recipe.dialect == Some(Dialect::GptOss) && to == Target::Mxfp4;
        if !plain && !gpt_oss {
            return Err(PlanError::StacksBlocks {
                weight: unit.name,
                found: unit.encoding.to_string(),
            });
        }
        if !stacks.contains_key(&name) {
            order.push(Ordered::Stack(name.clone()));
        }
        let (stack, _) = stacks
            .entry(name)
            .or_insert_with(|| (Stack::default(), rule));
        stack.push(((expert, place), unit));
    }
    let stacked = order.into_iter().filter_map(|slot| match slot {
        Ordered::Unit(unit, rule) => Some(Ok((unit, rule))),
        Ordered::Stack(name) => {
            let (stack, rule) = stacks.remove(&name)?;
            let gpt_oss = recipe.rules[rule].to == Target::Mxfp4;
            let unit = pile(name, stack).map(|unit| Unit {
                in_turn: gpt_oss && unit.gate_up != GateUp::Apart,
                ..unit
            });
            Some(unit.map(|unit| (unit, rule)))
        }
    });
    stacked.collect()
}

/// Experts of one stack, by expert and place within it.
type Stack = Vec<((usize, usize), Unit)>;

enum Ordered {
    Unit(Unit, usize),
    Stack(String),
}

/// The stacked weight that an expert's weight belongs to, the expert, and its
/// place in the expert's matrix.
fn stack_of(native: &str) -> Option<(String, usize, usize)> {
    let name = parse(native)?;
    let (stack, place) = match name.part {
        Part::ExpertW1 => ("gate_up_proj", 0),
        Part::ExpertW3 => ("gate_up_proj", 1),
        Part::ExpertW2 => ("down_proj", 0),
        _ => return None,
    };
    let prefix = match name.layer {
        Layer::Top => return None,
        layer => format!("model.{layer}"),
    };
    Some((format!("{prefix}mlp.experts.{stack}"), name.expert, place))
}

fn pile(name: String, mut stack: Stack) -> Result<Unit, PlanError> {
    stack.sort_by_key(|(place, _)| *place);
    let experts = stack.last().map_or(0, |((expert, _), _)| expert + 1);
    let shape = |unit: &Unit| (unit.shape[0], unit.shape.last().copied().unwrap_or(1));
    let (rows, cols) = shape(&stack[0].1);
    let even =
        stack.len().is_multiple_of(experts) && stack.iter().all(|(_, u)| shape(u) == (rows, cols));
    if !even {
        let found = stack.iter().map(|(_, unit)| shape(unit).1).collect();
        return Err(PlanError::UnevenModule {
            module: name,
            found,
        });
    }
    let encoding: Encoding = stack[0].1.encoding;
    let per_expert = stack.len() / experts;
    let pieces: Vec<Piece> = stack
        .into_iter()
        .flat_map(|(_, unit)| unit.pieces)
        .collect();
    let shape = vec![experts, per_expert * rows, cols];
    Ok(Unit {
        gate_up: match per_expert {
            2 => GateUp::Ordered(RowOrder::GateFirst),
            _ => GateUp::Apart,
        },
        ..Unit::new(name, shape, encoding, pieces)
    })
}
