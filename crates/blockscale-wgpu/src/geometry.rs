//! Where the codes and scales of a weight lie, and how it is cut into parts.

use std::ops::Range;

use blockscale::{Block, Format, ScaleElement, Shape};
use bytemuck::{Pod, Zeroable};

use crate::window::steps;
use crate::{Kind, Number, Stored, Window};

/// `Part` of `kernels/wgsl/weight.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Parameters {
    first_row: u32,
    first_col: u32,
    row_bytes: u32,
    stride: u32,
    code_mask: u32,
    kind: u32,
    block_rows: u32,
    block_cols: u32,
    block_rows_log2: u32,
    block_cols_log2: u32,
    first_scale_row: u32,
    first_scale_col: u32,
    scale_cols: u32,
    scale_codes: u32,
}

/// Where things lie in a weight.
pub(crate) struct Geometry {
    kind: Kind,
    shape: Shape,
    /// Bits from one code to the next.
    stride: usize,
    block: Shape,
    scale_shape: Shape,
    /// Bytes of a scale in the adapter's memory.
    scale_bytes: usize,
}

impl Geometry {
    pub(crate) fn of(stored: &Stored<'_>) -> Self {
        let (kind, shape) = (stored.kind(), stored.shape());
        // Eight codes take as many bytes as one takes bits.
        let stride = kind.row_bytes(8);
        match kind {
            Kind::Blocks(format) => Self {
                kind,
                shape,
                stride,
                block: Shape::new(format.block_rows(shape.rows), block_cols(&format, shape)),
                scale_shape: format.scale_shape(shape),
                scale_bytes: if has_scale_codes(&format) { 1 } else { 4 },
            },
            Kind::Numbers(_) => Self {
                kind,
                shape,
                stride,
                block: Shape::new(1, 1),
                scale_shape: Shape::new(0, 0),
                scale_bytes: 0,
            },
        }
    }

    /// The weight in runs of rows, or parts of a row, of at most `part_bytes` of codes and of scales.
    pub(crate) fn cut(&self, part_bytes: usize) -> Vec<Window> {
        let row_bytes = self.kind.row_bytes(self.shape.cols).max(1);
        let scale_row_bytes = (self.scale_shape.cols * self.scale_bytes).max(1);
        if row_bytes <= part_bytes && scale_row_bytes <= part_bytes {
            let blocks_of_rows = part_bytes / scale_row_bytes;
            let rows = (part_bytes / row_bytes).min(blocks_of_rows.saturating_mul(self.block.rows));
            // A run that ends with its block needs no scale twice.
            let whole = rows / self.block.rows * self.block.rows;
            let rows = if whole > 0 { whole } else { rows };
            return self.bands(rows, self.shape.cols);
        }
        // Eight codes end with a byte. Blocks narrower than that have a scale a column at most.
        let eights = (part_bytes / self.stride).min(part_bytes / 8 / self.scale_bytes.max(1));
        self.bands(1, eights.max(1) * 8)
    }

    fn bands(&self, rows: usize, cols: usize) -> Vec<Window> {
        if self.shape.len() == Some(0) {
            return Vec::new();
        }
        let by_rows = steps(0..self.shape.rows, rows.max(1));
        by_rows
            .flat_map(|rows| {
                let by_cols = steps(0..self.shape.cols, cols.max(1));
                by_cols.map(move |cols| Window::new(rows.clone(), cols))
            })
            .collect()
    }

    /// All scales that elements of a part need.
    fn scales_of(&self, part: &Window) -> Window {
        let touched =
            |range: &Range<usize>, block: usize| range.start / block..(range.end - 1) / block + 1;
        Window::new(
            touched(&part.rows, self.block.rows),
            touched(&part.cols, self.block.cols),
        )
    }

    pub(crate) fn scales_that_start_in(&self, part: &Window) -> Window {
        if self.scale_bytes == 0 {
            return Window::new(0..0, 0..0);
        }
        let starting = |range: &Range<usize>, block: usize| {
            range.start.div_ceil(block)..range.end.div_ceil(block)
        };
        Window::new(
            starting(&part.rows, self.block.rows),
            starting(&part.cols, self.block.cols),
        )
    }

    pub(crate) fn parameters(&self, part: &Window) -> Parameters {
        let scales = self.scales_of(part);
        Parameters {
            first_row: part.rows.start as u32,
            first_col: part.cols.start as u32,
            row_bytes: within_u32(self.kind.row_bytes(self.shape.cols)),
            stride: self.stride as u32,
            code_mask: self.code_mask(),
            kind: match self.kind {
                Kind::Blocks(_) => 0,
                Kind::Numbers(Number::F32) => 1,
                Kind::Numbers(Number::Bf16) => 2,
                Kind::Numbers(Number::F16) => 3,
            },
            block_rows: within_u32(self.block.rows),
            block_cols: within_u32(self.block.cols),
            block_rows_log2: log2(self.block.rows),
            block_cols_log2: log2(self.block.cols),
            first_scale_row: scales.rows.start as u32,
            first_scale_col: scales.cols.start as u32,
            scale_cols: scales.cols.len() as u32,
            scale_codes: u32::from(self.scale_bytes == 1),
        }
    }

    /// The bytes of a part's codes: whole rows or some of one, so they are together.
    pub(crate) fn codes<'a>(&self, stored: &'a Stored<'_>, part: &Window) -> &'a [u8] {
        let row_bytes = self.kind.row_bytes(self.shape.cols);
        let end_in_row = if part.cols.end == self.shape.cols {
            row_bytes
        } else {
            part.cols.end / 8 * self.stride
        };
        let start = part.rows.start * row_bytes + part.cols.start / 8 * self.stride;
        let end = (part.rows.end - 1) * row_bytes + end_in_row;
        &stored.codes()[start..end]
    }

    fn code_mask(&self) -> u32 {
        let bits = match self.kind {
            Kind::Blocks(format) => format.element.bits(),
            Kind::Numbers(number) => number.bytes() * 8,
        };
        u32::MAX >> (32 - bits)
    }

    /// A part's scales as the adapter has them: bytes to be looked up, or numbers of both levels.
    pub(crate) fn scales(&self, stored: &Stored<'_>, part: &Window) -> Vec<u8> {
        let Kind::Blocks(format) = self.kind else {
            return Vec::new();
        };
        let window = self.scales_of(part);
        let bytes = format.scale.bytes();
        let mut out = Vec::new();
        for row in window.rows.clone() {
            let row = &stored.scales()[row * self.scale_shape.cols * bytes..];
            let scales = &row[window.cols.start * bytes..window.cols.end * bytes];
            if has_scale_codes(&format) {
                out.extend_from_slice(scales);
                continue;
            }
            for scale in scales.chunks_exact(bytes) {
                let scale = format.effective_scale(scale, stored.global());
                out.extend_from_slice(&scale.to_bits().to_ne_bytes());
            }
        }
        out
    }
}

fn has_scale_codes(format: &Format) -> bool {
    matches!(format.scale, ScaleElement::E4m3Fn | ScaleElement::E8m0Fnu)
}

fn block_cols(format: &Format, shape: Shape) -> usize {
    match format.block {
        Block::Grid { cols, .. } => cols.max(1),
        Block::Row | Block::Tensor => shape.cols.max(1),
    }
}

/// The logarithm of a power of two that a `u32` holds, else 32.
fn log2(length: usize) -> u32 {
    match u32::try_from(length) {
        Ok(length) if length.is_power_of_two() => length.ilog2(),
        _ => 32,
    }
}

/// A block larger than that covers every row or column there is.
fn within_u32(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use blockscale::decode::Rows;

    /// How often each place of a matrix lies in one of some windows.
    fn times(shape: Shape, windows: impl Iterator<Item = Window>) -> Vec<u32> {
        let mut times = vec![0; shape.rows * shape.cols];
        for window in windows {
            for row in window.rows {
                for col in window.cols.clone() {
                    times[row * shape.cols + col] += 1;
                }
            }
        }
        times
    }

    #[test]
    fn parts_hold_each_element_once_and_own_each_scale_once() {
        let tensor = Format {
            block: Block::Tensor,
            ..Format::NVFP4
        };
        let narrow = Format {
            block: Block::Grid { rows: 3, cols: 5 },
            ..Format::MXFP6_E2M3
        };
        for format in [
            Format::NVFP4,
            Format::FP8_BLOCK,
            Format::FP8_CHANNEL,
            tensor,
            narrow,
        ] {
            for shape in [Shape::new(140, 150), Shape::new(3, 1201), Shape::new(0, 7)] {
                let codes = vec![0; format.code_bytes(shape).unwrap()];
                let scales = vec![0; format.scale_bytes(shape).unwrap()];
                let rows = Rows {
                    codes: &codes,
                    scales: &scales,
                    global: 1.0,
                };
                let stored = Stored::blocks(&format, shape, rows).unwrap();
                let geometry = Geometry::of(&stored);
                for part_bytes in [256, 1000, 1 << 20] {
                    let parts = geometry.cut(part_bytes);
                    let what = format!("{format}, {shape:?}, {part_bytes}");
                    let elements = times(shape, parts.iter().cloned());
                    assert!(elements.iter().all(|&times| times == 1), "{what}");

                    let owned = parts.iter().map(|part| geometry.scales_that_start_in(part));
                    let scales = times(format.scale_shape(shape), owned);
                    let any = shape.len() != Some(0);
                    assert!(
                        scales.iter().all(|&times| times == u32::from(any)),
                        "{what}"
                    );
                    for part in &parts {
                        assert!(geometry.codes(&stored, part).len() <= part_bytes, "{what}");
                        let scales = geometry.scales(&stored, part).len();
                        assert!(scales <= part_bytes + 8, "{what}: {scales}");
                    }
                }
            }
        }
    }
}
