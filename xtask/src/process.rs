//! Other programs: run with their output shown, or under a time limit with it kept in a log.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Duration;

use thiserror::Error;
use wait_timeout::ChildExt;

/// Why a program did not do its work.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// The program could not be started, or its log not be written.
    #[error("`{command}` can't be run: {source}")]
    Start { command: String, source: io::Error },
    /// The program ended by itself and reported a failure.
    #[error("`{command}` ended with {status}")]
    Exit { command: String, status: ExitStatus },
    /// The same, of a program whose output went to a log.
    #[error("`{command}` ended with {status}: {said} (all of it: `{}`)", log.display())]
    Logged {
        command: String,
        status: ExitStatus,
        said: String,
        log: PathBuf,
    },
    /// What was made is not as it has to be.
    #[error("{0}")]
    Refused(String),
    /// The program was stopped.
    #[error("`{command}` was not done after {} s", limit.as_secs())]
    TimeLimit { command: String, limit: Duration },
}

impl Failure {
    /// The program's own exit code where it has one, else 1.
    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Exit { status, .. } | Self::Logged { status, .. } => status
                .code()
                .and_then(|code| u8::try_from(code).ok())
                .map_or(ExitCode::FAILURE, ExitCode::from),
            Self::Start { .. } | Self::Refused(_) | Self::TimeLimit { .. } => ExitCode::FAILURE,
        }
    }
}

/// How long a program may take, and where its output goes.
#[derive(Debug)]
pub(crate) struct Limit<'a> {
    /// The program is stopped after this time.
    pub(crate) time: Duration,
    /// Standard output and error end up in this file, which is replaced.
    pub(crate) log: &'a Path,
}

/// Runs a program to its end; its output goes where that of this program goes.
///
/// # Errors
/// [`Failure::Start`], and [`Failure::Exit`] for every exit code but 0.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|source| Failure::Start {
        command: shown(command),
        source,
    })?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::Exit {
            command: shown(command),
            status,
        })
    }
}

/// Says what is run, then runs it without input and without showing its output.
///
/// # Errors
/// As [`run`], with the line of the output that tells most in [`Failure::Logged`], and
/// [`Failure::TimeLimit`] once the time is over.
pub(crate) fn run_limited(command: &mut Command, limit: &Limit<'_>) -> Result<(), Failure> {
    let name = shown(command);
    eprintln!("  {name} (at most {} s)", limit.time.as_secs());

    let status = status_within(command, limit).map_err(|source| Failure::Start {
        command: name.clone(),
        source,
    })?;
    match status {
        Some(status) if status.success() => Ok(()),
        Some(status) => Err(Failure::Logged {
            command: name,
            status,
            said: telling_line(limit.log),
            log: limit.log.to_owned(),
        }),
        None => Err(Failure::TimeLimit {
            command: name,
            limit: limit.time,
        }),
    }
}

/// How the program ended, or `None` if it had to be stopped.
fn status_within(command: &mut Command, limit: &Limit<'_>) -> io::Result<Option<ExitStatus>> {
    let (stdout, stderr) = open_log(limit.log)?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(stdout)
        .stderr(stderr)
        .spawn()?;
    let status = child.wait_timeout(limit.time)?;
    if status.is_none() {
        child.kill()?;
        child.wait()?;
    }
    Ok(status)
}

/// The first line that a program prints, if it ends well.
pub(crate) fn first_line(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output
        .status
        .success()
        .then(|| text.lines().next().unwrap_or_default().to_owned())
}

/// A command as one would type it, with the variables that it is given.
pub(crate) fn shown(command: &Command) -> String {
    let variables = command
        .get_envs()
        .filter_map(|(name, value)| Some(format!("{}={}", quoted(name), quoted(value?))));
    let words = std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(quoted);
    variables.chain(words).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    if word.contains(' ') {
        format!("\"{word}\"")
    } else {
        word.into_owned()
    }
}

fn open_log(path: &Path) -> io::Result<(File, File)> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let log = File::create(path)?;
    let again = log.try_clone()?;
    Ok((log, again))
}

/// The line of a log that tells most: the first that calls itself an error, else the last.
fn telling_line(log: &Path) -> String {
    let text = fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let is_error = |line: &str| line.starts_with("E:") || line.to_lowercase().starts_with("error");
    lines
        .clone()
        .find(|line| is_error(line))
        .or_else(|| lines.next_back())
        .unwrap_or("it said nothing")
        .to_owned()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::time::Instant;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    fn log_of(test: &str) -> PathBuf {
        std::env::temp_dir().join(format!("xtask-{}-{test}/output.log", std::process::id()))
    }

    #[test]
    fn a_program_is_stopped_at_its_limit() {
        let log = log_of("limit");
        let start = Instant::now();
        let limit = Limit {
            time: Duration::from_millis(100),
            log: &log,
        };
        let failure = run_limited(Command::new("sleep").arg("60"), &limit).unwrap_err();
        assert!(matches!(failure, Failure::TimeLimit { .. }), "{failure}");
        assert!(start.elapsed() < Duration::from_secs(30));
        fs::remove_dir_all(log.parent().unwrap()).unwrap();
    }

    #[test]
    fn a_failure_carries_the_telling_line_and_the_exit_code() {
        let log = log_of("telling");
        let limit = Limit {
            time: Duration::from_secs(30),
            log: &log,
        };
        let fail = |output: &str| {
            let script = format!("echo first; {output}; echo; exit 100");
            run_limited(&mut shell(&script), &limit).unwrap_err()
        };
        let last = fail("echo 'no such package' >&2");
        assert_eq!(last.exit_code(), ExitCode::from(100));
        for (failure, expected) in [
            (last, "no such package"),
            (
                fail("echo 'ERROR: no network'; echo backtrace"),
                "ERROR: no network",
            ),
            (fail("echo 'E: locked'; echo again"), "E: locked"),
        ] {
            assert!(
                matches!(&failure, Failure::Logged { said, .. } if said == expected),
                "{failure}"
            );
        }
        fs::remove_dir_all(log.parent().unwrap()).unwrap();
    }

    #[test]
    fn the_exit_code_is_handed_on_and_a_missing_program_is_1() {
        assert_eq!(
            run(&mut shell("exit 101")).unwrap_err().exit_code(),
            ExitCode::from(101)
        );
        let missing = run(&mut Command::new("/no/such/program")).unwrap_err();
        assert_eq!(missing.exit_code(), ExitCode::FAILURE);
        assert!(run(&mut shell("exit 0")).is_ok());
    }

    #[test]
    fn only_a_program_that_ends_well_has_a_first_line() {
        assert_eq!(
            first_line("sh", &["-c", "echo one; echo two"]).as_deref(),
            Some("one")
        );
        assert_eq!(first_line("sh", &["-c", "echo one; exit 1"]), None);
    }

    #[test]
    fn a_command_is_shown_with_its_variables() {
        let mut command = Command::new("cargo");
        command
            .args(["doc", "--no-deps"])
            .env("RUSTDOCFLAGS", "-D warnings")
            .env_remove("RUSTC");
        assert_eq!(
            shown(&command),
            "RUSTDOCFLAGS=\"-D warnings\" cargo doc --no-deps"
        );
    }
}
