//! What can go wrong while a checkpoint is opened.

use crate::checkpoint::{CheckpointError, NameList};
use crate::gguf::GgufError;
use crate::header_error::HeaderError;
use crate::index::IndexError;
use crate::shard_name::ShardNameError;

/// Why a checkpoint could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpeningError {
    /// No file that holds tensors.
    #[error("there is no file `*.safetensors`, `*.safetensors.index.json` or `*.gguf`")]
    NothingThere,
    /// More than one file could be meant.
    #[error(
        "several files could be meant: {}; open one of them, or add the index",
        NameList(names)
    )]
    Several {
        /// Their names.
        names: Vec<String>,
    },
    /// Bytes of a file that is not part of the checkpoint.
    #[error("`{file}`: its bytes were not asked for")]
    NotWanted {
        /// The file.
        file: String,
    },
    /// Other bytes than were wanted.
    #[error("`{file}`: bytes {expected:?} were asked for, {found:?} were given")]
    OtherBytes {
        /// The file.
        file: String,
        /// What was wanted.
        expected: std::ops::Range<u64>,
        /// What was given.
        found: std::ops::Range<u64>,
    },
    /// Finished too soon.
    #[error("`{file}` was not read to the end of its header")]
    Unread {
        /// The file.
        file: String,
    },
    /// A config or an index that is too long to be one.
    #[error("`{file}` has {found} bytes, more than the {limit} that are read of such a file")]
    TooLong {
        /// The file.
        file: String,
        /// The most bytes that are read.
        limit: u64,
        /// Its length.
        found: u64,
    },
    /// A header of safetensors.
    #[error("`{file}`: {problem}")]
    Header {
        /// The file.
        file: String,
        /// What is wrong.
        problem: HeaderError,
    },
    /// A header of GGUF.
    #[error("`{file}`: {problem}")]
    Gguf {
        /// The file.
        file: String,
        /// What is wrong.
        problem: GgufError,
    },
    /// An index.
    #[error("`{file}`: {problem}")]
    Index {
        /// The file.
        file: String,
        /// What is wrong.
        problem: IndexError,
    },
    /// A config.
    #[error("`{file}` is not JSON: {problem}")]
    Json {
        /// The file.
        file: String,
        /// What is wrong.
        problem: serde_json::Error,
    },
    /// A name that leads out of the folder.
    #[error(transparent)]
    Name(#[from] ShardNameError),
    /// Files that do not fit together.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
}
