//! A checkpoint of many shards opened shard by shard.
//!
//! The index of a large checkpoint is longer than most headers together, and all headers are longer
//! than what a first look is worth. So of such a checkpoint one header is read first, and others
//! when they are asked for. Until all were read, a weight may have a part that is not known: see
//! [`is_settled`](crate::Checkpoint::is_settled).

use std::collections::HashSet;

use super::state::{Content, State};
use super::{CONFIG, InProgress, ListedFile, Opening, OpeningError};
use crate::checkpoint::{Checkpoint, CheckpointFiles, ShardFile};
use crate::shard_name::ShardName;

/// An index of at most so many bytes is read at once, with all headers: they are not much longer.
const SMALL_INDEX: u64 = 1 << 20;

const INDEX_ENDING: &str = ".safetensors.index.json";

/// How far the header of a shard was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It was not asked for.
    Unread,
    /// Bytes of it are wanted.
    Wanted,
    /// All of it is there.
    Read,
}

/// A file that holds tensors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardProgress {
    /// The file.
    pub file: ListedFile,
    /// How far its header was read.
    pub progress: Progress,
}

impl Opening {
    /// As [`of`](Self::of), but of a checkpoint with a long index only the configs and the header of
    /// the first shard are wanted; [`ask`](Self::ask) for more.
    ///
    /// # Errors
    /// What [`of`](Self::of) says.
    ///
    /// ```
    /// use blockscale_model::opening::{ListedFile, Opening, Progress};
    ///
    /// let file = |name: &str, len| ListedFile { name: name.to_owned(), len };
    /// let mut opening = Opening::in_parts(vec![
    ///     file("model.safetensors.index.json", 13 << 20),
    ///     file("model-00001-of-00002.safetensors", 5 << 30),
    ///     file("model-00002-of-00002.safetensors", 5 << 30),
    /// ])?;
    /// assert_eq!(opening.wants()[0].file, "model-00001-of-00002.safetensors");
    /// assert_eq!(opening.shards()[1].progress, Progress::Unread);
    /// opening.ask("model-00002-of-00002.safetensors")?;
    /// assert_eq!(opening.wants().len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_parts(listed: Vec<ListedFile>) -> Result<Self, OpeningError> {
        let mut opening = Self::of(listed)?;
        let Some(index) = opening.index.clone() else {
            return Ok(opening);
        };
        let is_long = |file: &&ListedFile| file.name == index && file.len > SMALL_INDEX;
        let shards = shards_of(&index, &opening.listed);
        if !opening.listed.iter().any(|file| is_long(&file)) || shards.is_empty() {
            return Ok(opening);
        }
        opening.files.retain(|file| file.file.name != index);
        opening.index = None;
        opening.later = shards.into_iter().map(|file| file.name).collect();
        let first = opening.later[0].clone();
        opening.ask(&first)?;
        Ok(opening)
    }

    /// Whether shards are read when they are asked for.
    pub fn is_in_parts(&self) -> bool {
        !self.later.is_empty()
    }

    /// The files that hold tensors, in the order of their names, as far as they are known.
    pub fn shards(&self) -> Vec<ShardProgress> {
        let started = |name: &str| self.files.iter().find(|file| file.file.name == name);
        let of = |name: &str| {
            let progress = match started(name).map(|file| &file.state) {
                None => Progress::Unread,
                Some(State::Done(_)) => Progress::Read,
                Some(_) => Progress::Wanted,
            };
            let file = self.listed.iter().find(|file| file.name == name)?.clone();
            Some(ShardProgress { file, progress })
        };
        if self.is_in_parts() {
            return self.later.iter().filter_map(|name| of(name)).collect();
        }
        let names = self.files.iter().filter(|file| file.state.is_of_tensors());
        names.filter_map(|file| of(&file.file.name)).collect()
    }

    /// Wants the header of one more shard.
    ///
    /// # Errors
    /// [`OpeningError::NotWanted`] where it is no shard of the checkpoint, and what is wrong with its
    /// length.
    pub fn ask(&mut self, shard: &str) -> Result<(), OpeningError> {
        if self.files.iter().any(|file| file.file.name == shard) {
            return Ok(());
        }
        if !self.later.iter().any(|name| name == shard) {
            return Err(OpeningError::NotWanted { file: shard.into() });
        }
        self.start(shard, State::shard())
    }

    /// Wants the headers of all shards.
    ///
    /// # Errors
    /// What is wrong with the length of one.
    pub fn ask_all(&mut self) -> Result<(), OpeningError> {
        for shard in self.later.clone() {
            self.ask(&shard)?;
        }
        Ok(())
    }

    /// The checkpoint as far as it was read: shards whose headers are there.
    /// [`Checkpoint::unread_shards`] names the others.
    ///
    /// Headers are not held against an index then; that a part of a weight may be missing is no
    /// finding.
    ///
    /// # Errors
    /// [`OpeningError::Unread`] before the first header is there, and what [`Checkpoint::assemble`]
    /// says.
    pub fn so_far(&self) -> Result<Checkpoint, OpeningError> {
        if !self.is_in_parts() {
            return self.clone().finish();
        }
        let unread = |file: &InProgress| OpeningError::Unread {
            file: file.file.name.clone(),
        };
        let mut files = CheckpointFiles::default();
        for file in &self.files {
            let name = &file.file.name;
            match (&file.state, file.state.is_of_tensors()) {
                (State::Done(Content::Header(header)), _) => files.shards.push(ShardFile {
                    name: ShardName::new(name)?,
                    len: file.file.len,
                    header: header.clone(),
                }),
                (_, true) => {}
                (state, false) => {
                    let json = state.json_bytes().ok_or_else(|| unread(file))?;
                    let value = Some(super::parse_json(name, json)?);
                    match name == CONFIG {
                        true => files.config = value,
                        false => files.hf_quant_config = value,
                    }
                }
            }
        }
        if let (true, Some(first)) = (files.shards.is_empty(), self.files.last()) {
            return Err(unread(first));
        }
        let read: HashSet<&str> = files.shards.iter().map(|s| s.name.as_str()).collect();
        let names = self
            .later
            .iter()
            .filter(|name| !read.contains(name.as_str()));
        let unread_shards: Vec<String> = names.cloned().collect();
        files.shards.sort_by(|a, b| a.name.cmp(&b.name));
        let mut checkpoint = Checkpoint::assemble(files)?;
        if !unread_shards.is_empty() {
            checkpoint.findings.clear();
        }
        checkpoint.unread_shards = unread_shards;
        Ok(checkpoint)
    }
}

/// The numbered files that go with an index of that name, in order.
fn shards_of(index: &str, listed: &[ListedFile]) -> Vec<ListedFile> {
    let stem = index.strip_suffix(INDEX_ENDING).unwrap_or(index);
    let is_part = |file: &&ListedFile| {
        let behind = file.name.strip_prefix(stem);
        let numbered = ShardName::new(&file.name).is_ok_and(|name| name.part().is_some());
        behind.is_some_and(|behind| behind.starts_with('-')) && numbered
    };
    let mut shards: Vec<ListedFile> = listed.iter().filter(is_part).cloned().collect();
    shards.sort_by(|a, b| a.name.cmp(&b.name));
    shards
}
