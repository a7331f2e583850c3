//! Two checkpoints decoded on their own and compared, weight by weight.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use blockscale::format::Shape;
use blockscale::stats::ErrorStats;
use blockscale_model::catalog::{Encoding, Weight};
use blockscale_model::plan::Expectation;
use blockscale_model::{Comparable, comparables};
use rayon::prelude::*;
use serde::Serialize;

use crate::convert::Progress;
use crate::tally::{Comparison, Tally};
use crate::transform::nan_positions;
use crate::weights::{Run, Weights, alignment, decode, plain_row_bytes, rows_per_task};
use crate::{ConvertError, NumberFailure};

/// Bytes in memory for one element of a comparison: two f32 values, and what is stored.
const BYTES_PER_ELEMENT: u64 = 16;

/// Choices of a verification.
#[derive(Clone, Debug)]
pub struct VerifyOptions {
    /// Bytes that buffers may take.
    pub max_memory: u64,
    /// SQNR bound in place of each pair's own.
    pub min_sqnr: Option<f64>,
}

impl Default for VerifyOptions {
    fn default() -> Self {
        Self {
            max_memory: 1 << 30,
            min_sqnr: None,
        }
    }
}

/// How two checkpoints compare.
#[derive(Clone, Debug, Default, Serialize)]
pub struct VerifyReport {
    /// Every weight that both hold as numbers.
    pub weights: Vec<Comparison>,
    /// Weights without values, and weights of other dtypes whose bytes are equal.
    pub identical: usize,
    /// Weights that only the first checkpoint holds.
    pub only_in_source: Vec<String>,
    /// Weights that only the second holds.
    pub only_in_output: Vec<String>,
    /// What does not pass.
    pub failures: Vec<NumberFailure>,
}

impl VerifyReport {
    /// Whether every weight is there and passes.
    pub fn passed(&self) -> bool {
        self.failures.is_empty() && self.only_in_source.is_empty()
    }
}

/// Compares every weight of `source` with its counterpart in `output`.
///
/// Counterparts are found by name, DeepSeek-V4 names in any spelling.
///
/// # Errors
/// [`ConvertError`] if one of them cannot be read. Numbers that differ are no
/// error but part of the report.
pub fn verify(
    source: Weights<'_>,
    output: Weights<'_>,
    options: &VerifyOptions,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<VerifyReport, ConvertError> {
    let ours = comparables(source.checkpoint, source.catalog);
    let theirs = comparables(output.checkpoint, output.catalog);
    let by_name: HashMap<&str, &Comparable> = theirs.iter().map(|c| (c.name.as_str(), c)).collect();
    let known: HashMap<&str, ()> = ours.iter().map(|c| (c.name.as_str(), ())).collect();
    let mut report = VerifyReport {
        only_in_output: theirs
            .iter()
            .filter(|c| !known.contains_key(c.name.as_str()))
            .map(|c| c.name.clone())
            .collect(),
        ..VerifyReport::default()
    };
    progress.start(source.checkpoint.total_bytes(), 0);
    for ours in &ours {
        if stop.load(Ordering::Relaxed) {
            return Err(ConvertError::Interrupted);
        }
        match by_name.get(ours.name.as_str()) {
            None => report.only_in_source.push(ours.name.clone()),
            Some(theirs) => {
                let pair = Pair {
                    name: &ours.name,
                    source: Side {
                        weights: source,
                        rows: ours,
                    },
                    output: Side {
                        weights: output,
                        rows: theirs,
                    },
                };
                pair.compare(options, &mut report)?;
            }
        }
        progress.advance(stored_bytes(&source, ours));
    }
    Ok(report)
}

fn stored_bytes(weights: &Weights<'_>, rows: &Comparable) -> u64 {
    let weight = &weights.catalog.weights[rows.weight];
    let all: u64 = weight
        .parts
        .iter()
        .map(|p| weights.checkpoint.tensors[p.tensor].bytes())
        .sum();
    let total = weight.matrices().total_rows().max(1) as u64;
    all * rows.rows.len() as u64 / total
}

/// One weight in one checkpoint.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a> {
    pub(crate) weights: Weights<'a>,
    pub(crate) rows: &'a Comparable,
}

impl<'a> Side<'a> {
    pub(crate) fn weight(&self) -> &'a Weight {
        &self.weights.catalog.weights[self.rows.weight]
    }

    pub(crate) fn cols(&self) -> usize {
        self.weight().matrices().shape.cols
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.rows.is_empty() || self.cols() == 0
    }

    /// Rows of which a read has to begin at a multiple, counted from the first.
    fn alignment(&self) -> usize {
        let rows = self.weight().matrices().shape.rows;
        alignment(&self.weight().encoding, rows)
    }

    /// Decodes rows counted from the first of this side, which may lie in
    /// several matrices of a stack.
    pub(crate) fn decode(&self, rows: &Range<usize>) -> Result<Vec<f32>, ConvertError> {
        let weight = self.weight();
        let matrix_rows = weight.matrices().shape.rows;
        let mut values = Vec::with_capacity(rows.len() * self.cols());
        let mut row = self.rows.rows.start + rows.start;
        let end = self.rows.rows.start + rows.end;
        while row < end {
            let first = row % matrix_rows;
            let count = (end - row).min(matrix_rows - first);
            let run = Run {
                weight: self.rows.weight,
                matrix: row / matrix_rows,
                rows: first..first + count,
            };
            let bytes = self.weights.read_in(&run, self.rows.order)?;
            values.extend(decode(weight, self.weights.shape(&run), &bytes)?);
            row += count;
        }
        Ok(values)
    }

    /// Stored bytes of rows of a plain weight.
    pub(crate) fn bytes(&self, rows: &Range<usize>) -> Result<Vec<u8>, ConvertError> {
        let Encoding::Plain(dtype) = self.weight().encoding else {
            return Ok(Vec::new());
        };
        let row = plain_row_bytes(dtype, self.cols());
        let mut bytes = vec![0; rows.len() * row];
        let offset = (self.rows.rows.start + rows.start) as u64 * row as u64;
        self.weights
            .read_tensor(self.weight().codes(), offset, &mut bytes)?;
        Ok(bytes)
    }
}

/// Row ranges that fit the memory limit and begin at scale blocks of both sides, which are equally
/// large.
pub(crate) fn chunks(a: &Side<'_>, b: &Side<'_>, max_memory: u64) -> Vec<Range<usize>> {
    let rows = a.rows.rows.len();
    let align = a.alignment().max(b.alignment());
    let row_bytes = a.cols().max(1) as u64 * BYTES_PER_ELEMENT;
    let fit = usize::try_from(max_memory / row_bytes).unwrap_or(usize::MAX);
    let step = (fit / align * align).max(align);
    (0..rows)
        .step_by(step)
        .map(|start| start..rows.min(start.saturating_add(step)))
        .collect()
}

struct Pair<'a> {
    name: &'a str,
    source: Side<'a>,
    output: Side<'a>,
}

impl Pair<'_> {
    fn compare(
        &self,
        options: &VerifyOptions,
        report: &mut VerifyReport,
    ) -> Result<(), ConvertError> {
        if self.source.is_empty() && self.output.is_empty() {
            // Nothing that could differ. Codes without a byte are not known as packed, so
            // their columns may count half.
            report.identical += 1;
            return Ok(());
        }
        if let Some(reason) = self.mismatch() {
            report.failures.push(NumberFailure {
                tensor: self.name.to_owned(),
                reason,
            });
            return Ok(());
        }
        let number = |side: &Side<'_>| side.weight().encoding.is_number();
        if number(&self.source) && number(&self.output) {
            self.compare_numbers(options, report)
        } else {
            self.compare_bytes(options, report)
        }
    }

    /// Why the two cannot be one weight.
    fn mismatch(&self) -> Option<String> {
        let shape = |side: &Side<'_>| (side.rows.rows.len(), side.cols());
        let (ours, theirs) = (shape(&self.source), shape(&self.output));
        (ours != theirs).then(|| {
            format!(
                "{}x{} in the source, {}x{} in the output",
                ours.0, ours.1, theirs.0, theirs.1
            )
        })
    }

    fn compare_numbers(
        &self,
        options: &VerifyOptions,
        report: &mut VerifyReport,
    ) -> Result<(), ConvertError> {
        let cols = self.source.cols();
        let mut tally = Tally::default();
        for rows in chunks(&self.source, &self.output, options.max_memory) {
            let ours = self.source.decode(&rows)?;
            let theirs = self.output.decode(&rows)?;
            let stats = row_stats(&ours, &theirs, cols)?;
            tally.add(rows.start, &stats, &nan_positions(&ours, cols, &stats));
        }
        let (from, to) = (self.source.weight().encoding, self.output.weight().encoding);
        let expectation = match (Expectation::between(&from, &to), options.min_sqnr) {
            (Expectation::AtLeastDb(_), Some(db)) => Expectation::AtLeastDb(db),
            (expectation, _) => expectation,
        };
        let shape = [self.source.rows.rows.len(), cols];
        let names = (from.to_string(), to.to_string());
        let (comparison, failure) = tally.finish(self.name, names, &shape, expectation);
        report.weights.push(comparison);
        report.failures.extend(failure);
        Ok(())
    }

    fn compare_bytes(
        &self,
        options: &VerifyOptions,
        report: &mut VerifyReport,
    ) -> Result<(), ConvertError> {
        let (from, to) = (self.source.weight().encoding, self.output.weight().encoding);
        let mut equal = from == to;
        for rows in chunks(&self.source, &self.output, options.max_memory) {
            equal = equal && self.source.bytes(&rows)? == self.output.bytes(&rows)?;
        }
        if equal {
            report.identical += 1;
        } else {
            let reason =
                format!("{from} in the source and {to} in the output are not the same bytes");
            report.failures.push(NumberFailure {
                tensor: self.name.to_owned(),
                reason,
            });
        }
        Ok(())
    }
}

/// Statistics row by row, rows in parallel.
fn row_stats(ours: &[f32], theirs: &[f32], cols: usize) -> Result<Vec<ErrorStats>, ConvertError> {
    if cols == 0 {
        return Ok(Vec::new());
    }
    let part = Shape::new(rows_per_task(cols), cols)
        .len()
        .unwrap_or(usize::MAX);
    let parts: Vec<Vec<ErrorStats>> = ours
        .par_chunks(part)
        .zip(theirs.par_chunks(part))
        .map(|(ours, theirs)| {
            let pairs = ours.chunks(cols).zip(theirs.chunks(cols));
            pairs.map(|(w, q)| Ok(ErrorStats::of_row(w, q)?)).collect()
        })
        .collect::<Result<_, ConvertError>>()?;
    Ok(parts.concat())
}
