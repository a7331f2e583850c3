//! Laid out bytes as a tensor, for files that hold them.

use super::{LayoutError, ScaleLayout, Stack, marlin};
use crate::{ScaleElement, Shape};

/// Laid out scales or codes as a row-major tensor without gaps, padding included.
///
/// Runtimes often describe the same memory by a smaller shape and strides; a file has no strides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MemoryShape {
    /// Sizes, outermost first, the matrices of the stack being the first.
    pub dims: [usize; 3],
    /// Bytes of an element: 1 for bytes, 4 for F32 or 32-bit words.
    pub element_bytes: usize,
}

impl ScaleLayout {
    /// The scales of `stack` in this layout, as a tensor.
    ///
    /// | layout | sizes of a matrix | element |
    /// |---|---|---|
    /// | linear | scale rows, columns | as the checkpoint has it |
    /// | tiles, TensorRT-LLM | rows, columns, both padded | byte |
    /// | DeepGEMM F32 | columns, padded rows | F32 |
    /// | DeepGEMM packed, Mega MoE | words of four columns, padded rows | 32-bit word |
    /// | Marlin | columns, rows, both padded | byte |
    ///
    /// # Errors
    ///
    /// Those of [`scale_bytes`](Self::scale_bytes), which is the product of the sizes.
    ///
    /// ```
    /// use blockscale::layout::{ScaleLayout, Stack};
    /// use blockscale::{ScaleElement, Shape};
    ///
    /// // DeepSeek-V4's `wo_a` in two groups: to the library (2, 1024, 8), strides (8192, 1, 1024).
    /// let stack = Stack::new(2, Shape::new(1024, 32));
    /// let memory = ScaleLayout::DeepGemmPackedBlocks.scale_memory(stack, ScaleElement::E8m0Fnu)?;
    /// assert_eq!((memory.dims, memory.element_bytes), ([2, 8, 1024], 4));
    /// # Ok::<(), blockscale::layout::LayoutError>(())
    /// ```
    pub fn scale_memory(
        self,
        stack: Stack,
        element: ScaleElement,
    ) -> Result<MemoryShape, LayoutError> {
        // Where this succeeds, no product of sizes overflows; one of them may, if another is 0.
        self.scale_bytes(stack, element)?;
        let too_large = LayoutError::TooLarge { layout: self };
        let Shape { rows, cols } = stack.shape;
        let linear = self.linear_shape(stack.shape);
        let words = cols.div_ceil(4);
        let (outer, inner, element_bytes) = match self {
            Self::Linear => (linear.rows, linear.cols, element.bytes()),
            Self::Tiles128x4
            | Self::TrtllmMoeW13(_)
            | Self::TrtllmMoeW2(_)
            | Self::TrtllmLinear(_) => (padded(self, rows, 128)?, padded(self, cols, 4)?, 1),
            Self::Tiles8x4 => (padded(self, rows, 8)?, padded(self, cols, 4)?, 1),
            Self::DeepGemmF32 => (cols, padded(self, rows, 4)?, 4),
            Self::DeepGemmPacked
            | Self::DeepGemmPackedBlocks
            | Self::MegaMoeL1
            | Self::MegaMoeL2 => (words, padded(self, rows, 4)?, 4),
            Self::MarlinNvfp4 | Self::MarlinMxfp4 => {
                let group = self.marlin_group();
                let cols = cols.checked_mul(group).ok_or(too_large)?;
                let padded = marlin::padded_shape(Shape::new(rows, cols)).ok_or(too_large)?;
                (padded.cols / group, padded.rows, 1)
            }
        };
        Ok(MemoryShape {
            dims: [stack.matrices, outer, inner],
            element_bytes,
        })
    }

    /// The codes of `stack` in this layout, as a tensor; `stack.shape.cols` counts bytes of a row.
    ///
    /// Bytes, row by row, but for Marlin: 32-bit words, (padded columns / 16, padded rows * 2).
    ///
    /// # Errors
    ///
    /// Those of [`code_bytes`](Self::code_bytes), which is the product of the sizes.
    ///
    /// ```
    /// use blockscale::Shape;
    /// use blockscale::layout::{ScaleLayout, Stack};
    ///
    /// let stack = Stack::single(Shape::new(128, 32)); // 128 x 64 E2M1
    /// let memory = ScaleLayout::MarlinNvfp4.code_memory(stack)?;
    /// assert_eq!((memory.dims, memory.element_bytes), ([1, 4, 256], 4));
    /// # Ok::<(), blockscale::layout::LayoutError>(())
    /// ```
    pub fn code_memory(self, stack: Stack) -> Result<MemoryShape, LayoutError> {
        self.code_bytes(stack)?;
        let Shape { rows, cols } = stack.shape;
        let (outer, inner, element_bytes) = match self {
            Self::MarlinNvfp4 | Self::MarlinMxfp4 => {
                let too_large = LayoutError::TooLarge { layout: self };
                let cols = cols.checked_mul(2).ok_or(too_large)?;
                let padded = marlin::padded_shape(Shape::new(rows, cols)).ok_or(too_large)?;
                let words = padded.rows.checked_mul(2).ok_or(too_large)?;
                (padded.cols / 16, words, 4)
            }
            _ => (rows, cols, 1),
        };
        Ok(MemoryShape {
            dims: [stack.matrices, outer, inner],
            element_bytes,
        })
    }
}

fn padded(layout: ScaleLayout, rows: usize, multiple: usize) -> Result<usize, LayoutError> {
    rows.checked_next_multiple_of(multiple)
        .ok_or(LayoutError::TooLarge { layout })
}
