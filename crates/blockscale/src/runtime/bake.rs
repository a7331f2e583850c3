//! A checkpoint's weight into the memory that a kernel reads.

use super::Kernel;
use crate::layout::{
    Codes, LayoutError, ScaleLayout, Scales, Stack, cutlass_code_shape, pad_cutlass_codes,
    permute_codes, permute_scales,
};
use crate::{LenMismatch, ScaleElement, Shape};

/// Codes and scales of a weight as a checkpoint holds them: row by row, matrix by matrix.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The codes.
    pub codes: &'a [u8],
    /// Type of the scales.
    pub element: ScaleElement,
    /// The scales, little-endian.
    pub scales: &'a [u8],
}

impl Kernel {
    /// Bytes of the codes that the kernel reads, for `matrices` weights of `shape` elements.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] where the layout does not take such a shape.
    pub fn baked_code_bytes(self, matrices: usize, shape: Shape) -> Result<usize, LayoutError> {
        let bytes = self.byte_shape(shape);
        match self {
            Self::Cutlass => cutlass_code_shape(bytes)
                .and_then(|padded| padded.len()?.checked_mul(matrices))
                .ok_or(LayoutError::TooLarge {
                    layout: self.layout(),
                }),
            _ => self.layout().code_bytes(Stack::new(matrices, bytes)),
        }
    }

    /// Bytes of the scales that the kernel reads, for `matrices` weights of `shape` elements.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] where the layout does not take such a shape.
    pub fn baked_scale_bytes(self, matrices: usize, shape: Shape) -> Result<usize, LayoutError> {
        let stack = Stack::new(matrices, self.scale_shape(shape));
        self.layout().scale_bytes(stack, self.format().scale)
    }

    /// Brings a weight into the order that the kernel reads, as the runtime does after loading.
    ///
    /// `codes` and `scales` have [`baked_code_bytes`](Self::baked_code_bytes) and
    /// [`baked_scale_bytes`](Self::baked_scale_bytes) bytes. For [`Kernel::DeepGemmSm100`] the
    /// source's scales may be F32 that hold powers of two.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] as the shape and the scales have it.
    pub fn bake(
        self,
        matrices: usize,
        shape: Shape,
        source: Source<'_>,
        codes: &mut [u8],
        scales: &mut [u8],
    ) -> Result<(), LayoutError> {
        let packs_f32 = self == Self::DeepGemmSm100 && source.element == ScaleElement::F32;
        if source.element != self.format().scale && !packs_f32 {
            return Err(LayoutError::Element {
                layout: self.layout(),
                found: source.element,
            });
        }
        let scale_stack = Stack::new(matrices, self.scale_shape(shape));
        let linear = Scales {
            layout: ScaleLayout::Linear,
            element: source.element,
            bytes: source.scales,
        };
        permute_scales(self.layout(), scale_stack, linear, scales)?;

        let bytes = self.byte_shape(shape);
        if self == Self::Cutlass {
            return pad_stack(matrices, bytes, source.codes, codes);
        }
        let linear = Codes {
            layout: ScaleLayout::Linear,
            bytes: source.codes,
        };
        permute_codes(self.layout(), Stack::new(matrices, bytes), linear, codes)
    }

    /// Rows and bytes of a row, from rows and elements.
    pub(super) const fn byte_shape(self, shape: Shape) -> Shape {
        Shape::new(shape.rows, self.format().row_bytes(shape.cols))
    }
}

fn pad_stack(
    matrices: usize,
    bytes: Shape,
    codes: &[u8],
    out: &mut [u8],
) -> Result<(), LayoutError> {
    let padded = cutlass_code_shape(bytes).and_then(Shape::len);
    let stack_of = |one: Option<usize>| one.and_then(|one| one.checked_mul(matrices));
    LenMismatch::check("codes", stack_of(bytes.len()), codes.len())?;
    LenMismatch::check("padded codes", stack_of(padded), out.len())?;
    if codes.is_empty() {
        return Ok(());
    }
    let matrices = codes.chunks_exact(codes.len() / matrices);
    for (out, codes) in out
        .chunks_exact_mut(out.len() / matrices.len())
        .zip(matrices)
    {
        pad_cutlass_codes(bytes, codes, out)?;
    }
    Ok(())
}
