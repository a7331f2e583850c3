//! Scaled forms of weights, as far as configs tell them apart.

use std::fmt;

use blockscale::format::{Format, ScaleElement};
use blockscale::int::{IntFormat, IntLayout};

use super::PlannedWeight;
use crate::catalog::{Encoding, PartRole};

/// The form of a written weight that has scales. Types of float scales are not told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A block format.
    Blocks(Format),
    /// Integers in groups.
    Integers(IntForm),
}

/// Integers in groups, and what lies beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IntForm {
    pub(super) format: IntFormat,
    /// Groups have zero points.
    pub(super) zeros: bool,
    /// An index names the group of each column.
    pub(super) sorted: bool,
}

impl Form {
    /// The form of a weight that is written in this encoding.
    pub(super) fn of(weight: &PlannedWeight, encoding: &Encoding) -> Option<Self> {
        match *encoding {
            Encoding::Block(format) => Some(Self::Blocks(Format {
                scale: alike(format.scale),
                ..format
            })),
            Encoding::Grouped(format) => Some(Self::Integers(IntForm {
                format: IntFormat {
                    scale: alike(format.scale),
                    ..format
                },
                zeros: weight.tensor(PartRole::ZeroPoint).is_some(),
                sorted: weight.tensor(PartRole::GroupIndex).is_some(),
            })),
            Encoding::Plain(_) | Encoding::Ggml(_) => None,
        }
    }

    /// Whether a config can be written for it; for others the source's stays.
    pub(super) fn is_described(&self) -> bool {
        match self {
            Self::Blocks(_) => true,
            Self::Integers(form) => form.format.layout == IntLayout::CompressedTensors,
        }
    }
}

/// F32 in place of every type of float scales.
fn alike(scale: ScaleElement) -> ScaleElement {
    match scale {
        ScaleElement::Bf16 | ScaleElement::F16 => ScaleElement::F32,
        scale => scale,
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocks(format) => write!(f, "{format}"),
            Self::Integers(form) => {
                write!(f, "{}", Encoding::Grouped(form.format))?;
                f.write_str(if form.zeros { " with zero points" } else { "" })?;
                f.write_str(if form.sorted {
                    " of sorted columns"
                } else {
                    ""
                })
            }
        }
    }
}
