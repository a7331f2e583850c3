//! What is finished, kept beside the output until all of it is.
//!
//! The first line names the conversion by a fingerprint of its source, plan and
//! program version; each further line is one finished shard with its hash and
//! the comparisons of its weights. A line that a crash cut short is ignored:
//! its shard is written again.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use blockscale_model::plan::Plan;
use serde::{Deserialize, Serialize};

use crate::ConvertError;
use crate::sink::write_error;
use crate::source::Source;
use crate::tally::Comparison;

/// Name of the journal in the output folder.
pub const JOURNAL: &str = "blockscale-journal.jsonl";

/// A shard that is written, checked and in its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FinishedShard {
    /// File name.
    pub name: String,
    /// Length in bytes.
    pub len: u64,
    /// BLAKE3 of the file, in hexadecimal.
    pub blake3: String,
    /// The weights in it that were converted.
    pub comparisons: Vec<Comparison>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Conversion { fingerprint: String },
    Shard(FinishedShard),
}

/// An open journal.
pub(crate) struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Begins the journal of a conversion in `dir`.
    pub(crate) fn begin(dir: &Path, fingerprint: &str) -> Result<Self, ConvertError> {
        let path = dir.join(JOURNAL);
        let file = File::create(&path).map_err(write_error(&path, "create"))?;
        let mut journal = Self { file, path };
        journal.append(&Line::Conversion {
            fingerprint: fingerprint.to_owned(),
        })?;
        Ok(journal)
    }

    /// Opens the journal in `dir` if it is of this conversion, and lists what is finished.
    pub(crate) fn resume(
        dir: &Path,
        fingerprint: &str,
    ) -> Result<(Self, Vec<FinishedShard>), ConvertError> {
        let path = dir.join(JOURNAL);
        let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => ConvertError::NothingToResume {
                path: dir.to_owned(),
                journal: JOURNAL,
            },
            _ => write_error(&path, "read")(error),
        })?;
        let finished = still_there(dir, read(&text, &path, dir, fingerprint)?)?;
        let file = rewrite(dir, &path, fingerprint, &finished)?;
        Ok((Self { file, path }, finished))
    }

    /// Records a finished shard, durably.
    pub(crate) fn finished(&mut self, shard: &FinishedShard) -> Result<(), ConvertError> {
        self.append(&Line::Shard(shard.clone()))
    }

    /// Removes the journal: the conversion is complete.
    pub(crate) fn remove(self) -> Result<(), ConvertError> {
        drop(self.file);
        fs::remove_file(&self.path).map_err(write_error(&self.path, "remove"))
    }

    fn append(&mut self, line: &Line) -> Result<(), ConvertError> {
        let text = encode(line);
        self.file
            .write_all(&text)
            .and_then(|()| self.file.sync_data())
            .map_err(write_error(&self.path, "write"))
    }
}

fn encode(line: &Line) -> Vec<u8> {
    // Strings, numbers and lists only: nothing that JSON cannot hold.
    let mut text = serde_json::to_vec(line).unwrap_or_default();
    text.push(b'\n');
    text
}

/// The finished shards of a journal's text.
fn read(
    text: &str,
    path: &Path,
    dir: &Path,
    fingerprint: &str,
) -> Result<Vec<FinishedShard>, ConvertError> {
    let other = || ConvertError::OtherConversion {
        path: dir.to_owned(),
    };
    let mut finished = Vec::new();
    for (number, line) in text.split_inclusive('\n').enumerate() {
        match serde_json::from_str(line) {
            Ok(Line::Conversion { fingerprint: found }) if number == 0 => {
                if found != fingerprint {
                    return Err(other());
                }
            }
            Ok(Line::Shard(shard)) if number > 0 => finished.push(shard),
            Err(_) if !line.ends_with('\n') && number > 0 => break,
            _ => {
                return Err(ConvertError::BadJournal {
                    path: path.to_owned(),
                    line: number + 1,
                });
            }
        }
    }
    if text.is_empty() {
        Err(other())
    } else {
        Ok(finished)
    }
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
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(write_error(&path, "find")(error)),
        }
    }
    Ok(there)
}

/// Writes the journal anew, with these shards and without a line that was cut short.
fn rewrite(
    dir: &Path,
    path: &Path,
    fingerprint: &str,
    finished: &[FinishedShard],
) -> Result<File, ConvertError> {
    let mut text = encode(&Line::Conversion {
        fingerprint: fingerprint.to_owned(),
    });
    for shard in finished {
        text.extend(encode(&Line::Shard(shard.clone())));
    }
    crate::sink::write_file(dir, JOURNAL, &text)?;
    File::options()
        .append(true)
        .open(path)
        .map_err(write_error(path, "open"))
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
