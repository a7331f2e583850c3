//! The tensors that hold an output weight: names, dtypes, shapes, copied bytes.

use blockscale::format::{Block, Element, Format, GlobalScale, ScaleElement, Shape};
use safetensors::Dtype;

use super::settle::Settling;
use super::units::Unit;
use super::{Origin, PlannedTensor, SourceBytes, Step, integers};
use crate::catalog::{Encoding, Matrices, PartRole, TensorId, Weight, module_of};
use crate::dialect::{BlockAxis, Dialect, RowScale, Written};
use crate::header::tensor_bytes;
use crate::recipe::{Rule, Target};

impl Settling<'_> {
    pub(super) fn tensors(&self, unit: &Unit, step: &Step, rule: &Rule) -> Vec<PlannedTensor> {
        let result = step.result(&unit.encoding);
        match (step, result) {
            (Step::EncodeInt { to, rule }, _) => integers::tensors(unit, to, *rule),
            (Step::Copy, Encoding::Block(format)) if rule.to != Target::Keep => {
                self.relabelled(unit, &format, rule)
            }
            (Step::Copy, _) | (_, Encoding::Grouped(_) | Encoding::Ggml(_)) => {
                self.copied(unit, rule)
            }
            (_, Encoding::Plain(dtype)) => {
                vec![computed(
                    unit.name.clone(),
                    dtype,
                    unit.shape.clone(),
                    PartRole::Codes,
                )]
            }
            (_, Encoding::Block(format)) => {
                let tensors = self.block_tensors(unit, &format, rule);
                match step {
                    Step::RestateGlobal { .. } => self.restated(unit, &format, tensors),
                    _ => tensors,
                }
            }
        }
    }

    fn written(&self, format: &Format) -> Written {
        let dialect = self
            .recipe
            .dialect
            .unwrap_or_else(|| Dialect::usual(format));
        dialect.written(format)
    }

    pub(super) fn source(&self, unit: &Unit) -> &Weight {
        &self.catalog.weights[unit.pieces[0].weight]
    }

    /// The parts of a block format as the dialect writes them, all computed.
    pub(super) fn block_tensors(
        &self,
        unit: &Unit,
        format: &Format,
        rule: &Rule,
    ) -> Vec<PlannedTensor> {
        let written = self.written(format);
        let module = module_of(&unit.name);
        let name = |suffix: &str| format!("{module}{suffix}");
        let (dtype, shape) = code_tensor(format, &unit.shape, &written);
        let codes = computed(name(written.codes), dtype, shape, PartRole::Codes);
        let scale = computed(
            name(rule.scale_name.as_deref().unwrap_or(written.scale)),
            scale_dtype(format.scale, &written),
            scale_shape(format, &unit.shape, &written),
            PartRole::BlockScale,
        );
        let mut tensors = vec![codes, scale];
        if format.global != GlobalScale::None {
            let (suffix, shape) = written.global;
            let role = PartRole::GlobalScale;
            tensors.push(computed(name(suffix), Dtype::F32, shape.to_vec(), role));
        }
        tensors
    }

    /// The activation scale under the name that goes with the global scale, where
    /// the source has one.
    fn input_scale(&self, unit: &Unit, format: &Format) -> Option<PlannedTensor> {
        let id = self.source(unit).part(PartRole::InputScale)?;
        let suffix = match format.global {
            GlobalScale::Divisor => ".input_global_scale",
            _ => ".input_scale",
        };
        let name = format!("{}{suffix}", module_of(&unit.name));
        let shape = self.checkpoint.tensors[id].shape.clone();
        Some(computed(name, Dtype::F32, shape, PartRole::InputScale))
    }

    /// Codes and block scales as they are, both second-level scales inverted; a
    /// global scale of 1 where the source has none.
    fn restated(
        &self,
        unit: &Unit,
        format: &Format,
        mut tensors: Vec<PlannedTensor>,
    ) -> Vec<PlannedTensor> {
        tensors.extend(self.input_scale(unit, format));
        for tensor in &mut tensors {
            let part = self.source(unit).part(tensor.role);
            tensor.origin = match (tensor.role, part) {
                (PartRole::Codes | PartRole::BlockScale, _) => continue,
                (_, Some(id)) => {
                    *tensor = self.shaped_as(id, tensor.clone());
                    Origin::Reciprocal(id)
                }
                (_, None) => Origin::Ones,
            };
        }
        tensors
    }

    /// A weight that is in the target's format already: its bytes under the names,
    /// dtypes and shapes of the dialect.
    fn relabelled(&self, unit: &Unit, format: &Format, rule: &Rule) -> Vec<PlannedTensor> {
        let mut tensors = self.block_tensors(unit, format, rule);
        tensors.extend(self.input_scale(unit, format));
        for tensor in &mut tensors {
            let Some(id) = self.source(unit).part(tensor.role) else {
                continue;
            };
            let bytes = self.checkpoint.tensors[id].bytes();
            *tensor = self.shaped_as(id, tensor.clone());
            tensor.origin = Origin::Copied(vec![SourceBytes {
                tensor: id,
                range: 0..bytes,
            }]);
        }
        tensors
    }

    /// A weight whose codes and scales are put back into rows, under the names that
    /// its rule gives them; the scales of the whole tensor are copied.
    pub(super) fn restored(&self, unit: &Unit, format: &Format, rule: &Rule) -> Vec<PlannedTensor> {
        let mut tensors = match rule.to {
            Target::Keep => self.copied(unit, rule),
            _ => self.relabelled(unit, format, rule),
        };
        for rows in self.block_tensors(unit, format, rule) {
            let in_rows = matches!(rows.role, PartRole::Codes | PartRole::BlockScale);
            let tensor = tensors.iter_mut().find(|t| t.role == rows.role && in_rows);
            if let Some(tensor) = tensor {
                let name = std::mem::take(&mut tensor.name);
                *tensor = PlannedTensor { name, ..rows };
            }
        }
        tensors
    }

    /// A stack may have one global scale a matrix: such a tensor keeps its shape.
    fn shaped_as(&self, id: TensorId, tensor: PlannedTensor) -> PlannedTensor {
        let raw = &self.checkpoint.tensors[id];
        if raw.bytes() == tensor.range.end {
            return tensor;
        }
        PlannedTensor {
            shape: raw.shape.clone(),
            range: 0..raw.bytes(),
            ..tensor
        }
    }

    /// The parts of the source, each under its new name.
    fn copied(&self, unit: &Unit, rule: &Rule) -> Vec<PlannedTensor> {
        let source = self.source(unit);
        let rows = source.matrices().total_rows();
        let whole = matches!(unit.pieces.as_slice(), [p] if p.rows.len() == rows);
        if !whole {
            return vec![self.copied_rows(unit)];
        }
        let module = module_of(&unit.name);
        let parts = source.parts.iter().map(|part| {
            let raw = &self.checkpoint.tensors[part.tensor];
            let name = match (part.role, &rule.scale_name) {
                (PartRole::Codes, _) if !source.encoding.is_scaled() => unit.name.clone(),
                (PartRole::BlockScale, Some(suffix)) => format!("{module}{suffix}"),
                _ => {
                    let suffix = raw.name.strip_prefix(source.module()).unwrap_or(&raw.name);
                    format!("{module}{suffix}")
                }
            };
            PlannedTensor {
                name,
                dtype: raw.dtype,
                shape: raw.shape.clone(),
                role: part.role,
                range: 0..raw.bytes(),
                origin: Origin::Copied(vec![SourceBytes {
                    tensor: part.tensor,
                    range: 0..raw.bytes(),
                }]),
            }
        });
        parts.collect()
    }

    /// Rows of plain weights, stacked or cut out. Scales never come here: a weight
    /// that has them is copied whole or computed.
    fn copied_rows(&self, unit: &Unit) -> PlannedTensor {
        let mut ranges = Vec::with_capacity(unit.pieces.len());
        let mut dtype = Dtype::U8;
        for piece in &unit.pieces {
            let weight = &self.catalog.weights[piece.weight];
            let raw = &self.checkpoint.tensors[weight.codes()];
            let row = raw.bytes() / (weight.matrices().total_rows().max(1) as u64);
            dtype = raw.dtype;
            ranges.push(SourceBytes {
                tensor: weight.codes(),
                range: piece.rows.start as u64 * row..piece.rows.end as u64 * row,
            });
        }
        PlannedTensor {
            origin: Origin::Copied(ranges),
            ..computed(
                unit.name.clone(),
                dtype,
                unit.shape.clone(),
                PartRole::Codes,
            )
        }
    }
}

/// A tensor that its weight's step computes.
pub(super) fn computed(
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    role: PartRole,
) -> PlannedTensor {
    let bytes = tensor_bytes(dtype, &shape).unwrap_or(u64::MAX);
    PlannedTensor {
        name,
        dtype,
        shape,
        role,
        range: 0..bytes,
        origin: Origin::Computed,
    }
}

fn code_tensor(format: &Format, shape: &[usize], written: &Written) -> (Dtype, Vec<usize>) {
    let mut shape = shape.to_vec();
    let dtype = match format.element {
        Element::E4m3Fn => Dtype::F8_E4M3,
        Element::E5m2 => Dtype::F8_E5M2,
        _ => {
            if let Some(cols) = shape.pop() {
                let bytes = format.row_bytes(cols);
                match (written.block_axis, format.block) {
                    (BlockAxis::Blocks, Block::Grid { cols: block, .. }) => {
                        let block = format.row_bytes(block);
                        shape.extend([bytes / block, block]);
                    }
                    _ => shape.push(bytes),
                }
            }
            written.packed_dtype
        }
    };
    (dtype, shape)
}

fn scale_dtype(scale: ScaleElement, written: &Written) -> Dtype {
    match scale {
        ScaleElement::E4m3Fn => Dtype::F8_E4M3,
        ScaleElement::E8m0Fnu => written.exponent_dtype,
        ScaleElement::Bf16 => Dtype::BF16,
        ScaleElement::F16 => Dtype::F16,
        _ => Dtype::F32,
    }
}

fn scale_shape(format: &Format, weight: &[usize], written: &Written) -> Vec<usize> {
    let Shape { rows, cols } = format.scale_shape(Matrices::of(weight).shape);
    let lead = weight.get(..weight.len().saturating_sub(2)).unwrap_or(&[]);
    match (format.block, written.rows) {
        (Block::Tensor, _) => written.single.to_vec(),
        (Block::Row, RowScale::Vector) => [lead, &[rows]].concat(),
        _ => [lead, &[rows, cols]].concat(),
    }
}
