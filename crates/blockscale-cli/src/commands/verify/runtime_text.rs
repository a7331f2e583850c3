//! The report of `blockscale verify --runtime`, for people.

use std::fmt::Write as _;

use blockscale_convert::{CheckedWeight, RuntimeDifference, RuntimeReport};

use crate::style::{self, STRONG};

/// Names listed of each reason to skip a weight.
const LISTED: usize = 3;

/// Weights that differ come first; at most `top` are listed.
pub(crate) fn text(report: &RuntimeReport, top: usize) -> String {
    let mut text = String::new();
    let (differ, equal): (Vec<_>, Vec<_>) =
        report.weights.iter().partition(|w| w.difference.is_some());
    let shown = differ.iter().chain(&equal).take(top);
    let mut rows = vec![
        [
            "weight", "format", "layout", "shape", "baked", "rows", "result",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    rows.extend(shown.map(|weight| row(weight)));
    if rows.len() > 1 {
        text.push_str(&style::table(&rows));
        let more = report.weights.len() - (rows.len() - 1);
        if more > 0 {
            let what = if top < differ.len() {
                ""
            } else {
                ", all equal"
            };
            let _ = writeln!(text, "and {more} more{what}");
        }
    }
    skipped(report, &mut text);
    verdict(report, differ.len(), &mut text);
    text
}

fn row(weight: &CheckedWeight) -> Vec<String> {
    let [rows, cols] = weight.shape;
    let shape = if weight.matrices == 1 {
        format!("{rows}x{cols}")
    } else {
        format!("{}x{rows}x{cols}", weight.matrices)
    };
    vec![
        weight.weights.join(" + "),
        weight.format.clone(),
        weight.layout.to_owned(),
        shape,
        weight.baked.to_string(),
        weight.rows.to_string(),
        weight
            .difference
            .as_ref()
            .map_or_else(|| "equal".to_owned(), difference),
    ]
}

fn difference(found: &RuntimeDifference) -> String {
    let RuntimeDifference {
        weight,
        matrix,
        row,
        col,
        stored,
        read,
    } = found;
    format!("`{weight}` matrix {matrix} row {row} column {col} is {stored:e}, read as {read:e}")
}

/// A line for each reason, with the first names.
fn skipped(report: &RuntimeReport, text: &mut String) {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for skipped in &report.skipped {
        let reason = skipped.reason.to_string();
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, weights)) => weights.push(&skipped.weight),
            None => reasons.push((reason, vec![&skipped.weight])),
        }
    }
    for (reason, weights) in reasons {
        let shown: Vec<_> = weights
            .iter()
            .take(LISTED)
            .map(|w| format!("`{w}`"))
            .collect();
        let rest = match weights.len() - shown.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let count = style::count(weights.len(), "weight");
        let _ = writeln!(
            text,
            "{count} skipped: {reason}: {}{rest}",
            shown.join(", ")
        );
    }
}

fn verdict(report: &RuntimeReport, differ: usize, text: &mut String) {
    let verdict = if report.passed() {
        "verified"
    } else {
        "not verified"
    };
    let checked: usize = report.weights.iter().map(|w| w.weights.len()).sum();
    let rows: usize = report.weights.iter().map(|w| w.rows).sum();
    let _ = writeln!(
        text,
        "{STRONG}{verdict}{STRONG:#} for {}: {} in {}, {} read as its kernels do, {differ} not as stored; {} skipped",
        report.runtime,
        style::count(checked, "weight"),
        style::count(report.weights.len(), "operand"),
        style::count(rows, "row"),
        report.skipped.len(),
    );
}

#[cfg(test)]
mod tests {
    use blockscale_convert::Baked;

    use super::*;

    fn weight(name: &str, difference: Option<RuntimeDifference>) -> CheckedWeight {
        CheckedWeight {
            weights: vec![name.to_owned()],
            format: "NVFP4".to_owned(),
            layout: "tiles-128x4",
            matrices: 1,
            shape: [128, 64],
            baked: Baked::Tiles(128),
            rows: 64,
            difference,
        }
    }

    #[test]
    fn a_weight_that_differs_is_listed_before_those_that_do_not() {
        let difference = RuntimeDifference {
            weight: "b".to_owned(),
            matrix: 0,
            row: 3,
            col: 17,
            stored: 0.75,
            read: 0.5,
        };
        let report = RuntimeReport {
            runtime: "cutlass",
            weights: vec![weight("a", None), weight("b", Some(difference))],
            skipped: Vec::new(),
        };
        let text = anstream::adapter::strip_str(&text(&report, 1)).to_string();
        let lines: Vec<_> = text.lines().collect();
        let found = "`b` matrix 0 row 3 column 17 is 7.5e-1, read as 5e-1";
        assert!(
            lines[1].starts_with("b ") && lines[1].ends_with(found),
            "{text}"
        );
        assert_eq!(lines[2], "and 1 more, all equal");
        assert!(
            lines[3].starts_with("not verified for cutlass: 2 weights"),
            "{text}"
        );
    }
}
