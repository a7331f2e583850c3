//! The tensors of a weight whose rows do not lie in the source as in the output.

use blockscale::format::{Format, GlobalScale};
use blockscale::layout::ScaleLayout;
use safetensors::Dtype;

use super::settle::Settling;
use super::tensors::computed;
use super::units::{Extent, Unit};
use super::{Origin, Piece, PlannedTensor, SourceBytes, Step};
use crate::catalog::{Axes, Encoding, PartRole, TensorId, Weight, module_of};
use crate::recipe::{Rule, Target};

impl Settling<'_> {
    /// The tensors of a unit: copied where its bytes are there as they will be, else computed.
    pub(super) fn tensors_of(
        &self,
        unit: &Unit,
        step: &Step,
        rule: &Rule,
        axes: Axes,
    ) -> Vec<PlannedTensor> {
        let source = self.source(unit);
        let laid_out = source.layout != ScaleLayout::Linear;
        let moved = |p: &Piece| p.order.is_some() || self.catalog.weights[p.weight].axes != axes;
        let mut tensors = match (unit.extent(self.catalog), step, step.result(&unit.encoding)) {
            (Extent::Whole, Step::Copy, Encoding::Block(format)) if laid_out => {
                self.restored(unit, &format, rule)
            }
            (Extent::Whole, ..) => self.tensors(unit, step, rule),
            (Extent::Moved, Step::Copy, Encoding::Block(format)) => {
                self.restored(unit, &format, rule)
            }
            (_, Step::Copy, Encoding::Plain(dtype))
                if unit.in_turn || unit.pieces.iter().any(moved) =>
            {
                let (name, shape) = (unit.name.clone(), unit.shape.clone());
                vec![computed(name, dtype, shape, PartRole::Codes)]
            }
            (Extent::Parts, Step::Copy | Step::RestateGlobal { .. }, Encoding::Block(format)) => {
                self.rebuilt(unit, &format, rule)
            }
            _ => self.tensors(unit, step, rule),
        };
        if rule.to == Target::Keep {
            self.keep_dtypes(unit, &mut tensors);
        }
        if axes == Axes::InOut {
            let computed = tensors.iter_mut().filter(|t| t.origin == Origin::Computed);
            for tensor in computed {
                if let [.., outputs, inputs] = tensor.shape.as_mut_slice() {
                    std::mem::swap(outputs, inputs);
                }
            }
        }
        tensors
    }

    /// Codes and scales put together from the rows of the unit, and the activation scales beside
    /// them.
    fn rebuilt(&self, unit: &Unit, format: &Format, rule: &Rule) -> Vec<PlannedTensor> {
        let mut tensors = self.block_tensors(unit, format, rule);
        if rule.to == Target::Keep {
            self.keep_suffixes(unit, &mut tensors);
        }
        for (index, piece) in unit.pieces.iter().enumerate() {
            let name = match unit.members.get(index) {
                Some(member) => &member.name,
                None => &unit.name,
            };
            tensors.extend(self.input_scale_of(piece, module_of(name), format));
        }
        tensors
    }

    /// The suffixes that the tensors of a kept matrix have in the source.
    fn keep_suffixes(&self, unit: &Unit, tensors: &mut [PlannedTensor]) {
        let source = self.source(unit);
        if source.shape.len() != 2 {
            return;
        }
        for tensor in tensors {
            let raw = source
                .part(tensor.role)
                .map(|id| &self.checkpoint.tensors[id]);
            if let Some(suffix) = raw.and_then(|raw| raw.name.strip_prefix(source.module())) {
                tensor.name = format!("{}{suffix}", module_of(&unit.name));
            }
        }
    }

    /// The dtypes that the tensors of a kept weight have in the source, where only they differ.
    fn keep_dtypes(&self, unit: &Unit, tensors: &mut [PlannedTensor]) {
        let source = self.source(unit);
        let computed = tensors.iter_mut().filter(|t| t.origin == Origin::Computed);
        for tensor in computed {
            let Some(id) = source.part(tensor.role) else {
                continue;
            };
            let raw = &self.checkpoint.tensors[id];
            // Exponents that a layout packed in words have lost theirs; DeepSeek has one for them.
            let deepseek = [".scale", ".weight_scale_inv"]
                .iter()
                .any(|end| raw.name.ends_with(end));
            tensor.dtype = match tensor.dtype {
                own if raw.dtype.bitsize() == own.bitsize() => raw.dtype,
                Dtype::U8 if deepseek => Dtype::F8_E8M0,
                own => own,
            };
        }
    }

    /// The activation scale of the weight `module` that a piece of a source becomes, where it has one.
    fn input_scale_of(
        &self,
        piece: &Piece,
        module: &str,
        format: &Format,
    ) -> Option<PlannedTensor> {
        let source = &self.catalog.weights[piece.weight];
        let id = self.input_scale_of_rows(source, piece)?;
        let raw = &self.checkpoint.tensors[id];
        let suffix = match format.global {
            GlobalScale::Divisor => ".input_global_scale",
            _ => ".input_scale",
        };
        let name = format!("{module}{suffix}");
        let matrices = source.matrices();
        let inverted = source.encoding.format().map(|f| f.global) != Some(format.global);
        let matrix = (piece.rows.start / matrices.shape.rows.max(1)) as u64;
        let (shape, range) = match raw.bytes() / 4 {
            // One for each matrix of a stack, of which this is a part.
            count if count > 1 && count == matrices.count as u64 => {
                (Vec::new(), matrix * 4..matrix * 4 + 4)
            }
            _ => (raw.shape.clone(), 0..raw.bytes()),
        };
        let whole = range == (0..raw.bytes());
        let origin = match inverted && format.global != GlobalScale::None {
            true if whole => Origin::Reciprocal(id),
            // A reciprocal is taken of whole tensors only: this scale stays behind.
            true => return None,
            false => Origin::Copied(vec![SourceBytes { tensor: id, range }]),
        };
        let tensor = computed(name, Dtype::F32, shape, PartRole::InputScale);
        Some(PlannedTensor { origin, ..tensor })
    }

    /// The activation scale that goes with some rows of a weight: in a joined one each member has its
    /// own, under its name.
    fn input_scale_of_rows(&self, source: &Weight, piece: &Piece) -> Option<TensorId> {
        let mut first = 0;
        let member = source.members.iter().find(|member| {
            first += member.rows;
            piece.rows.start < first
        });
        let Some(member) = member else {
            return source.part(PartRole::InputScale);
        };
        let module = module_of(&member.name);
        let inputs = source
            .parts
            .iter()
            .filter(|p| p.role == PartRole::InputScale);
        inputs.map(|part| part.tensor).find(|&id| {
            let rest = self.checkpoint.tensors[id].name.strip_prefix(module);
            rest.is_some_and(|rest| rest.starts_with('.'))
        })
    }
}
