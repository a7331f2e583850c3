//! Bytes in, bytes out: checkpoints read, converted, checked and written.
//!
//! - [`source`]: where bytes come from.
//! - [`Weights`]: logical weights read and decoded by runs of rows.
//! - [`convert`]: a plan carried out under a memory limit, resumable, every
//!   converted number compared with its source.
//! - [`verify`]: two checkpoints decoded and compared, whatever their formats and names.
//! - [`runtime_check`]: a checkpoint baked for a runtime and read as its kernels read.
//! - [`diff`](mod@diff): what is different between two checkpoints.
//! - [`doctor`]: what rules have to know of a checkpoint's bytes.
//! - [`interpret`]: how bytes are meant, where a file cannot be believed.
//! - [`repair`]: a checkpoint read as its bytes are meant, so that converting it repairs it.
//! - [`sample`]: a small checkpoint with DeepSeek-V4's names and structure.

mod backend;
mod compute;
mod convert;
pub mod diff;
pub mod doctor;
mod encoding;
mod error;
pub mod interpret;
mod jobs;
mod joined;
mod journal;
mod manifest;
mod memory;
mod output_dir;
mod placing;
mod predict;
mod publish;
pub mod repair;
mod runtime_check;
pub mod sample;
mod shard;
mod sink;
pub mod source;
mod tally;
mod transform;
mod verify;
mod weights;

pub use backend::{Backend, CudaDevices, NoBackend};
pub use convert::{ConvertOptions, Progress, convert, peak_memory};
pub use error::{ConvertError, FailureKind, NumberFailure};
pub use journal::{FinishedShard, JOURNAL, JournalRecord};
pub use manifest::{FileHash, MANIFEST, Manifest};
pub use memory::Buffer;
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
