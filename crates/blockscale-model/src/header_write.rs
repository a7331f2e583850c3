//! Laying out a file to be written, and its header.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use safetensors::Dtype;
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::header::{MAX_HEADER_BYTES, METADATA, PREFIX_BYTES, check_name, size_of};
use crate::header_error::HeaderError;
use crate::limits::MAX_TENSORS;

/// A tensor to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTensor {
    /// Name, unique in the file.
    pub name: String,
    /// Type of the elements.
    pub dtype: Dtype,
    /// Elements along each axis; empty for a scalar.
    pub shape: Vec<usize>,
}

/// Where everything of a file to be written goes, known before the first byte of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeaderLayout {
    /// The file's first bytes: length, JSON, and spaces up to a multiple of 8.
    pub bytes: Vec<u8>,
    /// Where each tensor's bytes go in the file, in the order in which the tensors were given.
    pub ranges: Vec<Range<u64>>,
    /// Length of the whole file.
    pub file_len: u64,
}

/// Lays out a file and writes its header.
///
/// Data order is that of crate `safetensors`: larger alignment first, then by name. So every tensor
/// is aligned to its elements. The same input always gives the same bytes; metadata are sorted by
/// key, and left out where there are none.
///
/// # Errors
/// [`HeaderError`] if a name occurs twice or is `__metadata__`, a size does not fit 64 bits or whole
/// bytes, or the header is longer than [`MAX_HEADER_BYTES`](crate::MAX_HEADER_BYTES).
///
/// ```
/// use std::collections::BTreeMap;
/// use blockscale_model::{Dtype, Header, NewTensor, lay_out};
///
/// let codes = NewTensor { name: "w".to_owned(), dtype: Dtype::U8, shape: vec![3] };
/// let scale = NewTensor { name: "w.scale".to_owned(), dtype: Dtype::F32, shape: vec![] };
/// let layout = lay_out(&[codes, scale], &BTreeMap::new())?;
///
/// let start = layout.bytes.len() as u64;
/// assert_eq!(layout.ranges, [start + 4..start + 7, start..start + 4]);
/// assert_eq!(layout.file_len, start + 7);
/// assert_eq!(Header::parse(&layout.bytes[8..], layout.file_len)?.data_start, start);
/// # Ok::<(), blockscale_model::HeaderError>(())
/// ```
pub fn lay_out(
    tensors: &[NewTensor],
    metadata: &BTreeMap<String, String>,
) -> Result<HeaderLayout, HeaderError> {
    check_names(tensors)?;
    let mut order: Vec<usize> = (0..tensors.len()).collect();
    order.sort_by(|&a, &b| {
        let (a, b) = (&tensors[a], &tensors[b]);
        b.dtype.cmp(&a.dtype).then_with(|| a.name.cmp(&b.name))
    });

    let mut ranges = vec![0..0; tensors.len()];
    let mut data_len = 0u64;
    for &i in &order {
        let NewTensor { name, dtype, shape } = &tensors[i];
        let end = size_of(name, *dtype, shape)?
            .checked_add(data_len)
            // The file's length has to fit too, header included.
            .filter(|end| {
                end.checked_add(MAX_HEADER_BYTES + PREFIX_BYTES as u64)
                    .is_some()
            })
            .ok_or_else(|| HeaderError::SizeOverflows {
                tensor: name.clone(),
                dtype: *dtype,
                shape: shape.clone(),
            })?;
        ranges[i] = data_len..end;
        data_len = end;
    }

    let bytes = header_bytes(&HeaderJson {
        tensors,
        order: &order,
        ranges: &ranges,
        metadata,
    })?;
    let data_start = bytes.len() as u64;
    for range in &mut ranges {
        *range = data_start + range.start..data_start + range.end;
    }
    Ok(HeaderLayout {
        bytes,
        ranges,
        file_len: data_start + data_len,
    })
}

fn check_names(tensors: &[NewTensor]) -> Result<(), HeaderError> {
    let mut seen = HashSet::with_capacity(tensors.len());
    if tensors.len() > MAX_TENSORS {
        return Err(HeaderError::TooManyTensors { limit: MAX_TENSORS });
    }
    for NewTensor { name, .. } in tensors {
        check_name(name)?;
        if name == METADATA {
            return Err(HeaderError::ReservedName);
        }
        if !seen.insert(name) {
            return Err(HeaderError::DuplicateName { name: name.clone() });
        }
    }
    Ok(())
}

fn header_bytes(header: &HeaderJson<'_>) -> Result<Vec<u8>, HeaderError> {
    let mut bytes = vec![0; PREFIX_BYTES];
    serde_json::to_writer(&mut bytes, header)
        .map_err(|error| HeaderError::NotJson(error.to_string()))?;
    bytes.resize(bytes.len().next_multiple_of(8), b' ');
    let json_len = (bytes.len() - PREFIX_BYTES) as u64;
    if json_len > MAX_HEADER_BYTES {
        return Err(HeaderError::TooLong {
            limit: MAX_HEADER_BYTES,
            found: json_len,
        });
    }
    bytes[..PREFIX_BYTES].copy_from_slice(&json_len.to_le_bytes());
    Ok(bytes)
}

/// The header as JSON, in data order. The crate's own `Metadata` keeps its text in a hash map, whose
/// order changes from run to run.
struct HeaderJson<'a> {
    tensors: &'a [NewTensor],
    order: &'a [usize],
    ranges: &'a [Range<u64>],
    metadata: &'a BTreeMap<String, String>,
}

#[derive(Serialize)]
struct EntryJson<'a> {
    dtype: Dtype,
    shape: &'a [usize],
    data_offsets: [u64; 2],
}

impl Serialize for HeaderJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.metadata.is_empty() {
            map.serialize_entry(METADATA, self.metadata)?;
        }
        for &i in self.order {
            let (NewTensor { name, dtype, shape }, range) = (&self.tensors[i], &self.ranges[i]);
            let data_offsets = [range.start, range.end];
            map.serialize_entry(
                name,
                &EntryJson {
                    dtype: *dtype,
                    shape,
                    data_offsets,
                },
            )?;
        }
        map.end()
    }
}
