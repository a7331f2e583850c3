//! Codes to numbers.

use super::ElementType;
use crate::bits;
use crate::decode::Rows;
use crate::element::{E2m1, E2m3, E3m2, E4m3Fn, E4m3Fnuz, E5m2};
use crate::format::Packing;
use crate::real::product;
use crate::{Element, Format, Real, Shape};

pub(crate) fn decode_rows<T: Real>(format: &Format, shape: Shape, rows: Rows<'_>, out: &mut [T]) {
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
    by_block(format, shape, rows, out, run);
}

fn by_block<T: Real>(
    format: &Format,
    shape: Shape,
    rows: Rows<'_>,
    out: &mut [T],
    run: impl Fn(&[u8], usize, f32, &mut [T]),
) {
    if out.is_empty() {
        return;
    }
    let row_bytes = format.row_bytes(shape.cols);
    let block_rows = format.block_rows(shape.rows);
    let block_cols = format.block_cols(shape.cols);
    let scale_bytes = format.scale.bytes();
    let scale_row_bytes = format.scale_shape(shape).cols * scale_bytes;

    let code_rows = rows.codes.chunks_exact(row_bytes);
    for (index, (out, codes)) in out.chunks_exact_mut(shape.cols).zip(code_rows).enumerate() {
        let scales = &rows.scales[index / block_rows * scale_row_bytes..][..scale_row_bytes];
        let blocks = out
            .chunks_mut(block_cols)
            .zip(scales.chunks_exact(scale_bytes));
        for (block, (out, scale)) in blocks.enumerate() {
            let scale = format.effective_scale(scale, rows.global);
            run(codes, block * block_cols, scale, out);
        }
    }
}

fn bytes<E: ElementType, T: Real>(row: &[u8], first: usize, scale: f32, out: &mut [T]) {
    for (out, &code) in out.iter_mut().zip(&row[first..]) {
        *out = T::from_f32(product(E::widen(code), scale));
    }
}

fn sextets<E: ElementType, T: Real>(row: &[u8], first: usize, scale: f32, out: &mut [T]) {
    for (out, col) in out.iter_mut().zip(first..) {
        *out = T::from_f32(product(E::widen(bits::get(row, 6, col)), scale));
    }
}

fn nibbles<T: Real>(row: &[u8], first: usize, scale: f32, out: &mut [T]) {
    let value = |code| T::from_f32(product(E2m1::from_bits(code).to_f32(), scale));

    // An odd column starts in the high half of a byte whose low half is another block's.
    let (odd, rest) = out.split_at_mut(out.len().min(first % 2));
    for out in odd {
        *out = value(row[first / 2] >> 4);
    }
    let bytes = &row[first.div_ceil(2)..];
    let (pairs, last) = rest.as_chunks_mut::<2>();
    for ([even, odd], &byte) in pairs.iter_mut().zip(bytes) {
        *even = value(byte);
        *odd = value(byte >> 4);
    }
    if let [last] = last {
        *last = value(bytes[pairs.len()]);
    }
}
