//! What numbers are like, in sums that can be merged.

/// Counts and moments of numbers.
///
/// NaN and infinities are counted and left out of the sums. Take rows by themselves and
/// [`merge`](Self::merge) them in row order: the result then has the same bits however the rows
/// were cut.
///
/// ```
/// use blockscale::stats::ValueStats;
///
/// let stats = ValueStats::of_row(&[3.0, -4.0, 0.0, f32::NAN]);
/// assert_eq!((stats.count, stats.nan, stats.zeros, stats.max_abs), (4, 1, 1, 4.0));
/// assert_eq!(stats.sum_sq, 25.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ValueStats {
    /// Numbers seen.
    pub count: u64,
    /// NaN among them.
    pub nan: u64,
    /// Infinities among them.
    pub inf: u64,
    /// Zeros of either sign.
    pub zeros: u64,
    /// Sum of the finite ones.
    pub sum: f64,
    /// Sum of their squares.
    pub sum_sq: f64,
    /// Largest finite magnitude.
    pub max_abs: f32,
}

impl ValueStats {
    /// Of one row.
    pub fn of_row(values: &[f32]) -> Self {
        let mut stats = Self::default();
        for &value in values {
            stats.add(value);
        }
        stats
    }

    fn add(&mut self, value: f32) {
        self.count += 1;
        if !value.is_finite() {
            self.nan += u64::from(value.is_nan());
            self.inf += u64::from(value.is_infinite());
            return;
        }
        self.zeros += u64::from(value == 0.0);
        self.max_abs = self.max_abs.max(value.abs());
        let value = f64::from(value);
        self.sum += value;
        self.sum_sq += value * value;
    }

    /// Adds what was found in the rows after these.
    pub fn merge(&mut self, later: &Self) {
        self.count += later.count;
        self.nan += later.nan;
        self.inf += later.inf;
        self.zeros += later.zeros;
        self.sum += later.sum;
        self.sum_sq += later.sum_sq;
        self.max_abs = self.max_abs.max(later.max_abs);
    }

    /// Finite numbers seen.
    pub fn finite(&self) -> u64 {
        self.count - self.nan - self.inf
    }

    /// Root of the mean square of the finite numbers; 0 where there is none.
    pub fn rms(&self) -> f64 {
        match self.finite() {
            0 => 0.0,
            finite => libm::sqrt(self.sum_sq / finite as f64),
        }
    }
}
