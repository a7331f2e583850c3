//! Numbers to codes under given scales, and to scales and codes while they are in cache.

use core::arch::x86_64::_mm_sfence;

use super::fp4;
use super::fp8::{self, Fp8};
use super::quotients::Quotients;
use super::scales::{Chooser, goes_by_amax};
use super::source::{put32, streams};
use super::window::Window;
use crate::arch::scalar;
use crate::encode::Scheme;
use crate::format::Packing;
use crate::real::sealed::Kind;
use crate::{Element, Format, GlobalScale, Real, ScaleElement, Shape, bf16};

#[target_feature(enable = "avx2,f16c")]
pub(in crate::arch) fn encode_codes<T: Real>(
    format: &Format,
    scheme: &Scheme,
    shape: Shape,
    values: &[T],
    scales: &[u8],
    global: f32,
    codes: &mut [u8],
) {
    if values.is_empty() || !is_served(format, scheme, shape) {
        return scalar::encode::encode_codes(format, scheme, shape, values, scales, global, codes);
    }
    let mut encoder = Encoder::new::<T>(format, shape, global, streams(codes));
    for window in Window::all::<T>(format, shape) {
        encoder.window(&window, values, scales, codes);
    }
    encoder.finish();
}

#[target_feature(enable = "avx2,f16c")]
pub(in crate::arch) fn encode_rows<T: Real>(
    format: &Format,
    scheme: &Scheme,
    shape: Shape,
    values: &[T],
    global: f32,
    codes: &mut [u8],
    scales: &mut [u8],
) {
    if values.is_empty() || !goes_by_amax(scheme) || !is_served(format, scheme, shape) {
        super::scales::choose_scales(format, scheme, shape, values, global, scales);
        return encode_codes(format, scheme, shape, values, scales, global, codes);
    }
    let chooser = Chooser::new(format, scheme, global);
    let mut encoder = Encoder::new::<T>(format, shape, global, streams(codes));
    for window in Window::all::<T>(format, shape) {
        chooser.window(&window, values, scales);
        encoder.window(&window, values, scales, codes);
    }
    encoder.finish();
}

/// Whether codes are quotients in whole groups of eight, as the loops here take them.
fn is_served(format: &Format, scheme: &Scheme, shape: Shape) -> bool {
    let block_cols = format.block_cols(shape.cols);
    scalar::encode::is_plain(scheme) && (block_cols.is_multiple_of(8) || block_cols >= shape.cols)
}

/// What it takes to encode the windows of one matrix.
struct Encoder<'a> {
    format: &'a Format,
    global: f32,
    quotients: Quotients<'a>,
    tables: Tables,
    /// Whether what numbers are divided by is a UE8M0 scale alone.
    is_power: bool,
    streams: bool,
}

/// Tables for BF16, where there are any.
#[expect(clippy::large_enum_variant, reason = "one on the stack for each call")]
enum Tables {
    None,
    Fp8(Fp8),
    Fp4(fp4::Table),
}

/// Numbers from which on the table of a scale is worth making.
const WORTH_A_TABLE: usize = 512;

impl Tables {
    #[target_feature(enable = "avx2")]
    fn of<T: Real>(format: &Format, shape: Shape) -> Self {
        if T::KIND != Kind::Bf16 {
            return Self::None;
        }
        let block_cols = format.block_cols(shape.cols);
        let is_large = shape.len().is_some_and(|len| len >= 32 * WORTH_A_TABLE);
        match (format.element, format.packing) {
            (Element::E2m1, Packing::Dense)
                if is_large && format.scale.bytes() == 1 && [16, 32].contains(&block_cols) =>
            {
                Self::Fp4(fp4::Table::new())
            }
            _ => Fp8::new(format.element).map_or(Self::None, Self::Fp8),
        }
    }
}

impl<'a> Encoder<'a> {
    #[target_feature(enable = "avx2,f16c")]
    fn new<T: Real>(format: &'a Format, shape: Shape, global: f32, streams: bool) -> Self {
        Self {
            format,
            global,
            quotients: Quotients::new(format, global),
            tables: Tables::of::<T>(format, shape),
            is_power: format.scale == ScaleElement::E8m0Fnu && format.global == GlobalScale::None,
            streams,
        }
    }

    /// Makes what was written around the caches visible in order.
    #[target_feature(enable = "avx2")]
    fn finish(&self) {
        if self.streams {
            _mm_sfence();
        }
    }

    /// The codes of a window.
    #[target_feature(enable = "avx2,f16c")]
    fn window<T: Real>(&mut self, window: &Window, values: &[T], scales: &[u8], codes: &mut [u8]) {
        let all = window.blocks();
        for block_row in window.block_rows() {
            if let Tables::Fp8(fp8) = &self.tables {
                let values = bytemuck::cast_slice(values);
                if window.block_rows == 1 && window.block_cols == 32 && self.is_power {
                    let row = window.part(block_row, &all);
                    let scales = &scales[window.scales(block_row, &all)];
                    let codes = &mut codes[window.codes(block_row, &all)];
                    self.mxfp8(fp8, &values[row], scales, codes);
                    continue;
                }
                self.fp8(fp8, window, block_row, values, scales, codes);
                continue;
            }
            let scales = &scales[window.scales(block_row, &all)];
            for row in window.rows(block_row) {
                let values = &values[window.part(row, &all)];
                let codes = &mut codes[window.codes(row, &all)];
                match &mut self.tables {
                    Tables::Fp4(table) => {
                        let values = bytemuck::cast_slice(values);
                        let by_table = ByTable {
                            table,
                            format: self.format,
                            global: self.global,
                            quotients: &self.quotients,
                            streams: self.streams,
                        };
                        by_table.row(values, window.block_cols, scales, codes);
                    }
                    _ => self
                        .quotients
                        .part(values, window.block_cols, scales, codes),
                }
            }
        }
    }

    /// The codes of a row of blocks, by a table for each block.
    #[target_feature(enable = "avx2,f16c")]
    fn fp8(
        &self,
        fp8: &Fp8,
        window: &Window,
        block_row: usize,
        values: &[bf16],
        scales: &[u8],
        codes: &mut [u8],
    ) {
        let rows = window.rows(block_row);
        let is_large = window.block_cols.saturating_mul(rows.len()) >= WORTH_A_TABLE;
        let size = self.format.scale.bytes();
        for blocks in window.blocks_by(AT_ONCE) {
            let scales = scales[window.scales(block_row, &blocks)].chunks_exact(size);
            let mut tables = [None; AT_ONCE];
            for (table, scale) in tables.iter_mut().zip(scales.clone()) {
                let scale = self.format.effective_scale(scale, self.global);
                if is_large || scale.to_bits() << 9 == 0 {
                    *table = fp8.table(scale);
                }
            }
            for row in rows.clone() {
                let values = values[window.part(row, &blocks)].chunks(window.block_cols);
                let codes = codes[window.codes(row, &blocks)].chunks_mut(window.block_cols);
                let parts = values.zip(codes).zip(tables.iter().zip(scales.clone()));
                for ((values, codes), (table, scale)) in parts {
                    match table {
                        Some(table) => self.fp8_part(fp8, *table, values, scale, codes),
                        None => self.quotients.part(values, values.len(), scale, codes),
                    }
                }
            }
        }
    }

    /// The codes of a row in blocks of 32 columns whose scales are powers of two.
    #[target_feature(enable = "avx2,f16c")]
    fn mxfp8(&self, fp8: &Fp8, values: &[bf16], scales: &[u8], codes: &mut [u8]) {
        let blocks = values.chunks(32).zip(codes.chunks_mut(32));
        for (scale, (values, codes)) in scales.iter().zip(blocks) {
            let table = fp8.table_of_power(i32::from(*scale));
            let scale = core::slice::from_ref(scale);
            match (table, values.as_array(), codes.as_mut_array()) {
                (Some(table), Some(values), Some(codes)) => {
                    self.fp8_block(fp8, table, values, scale, codes);
                }
                _ => self.quotients.part(values, 32, scale, codes),
            }
        }
    }

    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    fn fp8_block(
        &self,
        fp8: &Fp8,
        table: fp8::Table,
        values: &[bf16; 32],
        scale: &[u8],
        codes: &mut [u8; 32],
    ) {
        let found = fp8.codes(bytemuck::cast_ref(values), table);
        if found.is_partial {
            self.quotients.part(values, 32, scale, codes);
        } else {
            put32(found.codes, codes, self.streams);
        }
    }

    /// The codes of the part of a block that lies in one row.
    #[inline]
    #[target_feature(enable = "avx2,f16c")]
    fn fp8_part(
        &self,
        fp8: &Fp8,
        table: fp8::Table,
        values: &[bf16],
        scale: &[u8],
        codes: &mut [u8],
    ) {
        let (chunks, rest) = values.as_chunks::<32>();
        let (out, rest_out) = codes.as_chunks_mut::<32>();
        for (values, codes) in chunks.iter().zip(out) {
            self.fp8_block(fp8, table, values, scale, codes);
        }
        if !rest.is_empty() {
            self.quotients.part(rest, rest.len(), scale, rest_out);
        }
    }
}

/// Blocks that tables are held for at once.
const AT_ONCE: usize = 64;

/// Codes of four bits, by table where that serves.
struct ByTable<'a> {
    table: &'a mut fp4::Table,
    format: &'a Format,
    global: f32,
    quotients: &'a Quotients<'a>,
    streams: bool,
}

impl ByTable<'_> {
    #[target_feature(enable = "avx2,f16c")]
    fn row(self, values: &[bf16], block_cols: usize, scales: &[u8], codes: &mut [u8]) {
        let (chunks, rest) = values.as_chunks::<64>();
        let mut scales = scales.chunks(64 / block_cols);
        let (out, rest_out) = codes.as_chunks_mut::<32>();
        for ((values, codes), of_chunk) in chunks.iter().zip(out).zip(&mut scales) {
            let of_sixteen = match *of_chunk {
                [a, b, c, d] => [a, b, c, d],
                [a, b] => [a, a, b, b],
                _ => continue,
            };
            let words = bytemuck::cast_ref(values);
            if !self.table.encode(
                self.format,
                self.global,
                words,
                of_sixteen,
                codes,
                self.streams,
            ) {
                self.quotients.part(values, block_cols, of_chunk, codes);
            }
        }
        if let (false, Some(scales)) = (rest.is_empty(), scales.next()) {
            self.quotients.part(rest, block_cols, scales, rest_out);
        }
    }
}
