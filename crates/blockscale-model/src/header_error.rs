//! Why a safetensors header is refused.

use safetensors::{Dtype, SafeTensorError};

/// Why a safetensors header is refused.
///
/// The caller knows the file's name and adds it. Offsets and lengths are in bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// No room for the eight bytes of the header length.
    #[error("the file is shorter than 8 bytes: {found}")]
    TooShort {
        /// Length of the file.
        found: u64,
    },
    /// The small text file that Git LFS leaves in place of the data.
    #[error(
        "this is a Git LFS pointer, not the data: fetch it with `git lfs pull`, or download the file"
    )]
    LfsPointer,
    /// The header length is above [`MAX_HEADER_BYTES`](crate::MAX_HEADER_BYTES).
    #[error("header length above the limit: {found} of at most {limit} bytes")]
    TooLong {
        /// The largest length accepted.
        limit: u64,
        /// The length that the file states.
        found: u64,
    },
    /// The header is longer than the file.
    #[error("the file ends inside the header: {found} of {expected} bytes; it was cut short")]
    EndsInsideHeader {
        /// Bytes up to the end of the header.
        expected: u64,
        /// Length of the file.
        found: u64,
    },
    /// The header holds bytes that are not UTF-8.
    #[error("the header is not UTF-8: bad byte at {position}")]
    NotUtf8 {
        /// Position of the first bad byte in the header.
        position: usize,
    },
    /// The header does not parse.
    #[error("the header is not JSON: {0}")]
    NotJson(String),
    /// The header is JSON, but not an object.
    #[error("the header is not an object")]
    NotObject,
    /// A name occurs twice in the header (also where both mean the same bytes).
    #[error("name occurs twice: `{name}`")]
    DuplicateName {
        /// The tensor, or `__metadata__`.
        name: String,
    },
    /// More tensors than [`MAX_TENSORS`](crate::MAX_TENSORS).
    #[error("the header lists more than {limit} tensors; split the file")]
    TooManyTensors {
        /// The most tensors accepted.
        limit: usize,
    },
    /// A name above [`MAX_NAME_BYTES`](crate::MAX_NAME_BYTES).
    #[error("tensor `{tensor}`: its name has {found} bytes, at most {limit} are read")]
    NameTooLong {
        /// The start of the name.
        tensor: String,
        /// The longest name accepted, in bytes.
        limit: usize,
        /// Its length in bytes.
        found: usize,
    },
    /// More axes than [`MAX_AXES`](crate::MAX_AXES).
    #[error("tensor `{tensor}`: its shape has {found} axes, at most {limit} are read")]
    TooManyAxes {
        /// The tensor.
        tensor: String,
        /// The most axes accepted.
        limit: usize,
        /// How many it has.
        found: usize,
    },
    /// `__metadata__` is not an object.
    #[error("`__metadata__` is not an object")]
    MetadataNotObject,
    /// A key occurs twice in `__metadata__`.
    #[error("name occurs twice in `__metadata__`: `{key}`")]
    DuplicateMetadata {
        /// The key.
        key: String,
    },
    /// A value of `__metadata__` is not a string.
    #[error("metadata value is not a string: `{key}` is {found}")]
    MetadataNotText {
        /// The key.
        key: String,
        /// The value's JSON, cut to a readable length.
        found: String,
    },
    /// A tensor's entry is not an object.
    #[error("tensor `{tensor}`: its entry is not an object")]
    EntryNotObject {
        /// The tensor.
        tensor: String,
    },
    /// A tensor's entry lacks a field.
    #[error("tensor `{tensor}`: field `{field}` is missing")]
    MissingField {
        /// The tensor.
        tensor: String,
        /// `dtype`, `shape` or `data_offsets`.
        field: &'static str,
    },
    /// A tensor's entry has a field twice.
    #[error("tensor `{tensor}`: field `{field}` occurs twice")]
    DuplicateField {
        /// The tensor.
        tensor: String,
        /// The field.
        field: String,
    },
    /// A dtype that safetensors does not define.
    #[error("tensor `{tensor}`: unknown dtype {found}")]
    UnknownDtype {
        /// The tensor.
        tensor: String,
        /// The JSON of the dtype, cut to a readable length.
        found: String,
    },
    /// A shape that is not a list of whole numbers from 0 up.
    #[error("tensor `{tensor}`: bad shape {found}, expected a list of whole numbers from 0 up")]
    BadShape {
        /// The tensor.
        tensor: String,
        /// The JSON of the shape, cut to a readable length.
        found: String,
    },
    /// Offsets that are not two whole numbers from 0 up.
    #[error("tensor `{tensor}`: bad offsets {found}, expected two whole numbers from 0 up")]
    BadOffsets {
        /// The tensor.
        tensor: String,
        /// The JSON of the offsets, cut to a readable length.
        found: String,
    },
    /// A range that ends before it begins.
    #[error("tensor `{tensor}`: end before begin: {begin}..{end}")]
    EndBeforeBegin {
        /// The tensor.
        tensor: String,
        /// Begin, from the start of the data.
        begin: u64,
        /// End, from the start of the data.
        end: u64,
    },
    /// The size that follows from shape and dtype does not fit 64 bits.
    #[error("tensor `{tensor}`: size overflows: shape {shape:?} of {dtype}")]
    SizeOverflows {
        /// The tensor.
        tensor: String,
        /// The dtype.
        dtype: Dtype,
        /// The shape.
        shape: Vec<usize>,
    },
    /// Elements of less than a byte that do not fill whole bytes.
    #[error("tensor `{tensor}`: {elements} elements of {dtype} do not fill whole bytes")]
    PartialByte {
        /// The tensor.
        tensor: String,
        /// The dtype.
        dtype: Dtype,
        /// How many elements the shape has.
        elements: u64,
    },
    /// The range's length is not the one that follows from shape and dtype.
    #[error(
        "tensor `{tensor}`: {found} bytes for {elements} elements of {dtype}, expected {expected}"
    )]
    SizeMismatch {
        /// The tensor.
        tensor: String,
        /// The dtype.
        dtype: Dtype,
        /// How many elements the shape has.
        elements: u64,
        /// Bytes that shape and dtype ask for.
        expected: u64,
        /// Bytes that the range holds.
        found: u64,
    },
    /// Data before the first tensor that belongs to none.
    #[error("unused bytes before tensor `{tensor}`: {bytes}")]
    HoleAtStart {
        /// The first tensor.
        tensor: String,
        /// How many bytes.
        bytes: u64,
    },
    /// Data between two tensors that belongs to none.
    #[error("unused bytes between tensors `{before}` and `{after}`: {bytes}")]
    Hole {
        /// The tensor in front.
        before: String,
        /// The tensor behind.
        after: String,
        /// How many bytes.
        bytes: u64,
    },
    /// Two tensors share bytes.
    #[error("ranges overlap: tensors `{first}` and `{second}` share bytes from {at}")]
    Overlap {
        /// The tensor that begins first.
        first: String,
        /// The other.
        second: String,
        /// Where the second begins, from the start of the data.
        at: u64,
    },
    /// The file is shorter than its tensors.
    #[error(
        "file ends early: {found} of {expected} data bytes, tensor `{tensor}` is cut; download it again"
    )]
    EndsEarly {
        /// The first tensor that is not there as a whole.
        tensor: String,
        /// Bytes that the tensors need.
        expected: u64,
        /// Bytes after the header.
        found: u64,
    },
    /// The file is longer than its tensors.
    #[error("{bytes} byte{} after the last tensor", if *.bytes == 1 { "" } else { "s" })]
    TrailingBytes {
        /// How many.
        bytes: u64,
    },
    /// A tensor to be written has the name that the format keeps for metadata.
    #[error("a tensor cannot be called `__metadata__`: the format keeps that name")]
    ReservedName,
    /// Crate `safetensors` refuses what passed the checks above.
    #[error("refused by crate safetensors")]
    Rejected(#[source] SafeTensorError),
}
