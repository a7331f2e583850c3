//! How things look in a terminal. Colours obey NO_COLOR and pipes.

use std::error::Error;
use std::fmt::Write as _;
use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use blockscale_model::{Finding, Severity};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();

/// Headings of tables and summaries.
pub(crate) const STRONG: Style = Style::new().bold();

/// Prints an error and what caused it.
pub(crate) fn print_error(error: &dyn Error) {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let own = error.to_string();
        if !text.ends_with(&own) {
            let _ = write!(text, ": {own}");
        }
        cause = error.source();
    }
    print_line(&format!("{ERROR}error{ERROR:#}: {text}"));
}

/// Prints findings on stderr, so that stdout stays the result.
pub(crate) fn print_findings(findings: &[Finding]) {
    for finding in findings {
        let (style, word) = severity(finding.severity);
        let code = finding.rule().map_or(finding.code, |rule| rule.code);
        let at = match (&finding.file, &finding.tensor) {
            (Some(file), Some(tensor)) => format!("`{file}`, `{tensor}`: "),
            (Some(name), None) | (None, Some(name)) => format!("`{name}`: "),
            (None, None) => String::new(),
        };
        print_line(&format!(
            "{style}{word}[{code}]{style:#}: {at}{}",
            finding.message
        ));
    }
}

/// Colour and word of a severity.
pub(crate) fn severity(severity: Severity) -> (Style, &'static str) {
    match severity {
        Severity::Error => (ERROR, "error"),
        Severity::Warning => (WARNING, "warning"),
        Severity::Info => (NOTE, "note"),
    }
}

/// Prints something worth knowing on stderr.
pub(crate) fn print_note(text: &str) {
    print_line(&format!("{NOTE}note{NOTE:#}: {text}"));
}

/// A line on stderr. Where that cannot be written, the exit code still tells.
fn print_line(line: &str) {
    let _ = writeln!(anstream::stderr(), "{line}");
}

/// A number of bytes for people: three significant digits in powers of 1024.
pub(crate) fn bytes(n: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB", "PiB"];
    if n < 1024 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1024.0;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let digits = if value < 10.0 {
        2
    } else if value < 100.0 {
        1
    } else {
        0
    };
    format!("{value:.digits$} {}", units[unit])
}

/// A count with its noun: `1 shard`, `5 shards`.
pub(crate) fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// Decibels of a comparison; equal numbers have no noise.
pub(crate) fn db(sqnr: Option<f64>, exact: bool) -> String {
    match sqnr {
        _ if exact => "exact".to_owned(),
        Some(db) => format!("{db:.2} dB"),
        None => "-".to_owned(),
    }
}

/// A table: the first row is the heading, numbers are aligned right.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| {
        rows.iter()
            .filter_map(|r| Some(r.get(c)?.chars().count()))
            .max()
    };
    let widths: Vec<usize> = (0..columns).map(|c| width(c).unwrap_or(0)).collect();
    let right = |c: usize| {
        let starts_as_number = |cell: &String| {
            cell.starts_with(|ch: char| ch.is_ascii_digit() || ch == '-') || cell == "exact"
        };
        rows.iter()
            .skip(1)
            .filter_map(|r| r.get(c))
            .all(starts_as_number)
    };
    let rights: Vec<bool> = (0..columns).map(right).collect();
    let mut text = String::new();
    for (i, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            let (gap, width) = (if c == 0 { "" } else { "  " }, widths[c]);
            let _ = if rights[c] {
                write!(line, "{gap}{cell:>width$}")
            } else {
                write!(line, "{gap}{cell:<width$}")
            };
        }
        let line = line.trim_end();
        let _ = if i == 0 {
            writeln!(text, "{STRONG}{line}{STRONG:#}")
        } else {
            writeln!(text, "{line}")
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_three_significant_digits() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1.00 KiB");
        assert_eq!(bytes(1_048_575), "1.00 MiB");
        assert_eq!(bytes(611 << 30), "611 GiB");
    }

    #[test]
    fn only_one_is_singular() {
        assert_eq!(count(0, "shard"), "0 shards");
        assert_eq!(count(1, "shard"), "1 shard");
        assert_eq!(count(2, "shard"), "2 shards");
    }

    #[test]
    fn number_columns_are_aligned_right() {
        let rows = [["name", "n"], ["a", "5"], ["bcd", "10"]];
        let rows: Vec<Vec<String>> = rows.map(|r| r.map(str::to_owned).to_vec()).to_vec();
        let text = anstream::adapter::strip_str(&table(&rows)).to_string();
        assert_eq!(text, "name   n\na      5\nbcd   10\n");
    }
}
