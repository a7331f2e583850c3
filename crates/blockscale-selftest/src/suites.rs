//! Groups of cases: an engine's results beside the core's.

mod decode;
mod encode;
mod layouts;
mod peers;
mod stats;
mod transcode;

use crate::engine::{Cpu, Cut, Engine};
use crate::report::Report;
use crate::vectors::{ArchiveError, Vectors};

/// The definition.
const CORE: Cpu = Cpu { cut: Cut::Whole };

/// Puts an engine through everything.
pub(crate) fn run(engine: &dyn Engine) -> Result<Report, ArchiveError> {
    let vectors = Vectors::embedded()?;
    let mut report = Report::new(engine.name());
    peers::run(engine, &vectors, &mut report)?;
    decode::run(engine, &mut report);
    encode::run(engine, &mut report);
    transcode::run(engine, &mut report);
    layouts::run(engine, &mut report);
    stats::run(engine, &mut report);
    Ok(report)
}
