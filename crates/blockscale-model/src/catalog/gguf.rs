//! The weights of a GGUF file.
//!
//! Blocks hold their own scales, so nearly every tensor is a weight by itself. What can stand beside
//! one are F32 scales: `X.scale`, by which a runtime multiplies the product, and which is multiplied
//! into the weight here, and `X.input_scale` of its activations.

use std::collections::HashSet;

use blockscale::ggml;
use safetensors::Dtype;

use super::problem::ScaleProblem;
use super::weight::{Encoding, Matrices, Part, PartRole, TensorId, Weight};
use super::{Catalog, Refusal, module_of};
use crate::checkpoint::{Checkpoint, RawTensor};
use crate::finding::{Finding, Severity};
use crate::gguf::GgmlType;

pub(super) fn catalog(checkpoint: &Checkpoint) -> Catalog {
    let mut catalog = Catalog::default();
    let mut claimed = HashSet::new();
    for (id, raw) in checkpoint.tensors.iter().enumerate() {
        let Some(kind) = raw.ggml.filter(|kind| kind.block_elements() > 1) else {
            continue;
        };
        match ggml::GgmlType::from_id(kind.id()) {
            Some(known) => {
                let weight = blocks(checkpoint, id, kind, known);
                claimed.extend(weight.parts.iter().map(|part| part.tensor));
                catalog.weights.push(weight);
            }
            None => {
                claimed.insert(id);
                catalog.refusals.push(Refusal {
                    tensor: raw.name.clone(),
                    file: checkpoint.shards[raw.shard].name.as_str().to_owned(),
                    problem: ScaleProblem::NotRead {
                        what: format!("ggml blocks of type {kind}"),
                        instead: "write the file again in BF16, Q8_0, Q4_0, MXFP4 or NVFP4",
                    },
                });
            }
        }
    }
    for (id, raw) in checkpoint.tensors.iter().enumerate() {
        if claimed.contains(&id) {
            continue;
        }
        catalog.findings.extend(unused_scale(checkpoint, raw));
        let codes = Part {
            role: PartRole::Codes,
            tensor: id,
        };
        let encoding = Encoding::Plain(raw.dtype);
        let (name, shape) = (raw.name.clone(), raw.shape.clone());
        catalog
            .weights
            .push(Weight::new(name, shape, encoding, vec![codes]));
    }
    catalog.weights.sort_by_key(Weight::codes);
    catalog
}

fn blocks(checkpoint: &Checkpoint, id: TensorId, kind: GgmlType, known: ggml::GgmlType) -> Weight {
    let raw = &checkpoint.tensors[id];
    let mut shape = raw.shape.clone();
    if let Some(last) = shape.last_mut() {
        *last = *last / kind.block_bytes() * kind.block_elements();
    }
    let beside = |suffix: &str, role| {
        let name = format!("{}{suffix}", module_of(&raw.name));
        let tensor = checkpoint.position(&name)?;
        is_scale_of(&checkpoint.tensors[tensor], &shape).then_some(Part { role, tensor })
    };
    let codes = Part {
        role: PartRole::Codes,
        tensor: id,
    };
    let parts = [
        Some(codes),
        beside(".scale", PartRole::GlobalScale),
        beside(".input_scale", PartRole::InputScale),
    ];
    let parts = parts.into_iter().flatten().collect();
    Weight::new(raw.name.clone(), shape, Encoding::Ggml(known), parts)
}

/// One F32 for all of a weight, or for each of its matrices.
fn is_scale_of(scale: &RawTensor, weight: &[usize]) -> bool {
    let values: usize = scale.shape.iter().product();
    scale.dtype == Dtype::F32 && (values == 1 || values == Matrices::of(weight).count)
}

/// A scale beside a weight without blocks is not multiplied into it.
fn unused_scale(checkpoint: &Checkpoint, raw: &RawTensor) -> Option<Finding> {
    let weight = format!("{}.weight", raw.name.strip_suffix(".scale")?);
    let scaled = checkpoint.tensor(&weight)?;
    is_scale_of(raw, &scaled.shape).then(|| Finding {
        severity: Severity::Warning,
        code: "scale-not-applied",
        file: Some(checkpoint.shards[raw.shard].name.as_str().to_owned()),
        tensor: Some(raw.name.clone()),
        message: format!(
            "`{}` is a scale of `{weight}`, which is not in blocks; it is kept beside it and not \
             multiplied into it",
            raw.name
        ),
    })
}
