//! Running the binary, and looking at the folders it leaves.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// No command here takes nearly as long.
const LIMIT: Duration = Duration::from_secs(120);

/// How often a running command is looked at.
const TICK: Duration = Duration::from_millis(1);

/// What a command left behind.
pub(crate) struct Finished {
    /// The exit code; a process that a signal ended has none.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Asserts success.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{}{}", self.stdout, self.stderr);
        self
    }

    /// Asserts success and reads stdout as JSON.
    #[track_caller]
    pub(crate) fn json(self) -> serde_json::Value {
        serde_json::from_str(&self.ok().stdout).unwrap()
    }
}

/// The binary, with nothing in its environment that changes how it prints.
pub(crate) fn blockscale() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blockscale"));
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CARGO_TERM_COLOR"] {
        command.env_remove(name);
    }
    command
}

/// `convert SOURCE OUTPUT`, to be given its options.
pub(crate) fn convert(source: &Path, output: &Path) -> Command {
    let mut command = blockscale();
    command.arg("convert").args([source, output]);
    command
}

/// `verify SOURCE OUTPUT`, to be given its options.
pub(crate) fn verify(source: &Path, output: &Path) -> Command {
    let mut command = blockscale();
    command.arg("verify").args([source, output]);
    command
}

/// A sample of `layers` layers in `dir`.
pub(crate) fn sample(dir: &Path, layers: usize) -> PathBuf {
    let path = dir.join("sample");
    let layers = layers.to_string();
    run(blockscale()
        .arg("sample")
        .arg(&path)
        .args(["--layers", &layers]))
    .ok();
    path
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Finished {
    run_watched(command, |_| ())
}

/// Runs a command to its end, and calls `watch` about once a millisecond meanwhile.
pub(crate) fn run_watched(command: &mut Command, watch: impl FnMut(&mut Child)) -> Finished {
    run_into(command, Stdio::piped(), Stdio::piped(), watch)
}

/// Runs a command to its end with streams of the caller's; what is no pipe reads as empty.
pub(crate) fn run_into(
    command: &mut Command,
    stdout: impl Into<Stdio>,
    stderr: impl Into<Stdio>,
    mut watch: impl FnMut(&mut Child),
) -> Finished {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .spawn()
        .unwrap();
    let stdout = child.stdout.take().map(reader);
    let stderr = child.stderr.take().map(reader);
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > LIMIT {
            child.kill().unwrap();
            panic!("{command:?} did not end within {LIMIT:?}");
        }
        watch(&mut child);
        thread::sleep(TICK);
    };
    let text = |reader: Option<thread::JoinHandle<String>>| {
        reader.map_or_else(String::new, |reader| reader.join().unwrap())
    };
    Finished {
        code: status.code(),
        stdout: text(stdout),
        stderr: text(stderr),
    }
}

/// Drains a pipe, so that a process that writes much does not wait.
fn reader(mut pipe: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.read_to_end(&mut bytes).unwrap();
        String::from_utf8(bytes).unwrap()
    })
}

/// The files of a folder by name, with their bytes.
pub(crate) fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let entry = entry.unwrap();
        (
            entry.file_name().into_string().unwrap(),
            fs::read(entry.path()).unwrap(),
        )
    };
    fs::read_dir(dir).unwrap().map(file).collect()
}

/// Asserts that two folders hold the same files, without printing megabytes if not.
#[track_caller]
pub(crate) fn assert_same_files(found: &Path, expected: &Path) {
    let (found, expected) = (files(found), files(expected));
    assert!(
        found.keys().eq(expected.keys()),
        "{:?}, {:?}",
        found.keys(),
        expected.keys()
    );
    for (name, bytes) in &found {
        assert!(*bytes == expected[name], "`{name}` differs");
    }
}

/// Says past the test runner's capture that a test did not run.
pub(crate) fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}
