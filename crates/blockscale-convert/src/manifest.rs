//! The proof that travels with the output: hashes, comparisons, findings.

use blockscale_model::Finding;
use blockscale_model::plan::{Dropped, Plan, Summary};
use serde::Serialize;

use crate::journal::FinishedShard;
use crate::source::{ShardIdentity, Source};
use crate::tally::Comparison;

/// Name of the manifest in the output folder.
pub const MANIFEST: &str = "blockscale-manifest.json";

/// What was converted, from what, and how the numbers compare.
#[derive(Clone, Debug, Serialize)]
pub struct Manifest {
    /// Program and version.
    pub producer: String,
    /// Name of the recipe.
    pub recipe: String,
    /// The source's shards.
    pub source: Vec<ShardIdentity>,
    /// Counts by kind.
    pub summary: Summary,
    /// Every output file but this one.
    pub files: Vec<FileHash>,
    /// Every converted weight, source against output.
    pub weights: Vec<Comparison>,
    /// Source tensors that have no place in the output.
    pub dropped: Vec<Dropped>,
    /// What the reader should know.
    pub findings: Vec<Finding>,
}

/// Length and hash of an output file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileHash {
    /// Name in the output folder.
    pub name: String,
    /// Length in bytes.
    pub len: u64,
    /// BLAKE3 of the content, in hexadecimal.
    pub blake3: String,
}

impl FileHash {
    /// Of a file that is in memory.
    pub(crate) fn of(name: &str, bytes: &[u8]) -> Self {
        Self {
            name: name.to_owned(),
            len: bytes.len() as u64,
            blake3: blake3::hash(bytes).to_hex().to_string(),
        }
    }
}

impl Manifest {
    /// Gathers what a finished conversion has to say.
    pub(crate) fn new(
        source: &dyn Source,
        plan: &Plan,
        shards: Vec<FinishedShard>,
        others: Vec<FileHash>,
    ) -> Self {
        let mut files = Vec::with_capacity(shards.len() + others.len());
        let mut weights = Vec::new();
        for shard in shards {
            files.push(FileHash {
                name: shard.name,
                len: shard.len,
                blake3: shard.blake3,
            });
            weights.extend(shard.comparisons);
        }
        files.extend(others);
        let mut findings = plan.findings.clone();
        findings.extend(weights.iter().filter_map(non_finite));
        findings.extend(plan_inexact(plan, &weights));
        Self {
            producer: format!("blockscale {}", env!("CARGO_PKG_VERSION")),
            recipe: plan.recipe.clone(),
            source: source.identities().to_vec(),
            summary: plan.summary.clone(),
            files,
            weights,
            dropped: plan.dropped.clone(),
            findings,
        }
    }

    /// The manifest as it is written.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec_pretty(self).unwrap_or_default();
        text.push(b'\n');
        text
    }
}

fn warning(code: &'static str, tensor: &str, message: String) -> Finding {
    Finding {
        severity: blockscale_model::Severity::Warning,
        code,
        file: None,
        tensor: Some(tensor.to_owned()),
        message,
    }
}

fn non_finite(weight: &Comparison) -> Option<Finding> {
    if weight.nan == 0 && weight.inf == 0 {
        return None;
    }
    let at = match weight.nan_at.first() {
        Some([row, col]) => format!(", the first NaN at row {row}, column {col}"),
        None => String::new(),
    };
    let message = format!(
        "the source has {} NaN and {} infinite values{at}; they are kept",
        weight.nan, weight.inf
    );
    Some(warning("non-finite-values", &weight.tensor, message))
}

/// Weights whose rounding was expected to change nothing, and did.
fn plan_inexact<'a>(
    plan: &'a Plan,
    weights: &'a [Comparison],
) -> impl Iterator<Item = Finding> + 'a {
    let should: std::collections::HashSet<&str> = plan
        .weights
        .iter()
        .filter(|w| w.should_be_exact)
        .map(|w| w.name.as_str())
        .collect();
    weights.iter().filter(move |w| !w.exact && should.contains(w.tensor.as_str())).map(|w| {
        let message = format!(
            "{} -> {} changes values (by {:e} at most): the source does not hold what a release \
             holds there",
            w.from, w.to, w.max_abs_error
        );
        warning("not-exact", &w.tensor, message)
    })
}
