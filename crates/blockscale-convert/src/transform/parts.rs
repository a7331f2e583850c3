//! A run cut into parts, and its planes with it.

use std::ops::Range;

use blockscale::format::{Block, Shape};
use blockscale_model::catalog::Encoding;

use super::Planes;
use crate::encoding::IntPlaneSizes;
use crate::jobs::least_common_multiple;
use crate::memory::Buffers;
use crate::weights::{group_rows, is_even_cut, plain_row_bytes, scale_range};

/// Rows of a run and the places for what is made of them.
pub(super) struct PartMut<'a> {
    pub(super) rows: Range<usize>,
    pub(super) codes: &'a mut [u8],
    /// None of them where one scale stands for all of the weight.
    pub(super) scales: &'a mut [u8],
    pub(super) zeros: Option<&'a mut [u8]>,
}

/// The rows of a run in steps.
pub(super) fn ranges(shape: Shape, step: usize) -> Vec<Range<usize>> {
    if shape.cols == 0 {
        return Vec::new();
    }
    (0..shape.rows)
        .step_by(step)
        .map(|row| row..(row + step).min(shape.rows))
        .collect()
}

/// Rows of a part that is made as a whole: blocks of the output are not cut, and blocks of the source
/// only evenly.
pub(super) fn whole_rows(source: usize, output: usize, cols: usize) -> usize {
    let groups = group_rows(&[1], cols) / output;
    (1..=groups.max(1))
        .rev()
        .map(|blocks| blocks * output)
        .find(|&rows| is_even_cut(rows, source))
        .unwrap_or_else(|| least_common_multiple(source, output))
}

/// Whether an encoding has zero points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zeros {
    Absent,
    Present,
}

/// Bytes of the planes of so many rows.
pub(super) fn plane_sizes(encoding: &Encoding, shape: Shape) -> IntPlaneSizes {
    match encoding {
        Encoding::Plain(dtype) => IntPlaneSizes {
            codes: shape.rows * plain_row_bytes(*dtype, shape.cols),
            scales: 0,
            zeros: 0,
        },
        Encoding::Block(format) => IntPlaneSizes {
            codes: shape.rows * format.row_bytes(shape.cols),
            scales: scale_range(format, shape, 0, &(0..shape.rows)).len(),
            zeros: 0,
        },
        Encoding::Grouped(format) => IntPlaneSizes::of(format, shape),
        // Never made, only copied.
        Encoding::Ggml(_) => IntPlaneSizes {
            codes: 0,
            scales: 0,
            zeros: 0,
        },
    }
}

/// Planes for a run, of any content.
pub(super) fn planes(encoding: &Encoding, shape: Shape, zeros: Zeros, buffers: &Buffers) -> Planes {
    let sizes = plane_sizes(encoding, shape);
    Planes {
        codes: buffers.get(sizes.codes),
        scales: buffers.get(sizes.scales),
        zeros: (zeros == Zeros::Present).then(|| buffers.get(sizes.zeros)),
    }
}

/// Planes cut into parts of `step` rows, which are whole blocks.
pub(super) fn split<'a>(
    encoding: &Encoding,
    shape: Shape,
    step: usize,
    planes: &'a mut Planes,
) -> Vec<PartMut<'a>> {
    let one_scale = matches!(encoding, Encoding::Block(format) if format.block == Block::Tensor);
    let mut codes = &mut planes.codes[..];
    let mut scales = match one_scale {
        true => &mut [],
        false => &mut planes.scales[..],
    };
    let mut zeros = planes.zeros.as_deref_mut();
    let parts = ranges(shape, step).into_iter();
    parts
        .map(|rows| {
            let sizes = plane_sizes(encoding, Shape::new(rows.len(), shape.cols));
            let zeros_of_part = zeros.take().map(|all| {
                let (part, rest) = all.split_at_mut(sizes.zeros);
                zeros = Some(rest);
                part
            });
            PartMut {
                rows,
                codes: take(&mut codes, sizes.codes),
                scales: match one_scale {
                    true => &mut [],
                    false => take(&mut scales, sizes.scales),
                },
                zeros: zeros_of_part,
            }
        })
        .collect()
}

fn take<'a>(rest: &mut &'a mut [u8], len: usize) -> &'a mut [u8] {
    let (part, others) = std::mem::take(rest).split_at_mut(len);
    *rest = others;
    part
}

#[cfg(test)]
mod tests {
    use blockscale::Format;

    use super::*;

    #[test]
    fn parts_are_all_of_the_planes_in_order() {
        for format in [Format::FP8_BLOCK, Format::NVFP4, Format::FP8_TENSOR] {
            let shape = Shape::new(300, 96);
            let encoding = Encoding::Block(format);
            let mut whole = planes(&encoding, shape, Zeros::Absent, &Buffers::NONE);
            let (codes, scales) = (whole.codes.len(), whole.scales.len());
            let parts = split(&encoding, shape, 128, &mut whole);
            let rows: Vec<_> = parts.iter().map(|part| part.rows.clone()).collect();
            assert_eq!(rows, [0..128, 128..256, 256..300]);
            assert_eq!(parts.iter().map(|p| p.codes.len()).sum::<usize>(), codes);
            let expected = if format == Format::FP8_TENSOR {
                0
            } else {
                scales
            };
            assert_eq!(
                parts.iter().map(|p| p.scales.len()).sum::<usize>(),
                expected
            );
        }
    }

    #[test]
    fn parts_hold_whole_blocks_of_the_output_and_even_cuts_of_the_source() {
        for source in [1, 3, 48, 128] {
            for output in [1, 5, 32, 128] {
                for cols in [1, 96, 7168] {
                    let rows = whole_rows(source, output, cols);
                    assert!(rows.is_multiple_of(output) && is_even_cut(rows, source));
                }
            }
        }
        assert_eq!(whole_rows(128, 1, 7168), 8);
        assert_eq!(whole_rows(1, 128, 7168), 128);
    }

    #[test]
    fn a_run_without_columns_has_no_parts() {
        assert!(ranges(Shape::new(3, 0), 1).is_empty());
        assert!(ranges(Shape::new(0, 3), 1).is_empty());
    }
}
