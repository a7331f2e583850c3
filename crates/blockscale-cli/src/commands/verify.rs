//! `blockscale verify SRC [DST]`.

mod runtime_text;

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use blockscale::runtime::Runtime;
use blockscale_convert::{
    Comparison, RuntimeOptions, RuntimeReport, VerifyOptions, VerifyReport, runtime_check, verify,
};
use blockscale_model::catalog::RowOrder;
use serde::Serialize;

use super::Opened;
use crate::args::VerifyArgs;
use crate::error::CliError;
use crate::progress::Bar;
use crate::style::{self, STRONG};

/// Names listed before "and N more".
const LISTED: usize = 10;

/// What was asked for: a comparison, a check for a runtime, or both.
#[derive(Serialize)]
struct Reports {
    #[serde(flatten)]
    comparison: Option<VerifyReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    runtime_check: Option<RuntimeReport>,
}

pub(crate) fn run(args: &VerifyArgs, stop: &AtomicBool) -> Result<ExitCode, CliError> {
    let open = |path: &Path| open(path, args.gate_up);
    let source = open(&args.source)?;
    let output = args.output.as_deref().map(open).transpose()?;
    let comparison = match &output {
        Some(output) => Some(compare(args, &source, output, stop)?),
        None => None,
    };
    let runtime = match args.runtime {
        Some(runtime) => Some(check(
            args,
            output.as_ref().unwrap_or(&source),
            runtime,
            stop,
        )?),
        None => None,
    };
    let reports = Reports {
        comparison,
        runtime_check: runtime,
    };
    let comparison = reports.comparison.as_ref();
    let runtime = reports.runtime_check.as_ref();
    if args.json {
        super::print_json(&serde_json::to_value(&reports).unwrap_or_default())?;
    } else {
        let texts = [
            comparison.map(|report| text(report, args.top)),
            runtime.map(|report| runtime_text::text(report, args.top)),
        ];
        super::print_text(&texts.into_iter().flatten().collect::<String>())?;
    }
    let passed =
        comparison.is_none_or(VerifyReport::passed) && runtime.is_none_or(RuntimeReport::passed);
    Ok(if passed {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

fn open(path: &Path, gate_up: Option<RowOrder>) -> Result<Opened, CliError> {
    let opened = Opened::open_with(path, gate_up)?;
    style::print_findings(&opened.checkpoint.findings);
    refuse_unreadable(&opened)?;
    Ok(opened)
}

fn compare(
    args: &VerifyArgs,
    source: &Opened,
    output: &Opened,
    stop: &AtomicBool,
) -> Result<VerifyReport, CliError> {
    let options = VerifyOptions {
        max_memory: args.max_memory.0,
        min_sqnr: args.min_sqnr,
    };
    let bar = Bar::new("verifying");
    let report = verify(source.weights(), output.weights(), &options, &bar, stop);
    bar.done();
    Ok(report?)
}

fn check(
    args: &VerifyArgs,
    checked: &Opened,
    runtime: Runtime,
    stop: &AtomicBool,
) -> Result<RuntimeReport, CliError> {
    let options = RuntimeOptions {
        rows: args.rows,
        max_memory: args.max_memory.0,
    };
    let bar = Bar::new("reading as the runtime");
    let report = runtime_check(checked.weights(), runtime, &options, &bar, stop);
    bar.done();
    Ok(report?)
}

/// A weight without a usable scale cannot be compared, so nothing is proved.
fn refuse_unreadable(side: &Opened) -> Result<(), CliError> {
    if side.catalog.refusals.is_empty() {
        return Ok(());
    }
    Err(blockscale_model::plan::PlanError::Refused(side.catalog.refusals.clone()).into())
}

fn text(report: &VerifyReport, top: usize) -> String {
    let mut text = String::new();
    let exact = report.weights.iter().filter(|w| w.exact).count();
    let mut rounded: Vec<&Comparison> = report.weights.iter().filter(|w| !w.exact).collect();
    rounded.sort_by(|a, b| key(a).total_cmp(&key(b)));
    if !rounded.is_empty() && top > 0 {
        let mut rows = vec![
            [
                "weight",
                "from",
                "to",
                "SQNR",
                "norm ratio",
                "cosine",
                "max error",
            ]
            .map(str::to_owned)
            .to_vec(),
        ];
        rows.extend(rounded.iter().take(top).map(|w| row(w)));
        text.push_str(&style::table(&rows));
        if rounded.len() > top {
            let _ = writeln!(text, "and {} more, all better", rounded.len() - top);
        }
    }
    for (names, what) in [
        (&report.only_in_source, "missing in the output"),
        (&report.only_in_output, "only in the output"),
    ] {
        if !names.is_empty() {
            let shown: Vec<String> = names
                .iter()
                .take(LISTED)
                .map(|n| format!("`{n}`"))
                .collect();
            let more = names.len().saturating_sub(LISTED);
            let rest = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            let _ = writeln!(
                text,
                "{} {what}: {}{rest}",
                style::count(names.len(), "weight"),
                shown.join(", ")
            );
        }
    }
    for failure in report.failures.iter().take(LISTED) {
        let _ = writeln!(text, "`{}`: {}", failure.tensor, failure.reason);
    }
    let verdict = if report.passed() {
        "verified"
    } else {
        "not verified"
    };
    let _ = writeln!(
        text,
        "{STRONG}{verdict}{STRONG:#}: {} compared, {exact} exact, {} rounded, {} below their \
         bound; {} of other dtypes identical",
        style::count(report.weights.len(), "weight"),
        rounded.len(),
        report.failures.len(),
        report.identical,
    );
    text
}

/// Worst first; a weight without a number is worst of all.
fn key(weight: &Comparison) -> f64 {
    weight.sqnr_db.unwrap_or(f64::NEG_INFINITY)
}

fn row(weight: &Comparison) -> Vec<String> {
    let number = |x: Option<f64>, digits: usize| x.map_or("-".into(), |x| format!("{x:.digits$}"));
    vec![
        weight.tensor.clone(),
        weight.from.clone(),
        weight.to.clone(),
        style::db(weight.sqnr_db, weight.exact),
        number(weight.norm_ratio, 5),
        number(weight.cosine, 6),
        format!("{:.3e}", weight.max_abs_error),
    ]
}
