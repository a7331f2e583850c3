//! Runs on this processor, their parts in parallel.

use super::{Outcome, Task, Want};
use crate::ConvertError;
use crate::transform;

pub(super) fn run(task: Task) -> Result<Outcome, ConvertError> {
    let scales = match task.want {
        Want::Largest => return Ok(Outcome::Largest(transform::largest(&task)?)),
        Want::Transformed(scales) => scales.resolve(&task, || transform::largest(&task))?,
    };
    let done = transform::apply(task, scales)?;
    Ok(Outcome::Transformed(Box::new(done), scales))
}
