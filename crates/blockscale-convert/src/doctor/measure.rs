//! What is measured of one run of rows.

use blockscale::decode::Rows;
use blockscale::format::Shape;
use blockscale::stats::{BlockStats, ValueStats};
use blockscale_model::Dtype;
use blockscale_model::catalog::{Encoding, PartRole, TensorId, Weight};
use blockscale_model::doctor::{Evidence, PLACES};

use crate::ConvertError;
use crate::weights::{Run, Weights, decode};

/// Numbers of a sketch.
const SKETCH: usize = 256;

/// Scalars of one tensor that are read: one for each matrix of a stack.
const SCALARS: u64 = 4096;

/// The scales of a weight that are single numbers.
pub(super) fn scalars(weights: &Weights<'_>, index: usize) -> Result<Evidence, ConvertError> {
    let weight = &weights.catalog.weights[index];
    let floats = |role| match weight.part(role) {
        Some(tensor) => read_floats(weights, tensor),
        None => Ok(Vec::new()),
    };
    Ok(Evidence {
        globals: floats(PartRole::GlobalScale)?,
        inputs: floats(PartRole::InputScale)?,
        ..Evidence::default()
    })
}

/// The numbers of a small F32 tensor; none of any other.
fn read_floats(weights: &Weights<'_>, tensor: TensorId) -> Result<Vec<f32>, ConvertError> {
    let raw = &weights.checkpoint.tensors[tensor];
    if raw.dtype != Dtype::F32 || raw.bytes() > SCALARS * 4 {
        return Ok(Vec::new());
    }
    let mut bytes = vec![0; raw.bytes() as usize];
    weights.read_tensor(tensor, 0, &mut bytes)?;
    let numbers = bytes.as_chunks().0.iter();
    Ok(numbers.map(|&bytes| f32::from_le_bytes(bytes)).collect())
}

/// Codes, scales and numbers of a run, and a sketch if its row lies in it.
pub(super) fn measure(
    weights: &Weights<'_>,
    run: &Run,
    sketch: (usize, usize),
) -> Result<Evidence, ConvertError> {
    let weight = weights.weight(run);
    let shape = weights.shape(run);
    let bytes = weights.read(run)?;
    let blocks = match &weight.encoding {
        Encoding::Block(format) => {
            let rows = Rows {
                codes: &bytes.codes,
                scales: &bytes.scales,
                global: bytes.global,
            };
            Some(Box::new(BlockStats::of_rows(format, shape, rows)?))
        }
        _ => None,
    };
    let values = decode(weight, shape, &bytes)?;
    let mut evidence = Evidence {
        blocks,
        rows: run.rows.len(),
        ..Evidence::default()
    };
    if shape.cols == 0 {
        return Ok(evidence);
    }
    let first = run.matrix * weight.matrices().shape.rows + run.rows.start;
    for (row, values) in values.chunks_exact(shape.cols).enumerate() {
        let of_row = ValueStats::of_row(values);
        if of_row.finite() < of_row.count {
            note_places(&mut evidence, first + row, values);
        }
        evidence.values.merge(&of_row);
    }
    evidence.sketch = sketch_of(weight, run, sketch, shape, &values);
    Ok(evidence)
}

fn note_places(evidence: &mut Evidence, row: usize, values: &[f32]) {
    let places = values.iter().enumerate().filter(|(_, v)| !v.is_finite());
    let free = PLACES - evidence.not_finite_at.len().min(PLACES);
    let places = places.take(free).map(|(col, _)| [row, col]);
    evidence.not_finite_at.extend(places);
}

fn sketch_of(
    weight: &Weight,
    run: &Run,
    (matrix, row): (usize, usize),
    shape: Shape,
    values: &[f32],
) -> Vec<f32> {
    let in_run = run.matrix == matrix && run.rows.contains(&row);
    if !in_run || weight.shape.len() < 2 {
        return Vec::new();
    }
    let start = (row - run.rows.start) * shape.cols;
    let row = values.get(start..start + shape.cols).unwrap_or_default();
    row.iter().take(SKETCH).copied().collect()
}
