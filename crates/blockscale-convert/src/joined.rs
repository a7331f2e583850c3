//! Weights that are put together under one global scale without being encoded anew.

use blockscale_model::plan::{Plan, PlannedWeight, Step};

use crate::ConvertError;
use crate::weights::{Weights, has_global};

/// Finds weights whose parts have unlike global scales where one is to stand for all, before anything
/// is written.
///
/// # Errors
/// [`ConvertError::GlobalScales`], and what the source says.
pub(crate) fn check_globals(weights: Weights<'_>, plan: &Plan) -> Result<(), ConvertError> {
    let keeps = |w: &&PlannedWeight| {
        w.pieces.len() > 1 && matches!(w.step, Step::Copy | Step::RestateGlobal { .. })
    };
    for planned in plan.weights.iter().filter(keeps) {
        let mut first: Option<(&str, f32)> = None;
        for piece in &planned.pieces {
            let weight = &weights.catalog.weights[piece.weight];
            if !weight.encoding.format().is_some_and(has_global) {
                continue;
            }
            let rows = weight.matrices().shape.rows.max(1);
            let global = weights.read_global(weight, piece.rows.start / rows)?;
            match first {
                None => first = Some((&weight.name, global)),
                Some((_, scale)) if scale.to_bits() == global.to_bits() => {}
                Some((name, scale)) => {
                    return Err(ConvertError::GlobalScales {
                        tensor: planned.name.clone(),
                        first: (name.to_owned(), scale),
                        second: (weight.name.clone(), global),
                    });
                }
            }
        }
    }
    Ok(())
}
