//! Bytes in, bytes out: checkpoints read, converted, checked and written.
//!
//! - [`source`]: where bytes come from.
//! - [`Weights`]: logical weights read and decoded by runs of rows.
//! - [`convert`]: a plan carried out under a memory limit, resumable, every
//!   converted number compared with its source.
//! - [`verify`]: two checkpoints decoded and compared, whatever their formats and names.
//! - [`runtime_check`]: a checkpoint baked for a runtime and read as its kernels read.
//! - [`sample`]: a small checkpoint with DeepSeek-V4's names and structure.

mod compute;
mod convert;
mod error;
mod jobs;
mod journal;
mod manifest;
mod output_dir;
mod placing;
mod predict;
mod runtime_check;
pub mod sample;
mod sink;
pub mod source;
mod tally;
mod transform;
mod verify;
mod weights;

pub use convert::{ConvertOptions, Progress, convert, peak_memory};
pub use error::{ConvertError, FailureKind, NumberFailure};
pub use journal::{FinishedShard, JOURNAL};
pub use manifest::{FileHash, MANIFEST, Manifest};
pub use output_dir::{Existing, refuse_in_place};
pub use predict::{Prediction, predict_casts};
pub use runtime_check::{
    Baked, CheckedWeight, RuntimeDifference, RuntimeOptions, RuntimeReport, SkipReason,
    SkippedWeight, runtime_check,
};
pub use tally::Comparison;
pub use transform::CastBlocks;
pub use verify::{VerifyOptions, VerifyReport, verify};
pub use weights::{Run, RunBytes, Weights, decode};
