//! Differences for people.

use std::fmt::Write as _;

use blockscale_convert::diff::{
    DiffReport, Histogram, Side, StructureDifference, WeightDifference,
};
use serde_json::Value;

use crate::style::{self, STRONG};

/// Columns of the longest bar of a histogram.
const BAR: u64 = 40;

/// The report, at most `top` differences of a kind.
pub(super) fn text(report: &DiffReport, top: usize) -> String {
    let mut text = structure(&report.structure, top);
    text.push_str(&weights(&report.weights, top));
    text.push_str(&histogram(&report.histogram));
    let verdict = match report.is_same() {
        true => "the same",
        false => "different",
    };
    let _ = writeln!(
        text,
        "{STRONG}{verdict}{STRONG:#}: {} compared, {} equal in every number, {} different; {} beside \
         numbers",
        style::count(report.compared, "weight"),
        report.equal,
        report.weights.len(),
        style::count(report.structure.len(), "difference"),
    );
    text
}

/// Differences by kind, each kind in the order found.
fn structure(all: &[StructureDifference], top: usize) -> String {
    let mut text = String::new();
    let mut kinds: Vec<(&str, Vec<String>)> = Vec::new();
    for difference in all {
        let (kind, line) = line(difference);
        match kinds.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, lines)) => lines.push(line),
            None => kinds.push((kind, vec![line])),
        }
    }
    for (kind, lines) in kinds {
        let _ = writeln!(text, "{STRONG}{kind}{STRONG:#} ({})", lines.len());
        for line in lines.iter().take(top) {
            let _ = writeln!(text, "  {line}");
        }
        if lines.len() > top {
            let _ = writeln!(text, "  and {} more", lines.len() - top);
        }
    }
    text
}

fn line(difference: &StructureDifference) -> (&'static str, String) {
    match difference {
        StructureDifference::OnlyIn { side, name } => match side {
            Side::A => ("only in the first", format!("`{name}`")),
            Side::B => ("only in the second", format!("`{name}`")),
        },
        StructureDifference::Unreadable { side, name, reason } => match side {
            Side::A => ("unreadable in the first", format!("`{name}`: {reason}")),
            Side::B => ("unreadable in the second", format!("`{name}`: {reason}")),
        },
        StructureDifference::Shape { name, a, b } => {
            let line = format!("`{name}`: {}x{} and {}x{}", a[0], a[1], b[0], b[1]);
            ("of two shapes", line)
        }
        StructureDifference::Format { name, a, b } => {
            ("in two formats", format!("`{name}`: {a} and {b}"))
        }
        StructureDifference::Layout { name, a, b } => {
            ("in two layouts", format!("`{name}`: {a} and {b}"))
        }
        StructureDifference::Config { file, key, a, b } => {
            let line = format!(
                "{file}: {key}: {} and {}",
                value(a.as_ref()),
                value(b.as_ref())
            );
            ("config", line)
        }
    }
}

/// A config value in a few characters.
fn value(value: Option<&Value>) -> String {
    const SHOWN: usize = 60;
    let Some(value) = value else {
        return "nothing".to_owned();
    };
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

fn weights(all: &[WeightDifference], top: usize) -> String {
    if all.is_empty() || top == 0 {
        return String::new();
    }
    let heading = [
        "weight",
        "first",
        "second",
        "SQNR",
        "norm ratio",
        "max difference",
        "differing",
    ];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(all.iter().take(top).map(row));
    let mut text = style::table(&rows);
    if all.len() > top {
        let _ = writeln!(text, "and {} more, all nearer", all.len() - top);
    }
    text
}

fn row(weight: &WeightDifference) -> Vec<String> {
    vec![
        weight.name.clone(),
        weight.a.clone(),
        weight.b.clone(),
        style::db(weight.sqnr_db, false),
        weight
            .norm_ratio
            .map_or("-".to_owned(), |x| format!("{x:.5}")),
        format!("{:.3e}", weight.max_abs),
        format!("{} of {}", weight.differing, weight.count),
    ]
}

/// A bar for each power of two, the largest differences first; those below a millionth of the
/// fullest bar have a bar too.
fn histogram(histogram: &Histogram) -> String {
    let most = histogram.by_exponent.values().copied().max().unwrap_or(0);
    if most == 0 && histogram.special == 0 {
        return String::new();
    }
    let mut text = format!("{STRONG}differences by size{STRONG:#}\n");
    if histogram.special > 0 {
        let _ = writeln!(text, "  {:>12}  {:>12}", "NaN or inf", histogram.special);
    }
    for (exponent, &count) in histogram.by_exponent.iter().rev() {
        let bar = "█".repeat((count * BAR / most).max(1) as usize);
        let _ = writeln!(
            text,
            "  {:>12}  {count:>12}  {bar}",
            format!("2^{exponent}")
        );
    }
    let _ = writeln!(text, "  {:>12}  {:>12}", "equal", histogram.equal);
    text
}
