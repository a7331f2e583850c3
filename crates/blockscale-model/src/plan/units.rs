//! Source weights as the output will name them, and the checks on those names.

use std::collections::{HashMap, HashSet};

use super::{Piece, PlanError, experts};
use crate::catalog::{Catalog, Encoding, Weight};
use crate::checkpoint::{Checkpoint, NameList};
use crate::deepseek_v4::{self, DeepSeekV4};
use crate::finding::{Finding, Severity};
use crate::recipe::Naming;

/// A weight of the output before its tensors are settled.
#[derive(Clone)]
pub(super) struct Unit {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) encoding: Encoding,
    pub(super) pieces: Vec<Piece>,
}

/// Gives every source weight its output name, taking stacked experts apart.
pub(super) fn name_units(
    catalog: &Catalog,
    naming: Naming,
    findings: &mut Vec<Finding>,
) -> Vec<Unit> {
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
        if naming == Naming::Keep {
            units.push(whole(weight.name.clone()));
        } else if let Some(split) = native_units(index, weight) {
            units.extend(split);
        } else if let Some(native) = deepseek_v4::to_native(&weight.name) {
            units.push(whole(native.into_owned()));
        } else {
            findings.push(unknown_name(weight));
            units.push(whole(weight.name.clone()));
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

pub(super) fn check_names(units: &[Unit], catalog: &Catalog) -> Result<(), PlanError> {
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
pub(super) fn check_shapes(
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
