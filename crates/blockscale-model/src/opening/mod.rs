//! Opening a checkpoint whose bytes lie elsewhere: which ranges are needed first, one step at a time.
//!
//! [`Opening`] is told which files there are, says which bytes it [wants](Opening::wants), is
//! [given](Opening::give) them, and ends with a [`Checkpoint`]. Configs and index come first, then
//! the first bytes of each file that holds tensors, then its header. What is
//! [in parts](Opening::in_parts) can be looked at after one header.
//!
//! ```
//! use blockscale_model::opening::{ListedFile, Opening};
//!
//! let header = br#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
//! let mut file = (header.len() as u64).to_le_bytes().to_vec();
//! file.extend(header);
//! file.extend([0; 8]);
//!
//! let name = "model.safetensors".to_owned();
//! let mut opening = Opening::of(vec![ListedFile { name, len: file.len() as u64 }])?;
//! let mut read = Vec::new();
//! while let Some(want) = opening.wants().first().cloned() {
//!     let range = want.range.start as usize..want.range.end as usize;
//!     opening.give(&want.file, want.range.start, &file[range.clone()])?;
//!     read.push(range);
//! }
//! assert_eq!(read, [0..8, 8..62]);
//! assert_eq!(opening.finish()?.tensors[0].range, 62..70);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod choose;
mod error;
mod parts;
mod state;

use std::collections::HashSet;
use std::ops::Range;

use serde_json::Value;

use crate::checkpoint::{Checkpoint, CheckpointFiles, ShardFile};
use crate::index::Index;
use crate::shard_name::ShardName;

pub use error::OpeningError;
pub use parts::{Progress, ShardProgress};

use choose::{Chosen, choose};
use state::{Content, State};

/// The most bytes of a config or an index that are read.
pub const MAX_JSON_BYTES: u64 = 256 << 20;

const CONFIG: &str = "config.json";
const HF_QUANT_CONFIG: &str = "hf_quant_config.json";

/// A file of a checkpoint, before anything of it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedFile {
    /// Its name inside the checkpoint's folder, `/` between parts.
    pub name: String,
    /// Its length in bytes.
    pub len: u64,
}

/// Bytes that are needed next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Want {
    /// The file.
    pub file: String,
    /// Which of its bytes; never empty.
    pub range: Range<u64>,
}

/// A checkpoint that is being opened.
#[derive(Clone, Debug)]
pub struct Opening {
    listed: Vec<ListedFile>,
    index: Option<String>,
    files: Vec<InProgress>,
    /// All shards, where they are read when they are asked for; else none.
    later: Vec<String>,
}

#[derive(Clone, Debug)]
struct InProgress {
    file: ListedFile,
    state: State,
}

impl Opening {
    /// Settles which of the files make the checkpoint: those of the index, the only file of tensors,
    /// or one GGUF file.
    ///
    /// # Errors
    /// [`OpeningError::NothingThere`], or [`OpeningError::Several`] where nothing says which of
    /// several files is meant.
    pub fn of(listed: Vec<ListedFile>) -> Result<Self, OpeningError> {
        let mut opening = Self {
            index: None,
            files: Vec::new(),
            later: Vec::new(),
            listed,
        };
        for config in [CONFIG, HF_QUANT_CONFIG] {
            opening.start(config, State::json())?;
        }
        match choose(&opening.listed)? {
            Chosen::Index(name) => {
                opening.start(&name, State::json())?;
                opening.index = Some(name);
            }
            Chosen::Shard(name) => opening.start(&name, State::shard())?,
            Chosen::Gguf(name) => opening.start(&name, State::gguf())?,
        }
        Ok(opening)
    }

    /// The bytes without which opening cannot go on, at most one range a file; none once all is
    /// there. They may be read in any order and at the same time.
    pub fn wants(&self) -> Vec<Want> {
        let range = |file: &InProgress| {
            Some(Want {
                file: file.file.name.clone(),
                range: file.state.wants(file.file.len)?,
            })
        };
        self.files.iter().filter_map(range).collect()
    }

    /// Takes bytes of a file from byte `start` on: those that were wanted, or more behind them.
    ///
    /// # Errors
    /// [`OpeningError`] where the bytes are not what was wanted, or not what the file should hold.
    pub fn give(&mut self, file: &str, start: u64, bytes: &[u8]) -> Result<(), OpeningError> {
        let Some(position) = self.files.iter().position(|f| f.file.name == file) else {
            return Err(OpeningError::NotWanted { file: file.into() });
        };
        let known = &mut self.files[position];
        known.state.take(&known.file, start, bytes)?;
        if self.index.as_deref() == Some(file) {
            self.start_shards(position)?;
        }
        Ok(())
    }

    /// The checkpoint.
    ///
    /// # Errors
    /// [`OpeningError::Unread`] while something is wanted, and what [`Checkpoint::assemble`] says.
    pub fn finish(self) -> Result<Checkpoint, OpeningError> {
        if self.is_in_parts() {
            return self.so_far();
        }
        if let Some(want) = self.wants().into_iter().next() {
            return Err(OpeningError::Unread { file: want.file });
        }
        let mut files = CheckpointFiles::default();
        let taken: HashSet<&str> = self.files.iter().map(|f| f.file.name.as_str()).collect();
        for file in &self.listed {
            if taken.contains(file.name.as_str()) {
                continue;
            }
            match file.name.ends_with(".safetensors") {
                true => files.unreferenced_shards.push(file.name.clone()),
                false => files.other_files.push(file.name.clone()),
            }
        }
        for InProgress { file, state } in self.files {
            let ListedFile { name, len } = file;
            match state.into_content() {
                Some(Content::Header(header)) => files.shards.push(ShardFile {
                    name: ShardName::new(&name)?,
                    len,
                    header,
                }),
                Some(Content::Gguf(header)) => {
                    let mut checkpoint = Checkpoint::of_gguf(ShardName::new(&name)?, len, header);
                    checkpoint.other_files = files.other_files;
                    return Ok(checkpoint);
                }
                Some(Content::Json(json)) if self.index.as_ref() == Some(&name) => {
                    files.index = Some((name.clone(), parse_index(&name, &json)?));
                }
                Some(Content::Json(json)) => {
                    let value = parse_json(&name, &json)?;
                    match name == CONFIG {
                        true => files.config = Some(value),
                        false => files.hf_quant_config = Some(value),
                    }
                }
                None => {}
            }
        }
        Ok(Checkpoint::assemble(files)?)
    }

    /// Begins to read a file, if it is there.
    fn start(&mut self, name: &str, state: State) -> Result<(), OpeningError> {
        if let Some(file) = self.listed.iter().find(|f| f.name == name).cloned() {
            state.check_size(&file)?;
            self.files.push(InProgress { file, state });
        }
        Ok(())
    }

    /// Begins to read the shards that the index lists and that are there.
    fn start_shards(&mut self, index: usize) -> Result<(), OpeningError> {
        let InProgress { file, state } = &self.files[index];
        let Some(json) = state.json_bytes() else {
            return Ok(());
        };
        let index = parse_index(&file.name, json)?;
        let mut started: HashSet<String> = self.files.iter().map(|f| f.file.name.clone()).collect();
        for (_, shard) in &index.weight_map {
            if started.insert(shard.as_str().to_owned()) {
                self.start(shard.as_str(), State::shard())?;
            }
        }
        Ok(())
    }
}

fn parse_index(name: &str, json: &[u8]) -> Result<Index, OpeningError> {
    Index::parse(json).map_err(|problem| OpeningError::Index {
        file: name.to_owned(),
        problem,
    })
}

fn parse_json(name: &str, json: &[u8]) -> Result<Value, OpeningError> {
    serde_json::from_slice(json).map_err(|problem| OpeningError::Json {
        file: name.to_owned(),
        problem,
    })
}
