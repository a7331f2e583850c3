use std::fmt;

use super::ScaleLayout;
use crate::{LenMismatch, ScaleElement};

/// Why bytes could not be put into a layout, or taken out of one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum LayoutError {
    /// A slice is not as long as the shape asks for.
    Len(LenMismatch),
    /// The sizes that follow from the shape are more than any slice can hold.
    TooLarge {
        /// The layout asked for.
        layout: ScaleLayout,
    },
    /// The bytes are in a runtime's layout already; a second one on top would scramble them.
    AlreadyApplied {
        /// The layout they are in.
        found: ScaleLayout,
        /// The layout asked for.
        asked: ScaleLayout,
    },
    /// The layout has no place for scales of this type.
    Element {
        /// The layout asked for.
        layout: ScaleLayout,
        /// The type of the scales.
        found: ScaleElement,
    },
    /// The kernel works on whole groups of rows, and these are none.
    Rows {
        /// Name of the layout.
        layout: &'static str,
        /// What the number of rows must be a multiple of.
        multiple: usize,
        /// The number of rows.
        found: usize,
    },
    /// An F32 scale that is not a power of two from 2^-127 to 2^127 was to become UE8M0.
    NotPowerOfTwo {
        /// Which scale, counted row by row.
        index: usize,
        /// Its value.
        value: f32,
    },
    /// A scale that the layout's number format has no code for.
    Scale {
        /// The layout asked for.
        layout: ScaleLayout,
        /// Which scale, counted row by row.
        index: usize,
        /// Its E4M3 code.
        code: u8,
    },
    /// Rows that share a block hold unlike scales, so these bytes did not come from block scales.
    RowsDiffer {
        /// The matrix of the stack.
        matrix: usize,
        /// The row that differs from the first of its block.
        row: usize,
        /// The column of the scale.
        col: usize,
    },
}

impl fmt::Display for LayoutError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Len(error) => error.fmt(f),
            Self::TooLarge { layout } => {
                write!(
                    f,
                    "the size in layout `{layout}` overflows; check the shape"
                )
            }
            Self::AlreadyApplied { found, asked } => write!(
                f,
                "the bytes are in layout `{found}` already and cannot be put into `{asked}`; undo \
                 `{found}` first"
            ),
            Self::Element { layout, found } => write!(
                f,
                "layout `{layout}` holds {} scales, found {found}; convert the scales first",
                layout.scale_names()
            ),
            Self::Rows {
                layout,
                multiple,
                found,
            } => write!(
                f,
                "layout `{layout}` needs a multiple of {multiple} rows, found {found}; pad the \
                 weight and its scales with rows of zeros first"
            ),
            Self::NotPowerOfTwo { index, value } => write!(
                f,
                "scale {index} is {value:e} ({:#010x}), which is not a power of two that UE8M0 \
                 holds; round the scales up and requantise the weight, do not drop the mantissa",
                value.to_bits()
            ),
            Self::Scale {
                layout,
                index,
                code,
            } => write!(
                f,
                "scale {index} is E4M3 {code:#04x}, which is negative or NaN and has no code in \
                 layout `{layout}`"
            ),
            Self::RowsDiffer { matrix, row, col } => write!(
                f,
                "matrix {matrix}: row {row} has another scale in column {col} than the first row \
                 of its block; these are scales of single rows, not of blocks of 128"
            ),
        }
    }
}

impl core::error::Error for LayoutError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Len(error) => Some(error),
            _ => None,
        }
    }
}

impl From<LenMismatch> for LayoutError {
    fn from(error: LenMismatch) -> Self {
        Self::Len(error)
    }
}
