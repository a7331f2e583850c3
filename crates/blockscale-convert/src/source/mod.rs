//! Where the bytes of a checkpoint come from.
//!
//! A [`Source`] serves byte ranges of numbered shards and knows nothing of tensors. What the ranges
//! mean is the [`Checkpoint`](blockscale_model::Checkpoint) that is opened together with it.

mod error;
mod file;
mod files;
mod folder;
mod gguf;
mod hub_cache;
mod local;
mod locate;
mod read_ahead;

use std::fs::File;

use serde::{Deserialize, Serialize};

pub use error::{OpenError, SourceError};
pub use file::read_exact_at;
pub use files::{CheckpointFile, checkpoint_files};
pub use local::LocalSource;
pub(crate) use locate::folders;
pub(crate) use read_ahead::ReadAhead;

/// Byte ranges of a checkpoint's shards, readable from many threads at once.
pub trait Source: Send + Sync {
    /// Fills `buf` from a shard, starting `offset` bytes into the file.
    ///
    /// `shard` counts as in [`Checkpoint::shards`](blockscale_model::Checkpoint::shards).
    ///
    /// # Errors
    /// [`SourceError`] if the range cannot be read as a whole, also where the file became shorter
    /// since it was opened. `buf` may then be partly filled.
    fn read_exact_at(&self, shard: usize, offset: u64, buf: &mut [u8]) -> Result<(), SourceError>;

    /// Reads a file beside the shards as a whole: one of
    /// [`Checkpoint::other_files`](blockscale_model::Checkpoint::other_files), a config, or the index.
    ///
    /// # Errors
    /// [`SourceError`] if there is no such file among them or it cannot be read.
    fn read_other(&self, name: &str) -> Result<Vec<u8>, SourceError>;

    /// The file that holds a shard's bytes at the same places, if there is one: the system copies from
    /// it to another file without this program's help.
    fn file(&self, _shard: usize) -> Option<&File> {
        None
    }

    /// Where the bytes come from, for a person to read.
    fn describe(&self) -> String;

    /// What tells each shard apart from a changed one, in the order of the shards.
    fn identities(&self) -> &[ShardIdentity];

    /// Looks whether the shards are still what they were when they were opened, as far as that can be
    /// told without reading them again.
    ///
    /// # Errors
    /// [`SourceError::Changed`] if one is not: what was read of it may be half of the old and half of
    /// the new.
    fn check_unchanged(&self) -> Result<(), SourceError> {
        Ok(())
    }
}

/// What tells a shard apart from a changed one without reading all of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ShardIdentity {
    /// Name inside the checkpoint.
    pub name: String,
    /// Length of the file in bytes.
    pub len: u64,
    /// Time of the last change in nanoseconds since 1970, where the file system keeps it.
    pub modified_ns: Option<u64>,
    /// BLAKE3 of the header, its length prefix included, in hexadecimal.
    pub header_blake3: String,
}
