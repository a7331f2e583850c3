//! Source weights as the output will name them, and the checks on those names.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use blockscale::layout::ScaleLayout;

use super::{Piece, PlanError, experts};
use crate::catalog::{Catalog, Encoding, GateUp, Member, RowOrder, Weight};
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
    /// Whether it holds gate and up in one, and in which order its rows come.
    pub(super) gate_up: GateUp,
    /// Whether each matrix is pieced together gate first and written in turn.
    pub(super) in_turn: bool,
    /// The weights that lie on top of each other in it.
    pub(super) members: Vec<Member>,
}

/// How much of a source weight a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// All of it, as it is stored.
    Whole,
    /// All of it, with its rows in another order.
    Moved,
    /// Some of it, or several.
    Parts,
}

impl Unit {
    /// Rows of source weights, none of which holds gate and up in one.
    pub(super) fn new(
        name: String,
        shape: Vec<usize>,
        encoding: Encoding,
        pieces: Vec<Piece>,
    ) -> Self {
        Self {
            name,
            shape,
            encoding,
            pieces,
            gate_up: GateUp::Apart,
            in_turn: false,
            members: Vec::new(),
        }
    }

    /// All of a source weight under a name.
    fn whole(name: String, index: usize, weight: &Weight) -> Self {
        let pieces = vec![Piece {
            weight: index,
            rows: 0..weight.matrices().total_rows(),
            order: None,
        }];
        Self {
            gate_up: weight.gate_up,
            members: weight.members.clone(),
            ..Self::new(name, weight.shape.clone(), weight.encoding, pieces)
        }
    }

    pub(super) fn extent(&self, catalog: &Catalog) -> Extent {
        let [piece] = self.pieces.as_slice() else {
            return Extent::Parts;
        };
        let rows = catalog.weights[piece.weight].matrices().total_rows();
        match piece.order {
            _ if piece.rows.len() != rows => Extent::Parts,
            None => Extent::Whole,
            Some(_) => Extent::Moved,
        }
    }
}

/// Gives every source weight its output name, taking stacked experts apart.
pub(super) fn name_units(
    catalog: &Catalog,
    naming: Naming,
    findings: &mut Vec<Finding>,
) -> Vec<Unit> {
    let mut units = Vec::with_capacity(catalog.weights.len());
    for (index, weight) in catalog.weights.iter().enumerate() {
        let whole = |name: String| Unit::whole(name, index, weight);
        if let Some(halves) = laid_out_halves(index, weight, naming) {
            units.extend(halves);
        } else if naming == Naming::Keep {
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

/// Gate and up that were joined for a runtime's layout, each by itself again.
fn laid_out_halves(index: usize, weight: &Weight, naming: Naming) -> Option<Vec<Unit>> {
    if weight.layout == ScaleLayout::Linear || weight.members.len() != 2 {
        return None;
    }
    let cols = *weight.shape.last()?;
    let mut first = 0;
    let halves = weight.members.iter().map(|member| {
        let native = match naming {
            Naming::Keep => None,
            _ => deepseek_v4::to_native(&member.name),
        };
        let name = native.map_or_else(|| member.name.clone(), Cow::into_owned);
        let piece = Piece {
            weight: index,
            rows: first..first + member.rows,
            order: None,
        };
        first += member.rows;
        Unit::new(name, vec![member.rows, cols], weight.encoding, vec![piece])
    });
    Some(halves.collect())
}

/// The experts of a stacked weight, or `None` if it is not one.
fn native_units(index: usize, weight: &Weight) -> Option<Vec<Unit>> {
    let (layer, kind) = deepseek_v4::fused_experts(&weight.name)?;
    let &[experts, rows, cols] = weight.shape.as_slice() else {
        return None;
    };
    // Where nothing else tells the order, the names asked for do: DeepSeek-V4 has the gate first.
    let order = weight.gate_up.order().map(|_| RowOrder::GateFirst);
    let parts = experts::split(layer, kind, experts, rows);
    let units = parts.into_iter().map(|part| {
        let piece = Piece {
            weight: index,
            rows: part.rows.clone(),
            order: order.filter(|&order| weight.gate_up != GateUp::Ordered(order)),
        };
        let shape = vec![part.rows.len(), cols];
        Unit::new(part.name, shape, weight.encoding, vec![piece])
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
