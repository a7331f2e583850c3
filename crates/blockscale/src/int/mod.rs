//! Integers in groups: INT2 to INT8 weights with a scale, and perhaps a zero point, for each group
//! of columns.
//!
//! A weight is `s * (q - z)`: `q` the stored integer, `s` and `z` those of its group. Libraries agree
//! on that and on nothing else: which way the matrix lies, how integers share words, what is added
//! to them, where zero points are. An [`IntLayout`] names one library's way:
//!
//! | layout | codes | scales | zero points | stored |
//! |--------|-------|--------|-------------|--------|
//! | [`AwqGemm`](IntLayout::AwqGemm) | `I32[K, N/8]` | `[K/G, N]` | `I32[K/G, N/8]` | `q`, in the order 0, 2, 4, 6, 1, 3, 5, 7 of rows |
//! | [`Gptq`](IntLayout::Gptq) | `I32[K*b/32, N]` | `[K/G, N]` | `I32[K/G, N*b/32]` | `q`; zero points less 1 |
//! | [`GptqV2`](IntLayout::GptqV2) | `I32[K*b/32, N]` | `[K/G, N]` | `I32[K/G, N*b/32]` | `q` |
//! | [`CompressedTensors`](IntLayout::CompressedTensors) | `I32[N, K*b/32]` | `[N, K/G]` | `I32[N*b/32, K/G]` | `q + 2^(b-1)`, also zero points |
//! | [`Modelopt`](IntLayout::Modelopt) | `U8[N/2, K]` | `[N, K/G]` | none | two's complement, the even row low |
//! | [`Mlx`](IntLayout::Mlx) | `U32[N, K*b/32]` | `[N, K/G]` | biases `[N, K/G]` | `q`; a weight is `s * q + bias` |
//!
//! `N` is the rows of the weight (outputs), `K` its columns (inputs), `G` the columns of a group and
//! `b` the bits; sizes round up. All is little-endian, scales and biases are of any
//! [`ScaleElement`](crate::ScaleElement) that is a float. Since some layouts keep the columns
//! outermost, functions here take the whole tensor, and [`decode_rows`] a range of rows to decode.

mod decode;
mod encode;
mod layout;
mod steps;

use std::fmt;

pub use decode::decode_rows;
pub use encode::{IntRule, encode};
pub use layout::{IntFormat, IntLayout};
pub use steps::IntSteps;

use crate::LenMismatch;

/// The bytes of a weight in groups of integers.
#[derive(Clone, Copy, Debug)]
pub struct IntParts<'a> {
    /// Codes, [`IntFormat::code_bytes`] of them.
    pub codes: &'a [u8],
    /// Scales, [`IntFormat::scale_bytes`] of them.
    pub scales: &'a [u8],
    /// Zero points, or MLX' biases, [`IntFormat::zero_bytes`] of them. Without, the zero point is
    /// the middle of the codes, `2^(b-1)` in codes from 0.
    pub zeros: Option<&'a [u8]>,
    /// The group of each column as little-endian I32, one for each column, where a library has
    /// sorted the columns before grouping them (`g_idx` of GPTQ and compressed-tensors).
    pub groups: Option<&'a [u8]>,
}

/// The bytes of a weight in groups of integers, to be written.
#[derive(Debug)]
pub struct IntPartsMut<'a> {
    /// Codes, [`IntFormat::code_bytes`] of them.
    pub codes: &'a mut [u8],
    /// Scales, [`IntFormat::scale_bytes`] of them.
    pub scales: &'a mut [u8],
    /// Zero points, or MLX' biases, [`IntFormat::zero_bytes`] of them.
    pub zeros: Option<&'a mut [u8]>,
}

/// Why groups of integers could not be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum IntError {
    /// A slice is not as long as the shape asks for.
    Len(LenMismatch),
    /// The layout has no integers of this width.
    Bits {
        /// The layout.
        layout: IntLayout,
        /// The bits asked for.
        bits: u8,
    },
    /// The layout cannot do without zero points, or has none.
    Zeros {
        /// The layout.
        layout: IntLayout,
    },
    /// The rows asked for are not in the weight.
    Rows {
        /// The end of the range.
        end: usize,
        /// The rows of the weight.
        rows: usize,
    },
    /// An entry of the groups of columns that names no group.
    Group {
        /// The column.
        col: usize,
        /// The group that it names.
        found: i32,
        /// The number of groups.
        groups: usize,
    },
}

impl fmt::Display for IntError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Len(error) => error.fmt(f),
            Self::Bits { layout, bits } => write!(
                f,
                "`{layout}` has no integers of {bits} bits; it takes {}",
                layout.widths()
            ),
            Self::Zeros {
                layout: IntLayout::Modelopt,
            } => f.write_str("`ModelOpt INT4_AWQ` has no zero points; quantise symmetrically"),
            Self::Zeros { layout } => write!(f, "`{layout}` needs its zero points or biases"),
            Self::Rows { end, rows } => {
                write!(f, "row {end} is past the end of a weight of {rows} rows")
            }
            Self::Group { col, found, groups } => write!(
                f,
                "column {col} is said to be in group {found}, and there are {groups}; check that \
                 the group index belongs to this weight"
            ),
        }
    }
}

impl core::error::Error for IntError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Len(error) => Some(error),
            _ => None,
        }
    }
}

impl From<LenMismatch> for IntError {
    fn from(error: LenMismatch) -> Self {
        Self::Len(error)
    }
}
