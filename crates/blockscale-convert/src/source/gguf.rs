//! Headers of GGUF files, read in growing pieces: nothing in front says how long they are.

use std::fs::File;
use std::path::Path;

use blockscale_model::gguf::{GgufHeader, MAX_HEADER_BYTES, Parsed, Value};

use super::error::OpenError;
use super::file::read_exact_at;

/// Enough for the header of most files.
const FIRST_READ: u64 = 1 << 20;

const MAGIC: &[u8] = b"GGUF";

/// Whether a file is GGUF, by its name or its first bytes: in a cache of blobs names say nothing.
pub(super) fn is_gguf(name: &str, file: &File, path: &Path, len: u64) -> Result<bool, OpenError> {
    if name.ends_with(".gguf") {
        return Ok(true);
    }
    let mut start = [0; MAGIC.len()];
    let start = &mut start[..len.min(MAGIC.len() as u64) as usize];
    read_exact_at(file, path, 0, start)?;
    Ok(start == MAGIC)
}

/// The header, and the bytes in front of the data that hold it.
pub(super) fn read_header(
    file: &File,
    path: &Path,
    len: u64,
) -> Result<(GgufHeader, Vec<u8>), OpenError> {
    let mut known = FIRST_READ.min(len);
    loop {
        let mut bytes = vec![0; known as usize];
        read_exact_at(file, path, 0, &mut bytes)?;
        let parsed = GgufHeader::parse(&bytes, len).map_err(|reason| OpenError::Gguf {
            path: path.to_owned(),
            source: reason,
        })?;
        match parsed {
            Parsed::Header(header) => {
                check_whole(&header, path)?;
                bytes.truncate(usize::try_from(header.data_start).unwrap_or(usize::MAX));
                return Ok((header, bytes));
            }
            Parsed::NeedMore { at_least } => {
                known = at_least.max(known * 2).min(len).min(MAX_HEADER_BYTES);
            }
        }
    }
}

/// A file that is one of several does not make a checkpoint.
fn check_whole(header: &GgufHeader, path: &Path) -> Result<(), OpenError> {
    let number = |key| match header.get(key) {
        Some(&Value::U16(n)) => u32::from(n),
        Some(&Value::U32(n)) => n,
        _ => 0,
    };
    match number("split.count") {
        0 | 1 => Ok(()),
        count => Err(OpenError::GgufPart {
            path: path.to_owned(),
            part: number("split.no") + 1,
            count,
        }),
    }
}
