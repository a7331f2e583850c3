//! Where the bytes of a checkpoint come from.
//!
//! A [`Source`] serves byte ranges of numbered shards and knows nothing of tensors. What the ranges
//! mean is the [`Checkpoint`](blockscale_model::Checkpoint) that is opened together with it.

mod error;
mod file;
mod folder;
mod gguf;
mod hub_cache;
mod local;
mod locate;

use serde::{Deserialize, Serialize};

pub use error::{OpenError, SourceError};
pub use local::LocalSource;
pub(crate) use locate::folders;

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

    /// Where the bytes come from, for a person to read.
    fn describe(&self) -> String;

    /// What tells each shard apart from a changed one, in the order of the shards.
    fn identities(&self) -> &[ShardIdentity];
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
