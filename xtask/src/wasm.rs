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

use thiserror::Error;

use crate::process::{Failure, Limit, first_line, run, run_limited};
use crate::toolchain::{self, Toolchain, Unavailable, WASM};

const CRATE: &str = "crates/blockscale-wasm";
const PACKAGE: &str = "target/web/pkg";
const TOOLS: &str = "target/tools";

/// `wasm-bindgen` from source takes minutes.
const INSTALL_LIMIT: Duration = Duration::from_secs(1800);
const BINDGEN_LIMIT: Duration = Duration::from_secs(120);
const NODE_LIMIT: Duration = Duration::from_secs(60);

/// The bytes that a module should have at most when it is sent, compressed.
const COMPRESSED_BYTES_AIMED_AT: usize = 350 << 10;

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
    /// A file can't be read or written.
    #[error("`{}`: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// Builds the package.
///
/// # Errors
/// [`WasmError`] of the first step that fails.
pub(crate) fn run_all(root: &Path) -> Result<(), WasmError> {
    let logs = root.join("target/xtask-logs");
    let toolchain = toolchain::find(WASM, &logs).map_err(WasmError::Toolchain)?;
    let bindgen = bindgen(root, &logs)?;
    let package = root.join(PACKAGE);
    if package.exists() {
        fs::remove_dir_all(&package).map_err(at(&package))?;
    }
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
        report_size(&package, build)?;
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

fn report_size(package: &Path, build: &str) -> Result<(), WasmError> {
    let path = package.join(build).join("blockscale_bg.wasm");
    let bytes = fs::read(&path).map_err(at(&path))?;
    let found = gzipped_len(&bytes);
    let (all, over) = (bytes.len(), found.saturating_sub(COMPRESSED_BYTES_AIMED_AT));
    println!("{}: {all} bytes, {found} compressed", path.display());
    if over > 0 {
        println!("  that is {over} bytes more than are aimed at");
    }
    Ok(())
}

/// Bytes of a gzip file that holds `bytes`: a header of ten and an end of eight around what is
/// deflated.
fn gzipped_len(bytes: &[u8]) -> usize {
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
