//! Whole planes of a matrix: from an interpretation to what every reader expects, and back.

use blockscale::element::E8m0Fnu;
use blockscale::format::{Format, GlobalScale, ScaleElement, Shape};
use blockscale::layout::{
    Codes, LayoutError, ScaleLayout, Scales, Stack, permute_codes, permute_scales, unpermute_codes,
    unpermute_scales,
};
use blockscale::{bf16, f16};

use super::codes::{Way, change};
use super::{GlobalUse, Interpretation, ScaleOrder, ScaleUse};

impl Interpretation {
    /// Codes of one matrix that are meant as `self`, as every reader expects them.
    ///
    /// `shape` is that of the matrix in elements, `codes` has
    /// [`Format::code_bytes`](blockscale::Format::code_bytes) of it.
    ///
    /// # Errors
    /// [`LayoutError`] where the rows cannot be in the layout that it names.
    pub fn restore_codes(
        &self,
        format: &Format,
        shape: Shape,
        mut codes: Vec<u8>,
    ) -> Result<Vec<u8>, LayoutError> {
        let row = format.row_bytes(shape.cols);
        change(self, format, row, &mut codes, Way::Restore);
        let Some(layout) = self.code_rows else {
            return Ok(codes);
        };
        let mut out = vec![0; codes.len()];
        let stored = Codes {
            layout,
            bytes: &codes,
        };
        unpermute_codes(Stack::single(Shape::new(shape.rows, row)), stored, &mut out)?;
        Ok(out)
    }

    /// The inverse of [`restore_codes`](Self::restore_codes): right codes as a writer of this
    /// interpretation would have left them.
    ///
    /// # Errors
    /// [`LayoutError`] where the rows cannot be put into the layout.
    pub fn damage_codes(
        &self,
        format: &Format,
        shape: Shape,
        mut codes: Vec<u8>,
    ) -> Result<Vec<u8>, LayoutError> {
        let row = format.row_bytes(shape.cols);
        if let Some(layout) = self.code_rows {
            let right = Codes {
                layout: ScaleLayout::Linear,
                bytes: &codes,
            };
            let mut out = vec![0; codes.len()];
            permute_codes(
                layout,
                Stack::single(Shape::new(shape.rows, row)),
                right,
                &mut out,
            )?;
            codes = out;
        }
        change(self, format, row, &mut codes, Way::Damage);
        Ok(codes)
    }

    /// Scales of one matrix that are meant as `self`, as every reader expects them.
    ///
    /// # Errors
    /// [`LayoutError`] where a plane of this shape cannot be in the order that it names.
    pub fn restore_scales(
        &self,
        format: &Format,
        shape: Shape,
        scales: Vec<u8>,
    ) -> Result<Vec<u8>, LayoutError> {
        let plane = Plane::new(format, shape);
        let mut scales = match self.scales {
            ScaleOrder::Linear => scales,
            ScaleOrder::Transposed => plane.transposed(&scales, Way::Restore),
            ScaleOrder::In(layout) => plane.out_of(layout, &scales)?,
            ScaleOrder::Twice(layout) => plane.out_of(layout, &plane.out_of(layout, &scales)?)?,
            ScaleOrder::Undone(layout) => plane.laid_out(layout, &scales)?,
        };
        self.turn_scales(format.scale, &mut scales);
        if self.scales_take_factor(format) {
            self.multiply_scales(&mut scales);
        }
        Ok(scales)
    }

    /// The inverse of [`restore_scales`](Self::restore_scales).
    ///
    /// # Errors
    /// [`LayoutError`] where a plane of this shape has no such order, or the order pads it.
    pub fn damage_scales(
        &self,
        format: &Format,
        shape: Shape,
        mut scales: Vec<u8>,
    ) -> Result<Vec<u8>, LayoutError> {
        let plane = Plane::new(format, shape);
        self.turn_scales(format.scale, &mut scales);
        match self.scales {
            ScaleOrder::Linear => Ok(scales),
            ScaleOrder::Transposed => Ok(plane.transposed(&scales, Way::Damage)),
            ScaleOrder::In(layout) => plane.laid_out(layout, &scales),
            ScaleOrder::Twice(layout) => plane.laid_out(layout, &plane.laid_out(layout, &scales)?),
            ScaleOrder::Undone(layout) => plane.out_of(layout, &scales),
        }
    }

    /// The second-level scale to write in place of the one stored, so that a reader that applies it
    /// as `format` says gets the numbers that are meant.
    pub fn restore_global(&self, format: &Format, stored: f32) -> f32 {
        match (self.global, format.global) {
            (GlobalUse::AsStored, _) => stored,
            (GlobalUse::Inverted, _) => 1.0 / stored,
            (GlobalUse::Unused, _) => 1.0,
            (GlobalUse::Times(factor), GlobalScale::Divisor) => stored / factor,
            (GlobalUse::Times(factor), _) => stored * factor,
        }
    }

    /// Whether block scales have to take a factor that is missing, for want of a second level.
    pub fn scales_take_factor(&self, format: &Format) -> bool {
        let missing = matches!(self.global, GlobalUse::Times(_));
        missing && format.global == GlobalScale::None && format.scale == ScaleElement::F32
    }

    fn multiply_scales(&self, scales: &mut [u8]) {
        if let GlobalUse::Times(factor) = self.global {
            for scale in scales.as_chunks_mut::<4>().0 {
                *scale = (f32::from_le_bytes(*scale) * factor).to_le_bytes();
            }
        }
    }

    /// Reciprocals, where scales divide.
    fn turn_scales(&self, element: ScaleElement, scales: &mut [u8]) {
        if self.scale_use == ScaleUse::Divides {
            for scale in scales.chunks_exact_mut(element.bytes()) {
                let inverse = 1.0 / element.decode(scale);
                match element {
                    ScaleElement::F32 => scale.copy_from_slice(&inverse.to_le_bytes()),
                    ScaleElement::Bf16 => {
                        scale.copy_from_slice(&bf16::from_f32(inverse).to_le_bytes());
                    }
                    ScaleElement::F16 => {
                        scale.copy_from_slice(&f16::from_f32(inverse).to_le_bytes());
                    }
                    ScaleElement::E8m0Fnu => {
                        scale.copy_from_slice(&[E8m0Fnu::from_f32_ceil(inverse).to_bits()]);
                    }
                    // The reciprocal of an E4M3 scale is no E4M3 number; never asked for.
                    _ => {}
                }
            }
        }
    }
}

/// A scale plane of one matrix.
struct Plane {
    /// Rows and columns of scales.
    shape: Shape,
    /// As layouts count it: rows of the weight, columns of scales.
    stack: Stack,
    element: ScaleElement,
}

impl Plane {
    fn new(format: &Format, matrix: Shape) -> Self {
        let shape = format.scale_shape(matrix);
        Self {
            shape,
            stack: Stack::single(Shape::new(matrix.rows, shape.cols)),
            element: format.scale,
        }
    }

    /// Restoring reads columns as rows, damaging writes rows as columns.
    fn transposed(&self, scales: &[u8], way: Way) -> Vec<u8> {
        let Shape { rows, cols } = self.shape;
        let width = self.element.bytes();
        let mut out = vec![0; scales.len()];
        for row in 0..rows {
            for col in 0..cols {
                let (linear, turned) = ((row * cols + col) * width, (col * rows + row) * width);
                let (to, from) = match way {
                    Way::Restore => (linear, turned),
                    Way::Damage => (turned, linear),
                };
                out[to..][..width].copy_from_slice(&scales[from..][..width]);
            }
        }
        out
    }

    fn out_of(&self, layout: ScaleLayout, bytes: &[u8]) -> Result<Vec<u8>, LayoutError> {
        let mut out = vec![0; bytes.len()];
        let stored = Scales {
            layout,
            element: self.element,
            bytes,
        };
        unpermute_scales(self.stack, stored, &mut out)?;
        Ok(out)
    }

    fn laid_out(&self, layout: ScaleLayout, bytes: &[u8]) -> Result<Vec<u8>, LayoutError> {
        let mut out = vec![0; bytes.len()];
        let right = Scales {
            layout: ScaleLayout::Linear,
            element: self.element,
            bytes,
        };
        permute_scales(layout, self.stack, right, &mut out)?;
        Ok(out)
    }
}
