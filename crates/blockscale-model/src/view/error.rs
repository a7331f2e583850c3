//! Why part of a weight cannot be looked at.

use blockscale::LenMismatch;
use blockscale::ggml::GgmlError;
use blockscale::int::IntError;
use blockscale::layout::LayoutError;
use safetensors::Dtype;

use super::Region;
use crate::catalog::{Encoding, PartRole};
use crate::interpret::Interpretation;

/// Why part of a weight cannot be looked at.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// A region that the weight does not have.
    #[error("`{tensor}` has {count} matrices of {rows} rows, no rows {:?} of matrix {}", region.rows, region.matrix)]
    Outside {
        /// The weight.
        tensor: String,
        /// What was asked for.
        region: Region,
        /// Its matrices.
        count: usize,
        /// Rows of each.
        rows: usize,
    },
    /// A weight that may have another part.
    #[error(
        "`{tensor}` may have a part in one of {unread} shards whose headers were not read; read them first"
    )]
    Unsettled {
        /// The weight.
        tensor: String,
        /// Shards that were not read.
        unread: usize,
    },
    /// Integers, booleans and the like.
    #[error("`{tensor}` is {dtype}, which is no weight to be shown")]
    NotNumbers {
        /// The tensor.
        tensor: String,
        /// Its type.
        dtype: Dtype,
    },
    /// A reading that the format has no room for.
    #[error("`{tensor}` is {encoding}, which cannot be read with {reading}")]
    Reading {
        /// The weight.
        tensor: String,
        /// How it is stored.
        encoding: Encoding,
        /// What was asked for.
        reading: Interpretation,
    },
    /// A weight of which nothing is open.
    #[error("`{tensor}` is {encoding}, whose bytes are where the file says")]
    NotJudged {
        /// The weight.
        tensor: String,
        /// How it is stored.
        encoding: Encoding,
    },
    /// No plane of block scales.
    #[error("`{tensor}` is {encoding}, which has no plane of block scales")]
    NoScales {
        /// The weight.
        tensor: String,
        /// How it is stored.
        encoding: Encoding,
    },
    /// Another number of byte strings than pieces.
    #[error("`{tensor}`: {found} pieces were given, {expected} were asked for")]
    Pieces {
        /// The weight.
        tensor: String,
        /// Pieces that it asked for.
        expected: usize,
        /// Pieces that were given.
        found: usize,
    },
    /// A piece of another length.
    #[error("`{tensor}`: {found} bytes were given of its {role:?}, {expected} were asked for")]
    PieceLength {
        /// The weight.
        tensor: String,
        /// What the bytes are.
        role: PartRole,
        /// Bytes that were asked for.
        expected: u64,
        /// Bytes that were given.
        found: u64,
    },
    /// A range that the tensor does not have: its shape and its weight's do not fit.
    #[error("`{tensor}` has {found} bytes; its weight needs {expected}")]
    OutsideTensor {
        /// The tensor.
        tensor: String,
        /// Bytes that are needed.
        expected: u64,
        /// Bytes that it has.
        found: u64,
    },
    /// More bytes than fit memory.
    #[error("`{tensor}`: {bytes} bytes are too many to be looked at at once; choose fewer rows")]
    TooLarge {
        /// The weight.
        tensor: String,
        /// Its bytes.
        bytes: u64,
    },
    /// Bytes that are in no such layout.
    #[error("`{tensor}`: {problem}")]
    Layout {
        /// The weight.
        tensor: String,
        /// What is wrong.
        problem: LayoutError,
    },
    /// Codes or scales that do not fit the shape.
    #[error("`{tensor}`: {problem}")]
    Length {
        /// The weight.
        tensor: String,
        /// What is wrong.
        problem: LenMismatch,
    },
    /// Groups of integers that do not fit the shape.
    #[error("`{tensor}`: {problem}")]
    Integers {
        /// The weight.
        tensor: String,
        /// What is wrong.
        problem: IntError,
    },
    /// The file states another shape than its tensors have.
    #[error("`{tensor}`: the file states the shape {stated:?}, the tensors have {found:?}")]
    StatedShape {
        /// The weight.
        tensor: String,
        /// What the file states.
        stated: Vec<i64>,
        /// What follows from the tensors.
        found: Vec<usize>,
    },
    /// Blocks of ggml that do not fit the shape.
    #[error("`{tensor}`: {problem}")]
    Ggml {
        /// The weight.
        tensor: String,
        /// What is wrong.
        problem: GgmlError,
    },
}
