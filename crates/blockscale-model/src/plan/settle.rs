//! A named unit made into a planned weight: its step, and its tensors.

use std::collections::HashMap;

use blockscale::format::{Format, ScaleElement};
use blockscale::int::IntFormat;
use blockscale::layout::ScaleLayout;

use super::units::Unit;
use super::{Piece, PlanError, PlannedWeight, Step, integers, layout, order, step};
use crate::catalog::{Catalog, Encoding, name_of_both};
use crate::checkpoint::Checkpoint;
use crate::deepseek_v4::spell;
use crate::dialect::Dialect;
use crate::finding::{Finding, Severity};
use crate::recipe::{Recipe, Rule};

/// Numbers the groups of weights that share a global scale.
#[derive(Default)]
pub(super) struct Groups(HashMap<String, usize>);

impl Groups {
    fn of(&mut self, module: String) -> usize {
        let next = self.0.len();
        *self.0.entry(module).or_insert(next)
    }
}

/// What all weights of a plan are settled by.
pub(super) struct Settling<'a> {
    pub(super) checkpoint: &'a Checkpoint,
    pub(super) catalog: &'a Catalog,
    pub(super) recipe: &'a Recipe,
    /// Type of float scales in dialects that keep them in the model's dtype.
    pub(super) model_dtype: ScaleElement,
    /// The layout in which block-scaled weights are written.
    pub(super) layout: ScaleLayout,
    pub(super) groups: Groups,
}

impl Settling<'_> {
    /// Chooses the step of a unit and its tensors. A unit that a general rule
    /// cannot convert is kept, with a finding.
    pub(super) fn weight(
        &mut self,
        unit: Unit,
        rule_index: usize,
        findings: &mut Vec<Finding>,
    ) -> Result<PlannedWeight, PlanError> {
        let rule = &self.recipe.rules[rule_index];
        let step = match check_fits(&unit, rule) {
            // Nothing to round, and no block to have a scale.
            _ if unit.shape.contains(&0) => Step::Copy,
            Ok(()) => self.step(&unit, rule)?,
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
        if let (Step::Copy, Encoding::Ggml(_)) = (step, unit.encoding) {
            return Err(PlanError::OnlyInGguf {
                weight: unit.name,
                found: unit.encoding.to_string(),
            });
        }
        let chooses = matches!(step, Step::Encode { .. } | Step::CastMxfp4 { .. });
        let shares = rule.share_global && chooses;
        let member = shares.then(|| rule.member(&unit.name)).flatten();
        let global_group = member.map(|member| self.groups.of(member.joined));
        let result = step.result(&unit.encoding);
        let source_layout = self.catalog.weights[unit.pieces[0].weight].layout;
        let layout = match result {
            Encoding::Block(_) => order::layout_for(self.layout, &unit.name),
            _ => ScaleLayout::Linear,
        };
        let mut unit = self.spelled(unit);
        self.put_in_order(&mut unit, rule, &result, layout)?;
        let axes = self.axes(&unit, &result)?;
        let mut weight = PlannedWeight {
            tensors: self.tensors_of(&unit, &step, rule, axes),
            rule: rule_index,
            expectation: step.expectation(&unit.encoding),
            should_be_exact: rule.exact && step != Step::Copy,
            global_group,
            shard: 0,
            step,
            name: unit.name,
            shape: unit.shape,
            pieces: unit.pieces,
            layout: ScaleLayout::Linear,
            gate_up: unit.gate_up,
            in_turn: unit.in_turn,
            axes,
            members: unit.members,
        };
        if let (Encoding::Block(format), true) = (result, layout != ScaleLayout::Linear) {
            layout::bake(&mut weight, &format, source_layout, layout)?;
        }
        Ok(weight)
    }

    /// The unit and its members under the names that the output has.
    fn spelled(&self, mut unit: Unit) -> Unit {
        let Some(spelling) = self.recipe.naming.spelling() else {
            return unit;
        };
        let both = |unit: &Unit| name_of_both(&unit.members.first()?.name);
        // Gate and up in one have no name in any spelling but that of the halves.
        let is_pair = both(&unit).as_ref() == Some(&unit.name);
        for member in &mut unit.members {
            member.name = spell(&member.name, spelling);
        }
        unit.name = match both(&unit) {
            Some(both) if is_pair => both,
            _ => spell(&unit.name, spelling),
        };
        unit
    }

    fn step(&self, unit: &Unit, rule: &Rule) -> Result<Step, PlanError> {
        let not_numbers = || PlanError::NotNumbers {
            weight: unit.name.clone(),
            found: unit.encoding.to_string(),
            to: rule.to,
        };
        if let Some(dtype) = rule.to.plain_dtype() {
            // Bytes of differently stored parts cannot be put on top of each other.
            let stored = |p: &Piece| self.catalog.weights[p.weight].encoding;
            let alike = unit.pieces.iter().all(|p| stored(p) == unit.encoding);
            return match step::to_plain(&unit.encoding, dtype).ok_or_else(not_numbers)? {
                Step::Copy if !alike => Ok(Step::Decode(dtype)),
                step => Ok(step),
            };
        }
        if let Some((format, int_rule)) = rule.integers(self.model_dtype) {
            self.check_packs(&format)?;
            return step::to_integers(&unit.encoding, format, int_rule).ok_or_else(not_numbers);
        }
        match self.target(unit, rule)? {
            None => Ok(Step::Copy),
            Some(format) => {
                let by = rule.encode_by();
                self.check_encodes(unit, rule, &format)?;
                step::to_blocks(&unit.encoding, format, by).ok_or_else(not_numbers)
            }
        }
    }

    /// Integers are written as compressed-tensors packs them, and no other way.
    fn check_packs(&self, format: &IntFormat) -> Result<(), PlanError> {
        match self.recipe.dialect {
            None | Some(Dialect::CompressedTensors) => Ok(()),
            Some(dialect) => Err(PlanError::NotInDialect {
                format: Encoding::Grouped(*format).to_string(),
                dialect,
            }),
        }
    }

    /// Whether the scale rule or scheme of the rule is for the format.
    fn check_encodes(&self, unit: &Unit, rule: &Rule, format: &Format) -> Result<(), PlanError> {
        let Some(by) = rule.encode_by().filter(|by| !by.fits(format)) else {
            return Ok(());
        };
        let fits_in = |dialect: &Dialect| {
            let format = rule.to.format();
            let written = format.and_then(|format| dialect.variant(format, self.model_dtype));
            written.is_some_and(|format| by.fits(&format))
        };
        Err(PlanError::NotEncodedBy {
            weight: unit.name.clone(),
            by,
            format: format.to_string(),
            fitting: by.names_for(format),
            dialect: Dialect::WRITTEN.into_iter().find(fits_in),
        })
    }

    /// The block format of the rule as its dialect writes it.
    fn target(&self, unit: &Unit, rule: &Rule) -> Result<Option<Format>, PlanError> {
        let Some(format) = rule.to.format() else {
            return Ok(None);
        };
        let dialect = self
            .recipe
            .dialect
            .unwrap_or_else(|| Dialect::usual(&format));
        let format =
            dialect
                .variant(format, self.model_dtype)
                .ok_or_else(|| PlanError::NotInDialect {
                    format: format.to_string(),
                    dialect,
                })?;
        let source = unit.encoding.format();
        let rescaled = source.filter(|from| from.element == format.element);
        Ok(Some(match rescaled {
            // Scales of FP8 that is there already are written as they are: rounding
            // them to the model's dtype would round every code again.
            Some(from) if dialect == Dialect::CompressedTensors && is_float(format.scale) => {
                let scale = match from.scale {
                    scale if is_float(scale) => scale,
                    _ => ScaleElement::F32,
                };
                Format { scale, ..format }
            }
            _ => format,
        }))
    }
}

/// Whether the shape has the rows, columns and whole blocks that the target needs.
fn check_fits(unit: &Unit, rule: &Rule) -> Result<(), PlanError> {
    let to = rule.to;
    // The type of scales does not matter here.
    if let Some((format, _)) = rule.integers(ScaleElement::F32) {
        return integers::check_fits(unit, to, &format);
    }
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

fn is_float(scale: ScaleElement) -> bool {
    matches!(
        scale,
        ScaleElement::F32 | ScaleElement::Bf16 | ScaleElement::F16
    )
}
