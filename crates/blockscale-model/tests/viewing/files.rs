//! Files in memory that are read by ranges.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use blockscale_model::Checkpoint;
use blockscale_model::opening::{ListedFile, Opening, OpeningError};

/// Files by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// The files of a checkpoint that another tool wrote.
pub(crate) fn folder(name: &str) -> Files {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/checkpoints");
    let entries = std::fs::read_dir(path.join(name)).unwrap();
    entries
        .map(Result::unwrap)
        .filter(|entry| entry.path().is_file())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, std::fs::read(entry.path()).unwrap())
        })
        .collect()
}

pub(crate) fn list(files: &Files) -> Vec<ListedFile> {
    let file = |(name, bytes): (&String, &Vec<u8>)| ListedFile {
        name: name.clone(),
        len: bytes.len() as u64,
    };
    files.iter().map(file).collect()
}

pub(crate) fn bytes<'a>(files: &'a Files, name: &str, range: &Range<u64>) -> &'a [u8] {
    &files[name][range.start as usize..range.end as usize]
}

/// Opens a checkpoint; gives each range with `extra` more bytes, where there are so many.
pub(crate) fn open(files: &Files, extra: u64) -> Result<Checkpoint, OpeningError> {
    let mut opening = Opening::of(list(files))?;
    loop {
        let wants = opening.wants();
        if wants.is_empty() {
            return opening.finish();
        }
        for want in wants {
            let end = (want.range.end + extra).min(files[&want.file].len() as u64);
            let range = want.range.start..end;
            opening.give(&want.file, range.start, bytes(files, &want.file, &range))?;
        }
    }
}
