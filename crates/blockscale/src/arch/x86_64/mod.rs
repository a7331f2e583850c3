//! x86-64: [`avx2`] for most machines, [`avx512`] where wider or richer vectors measured faster.

mod avx2;
mod avx512;

use super::{ByteKernels, Kernels};
use crate::Real;

impl<T: Real> Kernels<T> {
    pub(super) const AVX2: Self = Self {
        amax: avx2::amax::amax,
        choose_scales: avx2::scales::choose_scales,
        decode_rows: avx2::decode::decode_rows,
        encode_codes: avx2::encode::encode_codes,
        encode_rows: avx2::encode::encode_rows,
        errors_of_rows: avx2::stats::errors_of_rows,
        narrow: avx2::convert::narrow,
        widen: avx2::convert::widen,
    };

    pub(super) const AVX512: Self = Self { ..Self::AVX2 };
}

impl ByteKernels {
    pub(super) const AVX2: Self = Self {
        gather_words: avx2::layout::gather_words,
        stream_words: avx2::layout::stream_words,
        fetch_lines: avx2::layout::fetch_lines,
        scatter_words: avx2::layout::scatter_words,
        narrow_powers: avx2::layout::narrow_powers,
        widen_powers: avx2::layout::widen_powers,
        nvfp4_to_fp8_block_ue8m0: avx2::transcode::nvfp4_to_fp8_block_ue8m0,
        ..Self::SCALAR
    };

    pub(super) const AVX512: Self = Self { ..Self::AVX2 };
}
