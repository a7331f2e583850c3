//! `cargo xtask deny`: licences, sources, doubles and known faults of dependencies.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use thiserror::Error;

use crate::process::{Failure, Limit, first_line, run_limited};

/// For what comes from the network.
const FETCH_LIMIT: Duration = Duration::from_secs(120);
const CHECK_LIMIT: Duration = Duration::from_secs(120);

/// Why dependencies were not checked, or not all of it.
#[derive(Debug, Error)]
pub(crate) enum DenyError {
    #[error("cargo-deny is not installed: `cargo install --locked cargo-deny`")]
    NotInstalled,
    #[error("the sources of dependencies can't be had: {0}")]
    NoSources(Failure),
    #[error("the advisory database can't be had: {0}")]
    NoAdvisories(Failure),
    #[error(transparent)]
    Refused(Failure),
}

impl DenyError {
    /// Whether this machine is at fault and not a dependency.
    pub(crate) fn is_of_this_machine(&self) -> bool {
        !matches!(self, Self::Refused(_))
    }
}

/// Holds every dependency against `deny.toml`; known faults last, since they need a database.
///
/// # Errors
/// [`DenyError`] of the first step that cannot be done or refuses something.
pub(crate) fn run(root: &Path) -> Result<(), DenyError> {
    if first_line("cargo", &["deny", "--version"]).is_none() {
        return Err(DenyError::NotInstalled);
    }
    let step = |args: &str, time: Duration, log: &str| {
        let mut command = Command::new("cargo");
        command.args(args.split(' ')).current_dir(root);
        let log = root.join("target/xtask-logs").join(log);
        run_limited(&mut command, &Limit { time, log: &log })
    };
    step("fetch --locked", FETCH_LIMIT, "deny-sources.log").map_err(DenyError::NoSources)?;
    step("deny check licenses bans sources", CHECK_LIMIT, "deny.log")
        .map_err(DenyError::Refused)?;
    step("deny fetch db", FETCH_LIMIT, "deny-advisories.log").map_err(DenyError::NoAdvisories)?;
    let check = "deny check --disable-fetch advisories";
    step(check, CHECK_LIMIT, "deny.log").map_err(DenyError::Refused)
}
