//! What is measured of one run of rows.

use blockscale::decode::Rows;
use blockscale_model::Dtype;
use blockscale_model::catalog::{PartRole, TensorId};
use blockscale_model::doctor::{Evidence, MeasuredRun};

use crate::ConvertError;
use crate::weights::{Run, Weights, decode};

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
    (matrix, row): (usize, usize),
) -> Result<Evidence, ConvertError> {
    let weight = weights.weight(run);
    let shape = weights.shape(run);
    let bytes = weights.read(run)?;
    let rows = Rows {
        codes: &bytes.codes,
        scales: &bytes.scales,
        global: bytes.global,
    };
    let values = decode(weight, shape, &bytes)?;
    // Vectors are alike by nature: no sketch of them is taken.
    let has_sketch = run.matrix == matrix && run.rows.contains(&row) && weight.shape.len() > 1;
    let evidence = Evidence::of_run(&MeasuredRun {
        shape,
        first_row: run.matrix * weight.matrices().shape.rows + run.rows.start,
        blocks: weight.encoding.format().map(|format| (format, rows)),
        values: &values,
        sketch: has_sketch.then(|| row - run.rows.start),
    })?;
    Ok(evidence)
}
