use std::fmt;

use super::TransformError;

/// Sizes or strides of a matrix, or of a stack of them with one for each group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dims {
    groups: Option<usize>,
    rows: usize,
    cols: usize,
}

impl Dims {
    /// Of a matrix.
    pub const fn two(rows: usize, cols: usize) -> Self {
        Self {
            groups: None,
            rows,
            cols,
        }
    }

    /// Of a stack.
    pub const fn three(groups: usize, rows: usize, cols: usize) -> Self {
        Self {
            groups: Some(groups),
            rows,
            cols,
        }
    }

    /// The outermost of three, `None` of two.
    pub const fn groups(self) -> Option<usize> {
        self.groups
    }

    /// The last but one: rows of the operand, `size(-2)` in the library.
    pub const fn rows(self) -> usize {
        self.rows
    }

    /// The last: along K, `size(-1)` in the library.
    pub const fn cols(self) -> usize {
        self.cols
    }
}

impl fmt::Display for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.groups {
            None => write!(f, "({}, {})", self.rows, self.cols),
            Some(groups) => write!(f, "({groups}, {}, {})", self.rows, self.cols),
        }
    }
}

/// Element type of a scale tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SfDtype {
    /// 32-bit float.
    F32,
    /// Four UE8M0 in a 32-bit integer.
    I32,
    /// bfloat16, never accepted.
    Bf16,
    /// One UE8M0, never accepted: widen to F32 first.
    E8m0Fnu,
}

impl fmt::Display for SfDtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::F32 => "F32",
            Self::I32 => "I32",
            Self::Bf16 => "BF16",
            Self::E8m0Fnu => "UE8M0",
        })
    }
}

/// A scale tensor as a caller would hand it over: everything but its memory.
#[derive(Clone, Copy, Debug)]
pub struct ScaleTensor<'a> {
    /// Element type.
    pub dtype: SfDtype,
    /// Sizes, outermost first; any number of them, since a wrong number is what goes wrong.
    pub shape: &'a [usize],
    /// Strides in elements, one for each size.
    pub strides: &'a [usize],
}

/// Rows and columns of an operand that one scale covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipe {
    /// For both operands of a product: the library's recipe of three.
    Product {
        /// Rows a scale in A, `gran_m`.
        a_rows: usize,
        /// Rows a scale in B, `gran_n`.
        b_rows: usize,
        /// Columns a scale in both, `gran_k`.
        cols: usize,
    },
    /// For one operand: the library's recipe of two.
    Operand {
        /// Rows a scale.
        rows: usize,
        /// Columns a scale.
        cols: usize,
    },
}

impl Recipe {
    /// What the library takes where the caller gives none: (1, 128, 128), or (1, 1, 128) on SM100
    /// where the scales of B are packed.
    ///
    /// ```
    /// use blockscale::layout::transform_sf::{Arch, Recipe, SfDtype};
    ///
    /// let recipe = Recipe::default_for(Arch::Sm100, SfDtype::F32);
    /// assert_eq!(recipe, Recipe::Product { a_rows: 1, b_rows: 128, cols: 128 });
    /// ```
    pub const fn default_for(arch: Arch, dtype_of_b: SfDtype) -> Self {
        let b_rows = match (arch, dtype_of_b) {
            (Arch::Sm100, SfDtype::I32) => 1,
            _ => 128,
        };
        Self::Product {
            a_rows: 1,
            b_rows,
            cols: 128,
        }
    }
}

/// Which operand of a product scales belong to; `is_sfa` of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// The activations.
    A,
    /// The weight.
    B,
}

/// Generation of GPUs that a kernel runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Arch {
    /// Hopper.
    Sm90,
    /// Data-centre Blackwell.
    Sm100,
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Sm90 => "SM90",
            Self::Sm100 => "SM100",
        })
    }
}

/// Whether F32 scales are packed on SM100; `disable_ue8m0_cast` of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ue8m0Cast {
    /// They are, the default.
    Enabled,
    /// They are treated as on SM90. The FP8 kernels of SM100 then refuse them.
    Disabled,
}

/// The other arguments of the library's function.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// Rows of the operand, `mn`.
    pub rows: usize,
    /// Columns of the operand, `k`.
    pub cols: usize,
    /// What a scale covers.
    pub recipe: Recipe,
    /// Number of groups or experts, for products over a stack.
    pub groups: Option<usize>,
    /// Which operand, with [`Recipe::Product`]; `None` with [`Recipe::Operand`].
    pub operand: Option<Operand>,
    /// Where the kernel runs.
    pub arch: Arch,
    /// Whether F32 scales may be packed.
    pub ue8m0_cast: Ue8m0Cast,
}

impl Request {
    /// Rows and columns a scale, for the operand asked about.
    pub(super) const fn granularity(&self) -> Result<(usize, usize), TransformError> {
        let (rows, cols) = match (self.recipe, self.operand) {
            (Recipe::Product { a_rows, cols, .. }, Some(Operand::A)) => (a_rows, cols),
            (Recipe::Product { b_rows, cols, .. }, Some(Operand::B)) => (b_rows, cols),
            (Recipe::Operand { rows, cols }, None) => (rows, cols),
            (Recipe::Product { .. }, None) => return Err(TransformError::OperandMissing),
            (Recipe::Operand { .. }, Some(_)) => return Err(TransformError::OperandGiven),
        };
        if rows == 0 || cols == 0 {
            return Err(TransformError::ZeroGranularity);
        }
        Ok((rows, cols))
    }

    /// Sizes that scales of type `dtype` have to have.
    pub(super) fn scale_shape(
        &self,
        dtype: SfDtype,
        rows_per_scale: usize,
        cols_per_scale: usize,
    ) -> Result<Dims, TransformError> {
        let per_element = match dtype {
            SfDtype::I32 => cols_per_scale
                .checked_mul(4)
                .ok_or(TransformError::TooLarge)?,
            _ => cols_per_scale,
        };
        Ok(Dims {
            groups: self.groups,
            rows: self.rows.div_ceil(rows_per_scale),
            cols: self.cols.div_ceil(per_element),
        })
    }
}
