//! Packages of a Debian or Ubuntu system, installed where this runs as root.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::process::{Failure, Limit, first_line, run_limited};

const LIMIT: Duration = Duration::from_secs(240);

/// Whether packages can be installed here.
pub(crate) fn is_usable() -> bool {
    Path::new("/usr/bin/apt-get").exists() && first_line("id", &["-u"]).as_deref() == Some("0")
}

/// Installs packages; `logs` is a folder for what apt says.
///
/// They are fetched first, so that the time limit never meets one half installed.
///
/// # Errors
/// The [`Failure`] of the step that failed.
pub(crate) fn install(packages: &[&str], logs: &Path) -> Result<(), Failure> {
    let with_packages = |more: &[&'static str]| {
        let mut args = vec!["install", "-y", "--no-install-recommends"];
        args.extend(more);
        args.extend(packages);
        args
    };
    // One source out of reach fails the update, and may not be the one that matters.
    let _ = run_apt(&["update"], &logs.join("apt-update.log"));
    run_apt(
        &with_packages(&["--download-only"]),
        &logs.join("apt-download.log"),
    )?;
    run_apt(&with_packages(&[]), &logs.join("apt-install.log"))
}

fn run_apt(args: &[&str], log: &Path) -> Result<(), Failure> {
    let mut command = Command::new("apt-get");
    command.args(args).args(["-o", "DPkg::Lock::Timeout=60"]);
    command.env("DEBIAN_FRONTEND", "noninteractive");
    run_limited(&mut command, &Limit { time: LIMIT, log })
}
