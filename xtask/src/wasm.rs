//! `cargo xtask wasm`: the package that a browser loads, under `target/web/pkg`.
//!
//! Two builds of `blockscale-wasm`, without and with 128-bit vectors, each with the JavaScript that
//! `wasm-bindgen` writes for it, and a file that picks one. Node, where it is there, loads both and
//! looks at a weight.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::process::{Failure, Limit, first_line, run, run_limited};
use crate::toolchain::{self, Toolchain, Unavailable, WASM};

const CRATE: &str = "crates/blockscale-wasm";
pub(crate) const PACKAGE: &str = "target/web/pkg";

/// What the package is made of.
const SOURCES: [&str; 5] = [
    "crates/blockscale",
    "crates/blockscale-model",
    "crates/blockscale-wgpu",
    "crates/blockscale-wasm",
    "kernels/wgsl",
];

/// In the package: the hash of the sources that it was made of.
const STAMP: &str = "sources.sha256";
const TOOLS: &str = "target/tools";

/// `wasm-bindgen` from source takes minutes.
const INSTALL_LIMIT: Duration = Duration::from_secs(1800);
const BINDGEN_LIMIT: Duration = Duration::from_secs(120);
const NODE_LIMIT: Duration = Duration::from_secs(60);

/// The bytes that a module may have when it is sent, compressed.
const MOST_COMPRESSED_BYTES: usize = 350 << 10;

/// The builds: the name of their folder, and what the compiler may use.
const BUILDS: [(&str, &str); 2] = [("baseline", ""), ("simd128", "-C target-feature=+simd128")];

/// Why there is no package.
#[derive(Debug, Error)]
pub(crate) enum WasmError {
    /// No toolchain for the target.
    #[error("{0}")]
    Toolchain(Unavailable),
    /// `Cargo.lock` does not say which `wasm-bindgen` is used.
    #[error("`Cargo.lock` has no package `wasm-bindgen`")]
    NotLocked,
    /// A program failed.
    #[error(transparent)]
    Program(#[from] Failure),
    /// A module has grown.
    #[error("the module `{build}` has {found} bytes compressed; {most} are allowed")]
    TooLarge {
        build: &'static str,
        most: usize,
        found: usize,
    },
    /// A file can't be read or written.
    #[error("`{}`: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

impl WasmError {
    /// Whether it is about what this machine lacks, not about the sources.
    pub(crate) fn is_of_this_machine(&self) -> bool {
        matches!(self, Self::Toolchain(_))
    }
}

/// Builds the package, unless there is one of these sources.
///
/// # Errors
/// [`WasmError`] of the first step that fails.
pub(crate) fn run_unless_there(root: &Path) -> Result<(), WasmError> {
    let stamp = root.join(PACKAGE).join(STAMP);
    let hash = hash_of_sources(root)?;
    match fs::read_to_string(&stamp).is_ok_and(|found| found == hash) {
        true => Ok(()),
        false => run_all(root),
    }
}

/// Builds the package.
///
/// # Errors
/// [`WasmError`] of the first step that fails.
pub(crate) fn run_all(root: &Path) -> Result<(), WasmError> {
    let hash = hash_of_sources(root)?;
    let logs = root.join("target/xtask-logs");
    let toolchain = toolchain::find(WASM, &logs).map_err(WasmError::Toolchain)?;
    let bindgen = bindgen(root, &logs)?;
    // Built beside the old one, which a page may be using.
    let package = root.join(format!("{PACKAGE}.new"));
    remove(&package)?;
    for (build, flags) in BUILDS {
        let module = compile(root, toolchain, build, flags)?;
        let mut command = Command::new(&bindgen);
        command
            .args(["--remove-name-section", "--remove-producers-section"])
            .args(["--target", "web", "--out-name", "blockscale", "--out-dir"])
            .arg(package.join(build))
            .arg(&module);
        let limit = Limit {
            time: BINDGEN_LIMIT,
            log: &logs.join("wasm-bindgen.log"),
        };
        run_limited(&mut command, &limit)?;
    }
    write_package(root, &package)?;
    load_in_node(root, &package, &logs)?;
    for (build, _) in BUILDS {
        check_size(&package, build)?;
    }
    let stamp = package.join(STAMP);
    fs::write(&stamp, hash).map_err(at(&stamp))?;
    let built = root.join(PACKAGE);
    remove(&built)?;
    fs::rename(&package, &built).map_err(at(&package))
}

fn remove(folder: &Path) -> Result<(), WasmError> {
    match folder.exists() {
        true => fs::remove_dir_all(folder).map_err(at(folder)),
        false => Ok(()),
    }
}

/// A hash of all that the package is made of.
fn hash_of_sources(root: &Path) -> Result<String, WasmError> {
    let mut files = vec![PathBuf::from("Cargo.lock"), PathBuf::from("Cargo.toml")];
    for folder in SOURCES {
        list(root, Path::new(folder), &mut files)?;
    }
    files.sort();
    let mut hasher = Sha256::new();
    for file in files {
        let path = root.join(&file);
        let bytes = fs::read(&path).map_err(at(&path))?;
        hasher.update(file.as_os_str().as_encoded_bytes());
        hasher.update((bytes.len() as u64).to_le_bytes());
        hasher.update(&bytes);
    }
    Ok(format!("{:x}", hasher.finalize()))
}

/// Adds the files of a folder and those below it, but for tests.
fn list(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), WasmError> {
    let path = root.join(folder);
    for entry in fs::read_dir(&path).map_err(at(&path))? {
        let entry = entry.map_err(at(&path))?;
        let name = folder.join(entry.file_name());
        match entry.path().is_dir() {
            true if entry.file_name() == "tests" => {}
            true => list(root, &name, files)?,
            false => files.push(name),
        }
    }
    Ok(())
}

fn compile(
    root: &Path,
    toolchain: Toolchain,
    build: &str,
    flags: &str,
) -> Result<PathBuf, WasmError> {
    // A folder each: the flags are part of every crate's build.
    let folder = root.join("target/web").join(build);
    let mut command = toolchain.cargo_build(WASM);
    command
        .args(["--package", "blockscale-wasm", "--lib", "--profile", "wasm"])
        .arg("--target-dir")
        .arg(&folder)
        .env("RUSTFLAGS", flags)
        .current_dir(root);
    run(&mut command)?;
    Ok(folder.join("wasm32-unknown-unknown/wasm/blockscale_wasm.wasm"))
}

/// The program `wasm-bindgen` of the version that the crate is built with.
fn bindgen(root: &Path, logs: &Path) -> Result<PathBuf, WasmError> {
    let lock = root.join("Cargo.lock");
    let text = fs::read_to_string(&lock).map_err(at(&lock))?;
    let version = locked_version(&text, "wasm-bindgen").ok_or(WasmError::NotLocked)?;
    let expected = format!("wasm-bindgen {version}");
    let installed = root.join(TOOLS).join("bin/wasm-bindgen");
    for program in [Path::new("wasm-bindgen"), &installed] {
        if first_line(&program.to_string_lossy(), &["--version"]).as_ref() == Some(&expected) {
            return Ok(program.to_owned());
        }
    }
    let mut command = Command::new("cargo");
    command
        .args(["install", "wasm-bindgen-cli", "--version", version])
        .arg("--root")
        .arg(root.join(TOOLS));
    let limit = Limit {
        time: INSTALL_LIMIT,
        log: &logs.join("wasm-bindgen-install.log"),
    };
    run_limited(&mut command, &limit)?;
    Ok(installed)
}

/// The version of a package in the text of `Cargo.lock`.
fn locked_version<'a>(lock: &'a str, package: &str) -> Option<&'a str> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    let version = lines.nth(1)?.strip_prefix("version = \"")?;
    version.strip_suffix('"')
}

fn write_package(root: &Path, package: &Path) -> Result<(), WasmError> {
    for name in ["index.js", "index.d.ts", "README.md"] {
        copy(
            &root.join(CRATE).join("npm").join(name),
            &package.join(name),
        )?;
    }
    for name in ["LICENSE-MIT", "LICENSE-APACHE"] {
        copy(&root.join(name), &package.join(name))?;
    }
    let path = package.join("package.json");
    fs::write(&path, package_json(env!("CARGO_PKG_VERSION"))).map_err(at(&path))
}

fn package_json(version: &str) -> String {
    format!(
        r#"{{
  "name": "blockscale-wasm",
  "version": "{version}",
  "description": "Block-scaled weights (NVFP4, MXFP4, FP8) in a browser: opened by byte ranges, reduced to pictures",
  "license": "MIT OR Apache-2.0",
  "type": "module",
  "main": "index.js",
  "types": "index.d.ts",
  "exports": {{
    ".": {{ "types": "./index.d.ts", "default": "./index.js" }},
    "./baseline/*": "./baseline/*",
    "./simd128/*": "./simd128/*"
  }},
  "files": ["index.js", "index.d.ts", "baseline", "simd128", "LICENSE-MIT", "LICENSE-APACHE"],
  "sideEffects": false
}}
"#
    )
}

fn load_in_node(root: &Path, package: &Path, logs: &Path) -> Result<(), WasmError> {
    if first_line("node", &["--version"]).is_none() {
        eprintln!("skipped: the package in Node: `node` is not there");
        return Ok(());
    }
    let mut command = Command::new("node");
    command
        .arg(root.join(CRATE).join("npm/smoke.mjs"))
        .arg(package);
    let limit = Limit {
        time: NODE_LIMIT,
        log: &logs.join("wasm-node.log"),
    };
    Ok(run_limited(&mut command, &limit)?)
}

fn check_size(package: &Path, build: &'static str) -> Result<(), WasmError> {
    let path = package.join(build).join("blockscale_bg.wasm");
    let bytes = fs::read(&path).map_err(at(&path))?;
    let found = gzipped_len(&bytes);
    println!("{build}: {} bytes, {found} compressed", bytes.len());
    match found > MOST_COMPRESSED_BYTES {
        true => Err(WasmError::TooLarge {
            build,
            most: MOST_COMPRESSED_BYTES,
            found,
        }),
        false => Ok(()),
    }
}

/// Bytes of a gzip file that holds `bytes`: a header of ten and an end of eight around what is
/// deflated.
pub(crate) fn gzipped_len(bytes: &[u8]) -> usize {
    10 + miniz_oxide::deflate::compress_to_vec(bytes, 9).len() + 8
}

fn copy(from: &Path, to: &Path) -> Result<(), WasmError> {
    fs::copy(from, to).map(|_| ()).map_err(at(from))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> WasmError {
    let path = path.to_owned();
    move |source| WasmError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_locked_version_is_that_of_the_package_of_just_that_name() {
        let lock = "[[package]]\nname = \"a-b\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"a\"\nversion = \"2.0.0\"\n";
        assert_eq!(locked_version(lock, "a"), Some("2.0.0"));
        assert_eq!(locked_version(lock, "b"), None);
    }

    #[test]
    fn this_workspace_locks_wasm_bindgen() {
        let lock = include_str!("../../Cargo.lock");
        assert!(locked_version(lock, "wasm-bindgen").is_some());
    }

    #[test]
    fn compressed_bytes_are_fewer_and_the_frame_counts() {
        assert!(gzipped_len(&[0; 10_000]) < 100);
        assert!(gzipped_len(&[]) >= 18);
    }
}
