//! The bytes that rules need: which are read, and what is measured of them.
//!
//! What is wrong with a checkpoint is said by [`blockscale_model::doctor`], which does no I/O. Here
//! its [`Evidence`] is gathered, of all bytes or of a sample.

mod choose;
pub(crate) mod counting;
mod manifest;
mod measure;
mod opening;

use std::sync::atomic::{AtomicBool, Ordering};

use blockscale_model::doctor::Evidence;
use rayon::prelude::*;

use crate::ConvertError;
use crate::convert::Progress;
use crate::weights::Weights;

use choose::Portion;
use counting::Counting;
use measure::{measure, scalars};

pub use manifest::check_manifest;
pub use opening::open_diagnosis;

/// How much is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// A sample that follows from the seed: the whole of a checkpoint of up to 64 MiB, less than a
    /// hundredth of one above 10 GB, and never more than 256 MiB.
    Sample {
        /// Chooses weights and rows. The same seed gives the same result.
        seed: u64,
    },
    /// Every byte; of a stack in a runtime's layout one matrix.
    Full,
}

/// What was read of a checkpoint.
#[derive(Clone, Debug, Default)]
pub struct Examined {
    /// What was measured, by weight.
    pub evidence: Vec<Option<Evidence>>,
    /// Bytes of tensors that were read.
    pub bytes_read: u64,
    /// Weights of which numbers were read.
    pub weights_read: usize,
}

/// Reads what rules need to know of a checkpoint.
///
/// Global and activation scales are read of every weight; codes, block scales and numbers of those in
/// scope.
///
/// # Errors
/// [`ConvertError`] where bytes cannot be read, or the run was interrupted.
///
/// ```
/// use std::sync::atomic::AtomicBool;
///
/// use blockscale_convert::doctor::{Scope, examine};
/// use blockscale_convert::sample::{SampleOptions, write_sample};
/// use blockscale_convert::source::LocalSource;
/// use blockscale_convert::Weights;
/// use blockscale_model::catalog::Catalog;
/// use blockscale_model::doctor::{Doctor, Subject};
/// use blockscale_model::Severity;
///
/// let dir = tempfile::tempdir()?;
/// write_sample(dir.path(), &SampleOptions { layers: 1, ..SampleOptions::default() })?;
/// let (checkpoint, source) = LocalSource::open(dir.path())?;
/// let catalog = Catalog::of(&checkpoint);
/// let weights = Weights { checkpoint: &checkpoint, catalog: &catalog, source: &source };
/// let examined = examine(weights, Scope::Sample { seed: 0 }, &(), &AtomicBool::new(false))?;
///
/// let subject = Subject::new(&checkpoint, &catalog).with_evidence(examined.evidence);
/// let found = Doctor::default().examine(&subject);
/// assert!(found.iter().all(|diagnosis| diagnosis.severity == Severity::Info));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn examine(
    weights: Weights<'_>,
    scope: Scope,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Examined, ConvertError> {
    let counting = Counting::new(weights.source);
    let weights = Weights {
        source: &counting,
        ..weights
    };
    let portions = choose::portions(&weights, scope);
    progress.start(portions.iter().map(|portion| portion.bytes).sum(), 0);
    let evidence = portions
        .par_iter()
        .enumerate()
        .map(|(index, portion)| {
            if stop.load(Ordering::Relaxed) {
                return Err(ConvertError::Interrupted);
            }
            let evidence = of_weight(&weights, index, portion)?;
            progress.advance(portion.bytes);
            Ok(evidence)
        })
        .collect::<Result<Vec<_>, _>>()?;
    Ok(Examined {
        evidence,
        bytes_read: counting.bytes(),
        weights_read: portions.iter().filter(|p| !p.runs.is_empty()).count(),
    })
}

fn of_weight(
    weights: &Weights<'_>,
    index: usize,
    portion: &Portion,
) -> Result<Option<Evidence>, ConvertError> {
    let mut evidence = scalars(weights, index)?;
    for run in &portion.runs {
        evidence.merge(&measure(weights, run, portion.sketch)?);
    }
    Ok((evidence != Evidence::default()).then_some(evidence))
}
