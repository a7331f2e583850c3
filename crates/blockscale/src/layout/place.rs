//! Where a layout keeps each scale of a matrix.
//!
//! In every layout the place of a scale is a sum of two parts, one that depends on its row alone
//! and one that depends on its column alone. Two small functions therefore describe a layout, and
//! applying and undoing it are the same loop.

use super::rows::{gate_up_eights_place, marlin_place, quarter_place, w13_place};
use super::{LayoutError, ScaleLayout, Stack, marlin};
use crate::{ScaleElement, Shape};

/// The scales of one matrix in a layout.
#[derive(Clone, Copy)]
pub(super) struct Placement {
    layout: ScaleLayout,
    rows: usize,
    /// Bytes of a stored scale.
    width: usize,
    /// Bytes from one row of scales or tiles, or one column of scales or words, to the next.
    pub(super) pitch: usize,
    /// Bytes of the whole matrix, padding included.
    pub(super) len: usize,
}

impl Placement {
    /// `None` where a size overflows.
    fn new(layout: ScaleLayout, shape: Shape, element: ScaleElement) -> Option<Self> {
        let Shape { rows, cols } = shape;
        let width = match layout {
            ScaleLayout::Linear => element.bytes(),
            ScaleLayout::DeepGemmF32 => 4,
            _ => 1,
        };
        let words = cols.div_ceil(4);
        let (pitch, count) = match layout {
            ScaleLayout::Linear => (cols.checked_mul(width)?, rows),
            ScaleLayout::Tiles128x4
            | ScaleLayout::TrtllmMoeW13(_)
            | ScaleLayout::TrtllmMoeW2(_)
            | ScaleLayout::TrtllmLinear(_) => (words.checked_mul(512)?, rows.div_ceil(128)),
            ScaleLayout::Tiles8x4 => (words.checked_mul(32)?, rows.div_ceil(8)),
            ScaleLayout::DeepGemmF32 => (tma_aligned(rows)?.checked_mul(4)?, cols),
            ScaleLayout::DeepGemmPacked
            | ScaleLayout::DeepGemmPackedBlocks
            | ScaleLayout::MegaMoeL1
            | ScaleLayout::MegaMoeL2 => (tma_aligned(rows)?.checked_mul(4)?, words),
            ScaleLayout::MarlinNvfp4 | ScaleLayout::MarlinMxfp4 => {
                let group = layout.marlin_group();
                let padded = marlin::padded_shape(Shape::new(rows, cols.checked_mul(group)?))?;
                (padded.rows, padded.cols / group)
            }
        };
        Some(Self {
            layout,
            rows,
            width,
            pitch,
            len: pitch.checked_mul(count)?,
        })
    }

    pub(super) fn row_offset(&self, row: usize) -> usize {
        match self.layout {
            ScaleLayout::Linear => row * self.pitch,
            ScaleLayout::Tiles128x4 => self.tile_row(row),
            ScaleLayout::Tiles8x4 => row / 8 * self.pitch + row % 8 * 4,
            ScaleLayout::TrtllmMoeW13(shuffle) => self.tile_row(w13_place(shuffle, self.rows, row)),
            ScaleLayout::TrtllmMoeW2(shuffle) | ScaleLayout::TrtllmLinear(shuffle) => {
                self.tile_row(shuffle.place(row))
            }
            ScaleLayout::DeepGemmF32
            | ScaleLayout::DeepGemmPacked
            | ScaleLayout::DeepGemmPackedBlocks => row * 4,
            ScaleLayout::MegaMoeL1 => quarter_place(gate_up_eights_place(self.rows, row)) * 4,
            ScaleLayout::MegaMoeL2 => quarter_place(row) * 4,
            ScaleLayout::MarlinNvfp4 | ScaleLayout::MarlinMxfp4 => marlin_place(row),
        }
    }

    pub(super) fn col_offset(&self, col: usize) -> usize {
        match self.layout {
            ScaleLayout::Linear => col * self.width,
            ScaleLayout::Tiles128x4
            | ScaleLayout::TrtllmMoeW13(_)
            | ScaleLayout::TrtllmMoeW2(_)
            | ScaleLayout::TrtllmLinear(_) => col / 4 * 512 + col % 4,
            ScaleLayout::Tiles8x4 => col / 4 * 32 + col % 4,
            ScaleLayout::DeepGemmF32 | ScaleLayout::MarlinNvfp4 | ScaleLayout::MarlinMxfp4 => {
                col * self.pitch
            }
            ScaleLayout::DeepGemmPacked
            | ScaleLayout::DeepGemmPackedBlocks
            | ScaleLayout::MegaMoeL1
            | ScaleLayout::MegaMoeL2 => col / 4 * self.pitch + col % 4,
        }
    }

    fn tile_row(&self, row: usize) -> usize {
        row / 128 * self.pitch + row % 32 * 16 + row % 128 / 32 * 4
    }
}

/// Rows rounded up to 16 bytes of 32-bit words, which is what TMA can address.
const fn tma_aligned(rows: usize) -> Option<usize> {
    rows.checked_next_multiple_of(4)
}

impl ScaleLayout {
    pub(super) fn placement(
        self,
        shape: Shape,
        element: ScaleElement,
    ) -> Result<Placement, LayoutError> {
        if !self.holds(element) {
            return Err(LayoutError::Element {
                layout: self,
                found: element,
            });
        }
        if !shape.rows.is_multiple_of(self.scale_row_multiple()) {
            return Err(LayoutError::Rows {
                layout: self.name(),
                multiple: self.scale_row_multiple(),
                found: shape.rows,
            });
        }
        Placement::new(self, shape, element).ok_or(LayoutError::TooLarge { layout: self })
    }

    /// Bytes that the scales of `stack` take in this layout, padding included.
    ///
    /// `element` is the type of the scales as a checkpoint has them.
    ///
    /// # Errors
    ///
    /// [`LayoutError::Element`] and [`LayoutError::Rows`] where the layout cannot hold such scales,
    /// [`LayoutError::TooLarge`] where the size overflows.
    ///
    /// ```
    /// use blockscale::layout::{ScaleLayout, Stack};
    /// use blockscale::{ScaleElement, Shape};
    ///
    /// let stack = Stack::new(3, Shape::new(130, 5));
    /// let size = |layout: ScaleLayout, element| layout.scale_bytes(stack, element);
    /// assert_eq!(size(ScaleLayout::Linear, ScaleElement::E4m3Fn), Ok(3 * 650));
    /// assert_eq!(size(ScaleLayout::Tiles128x4, ScaleElement::E4m3Fn), Ok(3 * 256 * 8));
    /// assert_eq!(size(ScaleLayout::DeepGemmPacked, ScaleElement::E8m0Fnu), Ok(3 * 132 * 8));
    /// ```
    pub fn scale_bytes(self, stack: Stack, element: ScaleElement) -> Result<usize, LayoutError> {
        let one = self.placement(stack.shape, element)?.len;
        one.checked_mul(stack.matrices)
            .ok_or(LayoutError::TooLarge { layout: self })
    }

    /// Bytes from the start of the scales to scale (`row`, `col`) of matrix `matrix`.
    ///
    /// `row` is a row of the weight, also where the source has one scale row for 128 of them.
    /// `None` outside of `stack`, and where [`scale_bytes`](Self::scale_bytes) fails.
    ///
    /// ```
    /// use blockscale::layout::{ScaleLayout, Stack};
    /// use blockscale::{ScaleElement, Shape};
    ///
    /// let stack = Stack::single(Shape::new(3072, 448));
    /// let layout = ScaleLayout::Tiles128x4;
    /// let at = |row, col| layout.offset(stack, ScaleElement::E4m3Fn, 0, row, col);
    /// assert_eq!(at(33, 5), Some(533));
    /// assert_eq!(at(3071, 447), Some(1_376_255));
    /// assert_eq!(at(3072, 0), None);
    /// ```
    pub fn offset(
        self,
        stack: Stack,
        element: ScaleElement,
        matrix: usize,
        row: usize,
        col: usize,
    ) -> Option<usize> {
        self.scale_bytes(stack, element).ok()?;
        let place = self.placement(stack.shape, element).ok()?;
        let inside = matrix < stack.matrices && row < stack.shape.rows && col < stack.shape.cols;
        inside.then(|| matrix * place.len + place.row_offset(row) + place.col_offset(col))
    }

    /// Size of the matrices of scales, row by row, that this layout is made from.
    ///
    /// That is `shape`, but for [`DeepGemmPackedBlocks`](Self::DeepGemmPackedBlocks), whose source
    /// has one row of scales for 128 rows of the weight.
    ///
    /// ```
    /// use blockscale::Shape;
    /// use blockscale::layout::ScaleLayout;
    ///
    /// let shape = Shape::new(1000, 8);
    /// assert_eq!(ScaleLayout::Tiles128x4.linear_shape(shape), shape);
    /// assert_eq!(ScaleLayout::DeepGemmPackedBlocks.linear_shape(shape), Shape::new(8, 8));
    /// ```
    pub const fn linear_shape(self, shape: Shape) -> Shape {
        Shape::new(shape.rows.div_ceil(self.rows_per_scale()), shape.cols)
    }

    pub(super) const fn rows_per_scale(self) -> usize {
        match self {
            Self::DeepGemmPackedBlocks => 128,
            _ => 1,
        }
    }

    /// Columns of a row, counted from one of their multiples, that lie together in this layout.
    pub(super) const fn cols_together(self, cols: usize) -> usize {
        match self {
            Self::Linear => cols,
            Self::DeepGemmF32 | Self::MarlinNvfp4 | Self::MarlinMxfp4 => 1,
            _ => 4,
        }
    }

    /// Whether scales of type `element` can be put into this layout.
    ///
    /// ```
    /// use blockscale::ScaleElement;
    /// use blockscale::layout::ScaleLayout;
    ///
    /// assert!(ScaleLayout::DeepGemmPacked.holds(ScaleElement::F32)); // powers of two, packed
    /// assert!(!ScaleLayout::DeepGemmPacked.holds(ScaleElement::E4m3Fn));
    /// ```
    pub const fn holds(self, element: ScaleElement) -> bool {
        match self {
            Self::Linear => true,
            Self::Tiles128x4 | Self::Tiles8x4 => {
                matches!(element, ScaleElement::E4m3Fn | ScaleElement::E8m0Fnu)
            }
            Self::TrtllmMoeW13(_) | Self::TrtllmMoeW2(_) | Self::TrtllmLinear(_) => {
                matches!(element, ScaleElement::E4m3Fn | ScaleElement::E8m0Fnu)
            }
            Self::DeepGemmF32 => matches!(element, ScaleElement::F32),
            Self::DeepGemmPacked
            | Self::DeepGemmPackedBlocks
            | Self::MegaMoeL1
            | Self::MegaMoeL2 => matches!(element, ScaleElement::E8m0Fnu | ScaleElement::F32),
            Self::MarlinNvfp4 => matches!(element, ScaleElement::E4m3Fn),
            Self::MarlinMxfp4 => matches!(element, ScaleElement::E8m0Fnu),
        }
    }

    /// The types that [`holds`](Self::holds) allows, for messages.
    pub(super) const fn scale_names(self) -> &'static str {
        match self {
            Self::Linear => "all",
            Self::Tiles128x4
            | Self::Tiles8x4
            | Self::TrtllmMoeW13(_)
            | Self::TrtllmMoeW2(_)
            | Self::TrtllmLinear(_) => "E4M3 or UE8M0",
            Self::DeepGemmF32 => "F32",
            Self::DeepGemmPacked
            | Self::DeepGemmPackedBlocks
            | Self::MegaMoeL1
            | Self::MegaMoeL2 => "UE8M0 or F32",
            Self::MarlinNvfp4 => "E4M3",
            Self::MarlinMxfp4 => "UE8M0",
        }
    }

    /// What the number of rows has to be a multiple of, for scales.
    const fn scale_row_multiple(self) -> usize {
        match self {
            Self::TrtllmMoeW13(_)
            | Self::TrtllmMoeW2(_)
            | Self::TrtllmLinear(_)
            | Self::MegaMoeL1
            | Self::MegaMoeL2 => 128,
            _ => 1,
        }
    }

    /// Columns of the weight that a scale covers, which Marlin's padding depends on.
    pub(super) const fn marlin_group(self) -> usize {
        match self {
            Self::MarlinMxfp4 => 32,
            _ => 16,
        }
    }
}
