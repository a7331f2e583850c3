//! What is different between two checkpoints: structure, configs, numbers.

mod config;
mod numbers;
mod report;
mod structure;

pub use numbers::Histogram;
pub use report::{DiffReport, Side, StructureDifference, WeightDifference};

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use blockscale_model::{Comparable, comparables};

use crate::ConvertError;
use crate::convert::Progress;
use crate::verify;
use crate::weights::Weights;

/// What counts as a difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compared {
    /// Numbers, names, shapes, formats, layouts and configs.
    #[default]
    Everything,
    /// Numbers alone, of weights that both have.
    Numbers,
}

/// Choices of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct DiffOptions {
    /// What counts.
    pub compared: Compared,
    /// Numbers differ where they are further apart than this and `rtol` together allow.
    pub atol: f64,
    /// Part of the first number's magnitude.
    pub rtol: f64,
    /// A weight differs only below this SQNR in dB, whatever single numbers do.
    pub min_sqnr: Option<f64>,
    /// Bytes that buffers may take.
    pub max_memory: u64,
}

impl Default for DiffOptions {
    fn default() -> Self {
        Self {
            compared: Compared::Everything,
            atol: 0.0,
            rtol: 0.0,
            min_sqnr: None,
            max_memory: 1 << 30,
        }
    }
}

/// Compares two checkpoints, neither of which is taken to be right.
///
/// Weights are matched by name as [`verify`](crate::verify()) matches them, decoded on both sides and
/// compared number by number, whatever their formats.
///
/// # Errors
/// [`ConvertError`] if one of them cannot be read. Differences are no error but the report.
pub fn diff(
    a: Weights<'_>,
    b: Weights<'_>,
    options: &DiffOptions,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<DiffReport, ConvertError> {
    let ours = comparables(a.checkpoint, a.catalog);
    let theirs = comparables(b.checkpoint, b.catalog);
    let by_name: HashMap<&str, &Comparable> = theirs.iter().map(|c| (c.name.as_str(), c)).collect();
    let mut report = DiffReport::default();
    if options.compared == Compared::Everything {
        report.structure = structure::only_in_one(&ours, &theirs);
        report.structure.extend(structure::unreadable(a, b));
        report
            .structure
            .extend(config::differences(a.checkpoint, b.checkpoint));
    }
    progress.start(ours.len() as u64, 0);
    for rows in &ours {
        if stop.load(Ordering::Relaxed) {
            return Err(ConvertError::Interrupted);
        }
        if let Some(other) = by_name.get(rows.name.as_str()) {
            let a = verify::Side { weights: a, rows };
            let b = verify::Side {
                weights: b,
                rows: other,
            };
            if options.compared == Compared::Everything {
                report.structure.extend(structure::of_weight(&a, &b));
            }
            numbers::compare(&a, &b, options, &mut report)?;
        }
        progress.advance(1);
    }
    report
        .weights
        .sort_by(|x, y| x.sqnr_or_worst().total_cmp(&y.sqnr_or_worst()));
    Ok(report)
}
