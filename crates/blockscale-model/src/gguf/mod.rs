//! GGUF files: the header that says what is in them and where.
//!
//! A GGUF file holds numbers in little-endian order: the magic `GGUF`, a version, the counts of
//! tensors and of metadata, the metadata (keys with typed values), an entry a tensor (name, axes,
//! type, offset), zeros up to the alignment, then the data. Nothing in front states how long all
//! that is. So a header is read from a file's first bytes, and [`Parsed::NeedMore`] says when they
//! do not suffice.
//!
//! | checked | refused as |
//! | --- | --- |
//! | magic, byte order, version 2 or 3 | [`NotGguf`](GgufError::NotGguf), [`BigEndian`](GgufError::BigEndian), [`UnsupportedVersion`](GgufError::UnsupportedVersion) |
//! | counts and lengths against the length of the file | [`EndsInsideHeader`](GgufError::EndsInsideHeader) |
//! | keys and names occur once | [`DuplicateKey`](GgufError::DuplicateKey), [`DuplicateName`](GgufError::DuplicateName) |
//! | type is known, rows are whole blocks | [`UnknownType`](GgufError::UnknownType), [`PartialBlock`](GgufError::PartialBlock) |
//! | offsets are aligned, ranges are apart and inside the file | [`Misaligned`](GgufError::Misaligned), [`Overlap`](GgufError::Overlap), [`EndsEarly`](GgufError::EndsEarly) |
//!
//! The order of tensors and unused bytes between them are free. Source: the GGUF specification and
//! `gguf.cpp` of ggml.

mod cursor;
mod error;
mod ggml_type;
mod tensor;
mod value;

use std::collections::HashSet;

pub use error::GgufError;
pub use ggml_type::GgmlType;
pub use tensor::{GgufTensor, MAX_DIMS};
pub use value::{MAX_ARRAY_DEPTH, MAX_KEPT_ITEMS, Value, ValueKind};

use cursor::{Cursor, Stop};
use tensor::{place, read_tensors};
use value::read_value;

/// The longest header that is read: 128 MiB. Vocabularies of today's models take about 10.
pub const MAX_HEADER_BYTES: u64 = 128 << 20;

/// The most metadata entries that are read.
pub const MAX_METADATA_ENTRIES: u64 = 1 << 16;

const MAGIC: [u8; 4] = *b"GGUF";
const ALIGNMENT_KEY: &str = "general.alignment";
const DEFAULT_ALIGNMENT: u64 = 32;

/// Bytes of the shortest metadata entry: an empty key, a type and a value of one byte.
const MIN_ENTRY_BYTES: u64 = 8 + 4 + 1;

/// A checked header.
#[derive(Clone, Debug, PartialEq)]
pub struct GgufHeader {
    /// Version of the format, 2 or 3.
    pub version: u32,
    /// Keys and values in file order; each key occurs once. Of long arrays only type and length are
    /// kept, see [`Value::Array`].
    pub metadata: Vec<(String, Value)>,
    /// The tensors in the order of their entries, which need not be the order of their data.
    pub tensors: Vec<GgufTensor>,
    /// What offsets are a multiple of, in bytes.
    pub alignment: u64,
    /// Where the data begin in the file. A file without tensors may end before that.
    pub data_start: u64,
}

/// What the first bytes of a file gave.
#[derive(Clone, Debug, PartialEq)]
pub enum Parsed {
    /// The whole header.
    Header(GgufHeader),
    /// The header goes on: no fault so far.
    NeedMore {
        /// Bytes from the start of the file without which reading cannot go on: more than were
        /// given, at most the length of the file and [`MAX_HEADER_BYTES`].
        at_least: u64,
    },
}

impl GgufHeader {
    /// Reads and checks the header from the first bytes of a file of `file_len` bytes.
    ///
    /// `prefix` may be of any length and may reach into the data. Start with 1 MiB, or the whole of
    /// a smaller file; after [`Parsed::NeedMore`], give twice as much or `at_least`, whichever is
    /// more, from the start of the file. That ends with the header, or at [`MAX_HEADER_BYTES`] with
    /// an error.
    ///
    /// # Errors
    /// [`GgufError`] if the file is not little-endian GGUF of version 2 or 3, is cut short or
    /// damaged, or has tensors of unknown type, that overlap, or that do not lie inside it.
    ///
    /// ```
    /// use blockscale_model::gguf::{GgmlType, GgufHeader, Parsed};
    ///
    /// let mut file = Vec::new();
    /// file.extend(b"GGUF");
    /// file.extend(3u32.to_le_bytes()); // version
    /// file.extend(1u64.to_le_bytes()); // tensors
    /// file.extend(0u64.to_le_bytes()); // metadata entries
    /// file.extend(1u64.to_le_bytes());
    /// file.extend(b"a"); // a name of one byte
    /// file.extend(2u32.to_le_bytes()); // two axes, the contiguous one first
    /// file.extend(64u64.to_le_bytes());
    /// file.extend(3u64.to_le_bytes());
    /// file.extend(40u32.to_le_bytes()); // NVFP4
    /// file.extend(0u64.to_le_bytes()); // offset in the data
    /// file.resize(96, 0); // up to the alignment
    /// file.resize(96 + 3 * 36, 0); // three rows of one block
    ///
    /// let file_len = file.len() as u64;
    /// let parsed = GgufHeader::parse(&file[..30], file_len)?;
    /// assert_eq!(parsed, Parsed::NeedMore { at_least: 48 });
    ///
    /// let Parsed::Header(header) = GgufHeader::parse(&file, file_len)? else {
    ///     unreachable!("the whole file was given");
    /// };
    /// let tensor = &header.tensors[0];
    /// assert_eq!((tensor.kind, tensor.shape.as_slice()), (GgmlType::Nvfp4, &[3, 64][..]));
    /// assert_eq!(tensor.range, 96..204);
    /// # Ok::<(), blockscale_model::gguf::GgufError>(())
    /// ```
    pub fn parse(prefix: &[u8], file_len: u64) -> Result<Parsed, GgufError> {
        match read(Cursor::new(prefix, file_len), file_len) {
            Ok(header) => Ok(Parsed::Header(header)),
            Err(Stop::NeedMore(at_least)) => Ok(Parsed::NeedMore { at_least }),
            Err(Stop::Fault(error)) => Err(error),
        }
    }

    /// The value under a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        find(&self.metadata, key)
    }

    /// `general.architecture`, the name that also begins the keys of the architecture's own
    /// settings, as `llama` does in `llama.block_count`.
    pub fn architecture(&self) -> Option<&str> {
        self.get("general.architecture")?.as_str()
    }
}

fn read(mut cursor: Cursor<'_>, file_len: u64) -> Result<GgufHeader, Stop> {
    check_magic(&mut cursor)?;
    let version = read_version(&mut cursor)?;
    let tensor_count = cursor.u64()?;
    let entry_count = cursor.u64()?;

    let metadata = read_metadata(&mut cursor, entry_count)?;
    let alignment = alignment_of(&metadata)?;
    let mut tensors = read_tensors(&mut cursor, tensor_count)?;
    let data_start = cursor.position().next_multiple_of(alignment);
    place(&mut tensors, data_start, alignment, file_len)?;
    Ok(GgufHeader {
        version,
        metadata,
        tensors,
        alignment,
        data_start,
    })
}

fn check_magic(cursor: &mut Cursor<'_>) -> Result<(), Stop> {
    let start = cursor.rest();
    let found = cursor.array()?;
    if found == MAGIC {
        return Ok(());
    }
    let mut swapped = found;
    swapped.reverse();
    Err(Stop::Fault(if is_lfs_pointer(start) {
        GgufError::LfsPointer
    } else if swapped == MAGIC {
        GgufError::BigEndian
    } else {
        GgufError::NotGguf { found }
    }))
}

fn is_lfs_pointer(start: &[u8]) -> bool {
    const MARKER: &[u8] = b"version https://git-lfs";
    let known = start.len().min(MARKER.len());
    start[..known] == MARKER[..known]
}

/// Big-endian files have the magic in the usual order as well; what gives them away is a version
/// whose low half is empty.
fn read_version(cursor: &mut Cursor<'_>) -> Result<u32, Stop> {
    match cursor.u32()? {
        version @ (2 | 3) => Ok(version),
        found if found != 0 && found & 0xffff == 0 => Err(Stop::Fault(GgufError::BigEndian)),
        found => Err(Stop::Fault(GgufError::UnsupportedVersion { found })),
    }
}

fn read_metadata(cursor: &mut Cursor<'_>, count: u64) -> Result<Vec<(String, Value)>, Stop> {
    if count > MAX_METADATA_ENTRIES {
        return Err(Stop::Fault(GgufError::TooManyEntries {
            limit: MAX_METADATA_ENTRIES,
            found: count,
        }));
    }
    cursor.expect(count, MIN_ENTRY_BYTES)?;

    let mut metadata = Vec::new();
    let mut seen = HashSet::new();
    for _ in 0..count {
        let key = cursor.name()?;
        if !seen.insert(key) {
            return Err(Stop::Fault(GgufError::DuplicateKey {
                key: key.to_owned(),
            }));
        }
        metadata.push((key.to_owned(), read_value(cursor, key)?));
    }
    Ok(metadata)
}

fn find<'a>(metadata: &'a [(String, Value)], key: &str) -> Option<&'a Value> {
    metadata
        .iter()
        .find_map(|(found, value)| (found == key).then_some(value))
}

fn alignment_of(metadata: &[(String, Value)]) -> Result<u64, GgufError> {
    match find(metadata, ALIGNMENT_KEY) {
        None => Ok(DEFAULT_ALIGNMENT),
        Some(&Value::U32(alignment)) if alignment.is_power_of_two() => Ok(alignment.into()),
        Some(found) => Err(GgufError::BadAlignment {
            found: found.clone(),
        }),
    }
}
