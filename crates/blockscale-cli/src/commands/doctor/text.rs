//! Diagnoses for people: the evidence, what runtimes do, how to mend it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use blockscale_model::Severity;
use blockscale_model::doctor::{Diagnosis, Rule};

use super::Seen;
use crate::style::{self, STRONG};

/// Code, severity, name and title of every rule.
pub(super) fn list(rules: &[&Rule]) -> String {
    let mut rows = vec![
        ["code", "severity", "rule", "finds"]
            .map(str::to_owned)
            .to_vec(),
    ];
    rows.extend(rules.iter().map(|rule| {
        vec![
            rule.code.to_owned(),
            rule.severity.to_string(),
            rule.name.to_owned(),
            rule.title().to_owned(),
        ]
    }));
    style::table(&rows)
}

/// All diagnoses, of each rule the first `top`, and a last line that counts them.
pub(super) fn report(path: &Path, found: &[Diagnosis], seen: &Seen, top: usize) -> String {
    let mut text = String::new();
    let mut shown: BTreeMap<(&str, Severity), usize> = BTreeMap::new();
    for (i, diagnosis) in found.iter().enumerate() {
        let key = (diagnosis.rule.code, diagnosis.severity);
        let count = shown.entry(key).or_default();
        *count += 1;
        if *count <= top.max(1) {
            add(&mut text, path, diagnosis, *count == 1);
        }
        let rest = found[i + 1..].iter();
        let is_last = !rest.clone().any(|d| (d.rule.code, d.severity) == key);
        if is_last && *count > top.max(1) {
            let more = *count - top.max(1);
            let _ = writeln!(text, "{} and {more} more\n", diagnosis.rule.code);
        }
    }
    text.push_str(&summary(path, found, seen));
    text
}

fn add(text: &mut String, path: &Path, diagnosis: &Diagnosis, is_first: bool) {
    let (style, word) = style::severity(diagnosis.severity);
    let rule = diagnosis.rule;
    let _ = writeln!(
        text,
        "{style}{word}[{}]{style:#}{STRONG}: {}{STRONG:#} ({})",
        rule.code,
        rule.title(),
        rule.name
    );
    let place = [&diagnosis.file, &diagnosis.tensor].map(|name| name.as_deref().unwrap_or(""));
    match place {
        ["", ""] => {}
        ["", name] | [name, ""] => {
            let _ = writeln!(text, "  --> {name}");
        }
        [file, tensor] => {
            let _ = writeln!(text, "  --> {file}: {tensor}");
        }
    }
    let _ = writeln!(text, "  {}", diagnosis.message);
    // What is true of the rule is said once.
    if is_first {
        if let Some(runtime) = diagnosis.runtime() {
            let _ = writeln!(text, "  runtime: {runtime}");
        }
        if let Some(fix) = diagnosis.fix(&path.display().to_string()) {
            let _ = writeln!(text, "  fix: {fix}");
        }
    }
    text.push('\n');
}

fn summary(path: &Path, found: &[Diagnosis], seen: &Seen) -> String {
    let count = |severity| found.iter().filter(|d| d.severity == severity).count();
    let counts = [
        (Severity::Error, "error"),
        (Severity::Warning, "warning"),
        (Severity::Info, "note"),
    ];
    let counts: Vec<String> = counts
        .iter()
        .map(|&(severity, noun)| (count(severity), noun))
        .filter(|&(n, _)| n > 0)
        .map(|(n, noun)| style::count(n, noun))
        .collect();
    let counts = match counts.is_empty() {
        true => "nothing found".to_owned(),
        false => counts.join(", "),
    };
    let read = match seen.weights {
        0 => String::new(),
        weights => format!(
            "; {} of {} in {} of {} read",
            style::bytes(seen.bytes_read),
            style::bytes(seen.bytes),
            seen.weights_read,
            style::count(weights, "weight"),
        ),
    };
    format!("{STRONG}{}{STRONG:#}: {counts}{read}\n", path.display())
}
