//! Gate and up on their way from one order of rows to another.

use blockscale::format::Block;
use blockscale::layout::ScaleLayout;

use super::settle::Settling;
use super::units::{Extent, Unit};
use super::{Origin, PlanError, PlannedWeight};
use crate::catalog::{
    Axes, Catalog, Encoding, ExpertPart, GateUp, RowOrder, module_of, plain_axes, weight_of_bias,
};
use crate::dialect::Dialect;
use crate::recipe::{Rule, Target};

/// The layout that a weight gets, given the one asked for.
///
/// A layout of a first or second MoE weight stands for both: kernels read experts in the two
/// together, and everything else by another.
pub(super) fn layout_for(asked: ScaleLayout, name: &str) -> ScaleLayout {
    use ScaleLayout::{Linear, MegaMoeL1, MegaMoeL2, TrtllmMoeW2, TrtllmMoeW13};
    let (first, second) = match asked {
        TrtllmMoeW13(shuffle) | TrtllmMoeW2(shuffle) => {
            (TrtllmMoeW13(shuffle), TrtllmMoeW2(shuffle))
        }
        MegaMoeL1 | MegaMoeL2 => (MegaMoeL1, MegaMoeL2),
        other => return other,
    };
    match ExpertPart::of(name) {
        Some(ExpertPart::GateUp) => first,
        Some(ExpertPart::Down) => second,
        _ => Linear,
    }
}

/// Whether a layout is of experts alone, and takes gate and up in one.
pub(super) fn is_of_experts(layout: ScaleLayout) -> bool {
    layout_for(layout, "") != layout
}

impl Settling<'_> {
    /// The order of gate and up that the output is to have.
    ///
    /// gpt-oss has rows in turn, every other dialect the gate first, and so have the layouts of
    /// experts before rows are moved. What is kept, or becomes plain numbers, keeps its order.
    fn wanted_order(
        &self,
        unit: &Unit,
        rule: &Rule,
        result: &Encoding,
        layout: ScaleLayout,
    ) -> Result<GateUp, PlanError> {
        let needed = |order, needed_by: String| match unit.gate_up {
            GateUp::Unknown => Err(PlanError::UnknownRowOrder {
                weight: unit.name.clone(),
                needed_by,
            }),
            _ => Ok(GateUp::Ordered(order)),
        };
        if unit.gate_up == GateUp::Apart {
            return Ok(GateUp::Apart);
        }
        if is_of_experts(layout) && result.is_scaled() {
            return needed(RowOrder::GateFirst, format!("layout `{layout}`"));
        }
        if rule.to == Target::Keep || !result.is_scaled() {
            return Ok(unit.gate_up);
        }
        let usual = result.format().map(Dialect::usual);
        match self.recipe.dialect.or(usual) {
            Some(Dialect::GptOss) => needed(RowOrder::Interleaved, "dialect gpt-oss".to_owned()),
            _ => Ok(match unit.gate_up {
                GateUp::Unknown => GateUp::Unknown,
                _ => GateUp::Ordered(RowOrder::GateFirst),
            }),
        }
    }

    /// Has the rows of a unit read in the order that the output is to have.
    pub(super) fn put_in_order(
        &self,
        unit: &mut Unit,
        rule: &Rule,
        result: &Encoding,
        layout: ScaleLayout,
    ) -> Result<(), PlanError> {
        let wanted = self.wanted_order(unit, rule, result, layout)?;
        if unit.in_turn && wanted == GateUp::Ordered(RowOrder::Interleaved) {
            unit.gate_up = wanted;
        } else if unit.in_turn {
            unit.in_turn = false;
        } else if wanted != unit.gate_up {
            for piece in &mut unit.pieces {
                piece.order = wanted.order();
            }
            unit.gate_up = wanted;
        }
        for piece in &unit.pieces {
            let source = &self.catalog.weights[piece.weight];
            let moves = piece.order.is_some() && piece.order != source.gate_up.order();
            let alone = rows_are_alone(&source.encoding, source.matrices().shape.rows);
            let apart = rows_are_alone(result, 2);
            if moves && !alone || unit.in_turn && !apart {
                return Err(PlanError::RowsShareScales {
                    weight: source.name.clone(),
                    found: source.encoding.to_string(),
                });
            }
        }
        Ok(())
    }

    /// The axes of an output.
    pub(super) fn axes(&self, unit: &Unit, result: &Encoding) -> Result<Axes, PlanError> {
        let source = &self.catalog.weights[unit.pieces[0].weight];
        if unit.shape.len() < 3 || !result.is_plain_float() {
            return Ok(Axes::OutIn);
        }
        // Plain numbers are what the model's own class loads.
        let own = || plain_axes(self.checkpoint, &unit.name);
        match (unit.extent(self.catalog), source.axes) {
            (Extent::Parts, _) if own() == Axes::InOut => Err(PlanError::StacksGptOss {
                weight: unit.name.clone(),
            }),
            (Extent::Parts, _) => Ok(Axes::OutIn),
            (_, Axes::OutIn) if source.encoding.is_scaled() => Ok(own()),
            (_, axes) => Ok(axes),
        }
    }
}

/// Whether a row has scales of its own, so that it can be moved with them.
fn rows_are_alone(encoding: &Encoding, rows: usize) -> bool {
    match encoding {
        Encoding::Plain(_) | Encoding::Ggml(_) => true,
        Encoding::Block(format) => format.block == Block::Tensor || format.block_rows(rows) <= 1,
        Encoding::Grouped(_) => false,
    }
}

/// Brings the biases of gate and up into the order that their weights have in the output.
pub(super) fn follow_with_biases(weights: &mut [PlannedWeight], catalog: &Catalog) {
    let orders: Vec<(String, GateUp)> = weights
        .iter()
        .filter(|w| w.gate_up != GateUp::Apart)
        .map(|w| (module_of(&w.name).to_owned(), w.gate_up))
        .collect();
    for weight in weights {
        let [piece] = weight.pieces.as_slice() else {
            continue;
        };
        let source = &catalog.weights[piece.weight];
        let (true, Some(of), [tensor]) = (
            source.is_bias(),
            weight_of_bias(&weight.name),
            weight.tensors.as_mut_slice(),
        ) else {
            continue;
        };
        let wanted = orders.iter().find(|(name, _)| *name == of);
        if let Some(&(_, GateUp::Ordered(to))) = wanted
            && source.gate_up.order().is_some_and(|from| from != to)
        {
            weight.gate_up = GateUp::Ordered(to);
            weight.pieces[0].order = Some(to);
            tensor.origin = Origin::Computed;
        }
    }
}
