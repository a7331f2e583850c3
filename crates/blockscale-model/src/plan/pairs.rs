//! Gate and up of an expert put into one, as the layouts of experts want them.

use std::collections::HashMap;

use blockscale::layout::ScaleLayout;

use super::PlanError;
use super::build::Decided;
use super::order::is_of_experts;
use super::units::Unit;
use crate::catalog::{Encoding, ExpertPart, GateUp, Member, RowOrder, name_of_both, other_half};
use crate::recipe::{Recipe, Target};

/// Joins gate and up of each expert that will have scales, where `layout` takes them in one.
pub(super) fn join(
    decided: Vec<Decided>,
    recipe: &Recipe,
    layout: ScaleLayout,
) -> Result<Vec<Decided>, PlanError> {
    if !is_of_experts(layout) {
        return Ok(decided);
    }
    let has_scales = |(unit, rule): &Decided| match recipe.rules[*rule].to {
        Target::Keep => matches!(unit.encoding, Encoding::Block(_)),
        to => !to.is_plain(),
    };
    let is = |decided: &Decided, part| {
        ExpertPart::of(&decided.0.name) == Some(part) && has_scales(decided)
    };
    let (ups, others): (Vec<Decided>, Vec<Decided>) = decided
        .into_iter()
        .partition(|decided| is(decided, ExpertPart::Up));
    let mut ups: HashMap<String, Decided> =
        ups.into_iter().map(|up| (up.0.name.clone(), up)).collect();
    let mut joined = Vec::with_capacity(others.len());
    for decided in others {
        if !is(&decided, ExpertPart::Gate) {
            joined.push(decided);
            continue;
        }
        let missing = other_half(&decided.0.name).unwrap_or_default();
        let up = ups.remove(&missing);
        let up = up.ok_or_else(|| incomplete(&decided.0.name, missing))?;
        joined.push(both(decided, up, layout)?);
    }
    let mut alone: Vec<String> = ups.into_keys().collect();
    alone.sort_unstable();
    match alone.first() {
        None => Ok(joined),
        Some(up) => Err(incomplete(up, other_half(up).unwrap_or_default())),
    }
}

fn incomplete(half: &str, missing: String) -> PlanError {
    PlanError::IncompleteModule {
        module: name_of_both(half).unwrap_or_else(|| half.to_owned()),
        missing,
    }
}

/// The rows of the gate above those of up, under the rule of both.
fn both(gate: Decided, up: Decided, layout: ScaleLayout) -> Result<Decided, PlanError> {
    let ((gate, rule), (up, rule_of_up)) = (gate, up);
    let &[rows, cols] = gate.shape.as_slice() else {
        return Err(unlike(&gate, &up, layout));
    };
    if gate.encoding != up.encoding || gate.shape != up.shape || rule != rule_of_up {
        return Err(unlike(&gate, &up, layout));
    }
    let member = |unit: &Unit| Member {
        name: unit.name.clone(),
        rows,
    };
    let name = name_of_both(&gate.name).unwrap_or_else(|| gate.name.clone());
    let members = vec![member(&gate), member(&up)];
    let pieces = [gate.pieces, up.pieces].concat();
    let unit = Unit {
        gate_up: GateUp::Ordered(RowOrder::GateFirst),
        members,
        ..Unit::new(name, vec![2 * rows, cols], gate.encoding, pieces)
    };
    Ok((unit, rule))
}

fn unlike(gate: &Unit, up: &Unit, layout: ScaleLayout) -> PlanError {
    let is = |unit: &Unit| format!("{} {:?}", unit.encoding, unit.shape);
    PlanError::UnlikeHalves {
        gate_is: is(gate),
        up_is: is(up),
        gate: gate.name.clone(),
        up: up.name.clone(),
        layout,
    }
}
