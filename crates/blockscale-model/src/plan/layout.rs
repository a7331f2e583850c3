//! Weights written in the layout of a runtime.

use std::collections::BTreeMap;

use blockscale::Shape;
use blockscale::format::{Format, ScaleElement};
use blockscale::layout::{LayoutError, MemoryShape, ScaleLayout, Stack};
use safetensors::Dtype;

use super::{Origin, PlanError, PlannedTensor, PlannedWeight};
use crate::catalog::{BakedWeight, Encoding, Matrices, PartRole};

/// Gives the tensors of `weight` the shapes that `layout` makes of them. Both
/// planes are then computed, also where their bytes would have been copied.
pub(super) fn bake(
    weight: &mut PlannedWeight,
    format: &Format,
    source_layout: ScaleLayout,
    layout: ScaleLayout,
) -> Result<(), PlanError> {
    if source_layout == layout {
        return Err(PlanError::AlreadyInLayout {
            weight: weight.name.clone(),
            layout,
        });
    }
    let Matrices { count, shape } = Matrices::of(&weight.shape);
    let misfit = |reason: String| PlanError::LayoutMisfit {
        weight: weight.name.clone(),
        layout,
        format: format.to_string(),
        reason,
    };
    let plane = format.scale_shape(shape);
    if !layout.holds(format.scale)
        || layout.linear_shape(Shape::new(shape.rows, plane.cols)) != plane
    {
        return Err(misfit(
            "the runtime reads other scales in that layout".to_owned(),
        ));
    }
    let said = |error: LayoutError| misfit(error.to_string());
    let codes = Stack::new(count, Shape::new(shape.rows, format.row_bytes(shape.cols)));
    let scales = Stack::new(count, Shape::new(shape.rows, plane.cols));
    let codes = layout.code_memory(codes).map_err(said)?;
    let scales = layout.scale_memory(scales, format.scale).map_err(said)?;
    let stacked = weight.shape.len() > 2;
    for tensor in &mut weight.tensors {
        match tensor.role {
            PartRole::Codes => reshape(tensor, &codes, stacked, None),
            PartRole::BlockScale => reshape(tensor, &scales, stacked, Some(format.scale)),
            _ => {}
        }
    }
    weight.layout = layout;
    Ok(())
}

fn reshape(
    tensor: &mut PlannedTensor,
    memory: &MemoryShape,
    stacked: bool,
    scale: Option<ScaleElement>,
) {
    let dims = if stacked {
        &memory.dims[..]
    } else {
        &memory.dims[1..]
    };
    tensor.dtype = match (memory.element_bytes, scale) {
        (4, Some(ScaleElement::F32)) if tensor.dtype == Dtype::F32 => Dtype::F32,
        (4, _) => Dtype::I32,
        (2, _) => Dtype::U16,
        _ => tensor.dtype,
    };
    tensor.shape = dims.to_vec();
    let elements: usize = memory.dims.iter().product();
    tensor.range = 0..(elements * memory.element_bytes) as u64;
    tensor.origin = Origin::Computed;
}

/// What a shard's metadata says of the weights in it that are not linear.
pub(super) fn listed(
    weights: &[PlannedWeight],
    encoding: impl Fn(&PlannedWeight) -> Encoding,
) -> BTreeMap<String, BakedWeight> {
    let baked = weights.iter().filter(|w| w.layout != ScaleLayout::Linear);
    let entries = baked.filter_map(|weight| {
        let format = *encoding(weight).format()?;
        let tensors = weight
            .tensors
            .iter()
            .map(|t| (t.role, t.name.clone()))
            .collect();
        let entry = BakedWeight {
            layout: weight.layout.name().to_owned(),
            format: format.to_string(),
            shape: weight.shape.clone(),
            tensors,
        };
        Some((weight.name.clone(), entry))
    });
    entries.collect()
}
