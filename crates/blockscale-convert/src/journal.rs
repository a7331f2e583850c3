//! What is finished, kept beside the output until all of it is.
//!
//! The first line names the conversion by a fingerprint of its source, plan and
//! program version; each further line is one finished shard with its hash and
//! the comparisons of its weights. A line that a crash cut short is ignored:
//! its shard is written again.
//!
//! The open journal is locked, so that no second conversion writes into the folder.

mod text;

use std::fs::{self, File, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use blockscale_model::plan::Plan;

use crate::ConvertError;
use crate::output_dir::holds_checkpoint;
use crate::sink::write_error;
use crate::source::Source;

use text::Line;
pub use text::{FinishedShard, JournalRecord};

/// Name of the journal in the output folder.
pub const JOURNAL: &str = "blockscale-journal.jsonl";

/// An open journal, which no other process holds.
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Begins the journal of a conversion in `dir`, which holds none.
    pub(crate) fn begin(dir: &Path, fingerprint: &str) -> Result<Self, ConvertError> {
        let path = dir.join(JOURNAL);
        let created = options().create_new(true).open(&path);
        let file = created.map_err(|error| match error.kind() {
            // The folder was empty a moment ago.
            io::ErrorKind::AlreadyExists => in_use(dir),
            _ => write_error(&path, "create")(error),
        })?;
        Self::locked(file, path)?.restart(fingerprint)
    }

    /// Opens the journal in `dir`, whatever it says, or creates it: for a folder whose checkpoint
    /// is to be replaced.
    pub(crate) fn take(dir: &Path) -> Result<Self, ConvertError> {
        let path = dir.join(JOURNAL);
        let opened = options().create(true).open(&path);
        Self::locked(opened.map_err(write_error(&path, "create"))?, path)
    }

    /// Opens the journal in `dir` if it is of this conversion, and lists what is finished.
    pub(crate) fn resume(
        dir: &Path,
        fingerprint: &str,
    ) -> Result<(Self, Vec<FinishedShard>), ConvertError> {
        let path = dir.join(JOURNAL);
        let opened = options().open(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => ConvertError::NothingToResume {
                path: dir.to_owned(),
                journal: JOURNAL,
            },
            _ => write_error(&path, "open")(error),
        });
        let mut journal = Self::locked(opened?, path)?;
        let other = || ConvertError::OtherConversion {
            path: dir.to_owned(),
        };
        let Some(record) = journal.read()? else {
            // Stopped before its first line was whole. What is there already is an older checkpoint
            // that was about to be replaced.
            if holds_checkpoint(dir)? {
                return Err(other());
            }
            return Ok((journal.restart(fingerprint)?, Vec::new()));
        };
        if record.fingerprint != fingerprint {
            return Err(other());
        }
        journal.cut_to(record.whole_bytes)?;
        Ok((journal, still_there(dir, record.finished)?))
    }

    fn locked(file: File, path: PathBuf) -> Result<Self, ConvertError> {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(in_use(dir_of(&path))),
            // Not every file system of a cluster has locks; there the user has to take care.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        // Whoever held the lock may have finished and removed the journal just now.
        if is_at(&file, &path) {
            Ok(Self { file, path })
        } else {
            Err(in_use(dir_of(&path)))
        }
    }

    fn read(&mut self) -> Result<Option<JournalRecord>, ConvertError> {
        let mut bytes = Vec::new();
        self.file
            .read_to_end(&mut bytes)
            .map_err(write_error(&self.path, "read"))?;
        JournalRecord::read(&bytes).map_err(|line| ConvertError::BadJournal {
            path: self.path.clone(),
            line,
        })
    }

    /// Makes it the journal of a conversion of which nothing is finished.
    pub(crate) fn restart(mut self, fingerprint: &str) -> Result<Self, ConvertError> {
        self.cut_to(0)?;
        self.append(&Line::Conversion {
            fingerprint: fingerprint.to_owned(),
        })?;
        Ok(self)
    }

    /// Records a finished shard, durably.
    pub(crate) fn finished(&mut self, shard: &FinishedShard) -> Result<(), ConvertError> {
        self.append(&Line::Shard(shard.clone()))
    }

    /// Removes the journal: the conversion is complete.
    pub(crate) fn remove(self) -> Result<(), ConvertError> {
        fs::remove_file(&self.path).map_err(write_error(&self.path, "remove"))
    }

    /// Drops what is behind: a line that was cut short.
    fn cut_to(&mut self, bytes: u64) -> Result<(), ConvertError> {
        self.file
            .set_len(bytes)
            .map_err(write_error(&self.path, "shorten"))
    }

    fn append(&mut self, line: &Line) -> Result<(), ConvertError> {
        self.file
            .write_all(&line.encode())
            .and_then(|()| self.file.sync_data())
            .map_err(write_error(&self.path, "write"))
    }
}

/// Whatever is written goes to the end, wherever reading has come to.
fn options() -> fs::OpenOptions {
    let mut options = File::options();
    options.read(true).append(true);
    options
}

fn dir_of(journal: &Path) -> &Path {
    journal.parent().unwrap_or(journal)
}

fn in_use(dir: &Path) -> ConvertError {
    ConvertError::InUse {
        path: dir.to_owned(),
    }
}

/// Whether the path still leads to the open file.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let id = |meta: fs::Metadata| (meta.dev(), meta.ino());
    file.metadata().ok().map(id) == fs::metadata(path).ok().map(id)
}

/// An open file cannot be removed there.
#[cfg(not(unix))]
fn is_at(_file: &File, _path: &Path) -> bool {
    true
}

/// The finished shards that are in the folder, in full length. One that was deleted
/// is written again.
fn still_there(
    dir: &Path,
    finished: Vec<FinishedShard>,
) -> Result<Vec<FinishedShard>, ConvertError> {
    let mut there = Vec::with_capacity(finished.len());
    for shard in finished {
        let path = dir.join(&shard.name);
        match fs::metadata(&path) {
            Ok(meta) if meta.len() == shard.len => there.push(shard),
            Ok(meta) => {
                return Err(ConvertError::ShardChanged {
                    path,
                    expected: shard.len,
                    found: meta.len(),
                });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(write_error(&path, "find")(error)),
        }
    }
    Ok(there)
}

/// What makes two conversions the same: program, source files and every planned byte range.
pub(crate) fn fingerprint(source: &dyn Source, plan: &Plan, min_sqnr: Option<f64>) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut add = |part: &str| {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    };
    add(env!("CARGO_PKG_VERSION"));
    add(&plan.recipe);
    add(&format!("{min_sqnr:?}"));
    for identity in source.identities() {
        add(&format!("{identity:?}"));
    }
    for weight in &plan.weights {
        add(&format!("{weight:?}"));
    }
    for shard in &plan.shards {
        add(&format!("{} {}", shard.name, shard.len));
    }
    for document in &plan.documents {
        add(&document.name);
        add(&String::from_utf8_lossy(&document.bytes));
    }
    hasher.finalize().to_hex().to_string()
}
