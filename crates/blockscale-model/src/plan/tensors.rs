//! The tensors that hold an output weight: names, dtypes, shapes, copied bytes.

use blockscale::format::{Block, Element, Format, GlobalScale, ScaleElement};
use safetensors::Dtype;

use super::build::Unit;
use super::{PlannedTensor, SourceBytes, Step};
use crate::catalog::{Catalog, Encoding, Matrices, PartRole, module_of};
use crate::checkpoint::Checkpoint;
use crate::header::tensor_bytes;
use crate::recipe::Rule;

pub(super) fn tensors(
    unit: &Unit,
    step: &Step,
    rule: &Rule,
    checkpoint: &Checkpoint,
    catalog: &Catalog,
) -> Vec<PlannedTensor> {
    match (step, step.result(&unit.encoding)) {
        (Step::Copy, _) => copied(unit, rule, checkpoint, catalog),
        (_, Encoding::Plain(dtype)) => {
            vec![computed(
                unit.name.clone(),
                dtype,
                unit.shape.clone(),
                PartRole::Codes,
            )]
        }
        (_, Encoding::Block(format)) => computed_blocks(unit, &format, rule),
    }
}

fn computed(name: String, dtype: Dtype, shape: Vec<usize>, role: PartRole) -> PlannedTensor {
    let bytes = tensor_bytes(dtype, &shape).unwrap_or(u64::MAX);
    PlannedTensor {
        name,
        dtype,
        shape,
        role,
        range: 0..bytes,
        copied_from: Vec::new(),
    }
}

fn computed_blocks(unit: &Unit, format: &Format, rule: &Rule) -> Vec<PlannedTensor> {
    let module = module_of(&unit.name);
    let scale_name = rule
        .scale_name
        .as_deref()
        .unwrap_or_else(|| usual_scale_name(format));
    let (dtype, code_shape) = code_tensor(format, &unit.shape);
    let mut tensors = vec![
        computed(unit.name.clone(), dtype, code_shape, PartRole::Codes),
        computed(
            format!("{module}{scale_name}"),
            scale_dtype(format.scale),
            scale_shape(format, &unit.shape),
            PartRole::BlockScale,
        ),
    ];
    let global = match format.global {
        GlobalScale::None => None,
        GlobalScale::Multiplier => Some((".weight_scale_2", vec![])),
        GlobalScale::Divisor => Some((".weight_global_scale", vec![1])),
    };
    if let Some((suffix, shape)) = global {
        let name = format!("{module}{suffix}");
        tensors.push(computed(name, Dtype::F32, shape, PartRole::GlobalScale));
    }
    tensors
}

/// ModelOpt's word for NVFP4 scales, DeepSeek's for FP8 blocks.
fn usual_scale_name(format: &Format) -> &'static str {
    match (format.element, format.block) {
        (Element::E4m3Fn | Element::E5m2, Block::Grid { rows, .. }) if rows > 1 => {
            ".weight_scale_inv"
        }
        _ => ".weight_scale",
    }
}

fn code_tensor(format: &Format, shape: &[usize]) -> (Dtype, Vec<usize>) {
    let mut shape = shape.to_vec();
    let dtype = match format.element {
        Element::E4m3Fn => Dtype::F8_E4M3,
        Element::E5m2 => Dtype::F8_E5M2,
        _ => {
            if let Some(last) = shape.last_mut() {
                *last = format.row_bytes(*last);
            }
            Dtype::U8
        }
    };
    (dtype, shape)
}

fn scale_dtype(scale: ScaleElement) -> Dtype {
    match scale {
        ScaleElement::E4m3Fn => Dtype::F8_E4M3,
        ScaleElement::E8m0Fnu => Dtype::F8_E8M0,
        ScaleElement::Bf16 => Dtype::BF16,
        ScaleElement::F16 => Dtype::F16,
        _ => Dtype::F32,
    }
}

fn scale_shape(format: &Format, weight: &[usize]) -> Vec<usize> {
    let plane = format.scale_shape(Matrices::of(weight).shape);
    let lead = weight.get(..weight.len().saturating_sub(2)).unwrap_or(&[]);
    [lead, &[plane.rows, plane.cols]].concat()
}

/// The parts of the source, each under its new name.
fn copied(
    unit: &Unit,
    rule: &Rule,
    checkpoint: &Checkpoint,
    catalog: &Catalog,
) -> Vec<PlannedTensor> {
    let first = &catalog.weights[unit.pieces[0].weight];
    let whole =
        matches!(unit.pieces.as_slice(), [p] if p.rows.len() == first.matrices().total_rows());
    if !whole {
        return vec![copied_rows(unit, checkpoint, catalog)];
    }
    let module = module_of(&unit.name);
    first
        .parts
        .iter()
        .map(|part| {
            let raw = &checkpoint.tensors[part.tensor];
            let name = match (part.role, &rule.scale_name) {
                (PartRole::Codes, _) if first.encoding.format().is_none() => unit.name.clone(),
                (PartRole::BlockScale, Some(suffix)) => format!("{module}{suffix}"),
                _ => {
                    let suffix = raw.name.strip_prefix(first.module()).unwrap_or(&raw.name);
                    format!("{module}{suffix}")
                }
            };
            // Some tools store E8M0 as U8; a format that was asked for has its own dtype.
            let dtype = match (part.role, rule.to.format()) {
                (PartRole::BlockScale, Some(format)) => scale_dtype(format.scale),
                _ => raw.dtype,
            };
            PlannedTensor {
                name,
                dtype,
                shape: raw.shape.clone(),
                role: part.role,
                range: 0..raw.bytes(),
                copied_from: vec![SourceBytes {
                    tensor: part.tensor,
                    range: 0..raw.bytes(),
                }],
            }
        })
        .collect()
}

/// Rows of plain weights, stacked or cut out. Scales never come here: a weight
/// that has them is copied whole or computed.
fn copied_rows(unit: &Unit, checkpoint: &Checkpoint, catalog: &Catalog) -> PlannedTensor {
    let mut ranges = Vec::with_capacity(unit.pieces.len());
    let mut dtype = Dtype::U8;
    for piece in &unit.pieces {
        let weight = &catalog.weights[piece.weight];
        let raw = &checkpoint.tensors[weight.codes()];
        let row = raw.bytes() / (weight.matrices().total_rows().max(1) as u64);
        dtype = raw.dtype;
        ranges.push(SourceBytes {
            tensor: weight.codes(),
            range: piece.rows.start as u64 * row..piece.rows.end as u64 * row,
        });
    }
    PlannedTensor {
        copied_from: ranges,
        ..computed(
            unit.name.clone(),
            dtype,
            unit.shape.clone(),
            PartRole::Codes,
        )
    }
}
