//! Calls to the system that fail, one after another: full disks, broken disks, at every place.
//!
//! A small library in C stands between the program and the system; where there is no C compiler, or no
//! way to load it in front, these tests say so and do nothing.

#![cfg(target_os = "linux")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::interruption::{JOURNAL, points};
use crate::process::{Finished, assert_same_files, convert, files, run, sample, skip};

const ENOSPC: i32 = 28;
const EIO: i32 = 5;

/// A source, what its conversion comes to, and the library that makes calls fail.
struct Case {
    dir: TempDir,
    source: PathBuf,
    whole: PathBuf,
    library: PathBuf,
}

impl Case {
    /// `None` where the library cannot be built.
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        let library = dir.path().join("faults.so");
        let code = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/faults.c");
        let built = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&library, &code])
            .status();
        if !built.is_ok_and(|status| status.success()) {
            skip("there is no C compiler to make system calls fail with");
            return None;
        }
        let source = sample(dir.path(), 2);
        let whole = dir.path().join("whole");
        run(&mut small_shards(&source, &whole)).ok();
        Some(Self {
            dir,
            source,
            whole,
            library,
        })
    }

    /// Converts while the call `at` on files under `under` fails; returns how many there were.
    fn convert(&self, out: &Path, under: &Path, at: usize, errno: i32) -> (Finished, usize) {
        let count = self.dir.path().join("count");
        let _ = fs::remove_file(&count);
        let finished = run(small_shards(&self.source, out)
            .env("LD_PRELOAD", &self.library)
            .env("FAULT_UNDER", under)
            .env("FAULT_AT", at.to_string())
            .env("FAULT_ERRNO", errno.to_string())
            .env("FAULT_COUNT", &count));
        let calls = fs::read_to_string(&count).unwrap_or_default();
        (finished, calls.trim().parse().unwrap_or_default())
    }

    /// Nothing with a final name is half done, and the conversion can be brought to its end.
    fn assert_recovers(&self, out: &Path) {
        let whole = files(&self.whole);
        let left = if out.exists() {
            files(out)
        } else {
            Default::default()
        };
        for (name, bytes) in &left {
            let own = name == JOURNAL || name.ends_with(".partial");
            assert!(
                own || *bytes == whole[name],
                "`{name}` has its name but not its content"
            );
        }
        let mut again = small_shards(&self.source, out);
        if left.contains_key(JOURNAL) {
            again.arg("--resume");
        } else if !left.is_empty() {
            again.arg("--overwrite");
        }
        run(&mut again).ok();
        assert_same_files(out, &self.whole);
    }

    /// Lets calls under a folder fail, spread over all that there are.
    fn fail_each(&self, what: &str, out: &Path, under: &Path) {
        let before = files(&self.source);
        let (undisturbed, calls) = self.convert(out, under, 0, EIO);
        undisturbed.ok();
        fs::remove_dir_all(out).unwrap();
        assert!(
            calls > 20,
            "{calls} calls were seen: the library is not in front of the system"
        );

        let tried = points().min(calls);
        let mut failed = 0;
        for point in 0..tried {
            let at = 1 + point * (calls - 1) / (tried - 1).max(1);
            let errno = [ENOSPC, EIO][point % 2];
            let (finished, _) = self.convert(out, under, at, errno);
            match finished.code {
                // A call whose failure does not matter, or one that this run did not come to.
                Some(0) => assert_same_files(out, &self.whole),
                Some(4) => {
                    failed += 1;
                    let folder = under.display().to_string();
                    assert!(
                        finished.stderr.contains(&folder),
                        "{at}: {}",
                        finished.stderr
                    );
                    if errno == ENOSPC && under == out {
                        assert!(
                            finished.stderr.contains("--resume"),
                            "{at}: {}",
                            finished.stderr
                        );
                    }
                }
                code => panic!("call {at} of {calls} failed: {code:?} {}", finished.stderr),
            }
            if finished.code != Some(0) {
                self.assert_recovers(out);
            }
            fs::remove_dir_all(out).unwrap();
        }
        // Half of them at least; of reads a quarter, since one that reads on behind a small one may
        // fail: the small one is then made by itself.
        let share = if under == out { 2 } else { 4 };
        assert!(
            failed * share >= tried,
            "only {failed} of {tried} runs failed"
        );
        assert!(files(&self.source) == before, "the source was written to");
        eprintln!("{what}: {tried} of {calls} calls made to fail, {failed} errors, all recovered");
    }
}

fn small_shards(source: &Path, out: &Path) -> Command {
    let mut command = convert(source, out);
    command.args(["--shard-size", "1MiB", "--max-memory", "16MiB"]);
    command
}

#[test]
fn a_write_that_fails_leaves_nothing_half_done_and_is_resumed() {
    if let Some(case) = Case::new() {
        let out = case.dir.path().join("out");
        case.fail_each("writes", &out, &out);
    }
}

#[test]
fn a_read_that_fails_is_an_error_that_names_the_file() {
    if let Some(case) = Case::new() {
        let out = case.dir.path().join("out");
        case.fail_each("reads", &out, &case.source);
    }
}
