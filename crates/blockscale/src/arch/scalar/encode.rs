//! Numbers to codes under given scales.

use super::scales::choose_scales;
use super::{ElementType, policy};
use crate::bits;
use crate::element::{E2m1, E2m3, E3m2, E4m3Fn, E4m3Fnuz, E5m2, EncodePolicy};
use crate::encode::{Intermediate, Quotient, Scheme, ZeroScale};
use crate::format::Packing;
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

pub(crate) fn encode_codes<T: Real>(
    format: &Format,
    scheme: &Scheme,
    shape: Shape,
    values: &[T],
    scales: &[u8],
    global: f32,
    codes: &mut [u8],
) {
    if !is_plain(scheme) {
        return by_block(
            format,
            shape,
            values,
            scales,
            codes,
            |values, scale, first, row| {
                policy::run(format, scheme, values, scale, global, first, row);
            },
        );
    }
    let run = match (format.element, format.packing) {
        (Element::E2m1, Packing::Dense) => nibbles::<T>,
        (Element::E2m3, Packing::Dense) => sextets::<E2m3, T>,
        (Element::E3m2, Packing::Dense) => sextets::<E3m2, T>,
        (Element::E2m1, Packing::Bytes) => bytes::<E2m1, T>,
        (Element::E2m3, Packing::Bytes) => bytes::<E2m3, T>,
        (Element::E3m2, Packing::Bytes) => bytes::<E3m2, T>,
        (Element::E4m3Fn, _) => bytes::<E4m3Fn, T>,
        (Element::E4m3Fnuz, _) => bytes::<E4m3Fnuz, T>,
        (Element::E5m2, _) => bytes::<E5m2, T>,
    };
    by_block(
        format,
        shape,
        values,
        scales,
        codes,
        |values, scale, first, row| {
            run(values, format.effective_scale(scale, global), first, row);
        },
    );
}

pub(crate) fn encode_rows<T: Real>(
    format: &Format,
    scheme: &Scheme,
    shape: Shape,
    values: &[T],
    global: f32,
    codes: &mut [u8],
    scales: &mut [u8],
) {
    choose_scales(format, scheme, shape, values, global, scales);
    encode_codes(format, scheme, shape, values, scales, global, codes);
}

/// Whether codes are `x / s` rounded by the element type, whatever else the scheme does.
pub(crate) fn is_plain(scheme: &Scheme) -> bool {
    scheme.policy == EncodePolicy::DEFAULT
        && scheme.quotient == Quotient::Divide
        && scheme.intermediate != Intermediate::ScalesAndQuotients
        && scheme.zero != ZeroScale::Kept
}

/// Calls `run` for the part of each block that lies in one row: its values, the bytes of its scale,
/// the column of the first value, and the codes of the row.
fn by_block<T: Real>(
    format: &Format,
    shape: Shape,
    values: &[T],
    scales: &[u8],
    codes: &mut [u8],
    run: impl Fn(&[T], &[u8], usize, &mut [u8]),
) {
    if values.is_empty() {
        return;
    }
    if !format.code_stride().is_multiple_of(8) {
        // Codes of a byte are put into it one by one.
        codes.fill(0);
    }
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
            run(values, scale, block * block_cols, codes);
        }
    }
}

// Below: the values of a block in one row, which start in column `first`, to codes.

fn bytes<E: ElementType, T: Real>(values: &[T], scale: f32, first: usize, row: &mut [u8]) {
    let row = &mut row[first..][..values.len()];
    if scale == 0.0 {
        return row.fill(0);
    }
    for (code, value) in row.iter_mut().zip(values) {
        *code = E::round(value.to_f32() / scale);
    }
}

fn sextets<E: ElementType, T: Real>(values: &[T], scale: f32, first: usize, row: &mut [u8]) {
    if scale == 0.0 {
        return;
    }
    for (value, col) in values.iter().zip(first..) {
        bits::put(row, 6, col, E::round(value.to_f32() / scale));
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
