//! Why a GGUF header is refused.

use super::ggml_type::GgmlType;
use super::value::Value;

/// Why a GGUF header is refused.
///
/// The caller knows the file's name and adds it. Offsets and lengths are in bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GgufError {
    /// The file begins with something else.
    #[error("not a GGUF file: it begins with `{}`, expected `GGUF`", .found.escape_ascii())]
    NotGguf {
        /// The first four bytes.
        found: [u8; 4],
    },
    /// The small text file that Git LFS leaves in place of the data.
    #[error(
        "this is a Git LFS pointer, not the data: fetch it with `git lfs pull`, or download the file"
    )]
    LfsPointer,
    /// The numbers in the file are big-endian.
    #[error("the file is big-endian, and only little-endian GGUF is read: convert its byte order")]
    BigEndian,
    /// A version of the format that is not read.
    #[error("GGUF version {found} is not supported, only 2 and 3 are")]
    UnsupportedVersion {
        /// The version that the file states.
        found: u32,
    },
    /// The header is longer than the file.
    #[error(
        "the file ends inside the header: {found} of at least {expected} bytes; it was cut short or \
         is damaged"
    )]
    EndsInsideHeader {
        /// Bytes up to the end of what was being read.
        expected: u64,
        /// Length of the file.
        found: u64,
    },
    /// The header is above [`MAX_HEADER_BYTES`](super::MAX_HEADER_BYTES).
    #[error("the header is above the limit: at least {found} of at most {limit} bytes")]
    TooLong {
        /// The longest header accepted.
        limit: u64,
        /// Bytes up to the end of what was being read.
        found: u64,
    },
    /// More metadata than [`MAX_METADATA_ENTRIES`](super::MAX_METADATA_ENTRIES).
    #[error("metadata entries above the limit: {found} of at most {limit}")]
    TooManyEntries {
        /// The most entries accepted.
        limit: u64,
        /// The number that the file states.
        found: u64,
    },
    /// More tensors than [`MAX_TENSORS`](crate::MAX_TENSORS).
    #[error("tensors above the limit: {found} of at most {limit}")]
    TooManyTensors {
        /// The most tensors accepted.
        limit: usize,
        /// The number that the file states.
        found: u64,
    },
    /// A key or a name above [`MAX_NAME_BYTES`](crate::MAX_NAME_BYTES).
    #[error("a key or a name at byte {position} has {found} bytes, at most {limit} are read")]
    NameTooLong {
        /// Where it begins in the file.
        position: u64,
        /// The longest name accepted, in bytes.
        limit: usize,
        /// The length that the file states.
        found: u64,
    },
    /// A key, a name or a text that is not UTF-8.
    #[error("text in the header is not UTF-8: bad byte at {position}")]
    NotUtf8 {
        /// Position of the first bad byte in the file.
        position: u64,
    },
    /// A metadata key occurs twice.
    #[error("metadata key occurs twice: `{key}`")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// A metadata value of a type that the format does not define.
    #[error("metadata `{key}`: unknown value type {id}")]
    UnknownValueKind {
        /// The key.
        key: String,
        /// The type's id.
        id: u32,
    },
    /// A boolean that is neither 0 nor 1.
    #[error("metadata `{key}`: boolean is {found}, expected 0 or 1")]
    BadBool {
        /// The key.
        key: String,
        /// The byte.
        found: u8,
    },
    /// Arrays in arrays, deeper than [`MAX_ARRAY_DEPTH`](super::MAX_ARRAY_DEPTH).
    #[error("metadata `{key}`: arrays lie more than {limit} deep in each other")]
    NestedTooDeep {
        /// The key.
        key: String,
        /// The depth accepted.
        limit: usize,
    },
    /// `general.alignment` is not a power of two of type U32.
    #[error(
        "metadata `general.alignment`: {found} of type {}, expected a power of two of type U32",
        .found.kind()
    )]
    BadAlignment {
        /// The value.
        found: Value,
    },
    /// Two tensors have one name.
    #[error("tensor name occurs twice: `{tensor}`")]
    DuplicateName {
        /// The name.
        tensor: String,
    },
    /// More axes than [`MAX_DIMS`](super::MAX_DIMS).
    #[error("tensor `{tensor}`: {found} axes, expected at most {limit}")]
    TooManyDims {
        /// The tensor.
        tensor: String,
        /// The most axes that the format allows.
        limit: u32,
        /// Axes that the file states.
        found: u32,
    },
    /// A type that is not in [`GgmlType`].
    #[error(
        "tensor `{tensor}`: unknown type id {id}; it was dropped from the format, or is newer than \
         this reader"
    )]
    UnknownType {
        /// The tensor.
        tensor: String,
        /// The type's id.
        id: u32,
    },
    /// Rows that are not whole blocks.
    #[error(
        "tensor `{tensor}`: rows of {row} elements are no whole blocks of {kind}, which hold {}",
        .kind.block_elements()
    )]
    PartialBlock {
        /// The tensor.
        tensor: String,
        /// Its type.
        kind: GgmlType,
        /// Elements along the contiguous axis.
        row: u64,
    },
    /// The size that follows from shape and type does not fit.
    #[error("tensor `{tensor}`: size overflows: shape {shape:?} of {kind}")]
    SizeOverflows {
        /// The tensor.
        tensor: String,
        /// Its type.
        kind: GgmlType,
        /// Its shape, contiguous axis last.
        shape: Vec<u64>,
    },
    /// The end of the data does not fit 64 bits.
    #[error("tensor `{tensor}`: offset overflows: {bytes} bytes from {offset}")]
    OffsetOverflows {
        /// The tensor.
        tensor: String,
        /// Offset, from the start of the data.
        offset: u64,
        /// Bytes of the tensor.
        bytes: u64,
    },
    /// An offset that is not a multiple of the alignment.
    #[error("tensor `{tensor}`: offset {offset} is not a multiple of the alignment {alignment}")]
    Misaligned {
        /// The tensor.
        tensor: String,
        /// The file's alignment.
        alignment: u64,
        /// Offset, from the start of the data.
        offset: u64,
    },
    /// Two tensors share bytes.
    #[error("ranges overlap: tensors `{first}` and `{second}` share bytes from {at}")]
    Overlap {
        /// The tensor that begins first.
        first: String,
        /// The other.
        second: String,
        /// Where the second begins in the file.
        at: u64,
    },
    /// The file is shorter than its tensors.
    #[error(
        "file ends early: {found} of {expected} bytes, tensor `{tensor}` is cut; download it again"
    )]
    EndsEarly {
        /// The first tensor that is not there as a whole.
        tensor: String,
        /// Bytes up to the end of the last tensor.
        expected: u64,
        /// Length of the file.
        found: u64,
    },
}
