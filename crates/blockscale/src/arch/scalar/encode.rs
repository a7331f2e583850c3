//! Numbers to scales and codes.

use super::ByteElement;
use crate::element::{E2m1, E4m3Fn, E5m2};
use crate::encode::{ScaleRule, write_scale};
use crate::{Element, Format, Real, Shape};

/// Compares magnitudes as signed integers, which have the same order and vectorise everywhere.
pub(crate) fn amax<T: Real>(values: &[T]) -> f32 {
    let infinity = f32::INFINITY.to_bits() as i32;
    let largest = values.iter().fold(0, |largest: i32, value| {
        let magnitude = (value.to_f32().to_bits() & 0x7fff_ffff) as i32;
        largest.max(if magnitude < infinity { magnitude } else { 0 })
    });
    f32::from_bits(largest as u32)
}

pub(crate) fn choose_scales<T: Real>(
    format: &Format,
    rule: ScaleRule,
    shape: Shape,
    values: &[T],
    global: f32,
    scales: &mut [u8],
) {
    let block_rows = format.block_rows(shape.rows);
    let block_cols = format.block_cols(shape.cols);
    let scale_cols = format.scale_shape(shape).cols;

    for (index, scale) in scales.chunks_exact_mut(format.scale.bytes()).enumerate() {
        let first_row = index / scale_cols * block_rows;
        let first_col = index % scale_cols * block_cols;
        let last_row = shape.rows.min(first_row.saturating_add(block_rows));
        let width = block_cols.min(shape.cols - first_col);
        let block_amax = (first_row..last_row)
            .map(|row| amax(&values[row * shape.cols + first_col..][..width]))
            .fold(0.0, f32::max);
        write_scale(format, rule, block_amax, global, scale);
    }
}

pub(crate) fn encode_codes<T: Real>(
    format: &Format,
    shape: Shape,
    values: &[T],
    scales: &[u8],
    global: f32,
    codes: &mut [u8],
) {
    if values.is_empty() {
        return;
    }
    let run = match format.element {
        Element::E2m1 => nibbles::<T>,
        Element::E4m3Fn => bytes::<E4m3Fn, T>,
        Element::E5m2 => bytes::<E5m2, T>,
    };
    let row_bytes = format.row_bytes(shape.cols);
    let block_rows = format.block_rows(shape.rows);
    let block_cols = format.block_cols(shape.cols);
    let scale_bytes = format.scale.bytes();
    let scale_row_bytes = format.scale_shape(shape).cols * scale_bytes;

    let code_rows = codes.chunks_exact_mut(row_bytes);
    for (index, (values, codes)) in values.chunks_exact(shape.cols).zip(code_rows).enumerate() {
        let scales = &scales[index / block_rows * scale_row_bytes..][..scale_row_bytes];
        let blocks = values
            .chunks(block_cols)
            .zip(scales.chunks_exact(scale_bytes));
        for (block, (values, scale)) in blocks.enumerate() {
            let scale = format.effective_scale(scale, global);
            run(values, scale, block * block_cols, codes);
        }
    }
}

// Below: the values of a block in one row, which start in column `first`, to codes.

fn bytes<E: ByteElement, T: Real>(values: &[T], scale: f32, first: usize, row: &mut [u8]) {
    let row = &mut row[first..][..values.len()];
    if scale == 0.0 {
        return row.fill(0);
    }
    for (code, value) in row.iter_mut().zip(values) {
        *code = E::round(value.to_f32() / scale);
    }
}

fn nibbles<T: Real>(values: &[T], scale: f32, first: usize, row: &mut [u8]) {
    let code = |value: T| {
        let code = E2m1::from_f32(value.to_f32() / scale).to_bits();
        if scale == 0.0 { 0 } else { code }
    };

    // An odd column goes into the high half of a byte whose low half is another block's.
    let (odd, rest) = values.split_at(values.len().min(first % 2));
    for &value in odd {
        row[first / 2] |= code(value) << 4;
    }
    let bytes = &mut row[first.div_ceil(2)..];
    let (pairs, last) = rest.as_chunks::<2>();
    for (&[even, odd], byte) in pairs.iter().zip(bytes.iter_mut()) {
        *byte = code(even) | (code(odd) << 4);
    }
    if let &[last] = last {
        bytes[pairs.len()] = code(last);
    }
}
