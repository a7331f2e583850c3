//! Scales into a layout and out of it.

use super::copies::Copies;
use super::lines::Lines;
use super::place::Placement;
use super::{LayoutError, ScaleLayout, Stack, marlin};
use crate::arch::ByteKernels;
use crate::element::E8m0Fnu;
use crate::{LenMismatch, ScaleElement};

/// Scales, with the layout they are in.
#[derive(Clone, Copy, Debug)]
pub struct Scales<'a> {
    /// The layout of `bytes`.
    pub layout: ScaleLayout,
    /// Type of the scales, as a checkpoint has them; little-endian.
    pub element: ScaleElement,
    /// The scales of all matrices of a stack.
    pub bytes: &'a [u8],
}

/// Puts linear scales into `layout`; padding becomes zero.
///
/// `out` has [`ScaleLayout::scale_bytes`] bytes, `scales.bytes` is of the size that
/// [`ScaleLayout::linear_shape`] and the element ask for. [`ScaleLayout::Linear`] copies.
///
/// # Errors
///
/// [`LayoutError::AlreadyApplied`] where `scales` is in another layout than linear, and every other
/// [`LayoutError`] but `RowsDiffer` as the scales have it. `out` is of no use then.
///
/// ```
/// use blockscale::layout::{ScaleLayout, Scales, Stack, permute_scales};
/// use blockscale::{ScaleElement, Shape};
///
/// // One row of five powers of two for DeepGEMM: words of four, each word padded to four rows.
/// let scales = [1.0_f32, 2.0, 4.0, 0.5, 0.25].map(f32::to_le_bytes);
/// let (layout, element) = (ScaleLayout::Linear, ScaleElement::F32);
/// let scales = Scales { layout, element, bytes: scales.as_flattened() };
/// let mut words = [0xff; 32];
/// let stack = Stack::single(Shape::new(1, 5));
/// permute_scales(ScaleLayout::DeepGemmPacked, stack, scales, &mut words)?;
/// assert_eq!(words[..5], [127, 128, 129, 126, 0]);
/// assert_eq!(words[16..18], [125, 0]);
/// # Ok::<(), blockscale::layout::LayoutError>(())
/// ```
pub fn permute_scales(
    layout: ScaleLayout,
    stack: Stack,
    scales: Scales<'_>,
    out: &mut [u8],
) -> Result<(), LayoutError> {
    if scales.layout != ScaleLayout::Linear {
        return Err(LayoutError::AlreadyApplied {
            found: scales.layout,
            asked: layout,
        });
    }
    let planes = Planes::new(layout, stack, scales.element)?;
    LenMismatch::check("scales", planes.linear_len(), scales.bytes.len())?;
    LenMismatch::check("laid out scales", planes.laid_out_len(), out.len())?;

    if planes.permute_words(ByteKernels::in_use(), scales.bytes, out) {
        return Ok(());
    }
    planes.permute_by_place(scales.bytes, out)
}

/// Takes scales out of the layout they are in: row by row, without padding.
///
/// `out` gets scales of type `scales.element`. It is the inverse of [`permute_scales`], byte for
/// byte, but for scales that [`ScaleLayout::MarlinNvfp4`] made zero. What the padding holds does
/// not matter, since runtimes leave it unwritten.
///
/// # Errors
///
/// [`LayoutError::RowsDiffer`] where scales said to be copies of a block's are not the same, and
/// the errors of the shape as for [`permute_scales`].
///
/// ```
/// use blockscale::layout::{ScaleLayout, Scales, Stack, unpermute_scales};
/// use blockscale::{ScaleElement, Shape};
///
/// // Two rows of one F32 scale, in a column of four.
/// let column = [1.0_f32, 2.0, f32::NAN, f32::NAN].map(f32::to_le_bytes);
/// let (layout, element) = (ScaleLayout::DeepGemmF32, ScaleElement::F32);
/// let scales = Scales { layout, element, bytes: column.as_flattened() };
/// let mut linear = [0; 8];
/// unpermute_scales(Stack::single(Shape::new(2, 1)), scales, &mut linear)?;
/// assert_eq!(linear, *[1.0_f32, 2.0].map(f32::to_le_bytes).as_flattened());
/// # Ok::<(), blockscale::layout::LayoutError>(())
/// ```
pub fn unpermute_scales(
    stack: Stack,
    scales: Scales<'_>,
    out: &mut [u8],
) -> Result<(), LayoutError> {
    let planes = Planes::new(scales.layout, stack, scales.element)?;
    LenMismatch::check("laid out scales", planes.laid_out_len(), scales.bytes.len())?;
    LenMismatch::check("scales", planes.linear_len(), out.len())?;

    if planes.unpermute_words(ByteKernels::in_use(), scales.bytes, out) {
        return Ok(());
    }
    planes.unpermute_by_place(scales.bytes, out)
}

/// Copies a run; most have four bytes, and a call for each would take most of the time.
fn copy(to: &mut [u8], from: &[u8]) {
    match (
        <&mut [u8; 4]>::try_from(&mut *to),
        <&[u8; 4]>::try_from(from),
    ) {
        (Ok(to), Ok(from)) => *to = *from,
        _ => to.copy_from_slice(from),
    }
}

/// What a layout makes of the bytes of a scale.
enum Coding {
    /// Nothing.
    Same,
    /// F32 are stored as their exponents.
    Exponents,
    /// E4M3 is stored as S0E5M3, one scale a run.
    S0e5m3,
}

impl Coding {
    const fn of(layout: ScaleLayout, element: ScaleElement) -> Self {
        match (layout, element) {
            (ScaleLayout::MarlinNvfp4, _) => Self::S0e5m3,
            (
                ScaleLayout::DeepGemmPacked
                | ScaleLayout::DeepGemmPackedBlocks
                | ScaleLayout::MegaMoeL1
                | ScaleLayout::MegaMoeL2,
                ScaleElement::F32,
            ) => Self::Exponents,
            _ => Self::Same,
        }
    }
}

/// The matrices of a stack, linear on one side and laid out on the other.
pub(crate) struct Planes {
    layout: ScaleLayout,
    stack: Stack,
    element: ScaleElement,
    place: Placement,
}

/// Scales of one row that lie together on both sides.
struct Run {
    matrix: usize,
    /// Row of the weight.
    row: usize,
    /// Column of the first.
    col: usize,
    /// Number of the first on the linear side, counted row by row and matrix by matrix.
    index: usize,
    /// How many they are.
    count: usize,
}

impl Run {
    /// Of a row that repeats a block's scales: each must be the same as in the block's first row.
    fn check_copies(&self, mut same: impl Iterator<Item = bool>) -> Result<(), LayoutError> {
        match same.position(|same| !same) {
            None => Ok(()),
            Some(i) => Err(LayoutError::RowsDiffer {
                matrix: self.matrix,
                row: self.row,
                col: self.col + i,
            }),
        }
    }
}

impl Planes {
    pub(crate) fn new(
        layout: ScaleLayout,
        stack: Stack,
        element: ScaleElement,
    ) -> Result<Self, LayoutError> {
        Ok(Self {
            layout,
            stack,
            element,
            place: layout.placement(stack.shape, element)?,
        })
    }

    fn linear_len(&self) -> Option<usize> {
        let scales = self.layout.linear_shape(self.stack.shape).len()?;
        self.stack
            .matrices
            .checked_mul(scales)?
            .checked_mul(self.element.bytes())
    }

    fn laid_out_len(&self) -> Option<usize> {
        self.stack.matrices.checked_mul(self.place.len)
    }

    /// [`permute_scales`] word by word, where the layout has words of four scales or F32: whether it
    /// was done.
    pub(crate) fn permute_words(
        &self,
        kernels: ByteKernels,
        source: &[u8],
        out: &mut [u8],
    ) -> bool {
        let Some(one) = self.words_of_matrix() else {
            return false;
        };
        let lines = self.lines(kernels);
        let copies = self.copies(kernels);
        let mut matrices = out
            .chunks_exact_mut(self.place.len)
            .zip(source.chunks_exact(one));
        matrices.all(|(out, linear)| match (&lines, &copies) {
            (Some(lines), _) => lines.permute(linear, out),
            (_, Some(copies)) => copies.permute(linear, out),
            _ => false,
        })
    }

    /// [`unpermute_scales`] in the same way.
    pub(crate) fn unpermute_words(
        &self,
        kernels: ByteKernels,
        stored: &[u8],
        out: &mut [u8],
    ) -> bool {
        let Some(one) = self.words_of_matrix() else {
            return false;
        };
        let lines = self.lines(kernels);
        let copies = self.copies(kernels);
        let mut matrices = out
            .chunks_exact_mut(one)
            .zip(stored.chunks_exact(self.place.len));
        matrices.all(|(out, laid_out)| match (&lines, &copies) {
            (Some(lines), _) => {
                lines.unpermute(laid_out, out);
                true
            }
            (_, Some(copies)) => copies.unpermute(laid_out, out),
            _ => false,
        })
    }

    /// Bytes of a matrix on the linear side, where there are any.
    fn words_of_matrix(&self) -> Option<usize> {
        let linear = self.layout.linear_shape(self.stack.shape);
        let one = linear.len()? * self.element.bytes();
        (one > 0).then_some(one)
    }

    fn lines(&self, kernels: ByteKernels) -> Option<Lines> {
        Lines::new(self.layout, self.stack, self.element, &self.place, kernels)
    }

    fn copies(&self, kernels: ByteKernels) -> Option<Copies> {
        let is_copied = self.layout == ScaleLayout::DeepGemmPackedBlocks;
        is_copied.then(|| Copies {
            shape: self.stack.shape,
            pitch: self.place.pitch,
            exponents: self.element == ScaleElement::F32,
            kernels,
        })
    }

    #[cfg(test)]
    pub(crate) fn stores_exponents(&self) -> bool {
        matches!(Coding::of(self.layout, self.element), Coding::Exponents)
    }

    /// The definition of [`permute_scales`].
    pub(crate) fn permute_by_place(
        &self,
        source: &[u8],
        out: &mut [u8],
    ) -> Result<(), LayoutError> {
        out.fill(0);
        match Coding::of(self.layout, self.element) {
            Coding::Same => self.for_each(|run, place| {
                let len = run.count * self.element.bytes();
                let first = run.index * self.element.bytes();
                copy(&mut out[place..][..len], &source[first..][..len]);
                Ok(())
            }),
            Coding::Exponents => self.for_each(|run, place| {
                let (values, _) = source[run.index * 4..][..run.count * 4].as_chunks::<4>();
                for (i, (out, value)) in out[place..].iter_mut().zip(values).enumerate() {
                    let (index, value) = (run.index + i, f32::from_le_bytes(*value));
                    let power = E8m0Fnu::from_f32_exact(value);
                    *out = power
                        .ok_or(LayoutError::NotPowerOfTwo { index, value })?
                        .to_bits();
                }
                Ok(())
            }),
            Coding::S0e5m3 => self.for_each(|run, place| {
                let (index, code) = (run.index, source[run.index]);
                out[place] = marlin::s0e5m3_from_e4m3(code).ok_or(LayoutError::Scale {
                    layout: self.layout,
                    index,
                    code,
                })?;
                Ok(())
            }),
        }
    }

    /// The definition of [`unpermute_scales`].
    pub(crate) fn unpermute_by_place(
        &self,
        stored: &[u8],
        out: &mut [u8],
    ) -> Result<(), LayoutError> {
        let rows_per_scale = self.layout.rows_per_scale();
        match Coding::of(self.layout, self.element) {
            Coding::Same => self.for_each(|run, place| {
                let len = run.count * self.element.bytes();
                let first = run.index * self.element.bytes();
                let (target, stored) = (&mut out[first..][..len], &stored[place..][..len]);
                if run.row.is_multiple_of(rows_per_scale) {
                    copy(target, stored);
                    return Ok(());
                }
                run.check_copies(target.iter().zip(stored).map(|(a, b)| a == b))
            }),
            Coding::Exponents => self.for_each(|run, place| {
                let (targets, _) = out[run.index * 4..][..run.count * 4].as_chunks_mut::<4>();
                let values = stored[place..][..run.count]
                    .iter()
                    .map(|&byte| E8m0Fnu::from_bits(byte).to_f32().to_le_bytes());
                if run.row.is_multiple_of(rows_per_scale) {
                    for (target, value) in targets.iter_mut().zip(values) {
                        *target = value;
                    }
                    return Ok(());
                }
                run.check_copies(targets.iter().zip(values).map(|(a, b)| *a == b))
            }),
            Coding::S0e5m3 => self.for_each(|run, place| {
                out[run.index] = marlin::e4m3_from_s0e5m3(stored[place]);
                Ok(())
            }),
        }
    }

    /// Calls `visit` with each run of scales and the offset of its place, row by row of the weight.
    fn for_each(
        &self,
        mut visit: impl FnMut(Run, usize) -> Result<(), LayoutError>,
    ) -> Result<(), LayoutError> {
        if self.linear_len() == Some(0) {
            return Ok(());
        }
        let linear = self.layout.linear_shape(self.stack.shape);
        let rows_per_scale = self.layout.rows_per_scale();
        let cols_together = self.layout.cols_together(linear.cols);
        for matrix in 0..self.stack.matrices {
            for row in 0..self.stack.shape.rows {
                let first = (matrix * linear.rows + row / rows_per_scale) * linear.cols;
                let base = matrix * self.place.len + self.place.row_offset(row);
                for col in (0..linear.cols).step_by(cols_together) {
                    let run = Run {
                        matrix,
                        row,
                        col,
                        index: first + col,
                        count: cols_together.min(linear.cols - col),
                    };
                    visit(run, base + self.place.col_offset(col))?;
                }
            }
        }
        Ok(())
    }
}
