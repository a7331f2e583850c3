//! What the codes of a block format are like, block by block.

use super::ScaleStats;
use crate::LenMismatch;
use crate::decode::Rows;
use crate::format::{Element, Format, Packing, Shape};

/// Histograms of codes, of each block's largest code, and of scales.
///
/// A quantiser that looks at the block's largest number gives it a code near the top of the element;
/// so the second histogram tells scales that were made for these codes from scales that were not.
///
/// ```
/// use blockscale::decode::Rows;
/// use blockscale::stats::BlockStats;
/// use blockscale::{Format, Shape};
///
/// // Two blocks of MXFP4: codes up to 7 (which is 6) under 2^-7, then zeros.
/// let codes = [[0x7f; 16], [0; 16]].concat();
/// let rows = Rows { codes: &codes, scales: &[120, 127], global: 1.0 };
/// let stats = BlockStats::of_rows(&Format::MXFP4, Shape::new(1, 64), rows)?;
/// assert_eq!((stats.blocks, stats.zero_blocks, stats.largest[7]), (2, 1, 1));
/// assert_eq!((stats.codes[0x7], stats.codes[0xf], stats.codes[0]), (16, 16, 32));
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockStats {
    /// Codes by their bits.
    pub codes: [u64; 256],
    /// Blocks with codes other than zero under an ordinary scale, by their largest code without its
    /// sign. NaN and infinity are left out of it. Ordinary is what is finite, not zero and not the
    /// smallest scale of its type, under which codes may be small.
    pub largest: [u64; 128],
    /// Blocks seen.
    pub blocks: u64,
    /// Blocks whose codes are all zero.
    pub zero_blocks: u64,
    /// Blocks whose codes are not all zero under a scale of zero.
    pub silenced: u64,
    /// The scales.
    pub scales: ScaleStats,
}

impl Default for BlockStats {
    fn default() -> Self {
        Self {
            codes: [0; 256],
            largest: [0; 128],
            blocks: 0,
            zero_blocks: 0,
            silenced: 0,
            scales: ScaleStats::default(),
        }
    }
}

impl BlockStats {
    /// Of a run of rows, as [`decode_rows`](crate::decode::decode_rows) takes it. One scale for the
    /// tensor makes one block of the run.
    ///
    /// # Errors
    /// [`LenMismatch`] where codes or scales are not as long as `shape` asks for.
    pub fn of_rows(format: &Format, shape: Shape, rows: Rows<'_>) -> Result<Self, LenMismatch> {
        rows.check(format, shape)?;
        let mut stats = Self::default();
        let plane = format.scale_shape(shape);
        stats.scales = ScaleStats::of_rows(format.scale, plane, rows.scales);
        let (tall, wide) = (format.block_rows(shape.rows), format.block_cols(shape.cols));
        let row_bytes = format.row_bytes(shape.cols);
        let size = format.scale.bytes();
        for first_row in (0..shape.rows).step_by(tall) {
            let last_row = shape.rows.min(first_row + tall);
            for first_col in (0..shape.cols).step_by(wide) {
                let cols = first_col..shape.cols.min(first_col + wide);
                let mut largest = 0;
                for row in first_row..last_row {
                    let row = &rows.codes[row * row_bytes..][..row_bytes];
                    for col in cols.clone() {
                        let code = code_at(format, row, col);
                        stats.codes[usize::from(code)] += 1;
                        largest = largest.max(finite_magnitude(format.element, code));
                    }
                }
                let block = first_row / tall * plane.cols + first_col / wide;
                let scale = format.scale.decode(&rows.scales[block * size..][..size]);
                stats.add_block(format, largest, scale);
            }
        }
        Ok(stats)
    }

    fn add_block(&mut self, format: &Format, largest: u8, scale: f32) {
        self.blocks += 1;
        let smallest = match format.scale.bytes() {
            1 => format
                .scale
                .decode(&[u8::from(format.scale.decode(&[0]) == 0.0)]),
            _ => f32::MIN_POSITIVE,
        };
        if largest == 0 {
            self.zero_blocks += 1;
        } else if scale == 0.0 {
            self.silenced += 1;
        } else if scale.is_finite() && scale.abs() > smallest {
            self.largest[usize::from(largest)] += 1;
        }
    }

    /// Adds what was found in other runs.
    pub fn merge(&mut self, other: &Self) {
        for (ours, theirs) in self.codes.iter_mut().zip(&other.codes) {
            *ours += theirs;
        }
        for (ours, theirs) in self.largest.iter_mut().zip(&other.largest) {
            *ours += theirs;
        }
        self.blocks += other.blocks;
        self.zero_blocks += other.zero_blocks;
        self.silenced += other.silenced;
        self.scales.merge(&other.scales);
    }

    /// Codes seen.
    pub fn count(&self) -> u64 {
        self.codes.iter().sum()
    }

    /// How many codes have a value of which `is` holds.
    pub fn count_where(&self, element: Element, is: impl Fn(f32) -> bool) -> u64 {
        let codes = (0..=255_u8).zip(&self.codes);
        codes
            .filter(|&(code, &seen)| seen > 0 && is(element.decode(code)))
            .map(|(_, seen)| seen)
            .sum()
    }

    /// Blocks in [`largest`](Self::largest), and how many of them have a largest value of which `is`
    /// holds.
    pub fn blocks_where(&self, element: Element, is: impl Fn(f32) -> bool) -> (u64, u64) {
        let blocks = (0..=127_u8).zip(&self.largest);
        blocks.fold((0, 0), |(all, those), (code, &seen)| {
            let holds = seen > 0 && is(element.decode(code));
            (all + seen, those + if holds { seen } else { 0 })
        })
    }
}

/// The code of one column of a row.
fn code_at(format: &Format, row: &[u8], col: usize) -> u8 {
    match (format.packing, format.element.bits()) {
        (Packing::Bytes, _) | (_, 8) => row[col],
        (_, 4) => row[col / 2] >> (col % 2 * 4) & 0xf,
        (_, bits) => {
            let bit = col * bits;
            let low = row[bit / 8];
            let high = row.get(bit / 8 + 1).copied().unwrap_or(0);
            (u16::from_le_bytes([low, high]) >> (bit % 8)) as u8 & ((1 << bits) - 1)
        }
    }
}

/// A code without its sign, 0 where it is NaN or infinite.
fn finite_magnitude(element: Element, code: u8) -> u8 {
    let sign = 1_u8 << (element.bits() - 1);
    let magnitude = code & (sign - 1);
    match element {
        Element::E4m3Fn if magnitude == 0x7f => 0,
        Element::E5m2 if magnitude >= 0x7c => 0,
        _ => magnitude,
    }
}
