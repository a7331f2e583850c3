//! Where large files go, and whether they fit.

use std::io::Write as _;
use std::process::Command;

use tempfile::TempDir;

/// More than a test here writes.
const NEEDED_KIB: u64 = 1 << 20;

/// A folder on the disk that holds the build, `None` and a word on stderr where that is nearly full.
pub(crate) fn roomy_folder() -> Option<TempDir> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    match free_kib(&folder) {
        Some(free) if free < NEEDED_KIB => {
            let text = format!("skipped: {} MiB free, and 1 GiB is needed\n", free >> 10);
            // Past the capture of the test harness; a closed stderr is no reason to fail.
            let _ = std::io::stderr().write_all(text.as_bytes());
            None
        }
        _ => Some(folder),
    }
}

/// `None` where there is no `df`.
fn free_kib(folder: &TempDir) -> Option<u64> {
    let output = Command::new("df")
        .arg("-Pk")
        .arg(folder.path())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    // Blocks, used, available.
    text.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}
