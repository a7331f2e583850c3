//! Runs on this processor, rows in parallel.

use blockscale::encode;
use rayon::prelude::*;

use super::{Outcome, Task, Want};
use crate::ConvertError;
use crate::transform;
use crate::weights::decode;

pub(super) fn run(task: &Task) -> Result<Outcome, ConvertError> {
    let values = decode(&task.weight, task.shape(), &task.bytes)?;
    let scales = match task.want {
        Want::Largest => return Ok(Outcome::Largest(largest(&values))),
        Want::Transformed(scales) => {
            scales.resolve(task, || Ok::<_, ConvertError>(largest(&values)))?
        }
    };
    let (step, weight, run) = (&task.step, &task.weight, &task.run);
    let done = transform::apply(step, weight, run, &task.bytes, &values, scales)?;
    Ok(Outcome::Transformed(done, scales))
}

fn largest(values: &[f32]) -> f32 {
    values
        .par_chunks(1 << 16)
        .map(encode::amax)
        .reduce(|| 0.0, f32::max)
}
