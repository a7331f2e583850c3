//! Codes of a weight into a layout and out of it.

use super::marlin::{self, CodePlacement};
use super::rows::{gate_up_eights_place, w13_place};
use super::{LayoutError, ScaleLayout, Stack};
use crate::{LenMismatch, Shape};

/// Codes of a weight, with the layout they are in.
#[derive(Clone, Copy, Debug)]
pub struct Codes<'a> {
    /// The layout of `bytes`.
    pub layout: ScaleLayout,
    /// The codes of all matrices of a stack.
    pub bytes: &'a [u8],
}

impl ScaleLayout {
    /// Bytes that codes take in this layout; `stack.shape.cols` counts bytes of a row.
    ///
    /// Only Marlin pads them; the other layouts move whole rows or nothing.
    ///
    /// # Errors
    ///
    /// [`LayoutError::Rows`] where the layout moves groups of rows and these are none,
    /// [`LayoutError::TooLarge`] where the size overflows.
    ///
    /// ```
    /// use blockscale::Shape;
    /// use blockscale::layout::{ScaleLayout, Stack};
    ///
    /// let stack = Stack::single(Shape::new(100, 64)); // 100 x 128 E2M1
    /// assert_eq!(ScaleLayout::Tiles128x4.code_bytes(stack), Ok(6400));
    /// assert_eq!(ScaleLayout::MarlinNvfp4.code_bytes(stack), Ok(128 * 64));
    /// ```
    pub fn code_bytes(self, stack: Stack) -> Result<usize, LayoutError> {
        let multiple = self.code_row_multiple();
        if !stack.shape.rows.is_multiple_of(multiple) {
            return Err(LayoutError::Rows {
                layout: self.name(),
                multiple,
                found: stack.shape.rows,
            });
        }
        let one = match self {
            Self::MarlinNvfp4 | Self::MarlinMxfp4 => marlin_shape(stack.shape)
                .and_then(|padded| padded.rows.checked_mul(padded.cols / 2)),
            _ => stack.shape.len(),
        };
        one.and_then(|bytes| bytes.checked_mul(stack.matrices))
            .ok_or(LayoutError::TooLarge { layout: self })
    }

    /// What the number of rows has to be a multiple of, for codes.
    const fn code_row_multiple(self) -> usize {
        match self {
            Self::TrtllmMoeW13(shuffle)
            | Self::TrtllmMoeW2(shuffle)
            | Self::TrtllmLinear(shuffle) => shuffle.block(),
            Self::MegaMoeL1 | Self::MegaMoeL2 => 128,
            _ => 1,
        }
    }

    /// Where the codes of row `row` of `rows` go, in the layouts that move whole rows.
    const fn code_row_place(self, rows: usize, row: usize) -> usize {
        match self {
            Self::TrtllmMoeW13(shuffle) => w13_place(shuffle, rows, row),
            Self::TrtllmMoeW2(shuffle) | Self::TrtllmLinear(shuffle) => shuffle.place(row),
            Self::MegaMoeL1 => gate_up_eights_place(rows, row),
            _ => row,
        }
    }
}

/// Puts codes of checkpoints into `layout`; padding becomes zero.
///
/// `stack.shape.cols` counts bytes of a row. Layouts that are about scales alone, such as
/// [`ScaleLayout::Tiles128x4`], copy the codes.
///
/// # Errors
///
/// [`LayoutError::AlreadyApplied`] where `codes` is in another layout than linear, `Len`, `Rows`
/// and `TooLarge` as the shape has it.
///
/// ```
/// use blockscale::Shape;
/// use blockscale::layout::{Codes, RowShuffle, ScaleLayout, Stack, permute_codes};
///
/// let codes: [u8; 32] = std::array::from_fn(|row| row as u8); // 32 rows of a byte
/// let linear = Codes { layout: ScaleLayout::Linear, bytes: &codes };
/// let mut shuffled = [0; 32];
/// let layout = ScaleLayout::TrtllmLinear(RowShuffle::By32);
/// permute_codes(layout, Stack::single(Shape::new(32, 1)), linear, &mut shuffled)?;
/// assert_eq!(shuffled[..9], [0, 4, 8, 12, 16, 20, 24, 28, 1]);
/// # Ok::<(), blockscale::layout::LayoutError>(())
/// ```
pub fn permute_codes(
    layout: ScaleLayout,
    stack: Stack,
    codes: Codes<'_>,
    out: &mut [u8],
) -> Result<(), LayoutError> {
    if codes.layout != ScaleLayout::Linear {
        return Err(LayoutError::AlreadyApplied {
            found: codes.layout,
            asked: layout,
        });
    }
    check_lens(layout, stack, codes.bytes, out)?;
    if let ScaleLayout::MarlinNvfp4 | ScaleLayout::MarlinMxfp4 = layout {
        out.fill(0);
        for_each_marlin_byte(layout, stack, |linear, [low, high]| {
            let pair = codes.bytes[linear];
            for (code, nibble) in [(pair & 0xf, low), (pair >> 4, high)] {
                out[nibble / 2] |= code << (nibble % 2 * 4);
            }
        })
    } else {
        for_each_row(layout, stack, |linear, laid_out, len| {
            out[laid_out..][..len].copy_from_slice(&codes.bytes[linear..][..len]);
        });
        Ok(())
    }
}

/// Takes codes out of the layout they are in: row by row, without padding.
///
/// # Errors
///
/// `Len`, `Rows` and `TooLarge` as the shape has it.
///
/// ```
/// use blockscale::Shape;
/// use blockscale::layout::{Codes, RowShuffle, ScaleLayout, Stack, permute_codes, unpermute_codes};
///
/// let stack = Stack::single(Shape::new(32, 1));
/// let codes: [u8; 32] = std::array::from_fn(|row| row as u8);
/// let linear = Codes { layout: ScaleLayout::Linear, bytes: &codes };
/// let layout = ScaleLayout::TrtllmLinear(RowShuffle::By32);
/// let (mut shuffled, mut back) = ([0; 32], [0; 32]);
/// permute_codes(layout, stack, linear, &mut shuffled)?;
/// unpermute_codes(stack, Codes { layout, bytes: &shuffled }, &mut back)?;
/// assert_eq!(back, codes);
/// # Ok::<(), blockscale::layout::LayoutError>(())
/// ```
pub fn unpermute_codes(stack: Stack, codes: Codes<'_>, out: &mut [u8]) -> Result<(), LayoutError> {
    check_lens(codes.layout, stack, out, codes.bytes)?;
    if let ScaleLayout::MarlinNvfp4 | ScaleLayout::MarlinMxfp4 = codes.layout {
        for_each_marlin_byte(codes.layout, stack, |linear, pair| {
            let [low, high] = pair.map(|nibble| codes.bytes[nibble / 2] >> (nibble % 2 * 4) & 0xf);
            out[linear] = low | high << 4;
        })
    } else {
        for_each_row(codes.layout, stack, |linear, laid_out, len| {
            out[linear..][..len].copy_from_slice(&codes.bytes[laid_out..][..len]);
        });
        Ok(())
    }
}

fn check_lens(
    layout: ScaleLayout,
    stack: Stack,
    linear: &[u8],
    laid_out: &[u8],
) -> Result<(), LayoutError> {
    let expected = layout.code_bytes(stack)?;
    let codes = stack
        .shape
        .len()
        .and_then(|one| one.checked_mul(stack.matrices));
    LenMismatch::check("codes", codes, linear.len())?;
    LenMismatch::check("laid out codes", Some(expected), laid_out.len())?;
    Ok(())
}

/// Calls `visit` with the offsets of each row on both sides, and its bytes.
fn for_each_row(layout: ScaleLayout, stack: Stack, mut visit: impl FnMut(usize, usize, usize)) {
    let Shape { rows, cols } = stack.shape;
    if rows == 0 || cols == 0 {
        return;
    }
    for matrix in 0..stack.matrices {
        for row in 0..rows {
            let place = layout.code_row_place(rows, row);
            visit(
                (matrix * rows + row) * cols,
                (matrix * rows + place) * cols,
                cols,
            );
        }
    }
}

/// Calls `visit` with each linear byte and the places of its two codes, in nibbles.
fn for_each_marlin_byte(
    layout: ScaleLayout,
    stack: Stack,
    mut visit: impl FnMut(usize, [usize; 2]),
) -> Result<(), LayoutError> {
    let Shape { rows, cols } = stack.shape;
    let too_large = LayoutError::TooLarge { layout };
    let padded = marlin_shape(stack.shape).ok_or(too_large)?;
    let nibbles = padded.len().ok_or(too_large)?;
    nibbles.checked_mul(stack.matrices).ok_or(too_large)?;

    // Nothing, perhaps in more matrices or rows than can be counted through.
    if rows == 0 || cols == 0 {
        return Ok(());
    }
    let place = CodePlacement::new(padded);
    for matrix in 0..stack.matrices {
        for row in 0..rows {
            let base = matrix * nibbles + place.row_offset(row);
            for col in 0..cols {
                let pair = [2 * col, 2 * col + 1].map(|col| base + place.col_offset(col));
                visit((matrix * rows + row) * cols + col, pair);
            }
        }
    }
    Ok(())
}

/// Padded size in elements of a matrix whose columns are counted in bytes.
fn marlin_shape(shape: Shape) -> Option<Shape> {
    marlin::padded_shape(Shape::new(shape.rows, shape.cols.checked_mul(2)?))
}
