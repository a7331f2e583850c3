//! What a runtime check says.

use std::fmt;

use blockscale::layout::{LayoutError, ScaleLayout};
use serde::{Serialize, Serializer};

/// How a checkpoint reads in the memory of a runtime.
#[derive(Clone, Debug, Serialize)]
pub struct RuntimeReport {
    /// Name of the runtime.
    pub runtime: &'static str,
    /// Every operand that was baked and read back.
    pub weights: Vec<CheckedWeight>,
    /// Block-scaled weights that were not, and why.
    pub skipped: Vec<SkippedWeight>,
}

impl RuntimeReport {
    /// Whether every element that was read is the checkpoint's. A check that found nothing to read
    /// proves nothing and does not pass.
    pub fn passed(&self) -> bool {
        !self.weights.is_empty() && self.weights.iter().all(|w| w.difference.is_none())
    }

    pub(super) fn skip(&mut self, weights: Vec<String>, reason: &SkipReason) {
        let skipped = weights.into_iter().map(|weight| SkippedWeight {
            weight,
            reason: reason.clone(),
        });
        self.skipped.extend(skipped);
    }
}

/// An operand that was baked and read back.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckedWeight {
    /// The weights it is made of, the upper rows first.
    pub weights: Vec<String>,
    /// Format in the checkpoint.
    pub format: String,
    /// Name of the layout that the kernel reads.
    pub layout: &'static str,
    /// Number of matrices: groups or experts, else 1.
    pub matrices: usize,
    /// Rows and columns of each, in elements.
    pub shape: [usize; 2],
    /// How much of it was baked at a time.
    pub baked: Baked,
    /// Rows compared, in all matrices together; up to the first difference where there is one.
    pub rows: usize,
    /// The first element that the kernel does not read as stored.
    pub difference: Option<RuntimeDifference>,
}

/// How much of an operand was baked at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Baked {
    /// All of it, as the runtime does.
    Whole,
    /// So many of its matrices; each is laid out by itself.
    Matrices(usize),
    /// Nothing: the file holds it as the kernel reads it, and it was read from there.
    Stored,
    /// The tiles of so many rows that hold a sampled row; the layout moves nothing across tiles.
    Tiles(usize),
}

impl fmt::Display for Baked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole => f.pad("whole"),
            Self::Stored => f.pad("as stored"),
            Self::Matrices(1) => f.pad("1 matrix at a time"),
            Self::Matrices(count) => write!(f, "{count} matrices at a time"),
            Self::Tiles(rows) => write!(f, "{rows} rows at a time"),
        }
    }
}

/// An element that a kernel does not read as the checkpoint stores it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuntimeDifference {
    /// The weight.
    pub weight: String,
    /// Matrix of the weight.
    pub matrix: usize,
    /// Row of that matrix.
    pub row: usize,
    /// Column.
    pub col: usize,
    /// What the checkpoint decodes to.
    pub stored: f32,
    /// What the kernel reads.
    pub read: f32,
}

/// A block-scaled weight that was not checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SkippedWeight {
    /// The weight.
    pub weight: String,
    /// Why.
    pub reason: SkipReason,
}

/// Why a runtime cannot take a weight as it is.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SkipReason {
    /// The kernel multiplies with another format.
    #[error("the kernel multiplies with {expected}, this is {found}")]
    Format {
        /// Format of the kernel.
        expected: String,
        /// Format of the weight.
        found: String,
    },
    /// The file holds it in a layout that this kernel does not read; the runtime would lay it out once more.
    #[error(
        "the file holds it in layout `{layout}`, and the runtime would lay it out once more; check \
         the checkpoint that it was made from"
    )]
    LaidOut {
        /// The layout.
        layout: ScaleLayout,
    },
    /// The global scale divides, and the kernel multiplies.
    #[error(
        "the global scale divides and the kernel multiplies, with a reciprocal that is rounded; \
         convert with --to nvfp4 --dialect modelopt to have it on disk"
    )]
    Divisor,
    /// F32 scales that packed exponents cannot hold.
    #[error(
        "the kernel reads powers of two as scales, and these are others; requantise with \
         `convert --to fp8-block-ue8m0`, do not round the scales alone"
    )]
    NotPowerOfTwo,
    /// Gate and up of an expert are one operand, and one of them is not there.
    #[error("the kernel reads it as one with `{name}`, which is missing")]
    NoSibling {
        /// Name of the other.
        name: String,
    },
    /// Gate and up of an expert are one operand, and they are unlike.
    #[error("the kernel reads it as one with `{name}`, which has another format or shape")]
    OtherSibling {
        /// Name of the other.
        name: String,
    },
    /// `config.json` does not say into how many groups a grouped projection falls.
    #[error("the kernel reads it in groups, and `config.json` has no valid `o_groups`")]
    NoGroups,
    /// Blocks of 128 rows do not fall together with groups.
    #[error("{rows} rows in {groups} groups are no whole blocks of 128 rows a group")]
    GroupRows {
        /// Rows of all groups together.
        rows: usize,
        /// Number of groups.
        groups: usize,
    },
    /// A weight without an element.
    #[error("it has no elements")]
    Empty,
    /// Gate and up lie in it in an order that nothing tells.
    #[error(
        "nothing says in which order it holds the rows of gate and up; pass --gate-up gate-first, \
         up-first or interleaved, as the model has them"
    )]
    UnknownRowOrder,
    /// The layout does not take it.
    #[error("{0}")]
    Layout(LayoutError),
}

impl Serialize for SkipReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
