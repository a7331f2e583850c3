//! Which files a path stands for.

use std::fs;
use std::path::{Path, PathBuf};

use blockscale_model::ShardName;

use super::error::OpenError;
use super::folder::{Folder, Listing};
use super::hub_cache;

const INDEX: &str = "model.safetensors.index.json";
const INDEX_ENDING: &str = ".safetensors.index.json";
const SINGLE: &str = "model.safetensors";

/// A checkpoint that was found, not yet opened.
pub(super) struct Located {
    pub(super) folder: Folder,
    pub(super) take: Take,
}

/// What makes the checkpoint.
pub(super) enum Take {
    /// An index and the shards that it lists.
    Index(String),
    /// The only shard of the folder.
    Only(String),
    /// One file that was asked for, whatever lies beside it.
    File(String),
}

/// Finds out what `path` stands for.
pub(super) fn locate(path: &Path) -> Result<Located, OpenError> {
    let meta = fs::metadata(path).map_err(OpenError::io("open", path))?;
    if !meta.is_dir() {
        return file(path);
    }
    if let Some(located) = folder(path)? {
        return Ok(located);
    }
    let snapshot = hub_cache::main_snapshot(path)?;
    let located = snapshot.as_deref().map(folder).transpose()?.flatten();
    located.ok_or_else(|| OpenError::NothingThere {
        path: snapshot.unwrap_or(path.to_owned()),
    })
}

/// The folders that the bytes of `path` may lie in, as far as they can be found, in their true
/// places: its own, and in a cache of the hub the snapshot that it stands for, with its blobs.
pub(crate) fn folders(path: &Path) -> Vec<PathBuf> {
    let own = if path.is_file() { parent(path) } else { path };
    let snapshot = hub_cache::main_snapshot(own).ok().flatten();
    let folders = [Some(own.to_owned()), snapshot].into_iter().flatten();
    let mut found: Vec<PathBuf> = folders
        .filter_map(|folder| fs::canonicalize(folder).ok())
        .collect();
    let blobs: Vec<PathBuf> = found
        .iter()
        .filter_map(|f| hub_cache::blobs_of(f))
        .collect();
    found.extend(blobs);
    found
}

/// The folder of a file. `a.safetensors` has the parent ``, which stands for the current folder.
fn parent(file: &Path) -> &Path {
    let parent = file.parent();
    parent
        .filter(|parent| !parent.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

fn file(path: &Path) -> Result<Located, OpenError> {
    let folder = Folder::new(parent(path))?;
    let name = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let take = if name.ends_with(INDEX_ENDING) {
        Take::Index(name)
    } else {
        Take::File(name)
    };
    Ok(Located { folder, take })
}

/// The checkpoint that lies directly in a folder, if any.
fn folder(path: &Path) -> Result<Option<Located>, OpenError> {
    let folder = Folder::new(path)?;
    let take = choose(path, folder.top()?)?;
    Ok(take.map(|take| Located { folder, take }))
}

fn choose(path: &Path, listing: Listing) -> Result<Option<Take>, OpenError> {
    let Listing {
        mut indexes,
        mut shards,
        mut ggufs,
        ..
    } = listing;
    if indexes.iter().any(|name| name == INDEX) {
        return Ok(Some(Take::Index(INDEX.to_owned())));
    }
    if shards.iter().any(|name| name == SINGLE) && indexes.is_empty() {
        return Ok(Some(Take::Only(SINGLE.to_owned())));
    }
    let path = path.to_owned();
    match (indexes.len(), shards.len()) {
        (1, _) => Ok(indexes.pop().map(Take::Index)),
        (2.., _) => Err(OpenError::Several {
            path,
            names: indexes,
        }),
        (0, 0) if ggufs.len() > 1 => Err(OpenError::Several { path, names: ggufs }),
        (0, 0) => Ok(ggufs.pop().map(Take::File)),
        _ => match shards.iter().find(|name| is_part(name)) {
            Some(part) => Err(OpenError::NoIndex {
                path,
                shard: part.clone(),
            }),
            None if shards.len() == 1 => Ok(shards.pop().map(Take::Only)),
            None => Err(OpenError::Several {
                path,
                names: shards,
            }),
        },
    }
}

/// A name as `model-00001-of-00002.safetensors`, one of more than one.
fn is_part(name: &str) -> bool {
    ShardName::new(name).is_ok_and(|name| name.part().is_some_and(|(_, count)| count > 1))
}
