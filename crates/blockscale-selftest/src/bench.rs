//! Speed, as bytes moved and as a share of a plain copy on the same machine in the same run.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
#[cfg(feature = "cuda")]
mod host;

use serde::Serialize;

use crate::Backend;
use crate::backend::NoBackend;

/// What a benchmark measured.
#[derive(Debug, Serialize)]
pub struct BenchReport {
    /// What was measured, such as `NVIDIA H200 (sm_90)`.
    pub engine: String,
    /// One for each operation.
    pub rows: Vec<BenchRow>,
}

/// One operation.
#[derive(Debug, Serialize)]
pub struct BenchRow {
    /// What is done.
    pub operation: String,
    /// On how much: matrices and shape.
    pub size: String,
    /// Bytes read and written.
    pub bytes: u64,
    /// Seconds, the median of many runs.
    pub seconds: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// Share of what `beside` reaches in this run.
    pub ratio: Option<f64>,
    /// What the ratio is to.
    pub beside: &'static str,
    /// The ratio that this operation has to reach.
    pub bar: Option<f64>,
}

impl BenchRow {
    pub(crate) fn new(operation: &str, size: String, bytes: usize, seconds: f64) -> Self {
        Self {
            operation: operation.to_owned(),
            size,
            bytes: bytes as u64,
            seconds,
            bytes_per_second: bytes as f64 / seconds,
            ratio: None,
            beside: "",
            bar: None,
        }
    }

    pub(crate) fn beside(self, beside: &'static str, rate: f64, bar: Option<f64>) -> Self {
        Self {
            ratio: Some(self.bytes_per_second / rate),
            beside,
            bar,
            ..self
        }
    }

    /// Whether the bar is reached; `None` where there is none.
    pub fn met(&self) -> Option<bool> {
        Some(self.ratio? >= self.bar?)
    }
}

/// Measures a backend; less than a minute.
///
/// # Errors
///
/// [`NoBackend`] where the device fails.
pub fn bench(backend: &Backend) -> Result<BenchReport, NoBackend> {
    match backend {
        Backend::Cpu => Ok(cpu::bench()),
        #[cfg(feature = "cuda")]
        Backend::Cuda(device) => cuda::bench(device),
    }
}

/// The middle one.
pub(crate) fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_not_moved_by_one_slow_run() {
        assert_eq!(median(vec![2.0, 100.0, 1.0]), 2.0);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn a_ratio_is_of_rates_and_decides_the_bar() {
        let row = BenchRow::new("x", String::new(), 90, 1.0).beside("copy", 100.0, Some(0.95));
        assert_eq!((row.ratio, row.met()), (Some(0.9), Some(false)));
        let row = BenchRow::new("x", String::new(), 96, 1.0).beside("copy", 100.0, Some(0.95));
        assert_eq!(row.met(), Some(true));
        assert_eq!(BenchRow::new("x", String::new(), 1, 1.0).met(), None);
    }
}
