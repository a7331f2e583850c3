//! What DeepGEMM does with the scales ("sf") that a caller hands to one of its products.
//!
//! Every FP8 and FP4 product of DeepGEMM passes its scales through
//! `transform_sf_into_required_layout`, which checks them and then keeps, reorders or packs them.
//! Its assertions name a line of C++; [`plan`] applies the same checks in the same order and says
//! what to pass instead, and [`Transform::execute`] does what the library would do.
//!
//! | # | type | rows a scale | columns a scale | GPU | action |
//! |---|------|---|---|---|---|
//! | 1 | F32 | 1 | 128 | SM90, or the cast disabled | [`Action::ToColumns`]; [`Action::Keep`] if it is so already |
//! | 2 | F32 | 128 | 128 | SM90, or the cast disabled | [`Action::Keep`] |
//! | 3 | F32 | any | 32 or 128 | SM100 | [`Action::Pack`] |
//! | 4 | I32 | 1 | 32 or 128 | SM100 | [`Action::Keep`] |
//!
//! Anything else is [`TransformError::Unknown`]; 16 columns a scale, which NVFP4 has, is never
//! accepted.
//!
//! ```
//! use blockscale::layout::transform_sf::{
//!     Arch, Dims, Operand, Recipe, Request, ScaleTensor, SfDtype, Ue8m0Cast, plan,
//! };
//!
//! // The `wo_a` of DeepSeek-V4 on two groups: 1024 x 4096 each, block scales 8 x 32.
//! let request = Request {
//!     rows: 1024,
//!     cols: 4096,
//!     recipe: Recipe::Product { a_rows: 1, b_rows: 128, cols: 128 },
//!     groups: Some(2),
//!     operand: Some(Operand::B),
//!     arch: Arch::Sm100,
//!     ue8m0_cast: Ue8m0Cast::Enabled,
//! };
//! let scales = ScaleTensor { dtype: SfDtype::F32, shape: &[2, 8, 32], strides: &[256, 32, 1] };
//! let transform = plan(&scales, &request)?;
//! assert_eq!(transform.shape, Dims::three(2, 1024, 8));
//! assert_eq!(transform.strides, Dims::three(8192, 1, 1024));
//!
//! // A two-dimensional scale is what a loader leaves behind that does not know of the groups.
//! let flat = ScaleTensor { dtype: SfDtype::F32, shape: &[16, 32], strides: &[32, 1] };
//! let error = plan(&flat, &request).unwrap_err();
//! assert_eq!(error.to_string(), "`sf` has 2 dimensions, expected 3; pass F32 (2, 8, 32)");
//! # Ok::<(), blockscale::layout::transform_sf::TransformError>(())
//! ```
//!
//! Source: DeepGEMM, `csrc/apis/layout.hpp` and `csrc/utils/layout.hpp`.

mod error;
mod execute;
mod request;

pub use error::{Dim, TransformError};
pub use request::{Arch, Dims, Operand, Recipe, Request, ScaleTensor, SfDtype, Ue8m0Cast};

/// What happens to the scales.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing: the kernel reads the memory that was given.
    Keep,
    /// Copied to [`DeepGemmF32`](super::ScaleLayout::DeepGemmF32).
    ToColumns,
    /// Packed as [`DeepGemmPacked`](super::ScaleLayout::DeepGemmPacked), each source row being
    /// used for `rows_per_scale` rows.
    Pack {
        /// Rows of the operand that a source row stands for.
        rows_per_scale: usize,
    },
}

/// The scales that a kernel will read, as tensor and as the way to make them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transform {
    /// How they come from the scales that were given.
    pub action: Action,
    /// Their type, F32 or I32.
    pub dtype: SfDtype,
    /// Their sizes.
    pub shape: Dims,
    /// Their strides, in elements.
    pub strides: Dims,
    source_shape: Dims,
    source_strides: Dims,
}

/// Checks the scales of one operand, and says what its kernel will read.
///
/// # Errors
///
/// [`TransformError`], where DeepGEMM would stop with an assertion.
pub fn plan(sf: &ScaleTensor<'_>, request: &Request) -> Result<Transform, TransformError> {
    let (rows_per_scale, cols_per_scale) = request.granularity()?;
    let pass = request.scale_shape(SfDtype::F32, rows_per_scale, cols_per_scale)?;
    if !matches!(sf.dtype, SfDtype::F32 | SfDtype::I32) {
        return Err(TransformError::Dtype {
            found: sf.dtype,
            pass,
        });
    }
    let expected = request.scale_shape(sf.dtype, rows_per_scale, cols_per_scale)?;
    let (shape, strides) = check_shape(sf, expected)?;

    let packs = request.arch == Arch::Sm100 && request.ue8m0_cast == Ue8m0Cast::Enabled;
    let keep = Transform {
        action: Action::Keep,
        dtype: sf.dtype,
        shape,
        strides,
        source_shape: shape,
        source_strides: strides,
    };
    match (sf.dtype, rows_per_scale, cols_per_scale) {
        (SfDtype::F32, 1, 128) if !packs => {
            let columns = column_strides(shape)?;
            if strides == columns {
                return Ok(keep);
            }
            Ok(Transform {
                action: Action::ToColumns,
                strides: columns,
                ..keep
            })
        }
        (SfDtype::F32, 128, 128) if !packs => {
            check_contiguous(shape, strides)?;
            Ok(keep)
        }
        (SfDtype::F32, _, 32 | 128) if packs => {
            let words = request.scale_shape(SfDtype::I32, 1, cols_per_scale)?;
            Ok(Transform {
                action: Action::Pack { rows_per_scale },
                dtype: SfDtype::I32,
                shape: words,
                strides: column_strides(words)?,
                ..keep
            })
        }
        (SfDtype::I32, 1, 32 | 128) if request.arch == Arch::Sm100 => {
            check_columns(shape, strides)?;
            Ok(keep)
        }
        _ => Err(TransformError::Unknown {
            dtype: sf.dtype,
            rows_per_scale,
            cols_per_scale,
            arch: request.arch,
            ue8m0_cast: request.ue8m0_cast,
        }),
    }
}

/// The number of dimensions, then their sizes, outermost first.
fn check_shape(sf: &ScaleTensor<'_>, expected: Dims) -> Result<(Dims, Dims), TransformError> {
    let pass = expected;
    let dims = |sizes: &[usize]| match (sizes, expected.groups()) {
        (&[rows, cols], None) => Some(Dims::two(rows, cols)),
        (&[groups, rows, cols], Some(_)) => Some(Dims::three(groups, rows, cols)),
        _ => None,
    };
    let (Some(shape), Some(strides)) = (dims(sf.shape), dims(sf.strides)) else {
        let found = if dims(sf.shape).is_none() {
            sf.shape.len()
        } else {
            sf.strides.len()
        };
        return Err(TransformError::Dimensions {
            dtype: sf.dtype,
            found,
            pass,
        });
    };
    let sizes = [
        (Dim::Groups, expected.groups(), shape.groups()),
        (Dim::Rows, Some(expected.rows()), Some(shape.rows())),
        (Dim::Cols, Some(expected.cols()), Some(shape.cols())),
    ];
    for (dim, expected, found) in sizes {
        if let (Some(expected), Some(found)) = (expected, found)
            && expected != found
        {
            return Err(TransformError::Size {
                dtype: sf.dtype,
                dim,
                expected,
                found,
                pass,
            });
        }
    }
    Ok((shape, strides))
}

/// Strides of scales that lie column by column, each column padded to 16 bytes.
fn column_strides(shape: Dims) -> Result<Dims, TransformError> {
    let column = shape.rows().checked_next_multiple_of(4);
    let matrix = column.and_then(|column| column.checked_mul(shape.cols()));
    match (column, matrix, shape.groups()) {
        (Some(column), Some(_), None) => Ok(Dims::two(1, column)),
        (Some(column), Some(matrix), Some(groups)) if matrix.checked_mul(groups).is_some() => {
            Ok(Dims::three(matrix, 1, column))
        }
        _ => Err(TransformError::TooLarge),
    }
}

/// Row 4: words have to lie as [`column_strides`] has it; of a single row, its stride is not read.
fn check_columns(shape: Dims, strides: Dims) -> Result<(), TransformError> {
    let expected = column_strides(shape)?;
    // The library holds the matrix stride against the column stride that was given.
    if let Some(found) = strides.groups() {
        let expected = strides.cols().saturating_mul(shape.cols());
        check_stride(Dim::Groups, expected, found)?;
    }
    if shape.rows() != 1 {
        check_stride(Dim::Rows, 1, strides.rows())?;
    }
    check_stride(Dim::Cols, expected.cols(), strides.cols())
}

/// Row 2: matrices without gaps, row by row or column by column.
fn check_contiguous(shape: Dims, strides: Dims) -> Result<(), TransformError> {
    let (rows, cols) = (shape.rows(), shape.cols());
    if let Some(found) = strides.groups() {
        check_stride(Dim::Groups, rows.saturating_mul(cols), found)?;
    }
    let by_rows = strides.cols() == 1 && strides.rows() == cols;
    let by_cols = strides.rows() == 1 && strides.cols() == rows;
    if by_rows || by_cols {
        return Ok(());
    }
    Err(TransformError::NotContiguous { shape, strides })
}

fn check_stride(dim: Dim, expected: usize, found: usize) -> Result<(), TransformError> {
    if expected == found {
        return Ok(());
    }
    Err(TransformError::Stride {
        dim,
        expected,
        found,
    })
}
