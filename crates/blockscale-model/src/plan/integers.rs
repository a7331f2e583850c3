//! Weights written as integers in groups, as compressed-tensors packs them (`pack-quantized`).

use blockscale::format::{ScaleElement, Shape};
use blockscale::int::{IntFormat, IntRule};
use safetensors::Dtype;

use super::tensors::computed;
use super::units::Unit;
use super::{Origin, PlanError, PlannedTensor};
use crate::catalog::{PartRole, module_of};
use crate::recipe::Target;

/// Whether the weight is a matrix whose rows are whole groups. A row in one group has to be whole
/// words: nothing else in the shapes would show where it ends.
pub(super) fn check_fits(unit: &Unit, to: Target, format: &IntFormat) -> Result<(), PlanError> {
    let weight = || unit.name.clone();
    let &[_, cols] = unit.shape.as_slice() else {
        return Err(PlanError::NotOneMatrix {
            weight: weight(),
            shape: unit.shape.clone(),
            to,
        });
    };
    let codes_a_word = 32 / usize::from(format.bits);
    match format.group_cols {
        0 if !cols.is_multiple_of(codes_a_word) => Err(PlanError::PartialBlock {
            weight: weight(),
            cols,
            to,
            block: codes_a_word,
        }),
        group if group > 0 && !cols.is_multiple_of(group) => Err(PlanError::PartialGroup {
            weight: weight(),
            cols,
            to,
            group,
        }),
        _ => Ok(()),
    }
}

/// The tensors of a matrix that [fits](check_fits): packed codes, scales, zero points where the
/// rule has them, and the shape in numbers.
pub(super) fn tensors(unit: &Unit, to: &IntFormat, rule: IntRule) -> Vec<PlannedTensor> {
    let (rows, cols) = match unit.shape.as_slice() {
        &[rows, cols] => (rows, cols),
        _ => (0, 0),
    };
    let groups = to.groups(cols);
    let words_across = |shape| to.code_bytes(shape).unwrap_or(usize::MAX) / 4;
    let module = module_of(&unit.name);
    let part = |suffix: &str, dtype, shape: [usize; 2], role| {
        computed(format!("{module}{suffix}"), dtype, shape.to_vec(), role)
    };
    let words = words_across(Shape::new(1, cols));
    let mut tensors = vec![
        part(".weight_packed", Dtype::I32, [rows, words], PartRole::Codes),
        part(
            ".weight_scale",
            scale_dtype(to.scale),
            [rows, groups],
            PartRole::BlockScale,
        ),
    ];
    if rule == IntRule::Affine {
        // Zero points share words along the rows.
        let words = words_across(Shape::new(1, rows));
        let shape = [words, groups];
        let role = PartRole::ZeroPoint;
        tensors.push(part(".weight_zero_point", Dtype::I32, shape, role));
    }
    let stated = [rows, cols].map(|size| (size as u64).to_le_bytes());
    tensors.push(PlannedTensor {
        origin: Origin::Given(stated.concat()),
        ..computed(
            format!("{module}.weight_shape"),
            Dtype::I64,
            vec![2],
            PartRole::StatedShape,
        )
    });
    tensors
}

fn scale_dtype(scale: ScaleElement) -> Dtype {
    match scale {
        ScaleElement::Bf16 => Dtype::BF16,
        ScaleElement::F16 => Dtype::F16,
        _ => Dtype::F32,
    }
}
