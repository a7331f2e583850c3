//! The files of a checkpoint, for those who read them by themselves.

use std::path::{Path, PathBuf};

use blockscale_model::ShardName;

use super::error::OpenError;
use super::folder::Folder;
use super::locate::{Located, Take, locate};

const CONFIGS: [&str; 2] = ["config.json", "hf_quant_config.json"];

/// A file of a checkpoint and where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointFile {
    /// Its name inside the checkpoint's folder, `/` between parts.
    pub name: String,
    /// Where it lies, links followed.
    pub path: PathBuf,
}

/// The files that a checkpoint is opened from: those that hold tensors, indexes and JSON beside them.
///
/// `path` is what [`LocalSource::open`](super::LocalSource::open) takes. None of the files is read, and
/// whether they make a checkpoint is not looked at.
///
/// # Errors
/// [`OpenError`] if there is no checkpoint, or a link leads out of the folder (of a snapshot in a
/// Hugging Face cache: out of it and the cache's blobs).
///
/// ```
/// use blockscale_convert::source::checkpoint_files;
///
/// let dir = tempfile::tempdir()?;
/// for name in ["model.safetensors", "config.json", "notes.txt"] {
///     std::fs::write(dir.path().join(name), "{}")?;
/// }
/// let files = checkpoint_files(dir.path())?;
/// let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
/// assert_eq!(names, ["config.json", "model.safetensors"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn checkpoint_files(path: &Path) -> Result<Vec<CheckpointFile>, OpenError> {
    let Located { folder, take } = locate(path)?;
    let mut files = Vec::new();
    match take {
        Take::Index(_) | Take::Only(_) => {
            let listing = folder.all()?;
            let held = [listing.shards, listing.indexes, listing.ggufs].concat();
            for name in held {
                files.extend(find(&folder, name)?);
            }
            let others = listing.others.into_iter();
            let json = others.filter(|(name, _)| name.ends_with(".json"));
            files.extend(json.map(|(name, path)| CheckpointFile { name, path }));
        }
        Take::File(name) => {
            let configs = CONFIGS.iter().map(|&name| name.to_owned());
            for name in [name].into_iter().chain(configs) {
                files.extend(find(&folder, name)?);
            }
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

fn find(folder: &Folder, name: String) -> Result<Option<CheckpointFile>, OpenError> {
    let shard = ShardName::new(&name).map_err(|source| OpenError::ShardName {
        path: folder.join(&name),
        source,
    })?;
    let path = folder.find(&shard)?;
    Ok(path.map(|path| CheckpointFile { name, path }))
}
