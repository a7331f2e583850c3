//! One run through its step: source bytes in, output bytes and their check out.
//!
//! A run is cut into parts, one thread each, so that the numbers of a part are decoded, encoded,
//! decoded again from the bytes that will be written and compared while they are in its cache.

mod check;
mod kept;
mod made;
mod parts;

use blockscale::format::Shape;
use blockscale::stats::ErrorStats;
use blockscale::transcode::Mxfp4ToNvfp4;
use blockscale_model::catalog::Encoding;
use blockscale_model::plan::Step;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::ConvertError;
use crate::backend::Task;
use crate::memory::Buffer;
use crate::weights::{Decoder, Stored, alignment, group_rows};

pub(crate) use check::nan_positions;

/// NaN positions that a report lists.
pub(crate) const LISTED_NANS: usize = 8;

/// The planes of a run after its step.
#[derive(Debug, Default)]
pub(crate) struct Planes {
    /// Codes, or plain numbers.
    pub(crate) codes: Buffer,
    /// Block scales; empty for plain numbers.
    pub(crate) scales: Buffer,
    /// Zero points of groups of integers, where they have them.
    pub(crate) zeros: Option<Buffer>,
}

impl<C: Into<Buffer>, S: Into<Buffer>> From<(C, S)> for Planes {
    fn from((codes, scales): (C, S)) -> Self {
        Self {
            codes: codes.into(),
            scales: scales.into(),
            zeros: None,
        }
    }
}

/// A run after its step.
pub(crate) struct Transformed {
    /// What is written of it.
    pub(crate) planes: Planes,
    /// Row by row, source against output.
    pub(crate) stats: Vec<ErrorStats>,
    /// Rows and columns of the run where the source is NaN, the first few.
    pub(crate) nans: Vec<[usize; 2]>,
    /// Blocks that a cast left as they are, and those that it rounded.
    pub(crate) blocks: Option<CastBlocks>,
}

/// How the blocks of a weight fared that was cast on its codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CastBlocks {
    /// Blocks of which every value stays.
    pub lossless: u64,
    /// Blocks that were encoded anew.
    pub rounded: u64,
}

impl CastBlocks {
    /// Adds the blocks of another part.
    pub(crate) fn add(&mut self, other: Self) {
        self.lossless += other.lossless;
        self.rounded += other.rounded;
    }
}

/// Scales that a run shares with all of its weight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TensorScales {
    /// The second-level scale to write, as stored; 1 where there is none.
    pub(crate) global: f32,
    /// Largest magnitude of the weight, for a format with one scale for all of it.
    pub(crate) amax: f32,
    /// The way from MXFP4 to NVFP4, which goes by all scales of the weight.
    pub(crate) cast: Mxfp4ToNvfp4,
}

/// Applies the step of a task to its run.
pub(crate) fn apply(task: Task, tensor: TensorScales) -> Result<Transformed, ConvertError> {
    decoder(&task).check(task.shape(), Stored::from(&task.bytes))?;
    match task.step {
        Step::Copy
        | Step::RestateGlobal { .. }
        | Step::WidenScales { .. }
        | Step::SpreadScale { .. } => kept::apply(task, tensor),
        Step::Decode(_)
        | Step::Encode { .. }
        | Step::EncodeInt { .. }
        | Step::RoundScalesUp { .. }
        | Step::CastMxfp4 { .. } => made::apply(&task, tensor),
    }
}

/// The largest magnitude of a run.
pub(crate) fn largest(task: &Task) -> Result<f32, ConvertError> {
    let (decoder, shape, stored) = (decoder(task), task.shape(), Stored::from(&task.bytes));
    decoder.check(shape, stored)?;
    let step = group_rows(&[source_block(task)], shape.cols);
    let parts = parts::ranges(shape, step).into_par_iter();
    parts
        .map(|rows| {
            let mut values = task.buffers.get(4 * rows.len() * shape.cols);
            let values = bytemuck::cast_slice_mut(&mut values);
            decoder.rows(shape, rows, stored, values)?;
            Ok(blockscale::encode::amax(values))
        })
        .try_reduce(|| 0.0, |a, b| Ok(f32::max(a, b)))
}

/// How the source of a task is read.
fn decoder(task: &Task) -> Decoder<'_> {
    Decoder {
        name: &task.weight.name,
        encoding: task.weight.encoding,
    }
}

/// How what is written for a task is read.
fn output_decoder(task: &Task) -> Decoder<'_> {
    Decoder {
        name: &task.weight.name,
        encoding: task.step.result(&task.weight.encoding),
    }
}

/// Rows of the source that share scales.
fn source_block(task: &Task) -> usize {
    alignment(&task.weight.encoding, task.weight.matrices().shape.rows)
}

/// Rows of the output that share scales.
fn output_block(encoding: &Encoding, shape: Shape) -> usize {
    alignment(encoding, shape.rows)
}
