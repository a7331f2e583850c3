//! `cargo xtask stress`: the tests that kill conversions and make system calls fail, at hundreds of
//! places in the place of ten.

use std::path::Path;
use std::process::Command;

use crate::process::{Failure, run};

/// Runs them; each prints what it tried.
///
/// # Errors
/// [`Failure`] where a test fails.
pub(crate) fn run_all(root: &Path, points: u32) -> Result<(), Failure> {
    let mut command = Command::new("cargo");
    command
        .args([
            "test",
            "--release",
            "--package",
            "blockscale-cli",
            "--test",
            "cli",
        ])
        .args([
            "--",
            "--nocapture",
            "--test-threads",
            "1",
            "interruption",
            "faults",
        ])
        .env("BLOCKSCALE_STRESS_POINTS", points.to_string())
        .current_dir(root);
    run(&mut command)
}
