//! `blockscale bench`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use blockscale_selftest::{BenchOptions, BenchReport, BenchRow, FilesOptions, FilesWhat, bench};

use crate::args::BenchArgs;
use crate::error::CliError;
use crate::style::STRONG;

pub(crate) fn run(args: &BenchArgs) -> Result<ExitCode, CliError> {
    let options = BenchOptions {
        level: args.level,
        only: args.only.clone(),
        files: args.files.as_ref().map(|folder| FilesOptions {
            folder: folder.clone(),
            bytes: (args.gib * f64::from(1 << 30)) as u64,
            what: match args.growth {
                true => FilesWhat::Growth,
                false => FilesWhat::Conversions,
            },
        }),
    };
    let report = bench(&args.device.measured()?, &options)?;
    if args.json {
        super::print_json(&serde_json::to_value(&report).unwrap_or_default())?;
    } else {
        super::print_text(&text(&report))?;
    }
    if let Some(folder) = &args.record {
        record(&report, folder)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn record(report: &BenchReport, folder: &Path) -> Result<(), CliError> {
    let path = folder.join(report.file_name());
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&path, report.to_csv()))
        .map_err(|source| CliError::Record { path, source })
}

/// A column: its title, and its cell in a row.
type Column = (&'static str, fn(&BenchRow) -> String);

/// A column with its width and all of its cells.
type Filled = (&'static str, usize, Vec<String>);

/// Columns of words; those of numbers follow.
const WORDS: [Column; 3] = [
    ("operation", |row| row.operation.clone()),
    ("size", |row| row.size.clone()),
    ("level", |row| row.level.clone().unwrap_or_default()),
];

const NUMBERS: [Column; 8] = [
    ("threads", |row| optional(row.threads, |n| n.to_string())),
    ("MB", |row| format!("{:.0}", row.bytes as f64 / 1e6)),
    ("us", |row| format!("{:.0}", row.seconds * 1e6)),
    ("GB/s", |row| rate(row.bytes_per_second / 1e9)),
    ("MiB held", |row| {
        optional(row.memory, |n| (n >> 20).to_string())
    }),
    ("ratio", |row| optional(row.ratio, |r| format!("{r:.3}"))),
    ("scaling", |row| {
        optional(row.scaling, |s| format!("{s:.2}"))
    }),
    ("bar", bar),
];

fn optional<T>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map(text).unwrap_or_default()
}

fn rate(gigabytes: f64) -> String {
    if gigabytes < 100.0 {
        format!("{gigabytes:.2}")
    } else {
        format!("{gigabytes:.0}")
    }
}

fn bar(row: &BenchRow) -> String {
    let bar = optional(row.bar, |bar| format!("{bar:.2}"));
    match row.met {
        Some(false) => format!("{bar} missed").trim_start().to_owned(),
        _ => bar,
    }
}

fn text(report: &BenchReport) -> String {
    let mut text = format!("bench of {}\n", report.engine);
    for (name, value) in [("machine", &report.machine), ("pages", &report.pages)] {
        if let Some(value) = value {
            let _ = writeln!(text, "{name}: {value}");
        }
    }
    let filled = |column: &Column| -> Option<Filled> {
        let cells: Vec<String> = report.rows.iter().map(column.1).collect();
        let longest = cells.iter().map(String::len).max().unwrap_or(0);
        (longest > 0).then_some((column.0, longest.max(column.0.len()), cells))
    };
    let words: Vec<_> = WORDS.iter().filter_map(filled).collect();
    let numbers: Vec<_> = NUMBERS.iter().filter_map(filled).collect();
    let line = |text: &mut String, cell: &dyn Fn(&Filled) -> String| {
        let mut line = String::new();
        for column in &words {
            let _ = write!(line, "{:w$}  ", cell(column), w = column.1);
        }
        for column in &numbers {
            let _ = write!(line, "{:>w$}  ", cell(column), w = column.1);
        }
        text.push_str(line.trim_end());
    };
    let _ = write!(text, "{STRONG}");
    line(&mut text, &|column| column.0.to_owned());
    let _ = writeln!(text, "{STRONG:#}");
    for row in 0..report.rows.len() {
        line(&mut text, &|column| column.2[row].clone());
        text.push('\n');
    }
    text.push_str(
        "ratio: bytes a second beside a plain copy of this run, in as many threads, or beside the \
         copies named\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> BenchReport {
        let row = |threads, ratio, met| BenchRow {
            operation: "decode".to_owned(),
            size: "1x1".to_owned(),
            level: None,
            threads: Some(threads),
            bytes: 4_000_000,
            seconds: 1e-3,
            bytes_per_second: 4e9,
            memory: None,
            ratio: Some(ratio),
            beside: Some("copy".to_owned()),
            scaling: (threads > 1).then_some(1.5),
            bar: (threads == 1).then_some(0.95),
            met,
        };
        BenchReport {
            engine: "CPU".to_owned(),
            machine: None,
            pages: Some("large".to_owned()),
            rows: vec![
                row(1, 0.96, Some(true)),
                row(1, 0.5, Some(false)),
                row(2, 0.5, Some(false)),
            ],
        }
    }

    #[test]
    fn a_missed_bar_is_said() {
        let text = text(&report());
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[3].ends_with("0.960                  0.95"), "{text}");
        assert!(lines[4].ends_with("0.500           0.95 missed"), "{text}");
        assert!(lines[5].ends_with("0.500     1.50       missed"), "{text}");
    }

    #[test]
    fn empty_columns_are_left_out_and_the_pages_are_said() {
        let text = text(&report());
        assert!(!text.contains("level"), "{text}");
        assert!(text.contains("pages: large\n"), "{text}");
    }

    #[test]
    fn json_has_what_scripts_ask_for() {
        let json = serde_json::to_value(report()).unwrap();
        let row = &json["rows"][1];
        for key in [
            "operation",
            "threads",
            "bytes",
            "seconds",
            "ratio",
            "bar",
            "met",
        ] {
            assert!(!row[key].is_null(), "{key} in {json}");
        }
        assert_eq!(row["met"], false);
    }

    #[test]
    fn a_record_holds_the_rows() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("results");
        record(&report(), &folder).unwrap();
        let file = fs::read_dir(&folder).unwrap().next().unwrap().unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        assert_eq!(BenchReport::from_csv(&text).unwrap(), report());
    }
}
