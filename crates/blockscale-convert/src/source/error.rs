//! Why a checkpoint cannot be opened or read.
//!
//! Each error names its file; the reason is its `source()`, so print the whole chain.

use std::io;
use std::path::{Path, PathBuf};

use blockscale_model::gguf::GgufError;
use blockscale_model::{CheckpointError, HeaderError, IndexError, ShardNameError};

/// Why a checkpoint cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The operating system refused.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried: `open`, `list`.
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// A file could not be read.
    #[error(transparent)]
    Read(#[from] SourceError),
    /// A file name that cannot be a shard's.
    #[error("cannot use `{}` as a shard", path.display())]
    ShardName {
        /// The file.
        path: PathBuf,
        /// The rule that its name breaks.
        source: ShardNameError,
    },
    /// A folder without anything to read.
    #[error(
        "no checkpoint in `{}`: looked for `model.safetensors.index.json`, another \
         `*.safetensors.index.json`, `model.safetensors`, a single `*.safetensors`, a single \
         `*.gguf`, and the `snapshots` of a Hugging Face cache",
        path.display()
    )]
    NothingThere {
        /// The folder.
        path: PathBuf,
    },
    /// Parts of a set without the index that says which parts belong together.
    #[error(
        "`{}` holds `{shard}`, a part of a set, but no `*.safetensors.index.json`: download the \
         index and the other parts, or name a single file",
        path.display()
    )]
    NoIndex {
        /// The folder.
        path: PathBuf,
        /// The part.
        shard: String,
    },
    /// Several files, any of which could be the checkpoint.
    #[error("`{}` holds several checkpoints: {}; name one of them", path.display(), quoted(names))]
    Several {
        /// The folder.
        path: PathBuf,
        /// The files, sorted.
        names: Vec<String>,
    },
    /// A cached repository without a revision that can be told.
    #[error(
        "`{}` has no `refs/main` that leads to a snapshot; name one of its snapshots: {}",
        path.display(), quoted(snapshots)
    )]
    NoRevision {
        /// The folder of the cached repository.
        path: PathBuf,
        /// The snapshots there are, sorted.
        snapshots: Vec<String>,
    },
    /// A symbolic link that leads out of the checkpoint's folder.
    #[error(
        "`{}` is a link that leads out of the checkpoint, to `{}`: put the file itself there",
        path.display(), target.display()
    )]
    LinkLeaves {
        /// The link.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// A safetensors header is refused.
    #[error("cannot read `{}` as safetensors", path.display())]
    Header {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: HeaderError,
    },
    /// A GGUF header is refused.
    #[error("cannot read `{}` as GGUF", path.display())]
    Gguf {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: GgufError,
    },
    /// A GGUF file that is one of several.
    #[error(
        "`{}` is part {part} of {count}: join them with `llama-gguf-split --merge`, and give the \
         whole file", path.display()
    )]
    GgufPart {
        /// The file.
        path: PathBuf,
        /// Which part it is, from 1.
        part: u32,
        /// How many there are.
        count: u32,
    },
    /// The index is refused.
    #[error("cannot read `{}` as an index", path.display())]
    Index {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: IndexError,
    },
    /// A config is not JSON.
    #[error("`{}` is not JSON", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Where it stops being JSON.
        source: serde_json::Error,
    },
    /// Index and shards do not fit together.
    #[error("the files of `{}` do not make a checkpoint", path.display())]
    Checkpoint {
        /// The folder or file.
        path: PathBuf,
        /// What does not fit.
        source: CheckpointError,
    },
}

impl OpenError {
    /// For `map_err` after a call to the operating system.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            path: path.to_owned(),
            action,
            source,
        }
    }
}

/// Why bytes of an opened checkpoint cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SourceError {
    /// The operating system refused.
    #[error("cannot {action} `{}`", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What was tried: `open`, `read`.
        action: &'static str,
        /// The system's answer.
        source: io::Error,
    },
    /// A pipe, device or folder where a file was expected.
    #[error("`{}` is not a regular file", path.display())]
    NotRegular {
        /// What it is called.
        path: PathBuf,
    },
    /// A file beside the shards that is too large to be read as a whole.
    #[error("`{}` has {len} bytes, more than the {limit} that are read as a whole", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Its length in bytes.
        len: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file ended before the range did.
    #[error(
        "`{}` was shortened while it was being read: it ends at byte {end}, expected {expected}",
        path.display()
    )]
    Shortened {
        /// The file.
        path: PathBuf,
        /// Where it ends now.
        end: u64,
        /// Where the range ends that was asked for.
        expected: u64,
    },
    /// The file was written to since it was opened.
    #[error(
        "`{}` was changed while it was being read; let what writes it finish, then start again with \
         --overwrite", path.display()
    )]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A number beyond the checkpoint's shards.
    #[error("there is no shard {shard}: the checkpoint has {count}")]
    NoSuchShard {
        /// The number asked for, from 0.
        shard: usize,
        /// How many there are.
        count: usize,
    },
    /// The name is none of the checkpoint's files.
    #[error("`{name}` is none of the files of `{}`", path.display())]
    NoSuchFile {
        /// The checkpoint.
        path: PathBuf,
        /// The name asked for.
        name: String,
    },
}

/// The first few of what may be many names, for one line of text.
pub(super) fn quoted(names: &[String]) -> String {
    const SHOWN: usize = 5;
    if names.is_empty() {
        return "there are none".to_owned();
    }
    let shown: Vec<String> = names
        .iter()
        .take(SHOWN)
        .map(|name| format!("`{name}`"))
        .collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
