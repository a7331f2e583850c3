use std::fmt;

use super::{Arch, Dims, SfDtype, Ue8m0Cast};

/// A dimension of a scale tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dim {
    /// The outermost of three.
    Groups,
    /// The last but one.
    Rows,
    /// The last.
    Cols,
}

impl Dim {
    /// As PyTorch counts it.
    const fn index(self) -> i32 {
        match self {
            Self::Groups => -3,
            Self::Rows => -2,
            Self::Cols => -1,
        }
    }
}

/// Why DeepGEMM would refuse a scale tensor.
///
/// Where the shape is at fault, `pass` is the one to hand over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TransformError {
    /// A recipe for both operands without saying which one this is.
    OperandMissing,
    /// A recipe for one operand, and an operand beside it.
    OperandGiven,
    /// A recipe with zero rows or columns a scale.
    ZeroGranularity,
    /// Sizes whose product overflows.
    TooLarge,
    /// An element type that is neither F32 nor I32.
    Dtype {
        /// The type.
        found: SfDtype,
        /// What to pass, as F32.
        pass: Dims,
    },
    /// Another number of dimensions than 2, or 3 with groups.
    Dimensions {
        /// The type of the scales.
        dtype: SfDtype,
        /// The number of dimensions, or of strides.
        found: usize,
        /// What to pass.
        pass: Dims,
    },
    /// A size that does not follow from the operand and the recipe.
    Size {
        /// The type of the scales.
        dtype: SfDtype,
        /// Which size.
        dim: Dim,
        /// What it should be.
        expected: usize,
        /// What it is.
        found: usize,
        /// What to pass.
        pass: Dims,
    },
    /// A stride that the kernel does not read.
    Stride {
        /// Which stride.
        dim: Dim,
        /// What it should be, in elements.
        expected: usize,
        /// What it is.
        found: usize,
    },
    /// Block scales that are neither row by row nor column by column without gaps.
    NotContiguous {
        /// Sizes of the scales.
        shape: Dims,
        /// Their strides.
        strides: Dims,
    },
    /// No kernel reads scales of this kind.
    Unknown {
        /// The type of the scales.
        dtype: SfDtype,
        /// Rows of the operand that one covers.
        rows_per_scale: usize,
        /// Columns of the operand that one covers.
        cols_per_scale: usize,
        /// Where the kernel runs.
        arch: Arch,
        /// Whether F32 may be packed.
        ue8m0_cast: Ue8m0Cast,
    },
}

impl fmt::Display for TransformError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OperandMissing => f.write_str(
                "a recipe of three needs the operand; say whether the scales are those of A or B",
            ),
            Self::OperandGiven => {
                f.write_str("a recipe of two is for one operand; leave the operand out")
            }
            Self::ZeroGranularity => {
                f.write_str("the recipe has zero rows or columns a scale; pass at least 1")
            }
            Self::TooLarge => f.write_str("the size of the scales overflows; check the shape"),
            Self::Dtype { found, pass } => {
                write!(f, "`sf` is {found}, expected F32 or I32; pass F32 {pass}")
            }
            Self::Dimensions { dtype, found, pass } => {
                let expected = if pass.groups().is_some() { 3 } else { 2 };
                write!(
                    f,
                    "`sf` has {found} dimensions, expected {expected}; pass {dtype} {pass}"
                )
            }
            Self::Size {
                dtype,
                dim,
                expected,
                found,
                pass,
            } => write!(
                f,
                "`sf` has size({}) = {found}, expected {expected}; pass {dtype} {pass}",
                dim.index()
            ),
            Self::Stride {
                dim,
                expected,
                found,
            } => write!(
                f,
                "`sf` has stride({}) = {found}, expected {expected}; pass scales without gaps in \
                 the order that the recipe asks for",
                dim.index()
            ),
            Self::NotContiguous { shape, strides } => write!(
                f,
                "`sf` {shape} has strides {strides}; pass it contiguous, or transposed and \
                 contiguous"
            ),
            Self::Unknown {
                dtype,
                rows_per_scale,
                cols_per_scale,
                arch,
                ue8m0_cast,
            } => {
                write!(
                    f,
                    "no kernel for {arch} reads {dtype} scales of {rows_per_scale} x \
                     {cols_per_scale} elements"
                )?;
                match (arch, dtype, ue8m0_cast) {
                    (Arch::Sm90, SfDtype::I32, _) => {
                        f.write_str("; packed scales are for SM100, pass F32")
                    }
                    (Arch::Sm100, SfDtype::I32, _) => {
                        f.write_str("; pack them for single rows of 32 or 128 columns")
                    }
                    (Arch::Sm100, _, Ue8m0Cast::Enabled) => {
                        f.write_str("; requantise to 32 or 128 columns a scale")
                    }
                    _ => f.write_str("; requantise to 1 x 128 or 128 x 128"),
                }
            }
        }
    }
}

impl core::error::Error for TransformError {}
