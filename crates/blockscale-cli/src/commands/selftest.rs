//! `blockscale selftest`.

use std::fmt::Write as _;
use std::process::ExitCode;

use blockscale_selftest::{Group, Report, selftest};

use crate::args::SelftestArgs;
use crate::error::CliError;
use crate::style::STRONG;

pub(crate) fn run(args: &SelftestArgs) -> Result<ExitCode, CliError> {
    let report = selftest(&args.device.measured()?)?;
    if args.json {
        let mut value = serde_json::to_value(&report).unwrap_or_default();
        value["passed"] = report.passed().into();
        super::print_json(&value)?;
    } else {
        super::print_text(&text(&report))?;
    }
    Ok(match report.passed() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(1),
    })
}

fn text(report: &Report) -> String {
    let width = report.groups.iter().map(|group| group.name.len()).max();
    let width = width.unwrap_or(0).max("operation".len());
    let mut text = format!("self-test of {}\n", report.engine);
    let _ = writeln!(
        text,
        "{STRONG}{:width$}  cases      values  on CPU  differ{STRONG:#}",
        "operation"
    );
    for group in &report.groups {
        let Group {
            name,
            cases,
            values,
            left_to_cpu,
            mismatches,
            ..
        } = group;
        let _ = writeln!(
            text,
            "{name:width$}  {cases:5}  {values:10}  {left_to_cpu:6}  {mismatches:6}"
        );
        for case in &group.described {
            let _ = writeln!(text, "  {case}");
        }
    }
    let sum = |count: fn(&Group) -> usize| report.groups.iter().map(count).sum::<usize>();
    let (cases, mismatches) = (sum(|group| group.cases), sum(|group| group.mismatches));
    let _ = match mismatches {
        0 => writeln!(text, "{cases} cases, every bit is the core's"),
        _ => writeln!(text, "{mismatches} of {cases} cases differ from the core"),
    };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(mismatches: usize) -> Report {
        let described = vec!["NVFP4 3x32: [0] is 1, not 2 (1 of 96 differ)".to_owned(); mismatches];
        let group = Group {
            name: "decode".to_owned(),
            cases: 4,
            values: 96,
            left_to_cpu: 1,
            mismatches,
            described,
        };
        Report {
            engine: "CPU".to_owned(),
            groups: vec![group],
        }
    }

    #[test]
    fn the_last_line_is_the_verdict() {
        let passed = text(&report(0));
        assert!(
            passed.ends_with("4 cases, every bit is the core's\n"),
            "{passed}"
        );
        let failed = text(&report(1));
        assert!(
            failed.ends_with("1 of 4 cases differ from the core\n"),
            "{failed}"
        );
        assert!(failed.contains("  NVFP4 3x32: [0] is 1, not 2"), "{failed}");
    }
}
