//! Failures of the command line, and the exit code of each.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use blockscale_convert::sample::SampleError;
use blockscale_convert::source::{OpenError, SourceError};
use blockscale_convert::{ConvertError, FailureKind};
use blockscale_model::doctor::UnknownTarget;
use blockscale_model::plan::PlanError;
use blockscale_model::recipe::RecipeError;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Convert(#[from] ConvertError),
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    #[error(transparent)]
    Sample(#[from] SampleError),
    #[error("cannot read recipe `{}`", path.display())]
    ReadRecipe { path: PathBuf, source: io::Error },
    #[error(
        "no recipe is the default for {}; give --recipe NAME or --to FORMAT",
        model_type.as_ref().map_or("a checkpoint without a model_type".to_owned(), |m| format!("model_type `{m}`"))
    )]
    NoDefaultRecipe { model_type: Option<String> },
    #[error("no weight `{name}` in `{}`{}", path.display(), did_you_mean(similar))]
    NoSuchWeight {
        path: PathBuf,
        name: String,
        similar: Vec<String>,
    },
    #[error("no rule `{0}`; `blockscale doctor --list` lists all")]
    NoSuchRule(String),
    #[error("no fault `{0}`; `blockscale sample --list-faults` lists all")]
    NoSuchFault(String),
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error(transparent)]
    Target(#[from] UnknownTarget),
    #[error(transparent)]
    Device(#[from] blockscale_convert::NoBackend),
    #[error(transparent)]
    Measured(#[from] blockscale_selftest::NoBackend),
    #[error(transparent)]
    Bench(#[from] blockscale_selftest::BenchError),
    #[error("cannot write `{}`", path.display())]
    Record { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Selftest(#[from] blockscale_selftest::SelftestError),
    #[error("cannot listen at {address}; choose another --port or --bind")]
    Listen {
        address: SocketAddr,
        source: io::Error,
    },
    #[error("cannot write to standard output")]
    Stdout(#[from] io::Error),
}

fn did_you_mean(names: &[String]) -> String {
    if names.is_empty() {
        return "; `blockscale inspect` lists all".to_owned();
    }
    let names: Vec<String> = names.iter().map(|n| format!("`{n}`")).collect();
    format!("; there are {}", names.join(", "))
}

impl CliError {
    pub(crate) fn exit_code(&self) -> ExitCode {
        const MISMATCH: u8 = 1;
        const USAGE: u8 = 2;
        const BAD_INPUT: u8 = 3;
        const IO: u8 = 4;
        const NO_DEVICE: u8 = 5;
        const INTERRUPTED: u8 = 130;
        ExitCode::from(match self {
            Self::Convert(error) => match error.kind() {
                FailureKind::Mismatch => MISMATCH,
                FailureKind::Usage => USAGE,
                FailureKind::Io => IO,
                FailureKind::Interrupted => INTERRUPTED,
                FailureKind::BadInput => BAD_INPUT,
            },
            Self::Open(OpenError::Io { .. } | OpenError::Read(SourceError::Io { .. }))
            | Self::Source(SourceError::Io { .. })
            | Self::Stdout(_)
            | Self::Listen { .. }
            | Self::Record { .. }
            | Self::Sample(_) => IO,
            Self::Device(_) | Self::Measured(_) | Self::Bench(_) | Self::Selftest(_) => NO_DEVICE,
            Self::Open(_) | Self::Plan(_) | Self::Source(_) => BAD_INPUT,
            Self::Recipe(_)
            | Self::ReadRecipe { .. }
            | Self::NoDefaultRecipe { .. }
            | Self::NoSuchRule(_)
            | Self::NoSuchFault(_)
            | Self::Target(_)
            | Self::NoSuchWeight { .. } => USAGE,
        })
    }
}
