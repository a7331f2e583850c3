//! Whether the files are those that a conversion wrote.

use blockscale_model::Checkpoint;
use blockscale_model::doctor::Diagnosis;
use blockscale_model::doctor::rules::MANIFEST_DISAGREES;
use serde::Deserialize;

use super::Scope;
use crate::manifest::MANIFEST;
use crate::source::{Source, SourceError};

/// The part of a manifest that speaks of files.
#[derive(Deserialize)]
struct Files {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    name: String,
    len: u64,
    blake3: String,
}

/// Bytes that are hashed at a time.
const CHUNK: u64 = 4 << 20;

/// Compares the shards with the manifest that a conversion left beside them: lengths always, hashes
/// where the scope is full. Without a manifest there is nothing to find.
///
/// # Errors
/// [`SourceError`] where bytes cannot be read.
pub fn check_manifest(
    checkpoint: &Checkpoint,
    source: &dyn Source,
    scope: Scope,
) -> Result<Vec<Diagnosis>, SourceError> {
    if !checkpoint.other_files.iter().any(|name| name == MANIFEST) {
        return Ok(Vec::new());
    }
    let bytes = source.read_other(MANIFEST)?;
    let found =
        |file: &str, message: String| Diagnosis::new(&MANIFEST_DISAGREES, message).in_file(file);
    let Ok(manifest) = serde_json::from_slice::<Files>(&bytes) else {
        let message = format!("`{MANIFEST}` is not a manifest of this program");
        return Ok(vec![found(MANIFEST, message)]);
    };
    let mut diagnoses = Vec::new();
    for (index, shard) in checkpoint.shards.iter().enumerate() {
        let name = shard.name.as_str();
        let Some(stated) = manifest.files.iter().find(|file| file.name == name) else {
            diagnoses.push(found(name, format!("`{name}` is not in `{MANIFEST}`")));
            continue;
        };
        if stated.len != shard.len {
            diagnoses.push(found(
                name,
                format!(
                    "`{name}` has {} bytes, `{MANIFEST}` says {}",
                    shard.len, stated.len
                ),
            ));
        } else if scope == Scope::Full && hash(source, index, shard.len)? != stated.blake3 {
            diagnoses.push(found(
                name,
                format!(
                    "`{name}` has not the BLAKE3 that `{MANIFEST}` says: its bytes were changed"
                ),
            ));
        }
    }
    Ok(diagnoses)
}

fn hash(source: &dyn Source, shard: usize, len: u64) -> Result<String, SourceError> {
    let mut hasher = blake3::Hasher::new();
    let mut offset = 0;
    let mut buffer = Vec::new();
    while offset < len {
        buffer.resize(CHUNK.min(len - offset) as usize, 0);
        source.read_exact_at(shard, offset, &mut buffer)?;
        hasher.update(&buffer);
        offset += buffer.len() as u64;
    }
    Ok(hasher.finalize().to_hex().to_string())
}
