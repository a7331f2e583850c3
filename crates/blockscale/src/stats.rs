//! How far numbers are from the numbers they should be, and what codes, scales and values are like, in
//! counts and sums that can be merged.

mod blocks;
mod scales;
mod values;

pub use blocks::BlockStats;
pub use scales::ScaleStats;
pub use values::ValueStats;

use crate::arch::Kernels;
use crate::{LenMismatch, Real, Shape};

/// Error of some numbers, `output`, against what they stand for, `reference`.
///
/// Sums are in `f64`, in column order within a row. Take the statistics of each row by themselves
/// and [`merge`](Self::merge) them one by one in row order: the result then has the same bits
/// however the rows were cut into chunks or spread over threads.
///
/// A pair with a NaN or an infinity on either side is counted and left out of the sums. It matches
/// where both sides are NaN, or both the same infinity; else it is a
/// [`special_mismatch`](Self::special_mismatch). Zeros are equal whatever their signs.
///
/// ```
/// use blockscale::stats::ErrorStats;
///
/// let mut stats = ErrorStats::of_row(&[1.0, 2.0], &[1.0, 2.0])?;
/// assert!(stats.is_exact() && stats.sqnr_db() == f64::INFINITY);
///
/// stats.merge(&ErrorStats::of_row(&[1.0, 2.0], &[1.0, 1.0])?);
/// assert_eq!(stats.sqnr_db(), 10.0); // 10 of signal over 1 of error
/// # Ok::<(), blockscale::LenMismatch>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ErrorStats {
    /// Pairs seen.
    pub count: u64,
    /// Pairs in the sums: both sides finite.
    pub finite: u64,
    /// Sum of reference squared.
    pub sum_ref_sq: f64,
    /// Sum of output squared.
    pub sum_out_sq: f64,
    /// Sum of (output - reference) squared.
    pub sum_err_sq: f64,
    /// Sum of reference x output.
    pub sum_dot: f64,
    /// Largest |output - reference|.
    pub max_abs_err: f64,
    /// Finite pairs whose sides differ.
    pub differing: u64,
    /// NaN in the reference.
    pub ref_nan: u64,
    /// Infinities in the reference.
    pub ref_inf: u64,
    /// NaN in the output.
    pub out_nan: u64,
    /// Infinities in the output.
    pub out_inf: u64,
    /// Pairs with a NaN or infinity on one side that the other side does not have.
    pub special_mismatch: u64,
}

impl ErrorStats {
    /// Nothing compared yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Compares one row.
    ///
    /// # Errors
    ///
    /// [`LenMismatch`] where the two are not equally long.
    pub fn of_row(reference: &[f32], output: &[f32]) -> Result<Self, LenMismatch> {
        LenMismatch::check("output", Some(reference.len()), output.len())?;
        let mut stats = Self::new();
        for (&reference, &output) in reference.iter().zip(output) {
            stats.add(reference, output);
        }
        Ok(stats)
    }

    /// Compares rows of `cols` columns, each by itself, at once: [`of_row`](Self::of_row) of every row
    /// with the same bits, in less time.
    ///
    /// `reference` and `output` hold the rows one after another, `of_rows` takes the statistics of
    /// each, to be [merged](Self::merge) in row order.
    ///
    /// # Errors
    ///
    /// [`LenMismatch`] where `reference` or `output` is not `of_rows.len()` rows; nothing is written
    /// then.
    ///
    /// ```
    /// use blockscale::bf16;
    /// use blockscale::stats::ErrorStats;
    ///
    /// let reference = [1.0, 2.0, 3.0, 4.0];
    /// let output = [1.0, 2.0, 3.0, 3.5].map(bf16::from_f32);
    /// let mut of_rows = [ErrorStats::new(); 2];
    /// ErrorStats::of_rows(2, &reference, &output, &mut of_rows)?;
    /// assert!(of_rows[0].is_exact());
    /// assert_eq!((of_rows[1].differing, of_rows[1].sum_err_sq), (1, 0.25));
    /// # Ok::<(), blockscale::LenMismatch>(())
    /// ```
    pub fn of_rows<T: Real>(
        cols: usize,
        reference: &[f32],
        output: &[T],
        of_rows: &mut [Self],
    ) -> Result<(), LenMismatch> {
        let len = Shape::new(of_rows.len(), cols).len();
        LenMismatch::check("reference", len, reference.len())?;
        LenMismatch::check("output", len, output.len())?;
        Kernels::in_use().errors_of_rows(cols, reference, output, of_rows);
        Ok(())
    }

    pub(crate) fn add(&mut self, reference: f32, output: f32) {
        self.count += 1;
        if !(reference.is_finite() && output.is_finite()) {
            return self.add_special(reference, output);
        }
        self.finite += 1;
        self.differing += u64::from(reference != output);
        let (reference, output) = (f64::from(reference), f64::from(output));
        let error = output - reference;
        self.sum_ref_sq += reference * reference;
        self.sum_out_sq += output * output;
        self.sum_err_sq += error * error;
        self.sum_dot += reference * output;
        self.max_abs_err = self.max_abs_err.max(error.abs());
    }

    fn add_special(&mut self, reference: f32, output: f32) {
        self.ref_nan += u64::from(reference.is_nan());
        self.ref_inf += u64::from(reference.is_infinite());
        self.out_nan += u64::from(output.is_nan());
        self.out_inf += u64::from(output.is_infinite());
        let same = reference == output || (reference.is_nan() && output.is_nan());
        self.special_mismatch += u64::from(!same);
    }

    /// Adds what was found in the rows after these.
    pub fn merge(&mut self, later: &Self) {
        self.count += later.count;
        self.finite += later.finite;
        self.sum_ref_sq += later.sum_ref_sq;
        self.sum_out_sq += later.sum_out_sq;
        self.sum_err_sq += later.sum_err_sq;
        self.sum_dot += later.sum_dot;
        self.max_abs_err = self.max_abs_err.max(later.max_abs_err);
        self.differing += later.differing;
        self.ref_nan += later.ref_nan;
        self.ref_inf += later.ref_inf;
        self.out_nan += later.out_nan;
        self.out_inf += later.out_inf;
        self.special_mismatch += later.special_mismatch;
    }

    /// Signal to quantisation noise in decibels, `10 log10(sum ref^2 / sum err^2)`.
    ///
    /// Infinite where the finite pairs are equal, minus infinite where the reference is zero and
    /// the output is not, NaN where there is no finite pair.
    pub fn sqnr_db(&self) -> f64 {
        match (self.finite, self.sum_err_sq) {
            (0, _) => f64::NAN,
            (_, 0.0) => f64::INFINITY,
            (_, error) => 10.0 * libm::log10(self.sum_ref_sq / error),
        }
    }

    /// Norm of the error over norm of the reference: 0 where equal, NaN where there is no finite
    /// pair.
    pub fn relative_l2(&self) -> f64 {
        match (self.finite, self.sum_err_sq) {
            (0, _) => f64::NAN,
            (_, 0.0) => 0.0,
            (_, error) => libm::sqrt(error / self.sum_ref_sq),
        }
    }

    /// Cosine of the angle between the two: 1 where both are zero, 0 where one is, NaN where there
    /// is no finite pair.
    ///
    /// Blind to a wrong scale; read it beside [`norm_ratio`](Self::norm_ratio).
    pub fn cosine(&self) -> f64 {
        if self.finite == 0 {
            return f64::NAN;
        }
        match (self.sum_ref_sq == 0.0, self.sum_out_sq == 0.0) {
            (true, true) => 1.0,
            (false, false) => {
                self.sum_dot / (libm::sqrt(self.sum_ref_sq) * libm::sqrt(self.sum_out_sq))
            }
            _ => 0.0,
        }
    }

    /// Norm of the output over norm of the reference: 1 where both are zero, NaN where there is no
    /// finite pair.
    pub fn norm_ratio(&self) -> f64 {
        if self.finite == 0 {
            return f64::NAN;
        }
        if self.sum_ref_sq == self.sum_out_sq {
            return 1.0;
        }
        libm::sqrt(self.sum_out_sq / self.sum_ref_sq)
    }

    /// Whether every pair is equal, NaN and infinities included.
    pub fn is_exact(&self) -> bool {
        self.differing == 0 && self.special_mismatch == 0
    }
}
