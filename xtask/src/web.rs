//! `cargo xtask web`: the viewer's page, under `web/dist` and where the program takes it from.
//!
//! Builds the package for browsers if its sources changed, installs what npm's lock file says if that
//! changed, lets npm build the page, holds sizes against their bounds and copies the page to where
//! `blockscale-cli` looks for it. `--serve` then serves it on this machine.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::process::{Failure, Limit, first_line, run, run_limited};
use crate::wasm::{self, WasmError, gzipped_len};

const WEB: &str = "web";
const DIST: &str = "web/dist";
/// Where the program takes the page from.
const EMBEDDED: &str = "crates/blockscale-cli/page";
/// The lock file that the installed packages are of.
const INSTALLED: &str = "web/node_modules/.installed-lock";

const INSTALL_LIMIT: Duration = Duration::from_secs(300);
const BUILD_LIMIT: Duration = Duration::from_secs(300);

/// The bytes that the page may have beside modules and samples, compressed.
const MOST_PAGE_BYTES: usize = 150 << 10;

/// What to do with the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Build it.
    Build,
    /// Build it and serve it.
    Serve,
}

/// Why there is no page.
#[derive(Debug, Error)]
pub(crate) enum WebError {
    /// No npm.
    #[error("`npm` is not there; the page needs Node 20 or newer")]
    NoNpm,
    /// What the page needs can't be installed.
    #[error("packages of npm: {0}")]
    Install(Failure),
    /// The package for browsers.
    #[error(transparent)]
    Wasm(#[from] WasmError),
    /// A program failed.
    #[error(transparent)]
    Program(#[from] Failure),
    /// The page has grown.
    #[error(
        "the page has {found} bytes compressed, beside modules and samples; {most} are allowed"
    )]
    TooLarge { most: usize, found: usize },
    /// A file can't be read or written.
    #[error("`{}`: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

impl WebError {
    /// Whether it is about what this machine lacks, not about the page.
    pub(crate) fn is_of_this_machine(&self) -> bool {
        match self {
            Self::NoNpm | Self::Install(_) => true,
            Self::Wasm(error) => error.is_of_this_machine(),
            _ => false,
        }
    }
}

/// Builds the page, and serves it if that is asked for.
///
/// # Errors
/// [`WebError`] of the first step that fails.
pub(crate) fn run_all(root: &Path, mode: Mode) -> Result<(), WebError> {
    if first_line("npm", &["--version"]).is_none() {
        return Err(WebError::NoNpm);
    }
    wasm::run_unless_there(root)?;
    install(root)?;
    let logs = root.join("target/xtask-logs");
    let mut build = npm(root, &["run", "build"]);
    let limit = Limit {
        time: BUILD_LIMIT,
        log: &logs.join("web-build.log"),
    };
    run_limited(&mut build, &limit)?;
    check_size(&root.join(DIST))?;
    embed(root)?;
    match mode {
        Mode::Build => Ok(()),
        Mode::Serve => {
            let args = ["exec", "--", "vite", "preview", "--host", "127.0.0.1"];
            Ok(run(&mut npm(root, &args))?)
        }
    }
}

/// The tests of the page's parts, without a browser.
///
/// # Errors
/// The [`Failure`] of npm.
pub(crate) fn test(root: &Path) -> Result<(), Failure> {
    run(&mut npm(root, &["test"]))
}

/// The tests of the page in a browser, `CHROMIUM`.
///
/// # Errors
/// The [`Failure`] of npm.
pub(crate) fn test_in_browser(root: &Path) -> Result<(), Failure> {
    run(&mut npm(root, &["run", "e2e"]))
}

/// The browser that the tests start.
pub(crate) const CHROMIUM: &str = "/usr/bin/chromium";

fn npm(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("npm");
    command
        .args(args)
        .env("BLOCKSCALE_WASM", root.join(wasm::PACKAGE))
        .current_dir(root.join(WEB));
    command
}

/// Installs what the lock file says, unless that was done.
fn install(root: &Path) -> Result<(), WebError> {
    let (lock, installed) = (
        root.join(WEB).join("package-lock.json"),
        root.join(INSTALLED),
    );
    let wanted = fs::read(&lock).map_err(at(&lock))?;
    let wanted = format!("{:x}", Sha256::digest(&wanted));
    if fs::read_to_string(&installed).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    let limit = Limit {
        time: INSTALL_LIMIT,
        log: &root.join("target/xtask-logs/npm-ci.log"),
    };
    let mut command = npm(root, &["ci", "--no-audit", "--no-fund"]);
    run_limited(&mut command, &limit).map_err(WebError::Install)?;
    fs::write(&installed, wanted).map_err(at(&installed))
}

/// Prints sizes, and holds the page's against its bound.
fn check_size(dist: &Path) -> Result<(), WebError> {
    let (mut page, mut samples) = (0, 0);
    for name in files_of(dist)? {
        let path = dist.join(&name);
        let bytes = fs::read(&path).map_err(at(&path))?;
        match path.extension().and_then(|ending| ending.to_str()) {
            // `xtask wasm` has a bound of its own for modules.
            Some("wasm" | "map") => {}
            Some("safetensors") => samples += bytes.len(),
            _ => page += gzipped_len(&bytes),
        }
    }
    println!(
        "{}: {page} bytes compressed, and samples of {samples}",
        dist.display()
    );
    match page > MOST_PAGE_BYTES {
        true => Err(WebError::TooLarge {
            most: MOST_PAGE_BYTES,
            found: page,
        }),
        false => Ok(()),
    }
}

/// Puts the page where the program takes it from; what was there of an older one goes.
fn embed(root: &Path) -> Result<(), WebError> {
    let (dist, embedded) = (root.join(DIST), root.join(EMBEDDED));
    for entry in fs::read_dir(&embedded).map_err(at(&embedded))? {
        let path = entry.map_err(at(&embedded))?.path();
        let hidden = path
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        match path.is_dir() {
            _ if hidden => Ok(()),
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        }
        .map_err(at(&path))?;
    }
    for name in files_of(&dist)? {
        let to = embedded.join(&name);
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder).map_err(at(folder))?;
        }
        let from = dist.join(&name);
        fs::copy(&from, &to).map_err(at(&from))?;
    }
    Ok(())
}

/// The files of a folder and those below it, by their names in it, sorted.
pub(crate) fn files_of(folder: &Path) -> Result<Vec<PathBuf>, WebError> {
    let mut files = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inner) = folders.pop() {
        let path = folder.join(&inner);
        for entry in fs::read_dir(&path).map_err(at(&path))? {
            let entry = entry.map_err(at(&path))?;
            let name = inner.join(entry.file_name());
            match entry.path().is_dir() {
                true => folders.push(name),
                false => files.push(name),
            }
        }
    }
    files.sort();
    Ok(files)
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> WebError {
    let path = path.to_owned();
    move |source| WebError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_page_is_the_built_one_and_nothing_older() {
        let root = std::env::temp_dir().join(format!("xtask-{}-web", std::process::id()));
        let (dist, embedded) = (root.join(DIST), root.join(EMBEDDED));
        for folder in [dist.join("assets"), embedded.join("old")] {
            fs::create_dir_all(folder).unwrap();
        }
        for (name, text) in [("index.html", "new"), ("assets/a.js", "a")] {
            fs::write(dist.join(name), text).unwrap();
        }
        for name in [".gitignore", "index.html", "old/b.js"] {
            fs::write(embedded.join(name), "old").unwrap();
        }
        embed(&root).unwrap();
        let found: Vec<String> = files_of(&embedded)
            .unwrap()
            .iter()
            .map(|name| name.display().to_string())
            .collect();
        assert_eq!(found, [".gitignore", "assets/a.js", "index.html"]);
        assert_eq!(
            fs::read_to_string(embedded.join("index.html")).unwrap(),
            "new"
        );
        fs::remove_dir_all(root).unwrap();
    }

    #[test]
    fn a_page_that_has_grown_is_refused_and_samples_do_not_count() {
        let dist = std::env::temp_dir().join(format!("xtask-{}-dist", std::process::id()));
        fs::create_dir_all(&dist).unwrap();
        let mut state = 1_u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(MOST_PAGE_BYTES + 1)
        .collect();
        fs::write(dist.join("a.safetensors"), &noise).unwrap();
        fs::write(dist.join("a.wasm"), &noise).unwrap();
        assert!(check_size(&dist).is_ok());
        fs::write(dist.join("a.js"), &noise).unwrap();
        assert!(matches!(check_size(&dist), Err(WebError::TooLarge { .. })));
        fs::remove_dir_all(dist).unwrap();
    }
}
