//! The functions of a level, as tables.
//!
//! A table is only made for a level that can run here. Its entries may therefore use the level's
//! instructions without asking, and are chosen once for each call, never for each block.

use super::{Level, scalar};
use crate::decode::Rows;
use crate::encode::Scheme;
use crate::stats::ErrorStats;
use crate::{Element, Format, Real, Shape};

/// Numbers and scales to codes.
type EncodeCodes<T> = unsafe fn(&Format, &Scheme, Shape, &[T], &[u8], f32, &mut [u8]);

/// Numbers to codes and scales.
type EncodeRows<T> = unsafe fn(&Format, &Scheme, Shape, &[T], f32, &mut [u8], &mut [u8]);

/// Operations over numbers of type `T`.
///
/// Entries are `unsafe` to call for one reason: the processor must have the instructions of the level
/// that the table is of.
#[derive(Clone, Copy)]
pub(crate) struct Kernels<T: Real> {
    pub(super) decode_rows: unsafe fn(&Format, Shape, Rows<'_>, &mut [T]),
    pub(super) widen: unsafe fn(&[T], &mut [f32]),
    pub(super) narrow: unsafe fn(&[f32], &mut [T]),
    pub(super) amax: unsafe fn(&[T]) -> f32,
    pub(super) choose_scales: unsafe fn(&Format, &Scheme, Shape, &[T], f32, &mut [u8]),
    pub(super) encode_codes: EncodeCodes<T>,
    pub(super) encode_rows: EncodeRows<T>,
    pub(super) errors_of_rows: unsafe fn(usize, &[f32], &[T], &mut [ErrorStats]),
}

impl<T: Real> Kernels<T> {
    /// The definitions.
    pub(super) const SCALAR: Self = Self {
        decode_rows: scalar::decode::decode_rows,
        widen: scalar::convert::widen,
        narrow: scalar::convert::narrow,
        amax: scalar::encode::amax,
        choose_scales: scalar::scales::choose_scales,
        encode_codes: scalar::encode::encode_codes,
        encode_rows: scalar::encode::encode_rows,
        errors_of_rows: scalar::stats::errors_of_rows,
    };

    /// Those of the level in use.
    pub(crate) fn in_use() -> Self {
        Self::of(Level::in_use())
    }

    /// Those of `level`, the definitions where it cannot run here.
    pub(crate) fn of(level: Level) -> Self {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 if level.is_available() => Self::AVX2,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if level.is_available() => Self::AVX512,
            #[cfg(all(
                target_arch = "aarch64",
                target_endian = "little",
                target_feature = "neon"
            ))]
            Level::Neon => Self::NEON,
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Level::Simd128 => Self::SIMD128,
            _ => Self::SCALAR,
        }
    }

    pub(crate) fn decode_rows(&self, format: &Format, shape: Shape, rows: Rows<'_>, out: &mut [T]) {
        // SAFETY: `of` gives a level's table only where its instructions are there.
        unsafe { (self.decode_rows)(format, shape, rows, out) }
    }

    pub(crate) fn widen(&self, values: &[T], out: &mut [f32]) {
        // SAFETY: `of` gives a level's table only where its instructions are there.
        unsafe { (self.widen)(values, out) }
    }

    pub(crate) fn narrow(&self, values: &[f32], out: &mut [T]) {
        // SAFETY: `of` gives a level's table only where its instructions are there.
        unsafe { (self.narrow)(values, out) }
    }

    pub(crate) fn amax(&self, values: &[T]) -> f32 {
        // SAFETY: `of` gives a level's table only where its instructions are there.
        unsafe { (self.amax)(values) }
    }

    pub(crate) fn choose_scales(
        &self,
        format: &Format,
        scheme: &Scheme,
        shape: Shape,
        values: &[T],
        global: f32,
        scales: &mut [u8],
    ) {
        // SAFETY: `of` gives a level's table only where its instructions are there.
        unsafe { (self.choose_scales)(format, scheme, shape, values, global, scales) }
    }

    #[expect(clippy::too_many_arguments, reason = "those of the public function")]
    pub(crate) fn encode_codes(
        &self,
        format: &Format,
        scheme: &Scheme,
        shape: Shape,
        values: &[T],
        scales: &[u8],
        global: f32,
        codes: &mut [u8],
    ) {
        // SAFETY: `of` gives a level's table only where its instructions are there.
        unsafe { (self.encode_codes)(format, scheme, shape, values, scales, global, codes) }
    }

    #[expect(clippy::too_many_arguments, reason = "those of the public function")]
    pub(crate) fn encode_rows(
        &self,
        format: &Format,
        scheme: &Scheme,
        shape: Shape,
        values: &[T],
        global: f32,
        codes: &mut [u8],
        scales: &mut [u8],
    ) {
        // SAFETY: `of` gives a level's table only where its instructions are there.
        unsafe { (self.encode_rows)(format, scheme, shape, values, global, codes, scales) }
    }

    pub(crate) fn errors_of_rows(
        &self,
        cols: usize,
        reference: &[f32],
        output: &[T],
        of_rows: &mut [ErrorStats],
    ) {
        // SAFETY: `of` gives a level's table only where its instructions are there.
        unsafe { (self.errors_of_rows)(cols, reference, output, of_rows) }
    }
}

/// Operations on codes and other bytes, without a type of numbers; else as [`Kernels`].
#[derive(Clone, Copy)]
pub(crate) struct ByteKernels {
    pub(super) rescale: unsafe fn(Element, &mut [u8], f32, f32),
    pub(super) gather_words: unsafe fn(&[u8], &[usize], usize, &mut [u8], usize),
    pub(super) stream_words: unsafe fn(&[u8], &[usize], usize, &mut [u8], usize),
    pub(super) fetch_lines: unsafe fn(&[u8], usize, usize),
    pub(super) scatter_words: unsafe fn(&[u8], usize, usize, &mut [u8], &[usize]),
    pub(super) narrow_powers: unsafe fn(&[[u8; 4]], &mut [u8]) -> bool,
    pub(super) widen_powers: unsafe fn(&[u8], &mut [[u8; 4]]),
    pub(super) nvfp4_to_fp8_block_ue8m0: unsafe fn(&Format, Shape, Rows<'_>, &mut [u8], &mut [u8]),
}

impl ByteKernels {
    /// The definitions.
    pub(super) const SCALAR: Self = Self {
        rescale: scalar::transcode::rescale,
        gather_words: scalar::layout::gather_words,
        stream_words: scalar::layout::gather_words,
        fetch_lines: scalar::layout::fetch_lines,
        scatter_words: scalar::layout::scatter_words,
        narrow_powers: scalar::layout::narrow_powers,
        widen_powers: scalar::layout::widen_powers,
        nvfp4_to_fp8_block_ue8m0: scalar::transcode::nvfp4_to_fp8_block_ue8m0,
    };

    /// Those of the level in use.
    pub(crate) fn in_use() -> Self {
        Self::of(Level::in_use())
    }

    /// Those of `level`, the definitions where it cannot run here.
    pub(crate) fn of(level: Level) -> Self {
        match level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 if level.is_available() => Self::AVX2,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 if level.is_available() => Self::AVX512,
            #[cfg(all(
                target_arch = "aarch64",
                target_endian = "little",
                target_feature = "neon"
            ))]
            Level::Neon => Self::NEON,
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Level::Simd128 => Self::SIMD128,
            _ => Self::SCALAR,
        }
    }

    pub(crate) fn rescale(&self, element: Element, codes: &mut [u8], old: f32, new: f32) {
        // SAFETY: `of` gives a level's table only where its instructions are there.
        unsafe { (self.rescale)(element, codes, old, new) }
    }

    /// Words of 8 or 16 rows to columns: see the definition.
    pub(crate) fn gather_words(
        &self,
        from: &[u8],
        rows: &[usize],
        words: usize,
        to: &mut [u8],
        pitch: usize,
    ) {
        // SAFETY: `of` gives a level's table only where its instructions are there.
        unsafe { (self.gather_words)(from, rows, words, to, pitch) }
    }

    /// [`gather_words`](Self::gather_words), around the caches where that is possible.
    pub(crate) fn stream_words(
        &self,
        from: &[u8],
        rows: &[usize],
        words: usize,
        to: &mut [u8],
        pitch: usize,
    ) {
        // SAFETY: `of` gives a level's table only where its instructions are there.
        unsafe { (self.stream_words)(from, rows, words, to, pitch) }
    }

    /// Cache lines, so many bytes apart, that are wanted soon: has no other effect.
    pub(crate) fn fetch_lines(&self, from: &[u8], lines: usize, pitch: usize) {
        // SAFETY: `of` gives a level's table only where its instructions are there.
        unsafe { (self.fetch_lines)(from, lines, pitch) }
    }

    /// Columns of words back to rows.
    pub(crate) fn scatter_words(
        &self,
        from: &[u8],
        pitch: usize,
        words: usize,
        to: &mut [u8],
        rows: &[usize],
    ) {
        // SAFETY: `of` gives a level's table only where its instructions are there.
        unsafe { (self.scatter_words)(from, pitch, words, to, rows) }
    }

    /// F32 that are powers of two to E8M0; `false` where one is not a normal one.
    pub(crate) fn narrow_powers(&self, from: &[[u8; 4]], to: &mut [u8]) -> bool {
        // SAFETY: `of` gives a level's table only where its instructions are there.
        unsafe { (self.narrow_powers)(from, to) }
    }

    /// E8M0 to F32.
    pub(crate) fn widen_powers(&self, from: &[u8], to: &mut [[u8; 4]]) {
        // SAFETY: `of` gives a level's table only where its instructions are there.
        unsafe { (self.widen_powers)(from, to) }
    }

    pub(crate) fn nvfp4_to_fp8_block_ue8m0(
        &self,
        from: &Format,
        shape: Shape,
        rows: Rows<'_>,
        codes: &mut [u8],
        scales: &mut [u8],
    ) {
        // SAFETY: `of` gives a level's table only where its instructions are there.
        unsafe { (self.nvfp4_to_fp8_block_ue8m0)(from, shape, rows, codes, scales) }
    }
}
