//! Sibling weights that are written as one.

use std::collections::HashMap;

use super::build::{Decided, Unit};
use super::{Piece, PlanError};
use crate::recipe::{Module, Recipe};

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
    let pieces: Vec<Piece> = parts
        .into_iter()
        .flat_map(|(_, unit)| unit.pieces)
        .collect();
    let rows = pieces.iter().map(|p| p.rows.len()).sum();
    Ok(Unit {
        name,
        shape: vec![rows, cols[0]],
        encoding,
        pieces,
    })
}
