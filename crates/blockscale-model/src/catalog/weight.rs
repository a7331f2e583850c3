//! A logical weight and the tensors that it is made of.

use std::fmt;

use blockscale::format::{Format, Shape};
use blockscale::ggml::GgmlType;
use blockscale::int::IntFormat;
use blockscale::layout::ScaleLayout;
use safetensors::Dtype;
use serde::{Deserialize, Serialize};

use super::row_facts::Member;
use super::row_order::{Axes, GateUp};

/// Index of a tensor in [`Checkpoint::tensors`](crate::checkpoint::Checkpoint::tensors).
pub type TensorId = usize;

/// How the numbers of a weight are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// One number per element, no scale.
    Plain(Dtype),
    /// Codes with block scales.
    Block(Format),
    /// Integers in groups, each with a scale and perhaps a zero point or a bias.
    Grouped(IntFormat),
    /// Blocks of ggml, codes and scales in one. Types without blocks are [`Plain`](Self::Plain).
    Ggml(GgmlType),
}

impl Encoding {
    /// The block format, if it is one.
    pub fn format(&self) -> Option<&Format> {
        match self {
            Self::Block(format) => Some(format),
            _ => None,
        }
    }

    /// Whether the stored numbers are floats without a scale.
    pub fn is_plain_float(&self) -> bool {
        matches!(self, Self::Plain(Dtype::F32 | Dtype::BF16 | Dtype::F16))
    }

    /// Whether the numbers come out of scales: everything but [`Plain`](Self::Plain).
    pub fn is_scaled(&self) -> bool {
        !matches!(self, Self::Plain(_))
    }

    /// Whether the weight can be decoded: it has scales, or its numbers are floats.
    pub fn is_number(&self) -> bool {
        self.is_scaled() || self.is_plain_float()
    }
}

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(dtype) => write!(f, "{dtype}"),
            Self::Block(format) => write!(f, "{format}"),
            Self::Grouped(format) => {
                write!(f, "INT{} ", format.bits)?;
                match format.group_cols {
                    0 => f.write_str("per channel")?,
                    cols => write!(f, "group {cols}")?,
                }
                write!(f, " ({})", format.layout)
            }
            Self::Ggml(kind) => write!(f, "GGUF {kind}"),
        }
    }
}

/// What a tensor is to its weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartRole {
    /// Element codes, or plain numbers.
    Codes,
    /// One scale per block.
    BlockScale,
    /// Second-level scale of the whole tensor.
    GlobalScale,
    /// Scale of the activations that this weight meets; no part of its value.
    InputScale,
    /// Zero points of groups of integers; MLX' biases.
    ZeroPoint,
    /// The group of each column, where columns were sorted before they were grouped.
    GroupIndex,
    /// Rows and columns as numbers, beside codes whose shape does not show them.
    StatedShape,
}

/// A tensor that belongs to a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub role: PartRole,
    /// Which tensor it is.
    pub tensor: TensorId,
}

/// A logical weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Weight {
    /// Name of the tensor that holds its codes; `X.weight` also where the
    /// checkpoint says `X.weight_packed`.
    pub name: String,
    /// Shape in elements (an FP4 weight counts two per byte).
    pub shape: Vec<usize>,
    /// How it is stored.
    pub encoding: Encoding,
    /// The tensors it is made of, codes first.
    pub parts: Vec<Part>,
    /// The order of its codes and scales: linear, unless the file says otherwise.
    pub layout: ScaleLayout,
    /// Whether it holds gate and up in one, and in which order: of its rows, or, in a bias, along its
    /// last axis.
    pub gate_up: GateUp,
    /// The axes of its matrices in the file. [`shape`](Self::shape) is `[.., outputs, inputs]` either way.
    pub axes: Axes,
    /// The weights that were put on top of each other in it, where the file says so.
    pub members: Vec<Member>,
}

/// A weight seen as equal matrices over its last two axes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Matrices {
    /// Number of matrices: the product of all leading axes.
    pub count: usize,
    /// Shape of each. A vector is one row; a scalar is 1x1.
    pub shape: Shape,
}

impl Matrices {
    /// Views a tensor shape as matrices.
    pub fn of(shape: &[usize]) -> Self {
        match *shape {
            [] => Self {
                count: 1,
                shape: Shape::new(1, 1),
            },
            [cols] => Self {
                count: 1,
                shape: Shape::new(1, cols),
            },
            [ref lead @ .., rows, cols] => Self {
                count: lead.iter().product(),
                shape: Shape::new(rows, cols),
            },
        }
    }

    /// Rows of all matrices together.
    pub fn total_rows(&self) -> usize {
        self.count * self.shape.rows
    }
}

impl Weight {
    /// A weight in rows, as most are; what holds gate and up in one is settled by the catalog.
    pub(crate) fn new(
        name: String,
        shape: Vec<usize>,
        encoding: Encoding,
        parts: Vec<Part>,
    ) -> Self {
        Self {
            name,
            shape,
            encoding,
            parts,
            layout: ScaleLayout::Linear,
            gate_up: GateUp::Apart,
            axes: Axes::OutIn,
            members: Vec::new(),
        }
    }

    /// The tensor of that role.
    pub fn part(&self, role: PartRole) -> Option<TensorId> {
        self.parts.iter().find(|p| p.role == role).map(|p| p.tensor)
    }

    /// The tensor that holds the codes.
    pub fn codes(&self) -> TensorId {
        self.parts[0].tensor
    }

    /// The weight as matrices over its last two axes.
    pub fn matrices(&self) -> Matrices {
        Matrices::of(&self.shape)
    }

    /// Number of elements.
    pub fn elements(&self) -> u64 {
        self.shape.iter().map(|&n| n as u64).product()
    }

    /// Name without a final `.weight`: the module it belongs to.
    pub fn module(&self) -> &str {
        module_of(&self.name)
    }
}

/// Name without a final `.weight`.
pub fn module_of(name: &str) -> &str {
    name.strip_suffix(".weight").unwrap_or(name)
}
