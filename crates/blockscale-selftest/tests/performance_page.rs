//! The figures of docs/performance.md are those of the recorded runs it names.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::{env, fs};

use blockscale_selftest::{BenchReport, BenchRow};

const BEGIN: &str = "<!-- bench: ";
const BEGIN_CLOSES: &str = " -->\n";
const END: &str = "<!-- end of bench -->";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn cells(row: &BenchRow) -> [String; 8] {
    let optional = |value: Option<f64>| value.map_or(String::new(), |value| format!("{value:.2}"));
    let met = match row.met {
        Some(true) => "yes",
        Some(false) => "no",
        None => "",
    };
    [
        format!("{}, {}", row.operation, row.size),
        row.level.clone().unwrap_or_default(),
        row.threads
            .map_or(String::new(), |threads| threads.to_string()),
        format!("{:.2}", row.bytes_per_second / 1e9),
        optional(row.ratio),
        optional(row.scaling),
        optional(row.bar),
        met.to_owned(),
    ]
}

fn table(report: &BenchReport) -> String {
    let mut text = report.engine.clone();
    for part in [&report.machine, &report.pages].into_iter().flatten() {
        let _ = write!(text, "; {part}");
    }
    text.push_str(".\n\n| operation | level | threads | GB/s | ratio | scaling | bar | met |\n");
    text.push_str("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for row in &report.rows {
        let _ = writeln!(text, "| {} |", cells(row).join(" | "));
    }
    text
}

#[test]
fn every_figure_is_that_of_a_recorded_run() {
    let path = root().join("docs/performance.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut fresh = String::new();
    let mut rest = page.as_str();
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (name, after) = after.split_once(BEGIN_CLOSES).unwrap();
        let (_, after) = after.split_once(END).unwrap();
        let recorded = fs::read_to_string(root().join(name)).unwrap();
        let report = BenchReport::from_csv(&recorded).unwrap();
        fresh += &format!("{before}{BEGIN}{name}{BEGIN_CLOSES}{}{END}", table(&report));
        rest = after;
    }
    fresh += rest;
    if env::var_os("BLOCKSCALE_BLESS").is_some_and(|value| value == "1") {
        fs::write(&path, fresh).unwrap();
        return;
    }
    assert!(fresh != rest, "the page has no table");
    for (found, expected) in page.lines().zip(fresh.lines()) {
        assert_eq!(found, expected, "run with BLOCKSCALE_BLESS=1");
    }
    assert_eq!(page.len(), fresh.len(), "run with BLOCKSCALE_BLESS=1");
}
