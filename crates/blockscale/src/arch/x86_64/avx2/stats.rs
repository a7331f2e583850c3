//! Error sums, four rows at a time: each lane adds up one row, in the order of columns.
//!
//! Squares and products of F32 are exact in F64, so that each sum has the one rounding of its
//! addition, as in the definition. Rows with a NaN or an infinity are left to that: they show, since
//! the sum of squared errors is not finite then.

use core::arch::x86_64::*;

use super::source::widen8;
use crate::Real;
use crate::arch::scalar;
use crate::stats::ErrorStats;

#[target_feature(enable = "avx2,f16c")]
pub(in crate::arch) fn errors_of_rows<T: Real>(
    cols: usize,
    reference: &[f32],
    output: &[T],
    of_rows: &mut [ErrorStats],
) {
    if cols == 0 {
        return of_rows.fill(ErrorStats::new());
    }
    let fours = reference.chunks(4 * cols).zip(output.chunks(4 * cols));
    for (of_rows, (reference, output)) in of_rows.chunks_mut(4).zip(fours) {
        match (four_rows(cols, reference, output), of_rows.as_mut_array()) {
            (Some(found), Some(of_rows)) => *of_rows = found,
            _ => scalar::stats::errors_of_rows(cols, reference, output, of_rows),
        }
    }
}

/// The sums of four rows, `None` where there are fewer or some numbers are not finite.
#[target_feature(enable = "avx2,f16c")]
fn four_rows<T: Real>(cols: usize, reference: &[f32], output: &[T]) -> Option<[ErrorStats; 4]> {
    if reference.len() < 4 * cols {
        return None;
    }
    let (mut reference_rows, mut output_rows) = ([&reference[..0]; 4], [&output[..0]; 4]);
    for row in 0..4 {
        reference_rows[row] = &reference[row * cols..][..cols];
        output_rows[row] = &output[row * cols..][..cols];
    }
    let [a, b, c, d] = reference_rows.map(|row| row.as_chunks::<8>().0);
    let [e, f, g, h] = output_rows.map(|row| row.as_chunks::<8>().0);
    let mut sums = Sums::new();
    let references = a.iter().zip(b).zip(c).zip(d);
    let outputs = e.iter().zip(f).zip(g).zip(h);
    for ((((a, b), c), d), (((e, f), g), h)) in references.zip(outputs) {
        let reference = [widen8(a), widen8(b), widen8(c), widen8(d)];
        let output = [widen8(e), widen8(f), widen8(g), widen8(h)];
        sums.add(reference, output);
    }
    let mut of_rows = sums.of_rows(cols / 8 * 8)?;
    for row in 0..4 {
        let rest = cols / 8 * 8..;
        let rest = reference_rows[row][rest.clone()]
            .iter()
            .zip(&output_rows[row][rest]);
        for (reference, output) in rest {
            of_rows[row].add(*reference, output.to_f32());
        }
    }
    Some(of_rows)
}

/// Sums of four rows, one in each lane.
struct Sums {
    ref_sq: __m256d,
    out_sq: __m256d,
    err_sq: __m256d,
    dot: __m256d,
    max_abs_err: __m256d,
    /// Pairs that differ.
    differing: __m256i,
}

impl Sums {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new() -> Self {
        let zero = _mm256_setzero_pd();
        Self {
            ref_sq: zero,
            out_sq: zero,
            err_sq: zero,
            dot: zero,
            max_abs_err: zero,
            differing: _mm256_setzero_si256(),
        }
    }

    /// Eight columns of four rows.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn add(&mut self, reference: [__m256; 4], output: [__m256; 4]) {
        let (reference, output) = (columns(reference), columns(output));
        for col in 0..4 {
            let (r, o) = (reference[col], output[col]);
            self.add_column(_mm256_castps256_ps128(r), _mm256_castps256_ps128(o));
        }
        for col in 0..4 {
            let (r, o) = (reference[col], output[col]);
            self.add_column(_mm256_extractf128_ps::<1>(r), _mm256_extractf128_ps::<1>(o));
        }
    }

    #[inline]
    #[target_feature(enable = "avx2")]
    fn add_column(&mut self, reference: __m128, output: __m128) {
        let (r, o) = (_mm256_cvtps_pd(reference), _mm256_cvtps_pd(output));
        let error = _mm256_sub_pd(o, r);
        self.ref_sq = _mm256_add_pd(self.ref_sq, _mm256_mul_pd(r, r));
        self.out_sq = _mm256_add_pd(self.out_sq, _mm256_mul_pd(o, o));
        self.err_sq = _mm256_add_pd(self.err_sq, _mm256_mul_pd(error, error));
        self.dot = _mm256_add_pd(self.dot, _mm256_mul_pd(r, o));
        // A difference is zero only between equals.
        let differs = _mm256_cmp_pd::<_CMP_NEQ_UQ>(error, _mm256_setzero_pd());
        self.differing = _mm256_sub_epi64(self.differing, _mm256_castpd_si256(differs));
        let magnitude = _mm256_andnot_pd(_mm256_set1_pd(-0.0), error);
        self.max_abs_err = _mm256_max_pd(self.max_abs_err, magnitude);
    }

    #[target_feature(enable = "avx2")]
    fn of_rows(&self, cols: usize) -> Option<[ErrorStats; 4]> {
        let err_sq = lanes(self.err_sq);
        if !err_sq.iter().all(|sum| sum.is_finite()) {
            return None;
        }
        let (ref_sq, out_sq, dot) = (lanes(self.ref_sq), lanes(self.out_sq), lanes(self.dot));
        let max_abs_err = lanes(self.max_abs_err);
        let differing = lanes(_mm256_castsi256_pd(self.differing)).map(f64::to_bits);
        let mut of_rows = [ErrorStats::new(); 4];
        for (row, of_row) in of_rows.iter_mut().enumerate() {
            of_row.count = cols as u64;
            of_row.finite = cols as u64;
            of_row.sum_ref_sq = ref_sq[row];
            of_row.sum_out_sq = out_sq[row];
            of_row.sum_err_sq = err_sq[row];
            of_row.sum_dot = dot[row];
            of_row.max_abs_err = max_abs_err[row];
            of_row.differing = differing[row];
        }
        Some(of_rows)
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn lanes(x: __m256d) -> [f64; 4] {
    let mut lanes = [0.0; 4];
    // SAFETY: the array holds 32 bytes.
    unsafe { _mm256_storeu_pd(lanes.as_mut_ptr(), x) };
    lanes
}

/// Rows to columns: columns 0 to 3 in the lower halves, 4 to 7 in the upper.
#[inline]
#[target_feature(enable = "avx2")]
fn columns(rows: [__m256; 4]) -> [__m256; 4] {
    let [a, b, c, d] = rows;
    let (ab_low, ab_high) = (_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
    let (cd_low, cd_high) = (_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
    [
        _mm256_shuffle_ps::<0b01_00_01_00>(ab_low, cd_low),
        _mm256_shuffle_ps::<0b11_10_11_10>(ab_low, cd_low),
        _mm256_shuffle_ps::<0b01_00_01_00>(ab_high, cd_high),
        _mm256_shuffle_ps::<0b11_10_11_10>(ab_high, cd_high),
    ]
}
