//! `cargo xtask kernels`: the CUDA kernels as one image, and a manifest of what it was made from.
//!
//! The image is committed inside `blockscale-cuda`, so that neither building nor running needs a CUDA compiler. The manifest tells
//! whether it is the image of the sources beside it; a test of this crate looks.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::process::{Failure, Limit, first_line, run_limited};

const SOURCES: &str = "kernels/cuda";
const ROOT_SOURCE: &str = "kernels/cuda/all.cu";
const IMAGE: &str = "crates/blockscale-cuda/kernels/blockscale.fatbin";
const MANIFEST: &str = "crates/blockscale-cuda/kernels/manifest";

/// The compiler's version, which `xtask/cuda-compiler.txt` pins.
const COMPILER: &str = "13.0.88";
const TOOLS: &str = "target/tools/cuda";
const DOWNLOAD_LIMIT: Duration = Duration::from_secs(300);
const COMPILE_LIMIT: Duration = Duration::from_secs(600);

/// Arithmetic as written, and machine code for each generation: code of a family runs on all of its chips, sm_80 on 8.x, and the
/// last, PTX, is compiled by the driver of any other.
const FLAGS: [&str; 19] = [
    "-std=c++17",
    "-O3",
    "-fmad=false",
    "-prec-div=true",
    "-prec-sqrt=true",
    "-ftz=false",
    "-gencode",
    "arch=compute_80,code=sm_80",
    "-gencode",
    "arch=compute_90a,code=sm_90a",
    "-gencode",
    "arch=compute_100f,code=sm_100f",
    "-gencode",
    "arch=compute_120f,code=sm_120f",
    "-gencode",
    "arch=compute_80,code=compute_80",
    "-Xfatbin",
    "-compress-all",
    "-fatbin",
];

/// Why there is no image, or not the right one.
#[derive(Debug, Error)]
pub(crate) enum KernelsError {
    /// There is no Python that can download a package.
    #[error("neither `python3` nor `python` has the module `pip`, which fetches the compiler")]
    NoPip,
    /// The download or the compiler failed.
    #[error(transparent)]
    Program(#[from] Failure),
    /// A file can't be read or written.
    #[error("`{}`: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// The image was made from something else.
    #[error("the kernels' image is of other sources; run `cargo xtask kernels`:\n{}", differences.join("\n"))]
    Stale { differences: Vec<String> },
}

/// What to do about the kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Compile them.
    Build,
    /// See whether the image is of these sources.
    Check,
}

/// Compiles the kernels and writes image and manifest, or compares the manifest with what is there.
///
/// # Errors
/// [`KernelsError`]; a failed compilation leaves image and manifest as they were.
pub(crate) fn run(root: &Path, mode: Mode) -> Result<(), KernelsError> {
    match mode {
        Mode::Build => build(root),
        Mode::Check => check(root),
    }
}

fn build(root: &Path) -> Result<(), KernelsError> {
    let logs = root.join("target/xtask-logs");
    let compiler = compiler(root, &logs)?;
    let fresh = root.join("target/tools/blockscale.fatbin");
    let mut command = Command::new(&compiler);
    command
        .args(FLAGS)
        .arg("-o")
        .arg(&fresh)
        .arg(ROOT_SOURCE)
        .current_dir(root);
    let limit = Limit {
        time: COMPILE_LIMIT,
        log: &logs.join("nvcc.log"),
    };
    run_limited(&mut command, &limit)?;

    let image = root.join(IMAGE);
    fs::create_dir_all(image.with_file_name("")).map_err(at(&image))?;
    fs::copy(&fresh, &image).map_err(at(&image))?;
    let manifest = root.join(MANIFEST);
    fs::write(&manifest, manifest_of(root)?).map_err(at(&manifest))
}

/// # Errors
/// [`KernelsError::Stale`] with the lines of the manifest that are not so.
fn check(root: &Path) -> Result<(), KernelsError> {
    let path = root.join(MANIFEST);
    let written = fs::read_to_string(&path).map_err(at(&path))?;
    let differences = differences(&written, &manifest_of(root)?);
    if differences.is_empty() {
        return Ok(());
    }
    Err(KernelsError::Stale { differences })
}

fn differences(written: &str, found: &str) -> Vec<String> {
    let missing = |lines: &str, from: &str, sign: char| {
        let lines = lines
            .lines()
            .filter(|line| !from.lines().any(|other| other == *line));
        lines
            .map(|line| format!("{sign} {line}"))
            .collect::<Vec<_>>()
    };
    let mut all = missing(written, found, '-');
    all.extend(missing(found, written, '+'));
    all
}

/// What the image is made from, and the image.
fn manifest_of(root: &Path) -> Result<String, KernelsError> {
    let mut text =
        "# Written by `cargo xtask kernels`: what the image beside this was made from.\n"
            .to_owned();
    // Writing to a string can't fail.
    let _ = writeln!(text, "compiler nvcc {COMPILER}");
    let _ = writeln!(text, "flags {}", FLAGS.join(" "));
    let mut files = Vec::new();
    collect_sources(root, SOURCES, &mut files)?;
    files.sort();
    files.push(IMAGE.to_owned());
    for file in files {
        let path = root.join(&file);
        let contents = fs::read(&path).map_err(at(&path))?;
        let mut hash = String::new();
        for byte in Sha256::digest(&contents) {
            let _ = write!(hash, "{byte:02x}");
        }
        let _ = writeln!(text, "sha256 {hash} {file}");
    }
    Ok(text)
}

/// Names of the files that a compiler reads, below `folder`, with `/` between their parts.
fn collect_sources(root: &Path, folder: &str, files: &mut Vec<String>) -> Result<(), KernelsError> {
    let path = root.join(folder);
    for entry in fs::read_dir(&path).map_err(at(&path))? {
        let entry = entry.map_err(at(&path))?;
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect_sources(root, &name, files)?;
        } else if name.ends_with(".cu") || name.ends_with(".cuh") {
            files.push(name);
        }
    }
    Ok(())
}

/// An installed compiler of the pinned version, else the one from the wheels, which is fetched at first.
fn compiler(root: &Path, logs: &Path) -> Result<PathBuf, KernelsError> {
    if is_pinned("nvcc") {
        return Ok("nvcc".into());
    }
    let tools = root.join(TOOLS);
    let compiler = tools.join("nvidia/cu13/bin/nvcc");
    if is_pinned(&compiler.to_string_lossy()) {
        return Ok(compiler);
    }
    let python = ["python3", "python"]
        .into_iter()
        .find(|python| first_line(python, &["-m", "pip", "--version"]).is_some())
        .ok_or(KernelsError::NoPip)?;
    let mut command = Command::new(python);
    command
        .args(["-m", "pip", "install", "--no-deps", "--require-hashes"])
        .args(["--only-binary", ":all:", "--upgrade"])
        .args(["--requirement", "xtask/cuda-compiler.txt", "--target"])
        .arg(&tools)
        .current_dir(root);
    let limit = Limit {
        time: DOWNLOAD_LIMIT,
        log: &logs.join("pip-cuda.log"),
    };
    run_limited(&mut command, &limit)?;
    Ok(compiler)
}

fn is_pinned(compiler: &str) -> bool {
    let output = Command::new(compiler).arg("--version").output();
    output.is_ok_and(|output| {
        String::from_utf8_lossy(&output.stdout).contains(&format!("V{COMPILER}"))
    })
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> KernelsError + use<> {
    let path = path.to_owned();
    |source| KernelsError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_committed_image_is_of_these_sources() {
        if let Err(error) = check(crate::workspace_root()) {
            panic!("{error}");
        }
    }

    #[test]
    fn a_changed_a_missing_and_a_new_source_are_named() {
        let written = "compiler nvcc 1\nsha256 aa a.cu\nsha256 bb b.cu\n";
        let found = "compiler nvcc 1\nsha256 a0 a.cu\nsha256 cc c.cu\n";
        assert_eq!(
            differences(written, found),
            [
                "- sha256 aa a.cu",
                "- sha256 bb b.cu",
                "+ sha256 a0 a.cu",
                "+ sha256 cc c.cu"
            ]
        );
        assert!(differences(written, written).is_empty());
    }

    #[test]
    fn each_generation_has_machine_code_and_the_rest_ptx() {
        for code in ["sm_80", "sm_90a", "sm_100f", "sm_120f", "compute_80"] {
            assert!(
                FLAGS
                    .iter()
                    .any(|flag| flag.ends_with(&format!("code={code}"))),
                "{code}"
            );
        }
        assert!(FLAGS.contains(&"-fmad=false"));
    }
}
