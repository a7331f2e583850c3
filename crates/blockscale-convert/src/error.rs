//! Why a conversion or a verification stopped.

use std::io;
use std::path::PathBuf;

use blockscale::LenMismatch;
use blockscale::ggml::GgmlError;
use blockscale::int::IntError;
use blockscale::layout::{LayoutError, ScaleLayout};
use blockscale::transcode::TranscodeError;
use blockscale_model::Dtype;
use blockscale_model::plan::PlanError;
use serde::Serialize;

use crate::source::{OpenError, SourceError};

/// Why a conversion or a verification stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvertError {
    /// The source cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The source cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The conversion cannot be planned.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Slices that do not fit each other: the plan and the data disagree.
    #[error(transparent)]
    Length(#[from] LenMismatch),
    /// A range that the tensor does not have.
    #[error("a range outside of `{tensor}` was asked for")]
    OutsideTensor {
        /// The tensor.
        tensor: String,
    },
    /// A dtype without a decoder.
    #[error("`{tensor}` holds {dtype} values, which have no decoder")]
    NotNumbers {
        /// The weight.
        tensor: String,
        /// Its dtype.
        dtype: Dtype,
    },
    /// Codes that cannot be carried over: the plan and the data disagree.
    #[error(transparent)]
    Transcode(#[from] TranscodeError),
    /// A CUDA device failed.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Cuda(#[from] blockscale_cuda::CudaError),
    /// Integers in groups that cannot be decoded.
    #[error("`{tensor}`: {problem}")]
    Integers {
        /// The weight.
        tensor: String,
        /// What is wrong with them.
        problem: IntError,
    },
    /// Blocks of ggml that cannot be decoded.
    #[error("`{tensor}`: {problem}")]
    Ggml {
        /// The weight.
        tensor: String,
        /// What is wrong with them.
        problem: GgmlError,
    },
    /// A shape in numbers that is not the shape of the tensors.
    #[error(
        "`{tensor}` states the shape {stated:?}, but codes and scales beside it are those of \
         {found:?}; one of them is damaged, export the checkpoint again"
    )]
    StatedShape {
        /// The tensor that states it.
        tensor: String,
        /// The shape stated.
        stated: Vec<i64>,
        /// The shape that codes and scales have.
        found: Vec<usize>,
    },
    /// A scale that cannot be carried over.
    #[error("`{tensor}`, rows {first_row}..: {problem}")]
    Scale {
        /// The weight.
        tensor: String,
        /// First row of the run that holds the scale.
        first_row: usize,
        /// What is wrong with it.
        problem: TranscodeError,
    },
    /// A weight that the layout does not take.
    #[error("`{tensor}`: {problem}")]
    Layout {
        /// The weight.
        tensor: String,
        /// What does not fit.
        problem: LayoutError,
    },
    /// Weights under different global scales, which are to be one weight with one.
    #[error(
        "`{tensor}` would have one global scale, and `{}` has {:e} but `{}` {:e}; their codes fit no \
         common one: convert to bf16 first, and the result with --to nvfp4, which chooses one for both",
        first.0, first.1, second.0, second.1
    )]
    GlobalScales {
        /// The weight that they are to be.
        tensor: String,
        /// A part of it, and its global scale.
        first: (String, f32),
        /// Another with a different one.
        second: (String, f32),
    },
    /// A layout that cannot be undone to the same bytes.
    #[error(
        "`{tensor}` does not come back from layout `{layout}`: it has scales that the layout cannot hold"
    )]
    LayoutLoses {
        /// The weight.
        tensor: String,
        /// The layout.
        layout: ScaleLayout,
    },
    /// The memory limit does not hold one row of blocks.
    #[error(
        "`{tensor}` needs {needed} bytes of --max-memory at once, the limit is {limit}; raise it"
    )]
    Memory {
        /// The weight.
        tensor: String,
        /// Smallest limit that does.
        needed: u64,
        /// The limit given.
        limit: u64,
    },
    /// Numbers that came out worse than their format's rounding explains.
    #[error("{}", failures(.0))]
    Numbers(Vec<NumberFailure>),
    /// Source and output are one folder.
    #[error("the output folder `{}` is the source; nothing is ever converted in place: give another folder", path.display())]
    InPlace {
        /// The folder.
        path: PathBuf,
    },
    /// The output folder holds something.
    #[error("`{}` is not empty: give an empty folder, --resume to finish an interrupted conversion, or --overwrite to replace its checkpoint", path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// There is no conversion to resume.
    #[error(
        "nothing to resume in `{}`: it has no `{journal}`; run without --resume to begin",
        path.display()
    )]
    NothingToResume {
        /// The folder.
        path: PathBuf,
        /// Name of the journal.
        journal: &'static str,
    },
    /// The journal is of another conversion.
    #[error(
        "`{}` was begun with another source, recipe or version of this program; \
         convert into an empty folder, or --overwrite it", path.display()
    )]
    OtherConversion {
        /// The folder.
        path: PathBuf,
    },
    /// The journal cannot be understood.
    #[error("`{}`, line {line}: not a journal of this program; --overwrite the folder", path.display())]
    BadJournal {
        /// The journal.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
    },
    /// Another conversion writes there.
    #[error(
        "another conversion is writing into `{}`: wait for it, or give another folder",
        path.display()
    )]
    InUse {
        /// The folder.
        path: PathBuf,
    },
    /// A finished shard is not what the journal says.
    #[error("`{}` is {found} bytes long, the journal says {expected}; delete it and --resume again", path.display())]
    ShardChanged {
        /// The shard.
        path: PathBuf,
        /// Length by the journal.
        expected: u64,
        /// Length found.
        found: u64,
    },
    /// The output cannot be written.
    #[error("cannot {action} `{}`: {source}{}", path.display(), full_disk(.source))]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// Rows that share their scales with the rows above them.
    #[error("`{tensor}` cannot be taken apart at row {row}, inside a scale block of {block} rows")]
    InsideBlock {
        /// The weight.
        tensor: String,
        /// The row.
        row: usize,
        /// Rows of a scale block.
        block: usize,
    },
    /// Stopped from outside.
    #[error("interrupted; run again with --resume to finish")]
    Interrupted,
}

/// One weight whose numbers came out wrong.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NumberFailure {
    /// The weight.
    pub tensor: String,
    /// What was found and what was expected.
    pub reason: String,
}

fn failures(all: &[NumberFailure]) -> String {
    const SHOWN: usize = 8;
    let mut lines: Vec<String> = all
        .iter()
        .take(SHOWN)
        .map(|f| format!("`{}`: {}", f.tensor, f.reason))
        .collect();
    if all.len() > SHOWN {
        lines.push(format!("and {} more", all.len() - SHOWN));
    }
    lines.join("\n")
}

fn full_disk(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space and run again with --resume"
        }
        _ => "",
    }
}

/// Kinds of failure, as the exit codes of the command line tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// Numbers below their bound.
    Mismatch,
    /// A request that cannot be meant.
    Usage,
    /// Input that cannot be used.
    BadInput,
    /// The operating system refused.
    Io,
    /// Stopped from outside.
    Interrupted,
}

impl ConvertError {
    /// The kind of failure.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Numbers(_) => FailureKind::Mismatch,
            Self::InPlace { .. }
            | Self::NotEmpty { .. }
            | Self::NothingToResume { .. }
            | Self::OtherConversion { .. }
            | Self::InUse { .. }
            | Self::Memory { .. } => FailureKind::Usage,
            Self::Write { .. } => FailureKind::Io,
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => FailureKind::Io,
            Self::Open(OpenError::Io { .. } | OpenError::Read(SourceError::Io { .. }))
            | Self::Source(SourceError::Io { .. }) => FailureKind::Io,
            Self::Interrupted => FailureKind::Interrupted,
            _ => FailureKind::BadInput,
        }
    }
}
