//! A run to be worked on, with all that it takes.

use blockscale::format::{GlobalScale, Shape};
use blockscale::transcode::Mxfp4ToNvfp4;
use blockscale_model::catalog::{Encoding, Weight};
use blockscale_model::plan::Step;

use crate::encoding;
use crate::memory::Buffers;
use crate::transform::{TensorScales, Transformed};
use crate::weights::{Run, RunBytes, has_global};

/// A run of a weight.
#[derive(Clone)]
pub(crate) struct Task {
    /// The weight as it is stored.
    pub(crate) weight: Weight,
    pub(crate) step: Step,
    pub(crate) run: Run,
    pub(crate) bytes: RunBytes,
    pub(crate) want: Want,
    /// Where the memory for its output and for what lies between comes from.
    pub(crate) buffers: Buffers,
}

/// What is wanted of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Want {
    /// Its largest magnitude.
    Largest,
    /// All of it, after its step.
    Transformed(ScalesOf),
}

/// Where the scales that a run shares with its weight come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScalesOf {
    /// They are known.
    Weight(TensorScales),
    /// The run is all of the weight, so that they follow from it. The stored form is the one that a
    /// global scale is computed for.
    Run(Encoding),
}

/// What came of it.
pub(crate) enum Outcome {
    /// The largest magnitude.
    Largest(f32),
    /// The run after its step, the scales that it shares with its weight, and its stored bytes.
    Transformed(Box<Transformed>, TensorScales),
}

impl Task {
    pub(crate) fn shape(&self) -> Shape {
        Shape::new(self.run.rows.len(), self.weight.matrices().shape.cols)
    }
}

impl TensorScales {
    /// The scales that follow from the largest magnitude of a weight, or from the way in which its
    /// codes are cast. `from` is the stored form that they are computed for, `stored` the global
    /// scale of the source.
    pub(crate) fn of(
        step: &Step,
        from: &Encoding,
        stored: f32,
        amax: f32,
        cast: Mxfp4ToNvfp4,
    ) -> Self {
        let global = match *step {
            Step::Encode { to, by } if has_global(&to) => {
                encoding::global_scale(&to, &by.scheme(&to), from, amax)
            }
            Step::CastMxfp4 { to } => match to.global {
                GlobalScale::Divisor => 1.0 / cast.global(),
                _ => cast.global(),
            },
            Step::Copy => stored,
            // A source without one was read as 1.
            Step::RestateGlobal { .. } => 1.0 / stored,
            _ => 1.0,
        };
        Self { global, amax, cast }
    }
}

impl ScalesOf {
    /// The scales, given what finds the largest magnitude of the run.
    pub(crate) fn resolve<E>(
        self,
        task: &Task,
        largest: impl FnOnce() -> Result<f32, E>,
    ) -> Result<TensorScales, E> {
        let from = match self {
            Self::Weight(scales) => return Ok(scales),
            Self::Run(from) => from,
        };
        let (amax, cast) = match task.step {
            Step::CastMxfp4 { .. } => (0.0, Mxfp4ToNvfp4::of_scales(&task.bytes.scales)),
            _ => (largest()?, Mxfp4ToNvfp4::of_scales(&[])),
        };
        let stored = task.bytes.global;
        Ok(TensorScales::of(&task.step, &from, stored, amax, cast))
    }
}
