//! One safetensors header: bytes in, checked tensors out.
//!
//! Crate `safetensors` validates as well, but its errors name at most one tensor, it keeps the last of
//! two entries of one name, and it wants the whole file in memory. So the header is read here first,
//! strictly and with named errors; what passes is then given to the crate.

use std::collections::BTreeMap;
use std::ops::Range;

use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use serde_json::error::Category;
use serde_json::value::RawValue;

use crate::header_error::HeaderError;
use crate::json::{Members, excerpt};
use crate::limits::{MAX_AXES, MAX_NAME_BYTES, MAX_TENSORS};

/// Bytes in front of the header: its length as a little-endian `u64`.
pub const PREFIX_BYTES: usize = 8;

/// The longest header that is read, the limit of the format's reference implementation.
pub const MAX_HEADER_BYTES: u64 = 100_000_000;

/// The name under which a header keeps its metadata.
pub(crate) const METADATA: &str = "__metadata__";

/// A tensor as its file's header describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorEntry {
    /// Name, unique in the file.
    pub name: String,
    /// Type of the elements.
    pub dtype: Dtype,
    /// Elements along each axis; empty for a scalar.
    pub shape: Vec<usize>,
    /// Where its bytes lie in the file, counted from the file's first byte. It may start at any
    /// offset: the format does not promise alignment.
    pub range: Range<u64>,
}

/// A checked header: the tensors cover the data from end to end, each byte once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The tensors in the order of their data.
    pub tensors: Vec<TensorEntry>,
    /// Tensors of which an extent is more than this machine counts, which happens where addresses
    /// have 32 bits: their bytes were checked, and they are left out.
    pub too_wide: Vec<String>,
    /// The free text of `__metadata__`.
    pub metadata: BTreeMap<String, String>,
    /// Where the data begin in the file.
    pub data_start: u64,
}

impl Header {
    /// The length of the header's JSON, from the file's first bytes and its length.
    ///
    /// `prefix` holds the first [`PREFIX_BYTES`] bytes or more, or all of a shorter file. Nothing has
    /// to be allocated before this has passed.
    ///
    /// # Errors
    /// [`HeaderError`] if the file is too short, is a Git LFS pointer, states a length above
    /// [`MAX_HEADER_BYTES`], or ends inside the header.
    ///
    /// ```
    /// use blockscale_model::Header;
    ///
    /// assert_eq!(Header::json_len(&[2, 0, 0, 0, 0, 0, 0, 0], 10)?, 2);
    /// assert!(Header::json_len(&[2, 0, 0, 0, 0, 0, 0, 0], 9).is_err());
    /// # Ok::<(), blockscale_model::HeaderError>(())
    /// ```
    pub fn json_len(prefix: &[u8], file_len: u64) -> Result<u64, HeaderError> {
        let (Some(&length), true) = (
            prefix.first_chunk::<PREFIX_BYTES>(),
            file_len >= PREFIX_BYTES as u64,
        ) else {
            return Err(HeaderError::TooShort { found: file_len });
        };
        if is_lfs_pointer(prefix) {
            return Err(HeaderError::LfsPointer);
        }
        let length = u64::from_le_bytes(length);
        if length > MAX_HEADER_BYTES {
            return Err(HeaderError::TooLong {
                limit: MAX_HEADER_BYTES,
                found: length,
            });
        }
        let expected = PREFIX_BYTES as u64 + length;
        if expected > file_len {
            return Err(HeaderError::EndsInsideHeader {
                expected,
                found: file_len,
            });
        }
        Ok(length)
    }

    /// Reads and checks the header's JSON, the bytes that follow the prefix.
    ///
    /// `file_len` is the length of the whole file.
    ///
    /// # Errors
    /// [`HeaderError`] if the JSON is not a header, or its tensors do not cover the data from end to
    /// end, each byte once, with sizes that follow from shape and dtype.
    ///
    /// ```
    /// use blockscale_model::{Dtype, Header};
    ///
    /// let json = br#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}"#;
    /// let header = Header::parse(json, 8 + json.len() as u64 + 8)?;
    /// assert_eq!(header.tensors[0].dtype, Dtype::F32);
    /// assert_eq!(header.tensors[0].range, 62..70);
    /// # Ok::<(), blockscale_model::HeaderError>(())
    /// ```
    pub fn parse(json: &[u8], file_len: u64) -> Result<Self, HeaderError> {
        Self::parse_counting_to(usize::MAX as u64, json, file_len)
    }

    /// The same on a machine that counts to `most`.
    fn parse_counting_to(most: u64, json: &[u8], file_len: u64) -> Result<Self, HeaderError> {
        let data_start = PREFIX_BYTES as u64 + json.len() as u64;
        let data_len = file_len
            .checked_sub(data_start)
            .ok_or(HeaderError::EndsInsideHeader {
                expected: data_start,
                found: file_len,
            })?;

        let members = top_level(json)?;
        let mut metadata = BTreeMap::new();
        let mut tensors = Vec::with_capacity(members.list.len());
        let mut too_wide = Vec::new();
        for (name, raw) in members.list {
            if name == METADATA {
                metadata = parse_metadata(raw)?;
                continue;
            }
            let entry = parse_entry(name, raw, most)?;
            if entry.extents == Extents::TooWide {
                too_wide.push(entry.tensor.name.clone());
            }
            tensors.push(entry.tensor);
        }

        // An empty tensor lies before the one that begins where it stands.
        tensors.sort_by_key(|tensor| (tensor.range.start, tensor.range.end));
        check_cover(&tensors, data_len)?;
        match too_wide.is_empty() {
            true => check_with_crate(&tensors, &metadata)?,
            false => tensors.retain(|tensor| !too_wide.contains(&tensor.name)),
        }
        for tensor in &mut tensors {
            tensor.range = data_start + tensor.range.start..data_start + tensor.range.end;
        }
        Ok(Self {
            tensors,
            too_wide,
            metadata,
            data_start,
        })
    }
}

/// Bytes of a tensor; `None` if they do not fit 64 bits, or if elements of less than a byte do not
/// fill whole bytes.
///
/// ```
/// use blockscale_model::{Dtype, tensor_bytes};
///
/// assert_eq!(tensor_bytes(Dtype::BF16, &[3, 5]), Some(30));
/// assert_eq!(tensor_bytes(Dtype::F4, &[3, 2]), Some(3));
/// assert_eq!(tensor_bytes(Dtype::F4, &[3]), None);
/// assert_eq!(tensor_bytes(Dtype::F32, &[]), Some(4));
/// ```
pub fn tensor_bytes(dtype: Dtype, shape: &[usize]) -> Option<u64> {
    let bits = elements(shape)?.checked_mul(dtype.bitsize() as u64)?;
    (bits % 8 == 0).then_some(bits / 8)
}

fn elements(shape: &[usize]) -> Option<u64> {
    shape
        .iter()
        .try_fold(1u64, |count, &dim| count.checked_mul(dim as u64))
}

/// As [`tensor_bytes`], with the reason.
pub(crate) fn size_of(tensor: &str, dtype: Dtype, shape: &[usize]) -> Result<u64, HeaderError> {
    tensor_bytes(dtype, shape).ok_or_else(|| {
        let tensor = tensor.to_owned();
        match elements(shape) {
            Some(elements) if elements.checked_mul(dtype.bitsize() as u64).is_some() => {
                HeaderError::PartialByte {
                    tensor,
                    dtype,
                    elements,
                }
            }
            _ => HeaderError::SizeOverflows {
                tensor,
                dtype,
                shape: shape.to_vec(),
            },
        }
    })
}

/// The first eight bytes of a pointer read as a header length are far above the limit, so even they
/// alone tell it apart.
fn is_lfs_pointer(prefix: &[u8]) -> bool {
    const MARKER: &[u8] = b"version https://git-lfs";
    let known = prefix.len().min(MARKER.len());
    prefix[..known] == MARKER[..known]
}

/// Only the start of a name that is too long is told.
pub(crate) fn check_name(name: &str) -> Result<(), HeaderError> {
    if name.len() <= MAX_NAME_BYTES {
        return Ok(());
    }
    Err(HeaderError::NameTooLong {
        tensor: excerpt(name),
        limit: MAX_NAME_BYTES,
        found: name.len(),
    })
}

fn top_level(json: &[u8]) -> Result<Members<&RawValue>, HeaderError> {
    let text = std::str::from_utf8(json).map_err(|error| HeaderError::NotUtf8 {
        position: error.valid_up_to(),
    })?;
    let members: Members<&RawValue> =
        serde_json::from_str(text).map_err(|error| match error.classify() {
            Category::Data => HeaderError::NotObject,
            _ => HeaderError::NotJson(error.to_string()),
        })?;
    if members.too_many {
        return Err(HeaderError::TooManyTensors { limit: MAX_TENSORS });
    }
    match members.repeated() {
        Some(name) => Err(HeaderError::DuplicateName {
            name: name.to_owned(),
        }),
        None => Ok(members),
    }
}

fn parse_metadata(raw: &RawValue) -> Result<BTreeMap<String, String>, HeaderError> {
    let members: Option<Members<&RawValue>> =
        serde_json::from_str(raw.get()).map_err(|_| HeaderError::MetadataNotObject)?;
    let Some(members) = members else {
        return Ok(BTreeMap::new());
    };
    if let Some(key) = members.repeated() {
        return Err(HeaderError::DuplicateMetadata {
            key: key.to_owned(),
        });
    }
    members
        .list
        .into_iter()
        .map(|(key, raw)| match serde_json::from_str(raw.get()) {
            Ok(text) => Ok((key, text)),
            Err(_) => Err(HeaderError::MetadataNotText {
                key,
                found: excerpt(raw.get()),
            }),
        })
        .collect()
}

/// Whether this machine counts all extents of a tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extents {
    Counted,
    TooWide,
}

struct Entry {
    /// Its range still counted from the start of the data; without a shape where that is too wide.
    tensor: TensorEntry,
    extents: Extents,
}

/// One tensor.
fn parse_entry(name: String, raw: &RawValue, most: u64) -> Result<Entry, HeaderError> {
    check_name(&name)?;
    let Ok(entry) = serde_json::from_str::<Members<&RawValue>>(raw.get()) else {
        return Err(HeaderError::EntryNotObject { tensor: name });
    };
    if let Some(field) = entry.repeated() {
        return Err(HeaderError::DuplicateField {
            field: field.to_owned(),
            tensor: name,
        });
    }
    let field = |field: &'static str| match entry.get(field) {
        Some(raw) => Ok(raw.get()),
        None => Err(HeaderError::MissingField {
            tensor: name.clone(),
            field,
        }),
    };
    let (dtype, shape, offsets) = (field("dtype")?, field("shape")?, field("data_offsets")?);

    let Ok(dtype) = serde_json::from_str::<Dtype>(dtype) else {
        return Err(HeaderError::UnknownDtype {
            tensor: name,
            found: excerpt(dtype),
        });
    };
    let Ok(wide) = serde_json::from_str::<Vec<u64>>(shape) else {
        return Err(HeaderError::BadShape {
            tensor: name,
            found: excerpt(shape),
        });
    };
    if wide.len() > MAX_AXES {
        return Err(HeaderError::TooManyAxes {
            tensor: name,
            limit: MAX_AXES,
            found: wide.len(),
        });
    }
    let Ok([begin, end]) = serde_json::from_str::<[u64; 2]>(offsets) else {
        return Err(HeaderError::BadOffsets {
            tensor: name,
            found: excerpt(offsets),
        });
    };
    let Some(found) = end.checked_sub(begin) else {
        return Err(HeaderError::EndBeforeBegin {
            tensor: name,
            begin,
            end,
        });
    };
    let counted = |&extent: &u64| usize::try_from(extent).ok().filter(|_| extent <= most);
    let shape: Option<Vec<usize>> = wide.iter().map(counted).collect();
    let (expected, elements) = match &shape {
        Some(shape) => (size_of(&name, dtype, shape)?, elements(shape)),
        None => wide_size(dtype, &wide).ok_or_else(|| HeaderError::BadShape {
            tensor: name.clone(),
            found: format!("{wide:?}"),
        })?,
    };
    if found != expected {
        let elements = elements.unwrap_or_default();
        return Err(HeaderError::SizeMismatch {
            tensor: name,
            dtype,
            elements,
            expected,
            found,
        });
    }
    Ok(Entry {
        extents: match shape {
            Some(_) => Extents::Counted,
            None => Extents::TooWide,
        },
        tensor: TensorEntry {
            name,
            dtype,
            shape: shape.unwrap_or_default(),
            range: begin..end,
        },
    })
}

/// Bytes and elements of a tensor with extents that this machine does not count; `None` where they
/// are no whole bytes or more than 64 bits count.
fn wide_size(dtype: Dtype, shape: &[u64]) -> Option<(u64, Option<u64>)> {
    let elements = shape
        .iter()
        .try_fold(1_u64, |count, &extent| count.checked_mul(extent))?;
    let bits = elements.checked_mul(dtype.bitsize() as u64)?;
    (bits % 8 == 0).then_some((bits / 8, Some(elements)))
}

/// The tensors, sorted by range, lie end to end and fill the data.
fn check_cover(tensors: &[TensorEntry], data_len: u64) -> Result<(), HeaderError> {
    let mut before: Option<&TensorEntry> = None;
    for tensor in tensors {
        let covered = before.map_or(0, |before| before.range.end);
        let begin = tensor.range.start;
        match before {
            Some(before) if begin < covered => {
                return Err(HeaderError::Overlap {
                    first: before.name.clone(),
                    second: tensor.name.clone(),
                    at: begin,
                });
            }
            Some(before) if begin > covered => {
                return Err(HeaderError::Hole {
                    before: before.name.clone(),
                    after: tensor.name.clone(),
                    bytes: begin - covered,
                });
            }
            None if begin > 0 => {
                return Err(HeaderError::HoleAtStart {
                    tensor: tensor.name.clone(),
                    bytes: begin,
                });
            }
            _ => before = Some(tensor),
        }
    }
    let covered = before.map_or(0, |last| last.range.end);
    if let Some(cut) = tensors.iter().find(|tensor| tensor.range.end > data_len) {
        let tensor = cut.name.clone();
        return Err(HeaderError::EndsEarly {
            tensor,
            expected: covered,
            found: data_len,
        });
    }
    if covered < data_len {
        return Err(HeaderError::TrailingBytes {
            bytes: data_len - covered,
        });
    }
    Ok(())
}

/// Lets crate `safetensors` validate the same tensors.
///
/// The crate counts in `usize`: where that has 32 bits, data beyond 4 GiB rest on the checks above.
fn check_with_crate(
    tensors: &[TensorEntry],
    metadata: &BTreeMap<String, String>,
) -> Result<(), HeaderError> {
    if tensors
        .last()
        .is_some_and(|last| usize::try_from(last.range.end).is_err())
    {
        return Ok(());
    }
    let infos = tensors.iter().map(|tensor| {
        let info = TensorInfo {
            dtype: tensor.dtype,
            shape: tensor.shape.clone(),
            data_offsets: (tensor.range.start as usize, tensor.range.end as usize),
        };
        (tensor.name.clone(), info)
    });
    let metadata = metadata
        .iter()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    Metadata::new(Some(metadata), infos.collect()).map_err(HeaderError::Rejected)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As where addresses have 32 bits, but with smaller numbers.
    #[test]
    fn a_tensor_that_is_too_wide_is_left_out_and_still_has_to_fit() {
        let parse = |shape: &str, most| {
            let json = format!(
                r#"{{"a":{{"dtype":"U8","shape":{shape},"data_offsets":[0,300]}},
                "b":{{"dtype":"U8","shape":[2,2],"data_offsets":[300,304]}}}}"#
            );
            let len = 8 + json.len() as u64 + 304;
            Header::parse_counting_to(most, json.as_bytes(), len)
        };
        let header = parse("[300]", 255).unwrap();
        assert_eq!(header.too_wide, ["a"]);
        assert_eq!(
            (header.tensors.len(), header.tensors[0].name.as_str()),
            (1, "b")
        );
        assert_eq!(header.tensors[0].range.start, header.data_start + 300);
        assert_eq!(parse("[300]", 300).unwrap().too_wide, [""; 0]);
        assert!(matches!(
            parse("[301]", 255),
            Err(HeaderError::SizeMismatch {
                expected: 301,
                found: 300,
                ..
            })
        ));
        let all = "[18446744073709551615,2]";
        assert!(matches!(parse(all, 255), Err(HeaderError::BadShape { .. })));
    }
}
