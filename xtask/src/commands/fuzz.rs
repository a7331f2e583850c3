//! `cargo xtask fuzz`: libFuzzer over everything that reads bytes from elsewhere.
//!
//! It works with the stable toolchain: coverage needs only flags of the compiler, and the address
//! sanitizer the variable that unlocks them. What was found stays under `target/fuzz`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use blockscale_fuzz::{TARGETS, Target, seeds};
use thiserror::Error;

use crate::process::{Failure, Limit, first_line, run_limited};

/// The only machine that it was tried on.
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// What cargo-fuzz gives the compiler.
const FLAGS: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares \
    -Zsanitizer=address";

const BUILD_LIMIT: Duration = Duration::from_secs(900);

/// Seconds beyond its own limit that libFuzzer may take to start, and to end.
const GRACE: u64 = 120;

/// What is fuzzed, and how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// One target; all of them where there is none.
    pub(crate) target: Option<&'static Target>,
    /// Seconds for each.
    pub(crate) seconds: u64,
}

/// Why nothing was fuzzed, or what was found.
#[derive(Debug, Error)]
pub(crate) enum FuzzError {
    #[error("fuzzing was tried on {TRIPLE} only")]
    OtherMachine,
    #[error("there is no C++ compiler (`c++`) for libFuzzer")]
    NoCompiler,
    #[error(transparent)]
    Build(Failure),
    #[error("`{path}` can't be written: {source}", path = path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error(
        "`{target}`: {failure}; the input is kept in `{kept}`: mend it and add it to \
         `tests/data/findings/{target}`", kept = kept.display()
    )]
    Finding {
        target: &'static str,
        failure: Failure,
        kept: PathBuf,
    },
}

/// Builds the fuzzer and lets it loose; prints how many inputs each target took.
///
/// # Errors
/// [`FuzzError`] of the first finding.
pub(crate) fn run(root: &Path, options: Options) -> Result<(), FuzzError> {
    let fuzzer = build(root)?;
    let chosen = |target: &&Target| options.target.is_none_or(|only| only.name == target.name);
    let mut sum = 0;
    for target in TARGETS.iter().filter(chosen) {
        let inputs = fuzz(root, &fuzzer, target, options.seconds)?;
        eprintln!(
            "fuzz: {}: {inputs} inputs in {} s, no finding",
            target.name, options.seconds
        );
        sum += inputs;
    }
    eprintln!("fuzz: {sum} inputs in all, no finding");
    Ok(())
}

fn build(root: &Path) -> Result<PathBuf, FuzzError> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Err(FuzzError::OtherMachine);
    }
    if first_line("c++", &["--version"]).is_none() {
        return Err(FuzzError::NoCompiler);
    }
    let folder = root.join("target/fuzz/build");
    let mut command = Command::new("cargo");
    command
        .args(["build", "--package", "blockscale-fuzz", "--bin", "fuzz"])
        .args(["--features", "libfuzzer", "--profile", "fuzz"])
        .args(["--target", TRIPLE, "--target-dir"])
        .arg(&folder)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", FLAGS)
        .current_dir(root);
    let log = root.join("target/xtask-logs/fuzz-build.log");
    let limit = Limit {
        time: BUILD_LIMIT,
        log: &log,
    };
    run_limited(&mut command, &limit).map_err(FuzzError::Build)?;
    Ok(folder.join(TRIPLE).join("fuzz/fuzz"))
}

/// Runs one target; returns how many inputs it took.
fn fuzz(root: &Path, fuzzer: &Path, target: &Target, seconds: u64) -> Result<u64, FuzzError> {
    let [corpus, kept] =
        ["corpus", "findings"].map(|part| root.join("target/fuzz").join(part).join(target.name));
    let findings = seeds::findings(target).into_iter().map(|(_, input)| input);
    for (number, seed) in (target.seeds)().into_iter().chain(findings).enumerate() {
        write(&corpus.join(format!("seed-{number}")), &seed)?;
    }
    for folder in [&corpus, &kept] {
        make_folder(folder)?;
    }
    let mut command = Command::new(fuzzer);
    command
        .arg(&corpus)
        .arg(format!("-max_total_time={seconds}"))
        .args([
            "-timeout=20",
            "-rss_limit_mb=2048",
            "-max_len=4096",
            "-print_final_stats=1",
        ])
        .arg(format!("-artifact_prefix={}/", kept.display()))
        .env("BLOCKSCALE_FUZZ", target.name);
    let log = root.join(format!("target/xtask-logs/fuzz-{}.log", target.name));
    let limit = Limit {
        time: Duration::from_secs(seconds + GRACE),
        log: &log,
    };
    run_limited(&mut command, &limit).map_err(|failure| FuzzError::Finding {
        target: target.name,
        failure,
        kept,
    })?;
    let said = fs::read(&log).unwrap_or_default();
    Ok(inputs(&String::from_utf8_lossy(&said)))
}

/// The number of inputs that libFuzzer states at its end.
fn inputs(said: &str) -> u64 {
    let stated = said
        .lines()
        .find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    stated
        .and_then(|number| number.trim().parse().ok())
        .unwrap_or(0)
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), FuzzError> {
    if let Some(folder) = path.parent() {
        make_folder(folder)?;
    }
    fs::write(path, bytes).map_err(|source| FuzzError::Write {
        path: path.to_owned(),
        source,
    })
}

fn make_folder(path: &Path) -> Result<(), FuzzError> {
    fs::create_dir_all(path).map_err(|source| FuzzError::Write {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_inputs_is_read_from_what_the_fuzzer_says() {
        let said =
            "Done 12 runs in 3 second(s)\nstat::number_of_executed_units: 12345\nstat::x: 1\n";
        assert_eq!(inputs(said), 12_345);
        assert_eq!(inputs("it said nothing"), 0);
    }
}
