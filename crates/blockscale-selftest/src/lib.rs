//! Every backend of blockscale held to the core, bit by bit, and measured beside a plain copy.
//!
//! [`selftest`] puts a backend through vectors of other implementations, which are inside this
//! crate, and through generated tensors: every format, scheme, layout and statistic, whole and
//! ragged shapes, all codes, all 16-bit numbers and both sides of every midpoint. [`bench()`]
//! measures on data far larger than any cache.
//!
//! ```no_run
//! use blockscale_selftest::{Backend, selftest};
//!
//! let report = selftest(&Backend::Cpu)?; // seconds
//! assert!(report.passed());
//! # Ok::<(), blockscale_selftest::SelftestError>(())
//! ```

mod backend;
mod bench;
mod cases;
mod engine;
mod numbers;
mod random;
mod report;
mod suites;
mod vectors;

pub use backend::{Backend, NoBackend, SelftestError, selftest};
pub use bench::{
    BenchError, BenchOptions, BenchReport, BenchRow, FilesOptions, FilesWhat, RecordError, bench,
};
pub use report::{Group, Report};
pub use vectors::ArchiveError;
