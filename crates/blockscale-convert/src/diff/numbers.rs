//! Numbers of one weight on both sides.

use std::collections::BTreeMap;

use blockscale::stats::ErrorStats;
use rayon::prelude::*;
use serde::Serialize;

use super::{DiffOptions, DiffReport, WeightDifference};
use crate::ConvertError;
use crate::verify::{Side, chunks};

/// Differences by size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Histogram {
    /// Numbers that are equal.
    pub equal: u64,
    /// Numbers that differ by 2^n up to, not including, 2^(n + 1), under n.
    pub by_exponent: BTreeMap<i32, u64>,
    /// NaN or infinite on one side only.
    pub special: u64,
}

impl Histogram {
    fn add(&mut self, a: f32, b: f32) {
        let both_nan = a.is_nan() && b.is_nan();
        if a == b || both_nan {
            self.equal += 1;
        } else if !(a.is_finite() && b.is_finite()) {
            self.special += 1;
        } else {
            let difference = (f64::from(a) - f64::from(b)).abs();
            // Never zero and never subnormal: differences of f32 are far above that in f64.
            let exponent = (difference.to_bits() >> 52) as i32 - 1023;
            *self.by_exponent.entry(exponent).or_default() += 1;
        }
    }

    /// Adds the differences of another part.
    pub fn merge(&mut self, other: &Self) {
        self.equal += other.equal;
        self.special += other.special;
        for (exponent, count) in &other.by_exponent {
            *self.by_exponent.entry(*exponent).or_default() += count;
        }
    }
}

/// What was found in some rows.
#[derive(Default)]
struct Found {
    stats: ErrorStats,
    beyond: u64,
    histogram: Histogram,
}

impl Found {
    fn of_row(a: &[f32], b: &[f32], options: &DiffOptions) -> Result<Self, ConvertError> {
        let mut found = Self {
            stats: ErrorStats::of_row(a, b)?,
            ..Self::default()
        };
        for (&a, &b) in a.iter().zip(b) {
            found.histogram.add(a, b);
            let allowed = options.atol + options.rtol * f64::from(a).abs();
            let apart = (f64::from(a) - f64::from(b)).abs();
            let finite = a.is_finite() && b.is_finite();
            found.beyond += u64::from(finite && apart > allowed);
        }
        found.beyond += found.stats.special_mismatch;
        Ok(found)
    }

    fn merge(&mut self, later: &Self) {
        self.stats.merge(&later.stats);
        self.beyond += later.beyond;
        self.histogram.merge(&later.histogram);
    }

    /// Whether the weight is another.
    fn differs(&self, options: &DiffOptions) -> bool {
        match options.min_sqnr {
            Some(db) => self.stats.special_mismatch > 0 || self.stats.sqnr_db() < db,
            None => self.beyond > 0,
        }
    }
}

/// Compares a weight, and adds it to the report.
pub(super) fn compare(
    a: &Side<'_>,
    b: &Side<'_>,
    options: &DiffOptions,
    report: &mut DiffReport,
) -> Result<(), ConvertError> {
    let shape = |side: &Side<'_>| [side.rows.rows.len(), side.cols()];
    if shape(a) != shape(b) {
        return Ok(());
    }
    report.compared += 1;
    let number = |side: &Side<'_>| side.weight().encoding.is_number();
    if a.is_empty() {
        report.equal += 1;
        return Ok(());
    }
    if !(number(a) && number(b)) {
        return compare_bytes(a, b, options, report);
    }
    let mut found = Found::default();
    for rows in chunks(a, b, options.max_memory) {
        let (ours, theirs) = (a.decode(&rows)?, b.decode(&rows)?);
        let pairs = ours.par_chunks(a.cols()).zip(theirs.par_chunks(a.cols()));
        let by_row: Vec<Found> = pairs
            .map(|(a, b)| Found::of_row(a, b, options))
            .collect::<Result<_, _>>()?;
        by_row.iter().for_each(|row| found.merge(row));
    }
    report.equal += usize::from(found.stats.is_exact());
    report.histogram.merge(&found.histogram);
    if found.differs(options) {
        let finite = |x: f64| x.is_finite().then_some(x);
        report.weights.push(WeightDifference {
            name: a.rows.name.clone(),
            a: a.weight().encoding.to_string(),
            b: b.weight().encoding.to_string(),
            shape: shape(a),
            count: found.stats.count,
            differing: found.beyond,
            sqnr_db: finite(found.stats.sqnr_db()),
            norm_ratio: finite(found.stats.norm_ratio()),
            cosine: finite(found.stats.cosine()),
            max_abs: found.stats.max_abs_err,
            special: found.stats.special_mismatch,
        });
    }
    Ok(())
}

/// Integers and the like: equal bytes, or another weight.
fn compare_bytes(
    a: &Side<'_>,
    b: &Side<'_>,
    options: &DiffOptions,
    report: &mut DiffReport,
) -> Result<(), ConvertError> {
    let (mut differing, mut count) = (0, 0);
    for rows in chunks(a, b, options.max_memory) {
        let (ours, theirs) = (a.bytes(&rows)?, b.bytes(&rows)?);
        let pairs = ours.iter().zip(&theirs);
        differing += pairs.filter(|(a, b)| a != b).count() as u64;
        differing += ours.len().abs_diff(theirs.len()) as u64;
        count += ours.len().max(theirs.len()) as u64;
    }
    let (ours, theirs) = (a.weight().encoding, b.weight().encoding);
    if differing == 0 && ours == theirs {
        report.equal += 1;
        return Ok(());
    }
    report.weights.push(WeightDifference {
        name: a.rows.name.clone(),
        a: ours.to_string(),
        b: theirs.to_string(),
        shape: [a.rows.rows.len(), a.cols()],
        count,
        differing,
        sqnr_db: None,
        norm_ratio: None,
        cosine: None,
        max_abs: 0.0,
        special: 0,
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_sorted_by_their_exponent() {
        let mut histogram = Histogram::default();
        let pairs = [
            (1.0, 1.0),
            (1.0, 1.5),
            (1.0, 1.99),
            (2.0, 1.0),
            (f32::NAN, 1.0),
        ];
        for (a, b) in pairs {
            histogram.add(a, b);
        }
        histogram.add(f32::NAN, f32::NAN);
        histogram.add(0.0, f32::from_bits(1));
        assert_eq!((histogram.equal, histogram.special), (2, 1));
        let counts: Vec<(i32, u64)> = histogram.by_exponent.into_iter().collect();
        assert_eq!(counts, [(-149, 1), (-1, 2), (0, 1)]);
    }

    #[test]
    fn tolerances_add_up() {
        let options = DiffOptions {
            atol: 0.1,
            rtol: 0.01,
            ..DiffOptions::default()
        };
        // 0.2 is allowed at 10: 0.1 and 1 % of it.
        let found = Found::of_row(&[10.0, 10.0, 0.0], &[10.19, 10.21, 0.11], &options).unwrap();
        assert_eq!(found.beyond, 2);
    }
}
