//! An operand in the memory of a kernel.

use super::{Kernel, read};
use crate::element::{E2m1, E4m3Fn, E8m0Fnu};
use crate::layout::{LayoutError, ScaleLayout, Stack, cutlass_code_shape};
use crate::{LenMismatch, ScaleElement, Shape};

/// One side of a product, as the memory that its kernel is given.
///
/// Rows and columns are those of the checkpoint; where the kernel keeps them is found as it finds
/// them itself.
#[derive(Clone, Copy, Debug)]
pub struct Operand<'a> {
    kernel: Kernel,
    side: Side,
    matrices: usize,
    shape: Shape,
    codes: &'a [u8],
    code_row_bytes: usize,
    code_rows: usize,
    scales: &'a [u8],
    scales_len: usize,
    global_muls: &'a [f32],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Activations,
    Weight,
}

impl<'a> Operand<'a> {
    /// A weight, or a stack of `matrices` of them, of `shape` elements each.
    ///
    /// `global_muls` holds the multiplier of each NVFP4 matrix, and nothing for FP8.
    ///
    /// # Errors
    ///
    /// [`LayoutError`] where the kernel does not take such a shape, or a slice is not of the length
    /// that follows from it.
    pub fn weight(
        kernel: Kernel,
        matrices: usize,
        shape: Shape,
        codes: &'a [u8],
        scales: &'a [u8],
        global_muls: &'a [f32],
    ) -> Result<Self, LayoutError> {
        let bytes = kernel.byte_shape(shape);
        let code_shape = match kernel {
            Kernel::Cutlass => cutlass_code_shape(bytes).unwrap_or(bytes),
            _ => bytes,
        };
        let operand = Self {
            kernel,
            side: Side::Weight,
            matrices,
            shape,
            codes,
            code_row_bytes: code_shape.cols,
            code_rows: code_shape.rows,
            scales,
            scales_len: kernel.baked_scale_bytes(matrices, shape)?,
            global_muls,
        };
        operand.check(kernel.baked_code_bytes(matrices, shape)?)?;
        Ok(operand)
    }

    /// Activations, quantised for one row and 128 (FP8) or 16 (NVFP4) columns a scale.
    ///
    /// Codes lie row by row, matrix by matrix: group by group for a grouped product. Scales are in
    /// [`Kernel::activation_layout`], of the type that [`Kernel::format`] has.
    ///
    /// # Errors
    ///
    /// As for [`weight`](Self::weight).
    pub fn activations(
        kernel: Kernel,
        matrices: usize,
        shape: Shape,
        codes: &'a [u8],
        scales: &'a [u8],
        global_muls: &'a [f32],
    ) -> Result<Self, LayoutError> {
        let layout = kernel.activation_layout();
        let code_shape = kernel.byte_shape(shape);
        let scale_shape = Shape::new(shape.rows, shape.cols.div_ceil(kernel.group()));
        let stack = Stack::new(matrices, scale_shape);
        let operand = Self {
            kernel,
            side: Side::Activations,
            matrices,
            shape,
            codes,
            code_row_bytes: code_shape.cols,
            code_rows: code_shape.rows,
            scales,
            scales_len: layout.scale_bytes(stack, kernel.format().scale)?,
            global_muls,
        };
        let codes = ScaleLayout::Linear.code_bytes(Stack::new(matrices, code_shape))?;
        operand.check(codes)?;
        Ok(operand)
    }

    fn check(&self, codes_len: usize) -> Result<(), LenMismatch> {
        let globals = if self.is_fp8() { 0 } else { self.matrices };
        LenMismatch::check("codes", Some(codes_len), self.codes.len())?;
        LenMismatch::check("scales", Some(self.scales_len), self.scales.len())?;
        LenMismatch::check("global scales", Some(globals), self.global_muls.len())
    }

    /// The value that the kernel multiplies with for element (`row`, `col`) of matrix `matrix`, as
    /// the checkpoint counts them. `None` outside of the operand.
    pub fn value_at(&self, matrix: usize, row: usize, col: usize) -> Option<f32> {
        let inside = matrix < self.matrices && row < self.shape.rows && col < self.shape.cols;
        inside.then(|| {
            let place = self.place_of(row);
            self.code_at(matrix, place, col) * self.scale_at(matrix, place, col)
        })
    }

    /// Row of the kernel's memory that row `row` of the checkpoint is.
    fn place_of(&self, row: usize) -> usize {
        match (self.side, self.kernel) {
            (Side::Weight, Kernel::TrtllmMoeW13) => {
                read::epilogue_place(read::gated_result_row(self.shape.rows, row))
            }
            (Side::Weight, Kernel::TrtllmMoeW2 | Kernel::TrtllmLinear) => read::epilogue_place(row),
            _ => row,
        }
    }

    fn code_at(&self, matrix: usize, place: usize, col: usize) -> f32 {
        let row = &self.codes[(matrix * self.code_rows + place) * self.code_row_bytes..];
        if self.is_fp8() {
            E4m3Fn::from_bits(row[col]).to_f32()
        } else {
            let pair = row[col / 2];
            E2m1::from_bits(pair >> (col % 2 * 4)).to_f32()
        }
    }

    fn scale_at(&self, matrix: usize, place: usize, col: usize) -> f32 {
        let Shape { rows, cols } = self.shape;
        let (scale_cols, col) = (
            cols.div_ceil(self.kernel.group()),
            col / self.kernel.group(),
        );
        let of_matrix = &self.scales[self.scales_len / self.matrices * matrix..];
        match (self.kernel, self.side) {
            (Kernel::DeepGemmSm90, Side::Weight) => {
                let at = read::rows_of(4, scale_cols, place / 128, col);
                ScaleElement::F32.decode(&of_matrix[at..][..4])
            }
            (Kernel::DeepGemmSm90, Side::Activations) => {
                let at = read::f32_columns(rows, scale_cols, place, col);
                ScaleElement::F32.decode(&of_matrix[at..][..4])
            }
            (Kernel::DeepGemmSm100, _) => {
                let at = read::packed_words(rows, scale_cols, place, col);
                E8m0Fnu::from_bits(of_matrix[at]).to_f32()
            }
            (Kernel::Cutlass, _) | (_, Side::Weight) => {
                let at = read::tiles_128x4(rows, scale_cols, place, col);
                E4m3Fn::from_bits(of_matrix[at]).to_f32() * self.global_muls[matrix]
            }
            (_, Side::Activations) => {
                let at = read::rows_of(1, scale_cols, place, col);
                E4m3Fn::from_bits(of_matrix[at]).to_f32() * self.global_muls[matrix]
            }
        }
    }

    fn is_fp8(&self) -> bool {
        matches!(self.kernel, Kernel::DeepGemmSm90 | Kernel::DeepGemmSm100)
    }
}

/// One result of the product of activations and a weight: the sum over the columns of row `token`
/// of `activations` times row `row` of `weight`, both in matrix `matrix`.
///
/// With groups as matrices it is the `bhr,hdr->bhd` of DeepSeek-V4's grouped output projection.
/// Products and their sum are in `f64`, in column order. `None` outside of an operand, and where
/// the two do not have the same number of columns.
///
/// A gated kernel then multiplies `silu` of each gate with its up; that is left to the caller.
///
/// ```
/// use blockscale::runtime::{Kernel, Operand, product_at};
/// use blockscale::Shape;
///
/// // One token and four rows of weight, 128 columns each: all codes 1 (0x38).
/// let kernel = Kernel::DeepGemmSm90;
/// let column = |scale: f32| [scale, 0.0, 0.0, 0.0].map(f32::to_le_bytes); // padded to 16 bytes
/// let (a, a_scales) = ([0x38; 128], column(0.5));
/// let (b, b_scales) = ([0x38; 4 * 128], 0.25_f32.to_le_bytes());
/// let a = Operand::activations(kernel, 1, Shape::new(1, 128), &a, a_scales.as_flattened(), &[])?;
/// let b = Operand::weight(kernel, 1, Shape::new(4, 128), &b, &b_scales, &[])?;
/// assert_eq!(product_at(&a, &b, 0, 0, 3), Some(128.0 * 0.5 * 0.25));
/// assert_eq!(product_at(&a, &b, 0, 0, 4), None);
/// # Ok::<(), blockscale::layout::LayoutError>(())
/// ```
pub fn product_at(
    activations: &Operand<'_>,
    weight: &Operand<'_>,
    matrix: usize,
    token: usize,
    row: usize,
) -> Option<f64> {
    if activations.shape.cols != weight.shape.cols {
        return None;
    }
    (0..weight.shape.cols).try_fold(0.0, |sum, col| {
        let a = f64::from(activations.value_at(matrix, token, col)?);
        let b = f64::from(weight.value_at(matrix, row, col)?);
        Some(sum + a * b)
    })
}
