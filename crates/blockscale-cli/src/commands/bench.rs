//! `blockscale bench`.

use std::fmt::Write as _;
use std::process::ExitCode;

use blockscale_selftest::{BenchReport, BenchRow, bench};

use crate::args::BenchArgs;
use crate::error::CliError;
use crate::style::STRONG;

pub(crate) fn run(args: &BenchArgs) -> Result<ExitCode, CliError> {
    let report = bench(&args.device.measured()?)?;
    if args.json {
        super::print_json(&serde_json::to_value(&report).unwrap_or_default())?;
    } else {
        super::print_text(&text(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn text(report: &BenchReport) -> String {
    let width = |of: fn(&BenchRow) -> usize| report.rows.iter().map(of).max().unwrap_or(0);
    let (names, sizes) = (width(|r| r.operation.len()), width(|r| r.size.len()));
    let mut text = format!("bench of {}\n", report.engine);
    let _ = writeln!(
        text,
        "{STRONG}{:names$}  {:sizes$}       MB        us    GB/s  ratio   bar{STRONG:#}",
        "operation", "size"
    );
    for row in &report.rows {
        let _ = write!(
            text,
            "{:names$}  {:sizes$}  {:7.0}  {:8.0}  {:6.0}",
            row.operation,
            row.size,
            row.bytes as f64 / 1e6,
            row.seconds * 1e6,
            row.bytes_per_second / 1e9
        );
        if let Some(ratio) = row.ratio {
            let _ = write!(text, "  {ratio:5.3}");
        }
        if let (Some(bar), Some(met)) = (row.bar, row.met()) {
            let verdict = if met { "" } else { " missed" };
            let _ = write!(text, "  {bar:.2}{verdict}");
        }
        text.push('\n');
    }
    text.push_str(
        "ratio: bytes a second beside a plain copy of this run, or beside the copies named\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missed_bar_is_said() {
        let row = |ratio| BenchRow {
            operation: "decode".to_owned(),
            size: "1x1".to_owned(),
            bytes: 4_000_000,
            seconds: 1e-3,
            bytes_per_second: 4e9,
            ratio: Some(ratio),
            beside: "copy",
            bar: Some(0.95),
        };
        let report = BenchReport {
            engine: "CPU".to_owned(),
            rows: vec![row(0.96), row(0.5)],
        };
        let text = text(&report);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[2].ends_with("0.960  0.95"), "{text}");
        assert!(lines[3].ends_with("0.500  0.95 missed"), "{text}");
    }
}
