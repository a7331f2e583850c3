//! One file per subcommand.

pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod inspect;
mod repair;
pub(crate) mod sample;
pub(crate) mod selftest;
mod tensor_view;
pub(crate) mod verify;
pub(crate) mod view;

use std::io::{self, Write as _};
use std::path::Path;

use blockscale_convert::Weights;
use blockscale_convert::source::LocalSource;
use blockscale_model::Checkpoint;
use blockscale_model::catalog::{Catalog, RowOrder};

use crate::error::CliError;

/// A checkpoint that is open.
pub(crate) struct Opened {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) catalog: Catalog,
    pub(crate) source: LocalSource,
}

impl Opened {
    pub(crate) fn open(path: &Path) -> Result<Self, CliError> {
        Self::open_with(path, None)
    }

    /// Opens a checkpoint; `gate_up` is the order of gate and up where nothing in it tells one.
    pub(crate) fn open_with(path: &Path, gate_up: Option<RowOrder>) -> Result<Self, CliError> {
        let (checkpoint, source) = LocalSource::open(path)?;
        let mut catalog = Catalog::of(&checkpoint);
        if let Some(order) = gate_up {
            catalog.state_gate_up(order);
        }
        Ok(Self {
            checkpoint,
            catalog,
            source,
        })
    }

    pub(crate) fn weights(&self) -> Weights<'_> {
        Weights {
            checkpoint: &self.checkpoint,
            catalog: &self.catalog,
            source: &self.source,
        }
    }

    pub(crate) fn model_type(&self) -> Option<String> {
        self.checkpoint.model_type().map(str::to_owned)
    }
}

/// Writes JSON to stdout.
pub(crate) fn print_json(value: &serde_json::Value) -> Result<(), CliError> {
    unless_closed(writeln!(io::stdout(), "{value:#}"))
}

/// Writes text to stdout, without colours where that is no terminal.
pub(crate) fn print_text(text: &str) -> Result<(), CliError> {
    unless_closed(anstream::stdout().write_all(text.as_bytes()))
}

/// A reader that has seen enough, as `head` has, closes the pipe: no failure.
pub(crate) fn unless_closed(written: io::Result<()>) -> Result<(), CliError> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => Ok(written?),
    }
}
