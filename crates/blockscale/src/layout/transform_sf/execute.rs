//! Carrying a plan out on memory.

use super::super::{LayoutError, ScaleLayout};
use super::{Action, Dims, SfDtype, Transform};
use crate::element::E8m0Fnu;
use crate::{LenMismatch, ScaleElement, Shape};

impl Transform {
    /// Bytes of the memory that the kernel will read: of the result without gaps, padding included.
    ///
    /// `None` where the scales are kept and their strides overflow.
    pub fn memory_bytes(&self) -> Option<usize> {
        let elements = match self.action {
            Action::Keep => span(self.shape, self.strides)?,
            Action::ToColumns | Action::Pack { .. } => {
                let matrix = self.strides.cols().checked_mul(self.shape.cols())?;
                matrix.checked_mul(self.shape.groups().unwrap_or(1))?
            }
        };
        elements.checked_mul(4)
    }

    /// Makes the memory that the kernel reads from the memory of the scales that were planned for.
    ///
    /// Both are little-endian; `source` may be longer than its shape and strides need. Padding,
    /// which the library leaves unwritten, is zero.
    ///
    /// # Errors
    ///
    /// [`LayoutError::Len`] where `source` is too short or `out` is not
    /// [`memory_bytes`](Self::memory_bytes) long; [`LayoutError::NotPowerOfTwo`] where a scale to
    /// be packed has mantissa bits.
    ///
    /// ```
    /// use blockscale::layout::transform_sf::{
    ///     Arch, Recipe, Request, ScaleTensor, SfDtype, Ue8m0Cast, plan,
    /// };
    ///
    /// // Three rows of two F32 scales of activations, on a Hopper: into columns of four.
    /// let request = Request {
    ///     rows: 3,
    ///     cols: 256,
    ///     recipe: Recipe::Operand { rows: 1, cols: 128 },
    ///     groups: None,
    ///     operand: None,
    ///     arch: Arch::Sm90,
    ///     ue8m0_cast: Ue8m0Cast::Enabled,
    /// };
    /// let scales = ScaleTensor { dtype: SfDtype::F32, shape: &[3, 2], strides: &[2, 1] };
    /// let transform = plan(&scales, &request).unwrap();
    /// assert_eq!(transform.memory_bytes(), Some(2 * 4 * 4));
    ///
    /// let stored = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0].map(f32::to_le_bytes);
    /// let mut columns = [0xff; 32];
    /// transform.execute(stored.as_flattened(), &mut columns)?;
    /// let expected = [1.0_f32, 3.0, 5.0, 0.0, 2.0, 4.0, 6.0, 0.0].map(f32::to_le_bytes);
    /// assert_eq!(columns, *expected.as_flattened());
    /// # Ok::<(), blockscale::layout::LayoutError>(())
    /// ```
    pub fn execute(&self, source: &[u8], out: &mut [u8]) -> Result<(), LayoutError> {
        let needed = span(self.source_shape, self.source_strides)
            .and_then(|elements| elements.checked_mul(4));
        if needed.is_none_or(|needed| source.len() < needed) {
            LenMismatch::check("sf", needed, source.len())?;
        }
        LenMismatch::check("out", self.memory_bytes(), out.len())?;
        match self.action {
            Action::Keep => {
                out.copy_from_slice(&source[..out.len()]);
                Ok(())
            }
            Action::ToColumns => self.fill(ScaleLayout::DeepGemmF32, 1, source, out),
            Action::Pack { rows_per_scale } => {
                self.fill(ScaleLayout::DeepGemmPacked, rows_per_scale, source, out)
            }
        }
    }

    fn fill(
        &self,
        layout: ScaleLayout,
        rows_per_scale: usize,
        source: &[u8],
        out: &mut [u8],
    ) -> Result<(), LayoutError> {
        let shape = Shape::new(self.shape.rows(), self.source_shape.cols());
        let place = layout.placement(shape, ScaleElement::F32)?;
        let strides = self.source_strides;
        out.fill(0);
        if span(self.source_shape, strides) == Some(0) {
            return Ok(());
        }
        for matrix in 0..self.shape.groups().unwrap_or(1) {
            let source_matrix = matrix * strides.groups().unwrap_or(0);
            for row in 0..shape.rows {
                let source_row = row / rows_per_scale;
                let base = matrix * place.len + place.row_offset(row);
                for col in 0..shape.cols {
                    let element =
                        source_matrix + source_row * strides.rows() + col * strides.cols();
                    let scale = &source[element * 4..][..4];
                    let target = &mut out[base + place.col_offset(col)..];
                    if self.dtype == SfDtype::F32 {
                        target[..4].copy_from_slice(scale);
                        continue;
                    }
                    let value = ScaleElement::F32.decode(scale);
                    let source_rows = matrix * self.source_shape.rows() + source_row;
                    let index = source_rows * shape.cols + col;
                    let power = E8m0Fnu::from_f32_exact(value);
                    target[0] = power
                        .ok_or(LayoutError::NotPowerOfTwo { index, value })?
                        .to_bits();
                }
            }
        }
        Ok(())
    }
}

/// Elements from the first to one past the last, `None` where that overflows.
fn span(shape: Dims, strides: Dims) -> Option<usize> {
    let dims = [
        (shape.groups().unwrap_or(1), strides.groups().unwrap_or(0)),
        (shape.rows(), strides.rows()),
        (shape.cols(), strides.cols()),
    ];
    if dims.iter().any(|&(size, _)| size == 0) {
        return Some(0);
    }
    let last = dims.iter().try_fold(0_usize, |sum, &(size, stride)| {
        sum.checked_add((size - 1).checked_mul(stride)?)
    });
    last?.checked_add(1)
}
