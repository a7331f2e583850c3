//! The cache of the Hugging Face hub: `models--org--name/{refs,snapshots,blobs}`.
//!
//! A snapshot is a folder of links into `blobs`. It is the only place where links may lead out of the
//! folder that is read.

use std::fs;
use std::path::{Path, PathBuf};

use super::error::OpenError;

/// The snapshot that a cached repository's `main` stands for; `None` if `folder` is no repository.
pub(super) fn main_snapshot(folder: &Path) -> Result<Option<PathBuf>, OpenError> {
    let snapshots = folder.join("snapshots");
    if !snapshots.is_dir() {
        return Ok(None);
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(&snapshots).map_err(OpenError::io("list", &snapshots))? {
        let entry = entry.map_err(OpenError::io("list", &snapshots))?;
        if entry.path().is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();

    // A revision is looked up among the folders there are: its text never becomes part of a path.
    let main = fs::read_to_string(folder.join("refs").join("main")).unwrap_or_default();
    let revision = match names.iter().find(|name| *name == main.trim()) {
        Some(name) => name,
        None if names.len() == 1 => &names[0],
        None => {
            return Err(OpenError::NoRevision {
                path: folder.to_owned(),
                snapshots: names,
            });
        }
    };
    Ok(Some(snapshots.join(revision)))
}

/// The `blobs` folder that links of a snapshot may lead into; `None` if `root`, a canonical path, is
/// no snapshot.
pub(super) fn blobs_of(root: &Path) -> Option<PathBuf> {
    let snapshots = root.parent()?;
    if snapshots.file_name()? != "snapshots" {
        return None;
    }
    let blobs = snapshots.parent()?.join("blobs");
    // A `blobs` that is itself a link could lead anywhere.
    (fs::canonicalize(&blobs).ok()? == blobs).then_some(blobs)
}
