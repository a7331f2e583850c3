//! Sizes of codes and scales of a matrix in a given format.

use super::{Block, Format, Packing};

/// Size of a matrix, or of a run of its rows, in elements.
///
/// In [`layout`](crate::layout), where matrices of codes and of scales are moved, it counts their
/// bytes or scales instead; the functions there say which.
///
/// ```
/// use blockscale::{Format, Shape};
///
/// let shape = Shape::new(130, 140);
/// assert_eq!(shape.len(), Some(18_200));
/// assert_eq!(Format::NVFP4.code_bytes(shape), Some(130 * 70));
/// assert_eq!(Format::NVFP4.scale_bytes(shape), Some(130 * 9));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Number of rows; in a weight, the outputs.
    pub rows: usize,
    /// Number of columns; in a weight, the inputs.
    pub cols: usize,
}

impl Shape {
    /// A shape of `rows` x `cols` elements.
    pub const fn new(rows: usize, cols: usize) -> Self {
        Self { rows, cols }
    }

    /// Number of elements, `None` where it overflows.
    #[expect(
        clippy::len_without_is_empty,
        reason = "a checked product, not a container"
    )]
    pub const fn len(self) -> Option<usize> {
        self.rows.checked_mul(self.cols)
    }
}

impl Format {
    /// Bytes that the codes of one row take. A row whose last byte is not full has zeros there.
    ///
    /// ```
    /// use blockscale::Format;
    ///
    /// assert_eq!(Format::NVFP4.row_bytes(33), 17);
    /// assert_eq!(Format::FP8_BLOCK.row_bytes(33), 33);
    /// ```
    pub const fn row_bytes(&self, cols: usize) -> usize {
        let bits = self.code_stride();
        // Eight columns at a time, lest the number of bits overflow.
        cols / 8 * bits + (cols % 8 * bits).div_ceil(8)
    }

    /// Bits from the start of one code to that of the next.
    pub(crate) const fn code_stride(&self) -> usize {
        match self.packing {
            Packing::Dense => self.element.bits(),
            Packing::Bytes => 8,
        }
    }

    /// Bytes that the codes of a matrix take, `None` where that overflows.
    pub const fn code_bytes(&self, shape: Shape) -> Option<usize> {
        shape.rows.checked_mul(self.row_bytes(shape.cols))
    }

    /// Rows and columns of the scales of a matrix.
    ///
    /// ```
    /// use blockscale::{Format, Shape};
    ///
    /// assert_eq!(Format::FP8_BLOCK.scale_shape(Shape::new(144, 272)), Shape::new(2, 3));
    /// assert_eq!(Format::FP8_CHANNEL.scale_shape(Shape::new(144, 272)), Shape::new(144, 1));
    /// ```
    pub fn scale_shape(&self, shape: Shape) -> Shape {
        match self.block {
            Block::Grid { rows, cols } => Shape::new(
                shape.rows.div_ceil(rows.max(1)),
                shape.cols.div_ceil(cols.max(1)),
            ),
            Block::Row => Shape::new(shape.rows, 1),
            Block::Tensor => Shape::new(1, 1),
        }
    }

    /// Bytes that the scales of a matrix take, `None` where that overflows.
    pub fn scale_bytes(&self, shape: Shape) -> Option<usize> {
        self.scale_shape(shape)
            .len()?
            .checked_mul(self.scale.bytes())
    }

    /// Rows that one row of scales covers, at least 1, in a tensor of `rows_of_tensor` rows.
    ///
    /// A run of rows that is worked on by itself starts at a multiple of it.
    ///
    /// ```
    /// use blockscale::Format;
    ///
    /// assert_eq!(Format::NVFP4.block_rows(300), 1);
    /// assert_eq!(Format::FP8_BLOCK.block_rows(300), 128);
    /// assert_eq!(Format::FP8_TENSOR.block_rows(300), 300);
    /// ```
    pub fn block_rows(&self, rows_of_tensor: usize) -> usize {
        match self.block {
            Block::Grid { rows, .. } => rows.max(1),
            Block::Row => 1,
            Block::Tensor => rows_of_tensor.max(1),
        }
    }

    /// Columns that one scale covers, at least 1, in a matrix of `cols` columns.
    ///
    /// ```
    /// use blockscale::Format;
    ///
    /// assert_eq!(Format::NVFP4.block_cols(40), 16);
    /// assert_eq!(Format::FP8_CHANNEL.block_cols(40), 40);
    /// ```
    pub fn block_cols(&self, cols: usize) -> usize {
        match self.block {
            Block::Grid { cols, .. } => cols.max(1),
            Block::Row | Block::Tensor => cols.max(1),
        }
    }
}
