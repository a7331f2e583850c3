//! What casts of MXFP4 will keep, told from scales alone before anything is written.

use std::collections::HashMap;
use std::ops::Range;

use blockscale::format::Shape;
use blockscale::layout::ScaleLayout;
use blockscale::transcode::{Mxfp4ToFp8, Mxfp4ToNvfp4};
use blockscale_model::catalog::{Matrices, PartRole};
use blockscale_model::plan::{Plan, PlannedWeight, Step};
use serde::Serialize;

use crate::ConvertError;
use crate::transform::CastBlocks;
use crate::weights::{Run, Weights, has_global};

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
            square_blocks(weight, &scales)?
        };
        predictions.push(Prediction {
            tensor: weight.name.clone(),
            blocks,
        });
    }
    Ok(predictions)
}

/// The scales of the rows that a weight is made of, in their order.
fn scales(weights: &Weights<'_>, weight: &PlannedWeight) -> Result<Vec<u8>, ConvertError> {
    let mut scales = Vec::new();
    for piece in &weight.pieces {
        let source = &weights.catalog.weights[piece.weight];
        let Some(tensor) = source.part(PartRole::BlockScale) else {
            continue;
        };
        let Shape { rows, .. } = source.matrices().shape;
        let row = weights.tensor_len(tensor) / source.matrices().total_rows().max(1);
        if source.layout != ScaleLayout::Linear {
            for (matrix, rows) in matrices_of(&piece.rows, rows) {
                let run = Run {
                    weight: piece.weight,
                    matrix,
                    rows,
                };
                scales.extend_from_slice(&weights.read_in(&run, piece.order)?.scales);
            }
            continue;
        }
        let moved = piece.order.zip(source.gate_up.order());
        let Some((wanted, stored)) = moved.filter(|(wanted, stored)| wanted != stored) else {
            let mut read = vec![0; piece.rows.len() * row];
            weights.read_tensor(tensor, (piece.rows.start * row) as u64, &mut read)?;
            scales.extend(read);
            continue;
        };
        for (matrix, rows_of_matrix) in matrices_of(&piece.rows, rows) {
            let mut plane = vec![0; rows * row];
            weights.read_tensor(tensor, (matrix * rows * row) as u64, &mut plane)?;
            for place in wanted.rows_of(stored, rows, rows_of_matrix) {
                scales.extend_from_slice(&plane[place * row..][..row]);
            }
        }
    }
    Ok(scales)
}

/// Rows that are counted through matrices of `rows` rows, matrix by matrix.
fn matrices_of(all: &Range<usize>, rows: usize) -> Vec<(usize, Range<usize>)> {
    let (first, last) = (all.start / rows.max(1), all.end.div_ceil(rows.max(1)));
    let of = |matrix: usize| {
        let start = matrix * rows;
        (
            matrix,
            all.start.max(start) - start..all.end.min(start + rows) - start,
        )
    };
    (first..last).map(of).collect()
}

fn square_blocks(weight: &PlannedWeight, scales: &[u8]) -> Result<CastBlocks, ConvertError> {
    let matrices = Matrices::of(&weight.shape);
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
