//! Weights that a file holds in a runtime's layout.
//!
//! Bytes do not show their layout, so the file says it: the metadata of a shard
//! lists every such weight in it, with all that its tensors no longer tell.

use std::collections::BTreeMap;

use blockscale::Shape;
use blockscale::format::Format;
use blockscale::layout::{ScaleLayout, Stack};
use serde::{Deserialize, Serialize};

use super::problem::ScaleProblem;
use super::weight::{Encoding, Matrices, Part, PartRole, TensorId, Weight};
use crate::checkpoint::Checkpoint;

/// Key of a shard's metadata; its value is a JSON object of [`BakedWeight`] by weight name.
pub const BAKED_KEY: &str = "blockscale.layouts";

/// What the metadata says of a weight in a runtime's layout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BakedWeight {
    /// Name of the layout.
    pub layout: String,
    /// Name of the format, as [`Format`] displays it.
    pub format: String,
    /// Shape in elements.
    pub shape: Vec<usize>,
    /// Tensors of the weight by role.
    pub tensors: Vec<(PartRole, String)>,
}

/// Formats that a runtime has a layout for.
const FORMATS: [Format; 9] = [
    Format::NVFP4,
    Format::NVFP4_DIVISOR,
    Format::MXFP4,
    Format::MXFP8_E4M3,
    Format::MXFP8_E5M2,
    Format::FP8_BLOCK,
    Format::FP8_BLOCK_UE8M0,
    Format::FP8_CHANNEL,
    Format::FP8_TENSOR,
];

/// Every weight that some shard's metadata lists, by the tensor of its codes.
pub(super) fn weights(checkpoint: &Checkpoint) -> Vec<(TensorId, Result<Weight, ScaleProblem>)> {
    let listed = checkpoint
        .shards
        .iter()
        .filter_map(|s| s.header.metadata.get(BAKED_KEY));
    let mut weights = Vec::new();
    for text in listed {
        let Ok(entries) = serde_json::from_str::<BTreeMap<String, BakedWeight>>(text) else {
            continue;
        };
        for (name, entry) in entries {
            let codes = entry
                .tensors
                .iter()
                .find(|(role, _)| *role == PartRole::Codes);
            if let Some(id) = codes.and_then(|(_, tensor)| checkpoint.position(tensor)) {
                weights.push((id, read(checkpoint, &name, &entry)));
            }
        }
    }
    weights
}

fn read(checkpoint: &Checkpoint, name: &str, entry: &BakedWeight) -> Result<Weight, ScaleProblem> {
    let wrong = |reason: String| ScaleProblem::Layout {
        layout: entry.layout.clone(),
        reason,
    };
    let layout = ScaleLayout::from_name(&entry.layout)
        .ok_or_else(|| wrong("not a layout that this version knows".to_owned()))?;
    let format = FORMATS
        .into_iter()
        .find(|f| f.to_string() == entry.format)
        .ok_or_else(|| wrong(format!("its format `{}` is not known", entry.format)))?;
    let mut parts = Vec::with_capacity(entry.tensors.len());
    for (role, tensor) in &entry.tensors {
        let id = checkpoint
            .position(tensor)
            .ok_or_else(|| wrong(format!("tensor `{tensor}` is not in the checkpoint")))?;
        parts.push(Part {
            role: *role,
            tensor: id,
        });
    }
    parts.sort_by_key(|part| part.role);
    let (name, shape) = (name.to_owned(), entry.shape.clone());
    let weight = Weight {
        layout,
        ..Weight::new(name, shape, Encoding::Block(format), parts)
    };
    for (role, expected) in [
        (PartRole::Codes, weight.laid_out_codes(&format)),
        (PartRole::BlockScale, weight.laid_out_scales(&format)),
    ] {
        let expected = expected.ok_or_else(|| wrong("its shape does not fit the layout".into()))?;
        let found = weight.part(role).map(|id| checkpoint.tensors[id].bytes());
        if found != Some(expected as u64) {
            let found = found.unwrap_or(0);
            return Err(wrong(format!(
                "{role:?} has {found} bytes, expected {expected}"
            )));
        }
    }
    Ok(weight)
}

impl Weight {
    /// The stack as layouts see its codes: rows of bytes.
    pub fn code_stack(&self, format: &Format) -> Stack {
        let Matrices { count, shape } = self.matrices();
        Stack::new(count, Shape::new(shape.rows, format.row_bytes(shape.cols)))
    }

    /// The stack as layouts see its scales: the weight's rows, and columns of scales.
    pub fn scale_stack(&self, format: &Format) -> Stack {
        let Matrices { count, shape } = self.matrices();
        Stack::new(
            count,
            Shape::new(shape.rows, format.scale_shape(shape).cols),
        )
    }

    fn laid_out_codes(&self, format: &Format) -> Option<usize> {
        self.layout.code_bytes(self.code_stack(format)).ok()
    }

    fn laid_out_scales(&self, format: &Format) -> Option<usize> {
        self.layout
            .scale_bytes(self.scale_stack(format), format.scale)
            .ok()
    }
}
