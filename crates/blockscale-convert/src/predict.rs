//! What casts of MXFP4 will keep, told from scales alone before anything is written.

use std::collections::HashMap;

use blockscale::transcode::{Mxfp4ToFp8, Mxfp4ToNvfp4};
use blockscale_model::catalog::PartRole;
use blockscale_model::plan::{Plan, PlannedWeight, Step};
use serde::Serialize;

use crate::ConvertError;
use crate::transform::CastBlocks;
use crate::weights::{Weights, has_global};

/// The blocks of a weight that a plan will cast.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Prediction {
    /// Name in the output.
    pub tensor: String,
    /// Blocks that surely stay as they are, and the others. Some of the others may
    /// prove lossless once their codes are seen.
    pub blocks: CastBlocks,
}

/// Reads the scales of every weight that `plan` casts on its codes.
///
/// # Errors
/// What the source says.
pub fn predict_casts(weights: Weights<'_>, plan: &Plan) -> Result<Vec<Prediction>, ConvertError> {
    let cast = |w: &&PlannedWeight| matches!(w.step, Step::CastMxfp4 { .. });
    let mut ways: HashMap<usize, Mxfp4ToNvfp4> = HashMap::new();
    for weight in plan.weights.iter().filter(cast) {
        if let Some(group) = weight.global_group {
            let own = Mxfp4ToNvfp4::of_scales(&scales(&weights, weight)?);
            let known = ways.entry(group).or_insert(own);
            *known = known.merge(own);
        }
    }
    let mut predictions = Vec::new();
    for weight in plan.weights.iter().filter(cast) {
        let Step::CastMxfp4 { to } = weight.step else {
            continue;
        };
        let scales = scales(&weights, weight)?;
        let blocks = if has_global(&to) {
            let shared = weight
                .global_group
                .and_then(|group| ways.get(&group).copied());
            let way = shared.unwrap_or_else(|| Mxfp4ToNvfp4::of_scales(&scales));
            let blocks = way.blocks(&scales);
            CastBlocks {
                lossless: blocks.lossless as u64,
                rounded: (blocks.reencoded + blocks.nan) as u64,
            }
        } else {
            square_blocks(&weights, weight, &scales)?
        };
        predictions.push(Prediction {
            tensor: weight.name.clone(),
            blocks,
        });
    }
    Ok(predictions)
}

fn scales(weights: &Weights<'_>, weight: &PlannedWeight) -> Result<Vec<u8>, ConvertError> {
    let source = &weights.catalog.weights[weight.pieces[0].weight];
    let Some(tensor) = source.part(PartRole::BlockScale) else {
        return Ok(Vec::new());
    };
    let mut scales = vec![0; weights.tensor_len(tensor)];
    weights.read_tensor(tensor, 0, &mut scales)?;
    Ok(scales)
}

fn square_blocks(
    weights: &Weights<'_>,
    weight: &PlannedWeight,
    scales: &[u8],
) -> Result<CastBlocks, ConvertError> {
    let matrices = weights.catalog.weights[weight.pieces[0].weight].matrices();
    let mut total = CastBlocks::default();
    let plane = scales.len() / matrices.count.max(1);
    for scales in scales.chunks_exact(plane.max(1)) {
        let blocks = Mxfp4ToFp8::of_scales(matrices.shape, scales)?;
        total.add(CastBlocks {
            lossless: blocks.lossless as u64,
            rounded: (blocks.rounded + blocks.nan) as u64,
        });
    }
    Ok(total)
}
