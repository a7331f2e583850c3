//! The running check of one output weight, and its verdict.

use blockscale::stats::ErrorStats;
use blockscale_model::plan::Expectation;
use serde::{Deserialize, Serialize};

use crate::NumberFailure;
use crate::transform::{CastBlocks, LISTED_NANS};

/// How the numbers of an output weight compare with its source's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Name in the output.
    pub tensor: String,
    /// Format before.
    pub from: String,
    /// Format after.
    pub to: String,
    /// The scale rule or scheme by which it was encoded afresh.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub encoded_by: Option<String>,
    /// Shape in elements.
    pub shape: Vec<usize>,
    /// Whether every number is equal.
    pub exact: bool,
    /// Signal to quantisation noise in dB; absent when exact.
    pub sqnr_db: Option<f64>,
    /// Smallest SQNR that passes; absent where equality is asked for.
    pub bound_db: Option<f64>,
    /// Norm of the output over norm of the source.
    pub norm_ratio: Option<f64>,
    /// Cosine of the angle between the two.
    pub cosine: Option<f64>,
    /// Norm of the difference over norm of the source.
    pub relative_l2: Option<f64>,
    /// Largest difference.
    pub max_abs_error: f64,
    /// NaN values of the source.
    pub nan: u64,
    /// Infinite values of the source.
    pub inf: u64,
    /// Blocks that a cast left as they are and rounded, where the codes were cast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<CastBlocks>,
    /// Row and column of the first NaNs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nan_at: Vec<[usize; 2]>,
}

/// Statistics of a weight, gathered run by run in the order of its rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    stats: ErrorStats,
    nans: Vec<[usize; 2]>,
    blocks: Option<CastBlocks>,
}

impl Tally {
    /// Adds the blocks of a run that was cast.
    pub(crate) fn add_blocks(&mut self, blocks: Option<CastBlocks>) {
        if let Some(blocks) = blocks {
            self.blocks.get_or_insert_default().add(blocks);
        }
    }

    /// Adds a run that begins at row `first_row` of the weight.
    pub(crate) fn add(&mut self, first_row: usize, rows: &[ErrorStats], nans: &[[usize; 2]]) {
        for row in rows {
            self.stats.merge(row);
        }
        let room = LISTED_NANS.saturating_sub(self.nans.len());
        self.nans.extend(
            nans.iter()
                .take(room)
                .map(|[row, col]| [first_row + row, *col]),
        );
    }

    /// The comparison, and what is wrong with it.
    pub(crate) fn finish(
        self,
        tensor: &str,
        formats: (String, String),
        shape: &[usize],
        expectation: Expectation,
    ) -> (Comparison, Option<NumberFailure>) {
        let exact = self.stats.is_exact();
        let finite = |x: f64| x.is_finite().then_some(x);
        let bound = match expectation {
            Expectation::Exact => None,
            Expectation::AtLeastDb(db) => Some(db),
        };
        let comparison = Comparison {
            tensor: tensor.to_owned(),
            from: formats.0,
            to: formats.1,
            encoded_by: None,
            shape: shape.to_vec(),
            exact,
            sqnr_db: if exact {
                None
            } else {
                finite(self.stats.sqnr_db())
            },
            bound_db: bound,
            norm_ratio: finite(self.stats.norm_ratio()),
            cosine: finite(self.stats.cosine()),
            relative_l2: finite(self.stats.relative_l2()),
            max_abs_error: self.stats.max_abs_err,
            nan: self.stats.ref_nan,
            inf: self.stats.ref_inf,
            blocks: self.blocks,
            nan_at: self.nans,
        };
        let failure = verdict(&self.stats, bound).map(|reason| NumberFailure {
            tensor: tensor.to_owned(),
            reason,
        });
        (comparison, failure)
    }
}

/// Why the numbers do not pass, if they do not.
fn verdict(stats: &ErrorStats, bound: Option<f64>) -> Option<String> {
    if stats.special_mismatch > 0 {
        return Some(format!(
            "{} values are NaN or infinite on one side only; the output format cannot hold them",
            stats.special_mismatch
        ));
    }
    let sqnr = stats.sqnr_db();
    match bound {
        _ if stats.is_exact() => None,
        None => Some(format!(
            "{} of {} values differ (by {:e} at most), but this step is exact",
            stats.differing, stats.count, stats.max_abs_err
        )),
        Some(bound) if sqnr < bound => Some(format!(
            "SQNR {sqnr:.2} dB is below {bound} dB (norm ratio {:.4}, cosine {:.5}); \
             --min-sqnr sets another bound",
            stats.norm_ratio(),
            stats.cosine()
        )),
        Some(_) => None,
    }
}
