//! Markdown: which pages there are, what is code in them, and tables.

use std::fs;
use std::path::{Path, PathBuf};

/// A document of the repository.
pub(crate) struct Page {
    /// Where it is, from the repository's root.
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

pub(crate) fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()))
}

/// All documents for people: those at the root, and the folder `docs`.
pub(crate) fn pages() -> Vec<Page> {
    let mut paths = Vec::new();
    for folder in ["", "docs"] {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let path = Path::new(folder).join(entry.unwrap().file_name());
            if path.extension().is_some_and(|ending| ending == "md") {
                paths.push(path);
            }
        }
    }
    paths.sort();
    assert!(paths.len() > 5, "{paths:?}");
    let page = |path: PathBuf| Page {
        text: read(&path),
        path,
    };
    paths.into_iter().map(page).collect()
}

/// What a line of Markdown is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    Prose(&'a str),
    /// Between fences, or indented by four.
    Code(&'a str),
}

/// The lines of a page, fences left out.
pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut fenced = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            continue;
        }
        lines.push(match line.strip_prefix("    ") {
            _ if fenced => Line::Code(line),
            Some(code) => Line::Code(code),
            None => Line::Prose(line),
        });
    }
    lines
}

/// A line of prose split at backticks: what is outside of code spans, and what is in them.
pub(crate) fn spans(line: &str) -> (Vec<&str>, Vec<&str>) {
    let parts: Vec<_> = line.split('`').collect();
    let every_other = |first| parts.iter().copied().skip(first).step_by(2).collect();
    (every_other(0), every_other(1))
}

/// A table without an end of line.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let line = |cells: &[String]| -> String {
        let cell = |cell: &String| match cell.as_str() {
            "" => " |".to_owned(),
            text => format!(" {text} |"),
        };
        format!("|{}", cells.iter().map(cell).collect::<String>())
    };
    let mut lines = vec![
        line(&head.map(str::to_owned)),
        line(&head.map(|_| "---".to_owned())),
    ];
    lines.extend(rows.iter().map(|row| line(row)));
    lines.join("\n")
}

/// A number as people write it: powers of two that are no short decimal as `2^-9`.
pub(crate) fn number(x: f32) -> String {
    let fraction = x.to_bits() & 0x007f_ffff;
    // The one power of two among the subnormals that matters here is 2^-127.
    let exponent = match x.to_bits() {
        0x0040_0000 => Some(-127),
        bits if fraction == 0 && x > 0.0 => Some((bits >> 23) as i32 - 127),
        _ => None,
    };
    match exponent {
        Some(exponent) if !(-4..20).contains(&exponent) => format!("2^{exponent}"),
        None if x != 0.0 && x.abs() < 1e-3 => format!("{x:e}"),
        _ => x.to_string(),
    }
}

#[test]
fn numbers_are_short() {
    let written = [
        6.0,
        0.0625,
        2_f32.powi(-9),
        2_f32.powi(-127),
        2_f32.powi(127),
        57344.0,
        0.0,
    ];
    let expected = ["6", "0.0625", "2^-9", "2^-127", "2^127", "57344", "0"];
    assert_eq!(written.map(number), expected);
}

#[test]
fn code_is_what_is_fenced_or_indented() {
    let text = "a `b` c\n```console\n$ d\n```\n\n    e\n";
    let expected = [
        Line::Prose("a `b` c"),
        Line::Code("$ d"),
        Line::Prose(""),
        Line::Code("e"),
    ];
    assert_eq!(lines(text), expected);
    assert_eq!(spans("a `b` c"), (vec!["a ", " c"], vec!["b"]));
}
