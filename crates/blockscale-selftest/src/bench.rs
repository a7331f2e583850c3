//! Speed, as bytes moved and as a share of a plain copy on the same machine in the same run.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod files;
mod growth;
#[cfg(feature = "cuda")]
mod host;
mod machine;
mod record;
mod timing;

use blockscale::arch::{Level, LevelUnavailable};
pub use files::{FilesOptions, FilesWhat};
pub use record::RecordError;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Backend;
use crate::backend::NoBackend;

/// What a benchmark measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchReport {
    /// What was measured, such as `NVIDIA H200 (sm_90)`.
    pub engine: String,
    /// The machine, where its processor is what was measured.
    pub machine: Option<String>,
    /// On which memory, where that is a choice.
    pub pages: Option<String>,
    /// One for each operation.
    pub rows: Vec<BenchRow>,
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BenchRow {
    /// What is done.
    pub operation: String,
    /// On how much: matrices and shape.
    pub size: String,
    /// The instructions in use, where there is a choice.
    pub level: Option<String>,
    /// Threads of the processor that did it; `None` on a device.
    pub threads: Option<usize>,
    /// Bytes read and written.
    pub bytes: u64,
    /// Seconds, the median of many runs.
    pub seconds: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
    /// Bytes of memory that the process took at most, where that is what is asked.
    pub memory: Option<u64>,
    /// Share of what `beside` reaches in this run.
    pub ratio: Option<f64>,
    /// What the ratio is to.
    pub beside: Option<String>,
    /// Speed over that of one thread, where there are more.
    pub scaling: Option<f64>,
    /// The ratio that this operation has to reach, in one thread or on a device.
    pub bar: Option<f64>,
    /// Whether it does; in all threads, whether it is fast enough beside one thread.
    pub met: Option<bool>,
}

/// Why there is no measurement.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// The device fails.
    #[error(transparent)]
    Backend(#[from] NoBackend),
    /// An operation refuses what it is given.
    #[error("`{operation}` cannot be measured: {reason}")]
    Operation {
        /// Which.
        operation: String,
        /// What it says.
        reason: String,
    },
    /// The processor does not have the instructions.
    #[error(transparent)]
    Level(#[from] LevelUnavailable),
    /// A file cannot be written or read.
    #[error("cannot write or read in `{}`", path.display())]
    File {
        /// The file or its folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// There is no memory to measure on.
    #[error("cannot get memory to measure on")]
    Memory(#[source] std::io::Error),
}

/// Speed over one thread that more of them have to reach, for each of them.
const SCALING: f64 = 0.85;
/// Share of a copy in as many threads that is enough in its place.
const NEAR_COPY: f64 = 0.9;

impl BenchRow {
    pub(crate) fn new(operation: &str, size: String, bytes: usize, seconds: f64) -> Self {
        Self {
            operation: operation.to_owned(),
            size,
            level: None,
            threads: None,
            bytes: bytes as u64,
            seconds,
            bytes_per_second: bytes as f64 / seconds,
            memory: None,
            ratio: None,
            beside: None,
            scaling: None,
            bar: None,
            met: None,
        }
    }

    pub(crate) fn beside(self, beside: &str, rate: f64, bar: Option<f64>) -> Self {
        let ratio = self.bytes_per_second / rate;
        Self {
            ratio: Some(ratio),
            beside: Some(beside.to_owned()),
            bar,
            met: bar.map(|bar| ratio >= bar),
            ..self
        }
    }

    pub(crate) fn on(self, level: &str, threads: usize) -> Self {
        Self {
            level: (!level.is_empty()).then(|| level.to_owned()),
            threads: Some(threads),
            ..self
        }
    }

    /// Beside the same in one thread. Where that has a bar, this one's is the speed over it.
    pub(crate) fn over(self, one: &Self) -> Self {
        let scaling = self.bytes_per_second / one.bytes_per_second;
        let threads = self.threads.unwrap_or(1) as f64;
        let enough = scaling >= SCALING * threads || self.ratio.is_some_and(|r| r >= NEAR_COPY);
        Self {
            scaling: Some(scaling),
            met: one.bar.map(|_| enough),
            ..self
        }
    }
}

/// What to measure of the processor; a device is measured as a whole.
#[derive(Clone, Debug, Default)]
pub struct BenchOptions {
    /// With these instructions only; else with all that are there, but for the portable ones.
    pub level: Option<Level>,
    /// Only operations whose name has this in it.
    pub only: Option<String>,
    /// Whole conversions beside them.
    pub files: Option<FilesOptions>,
}

/// Measures a backend; some two minutes.
///
/// # Errors
///
/// [`BenchError`] where the device fails.
pub fn bench(backend: &Backend, options: &BenchOptions) -> Result<BenchReport, BenchError> {
    match backend {
        Backend::Cpu => {
            let mut report = cpu::bench(options)?;
            if let Some(files) = &options.files {
                report.rows.extend(match files.what {
                    FilesWhat::Conversions => files::bench(files)?,
                    FilesWhat::Growth => growth::bench(files)?,
                });
            }
            Ok(report)
        }
        #[cfg(feature = "cuda")]
        Backend::Cuda(device) => Ok(cuda::bench(device)?),
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
        let row = |bytes| BenchRow::new("x", String::new(), bytes, 1.0);
        let slow = row(90).beside("copy", 100.0, Some(0.95));
        assert_eq!((slow.ratio, slow.met), (Some(0.9), Some(false)));
        let fast = row(96).beside("copy", 100.0, Some(0.95));
        assert_eq!(fast.met, Some(true));
        assert_eq!(row(1).met, None);
    }

    #[test]
    fn more_threads_are_held_to_one_or_to_the_copy() {
        let row = |rate, beside, threads| {
            let row = BenchRow::new("x", String::new(), rate, 1.0).on("", threads);
            row.beside("copy", beside, (threads == 1).then_some(0.5))
        };
        let one = row(100, 100.0, 1);
        assert_eq!(row(169, 1000.0, 2).over(&one).met, Some(false));
        assert_eq!(row(170, 1000.0, 2).over(&one).met, Some(true));
        assert_eq!(row(120, 130.0, 2).over(&one).met, Some(true));
        let without_bar = BenchRow { bar: None, ..one };
        assert_eq!(row(120, 130.0, 2).over(&without_bar).met, None);
    }
}
