//! Which of the files in a folder make its checkpoint.

use super::{ListedFile, OpeningError};

const INDEX: &str = "model.safetensors.index.json";
const SINGLE: &str = "model.safetensors";

/// What makes the checkpoint.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    /// An index and the shards that it lists.
    Index(String),
    /// The only file of tensors.
    Shard(String),
    /// A GGUF file.
    Gguf(String),
}

/// An index wins over files of tensors, the usual name over others, safetensors over GGUF.
pub(super) fn choose(listed: &[ListedFile]) -> Result<Chosen, OpeningError> {
    let ending = |end: &str| -> Vec<String> {
        let names = listed.iter().map(|file| &file.name);
        let here = names.filter(|name| name.ends_with(end) && !name.contains('/'));
        here.cloned().collect()
    };
    let mut indexes = ending(".safetensors.index.json");
    let mut shards = ending(".safetensors");
    let mut ggufs = ending(".gguf");
    if indexes.iter().any(|name| name == INDEX) {
        return Ok(Chosen::Index(INDEX.to_owned()));
    }
    if indexes.is_empty() && shards.iter().any(|name| name == SINGLE) {
        return Ok(Chosen::Shard(SINGLE.to_owned()));
    }
    let only = |names: &mut Vec<String>| match names.len() {
        0 | 1 => Ok(names.pop()),
        _ => Err(OpeningError::Several {
            names: std::mem::take(names),
        }),
    };
    if let Some(name) = only(&mut indexes)? {
        return Ok(Chosen::Index(name));
    }
    if let Some(name) = only(&mut shards)? {
        return Ok(Chosen::Shard(name));
    }
    match only(&mut ggufs)? {
        Some(name) => Ok(Chosen::Gguf(name)),
        None => Err(OpeningError::NothingThere),
    }
}
