//! `blockscale doctor PATH`.

mod sarif;
mod text;

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use blockscale_convert::doctor::{Examined, Scope, check_manifest, examine, open_diagnosis};
use blockscale_convert::interpret;
use blockscale_model::Severity;
use blockscale_model::doctor::rules::NOT_THE_REFERENCE;
use blockscale_model::doctor::{Diagnosis, Doctor, Level, Levels, RULES, Subject, Target, rule};
use serde_json::{Value, json};

use super::Opened;
use crate::args::DoctorArgs;
use crate::error::CliError;
use crate::progress::Bar;

pub(crate) fn run(args: &DoctorArgs, stop: &AtomicBool) -> Result<ExitCode, CliError> {
    if let Some(word) = &args.explain {
        return explain(word);
    }
    let Some(path) = &args.path else {
        super::print_text(&text::list(RULES))?;
        return Ok(ExitCode::SUCCESS);
    };
    let levels = levels(args)?;
    let target = args.target.as_deref().map(Target::named).transpose()?;
    let (found, seen) = examine_path(args, path, target.as_ref(), stop)?;
    let found = levels.apply(found);
    report(args, path, &found, &seen)?;
    let failed = found.iter().any(|d| d.severity == Severity::Error);
    Ok(ExitCode::from(u8::from(failed)))
}

/// What was looked at.
#[derive(Default)]
struct Seen {
    weights: usize,
    weights_read: usize,
    bytes: u64,
    bytes_read: u64,
}

fn examine_path(
    args: &DoctorArgs,
    path: &Path,
    target: Option<&Target>,
    stop: &AtomicBool,
) -> Result<(Vec<Diagnosis>, Seen), CliError> {
    let opened = match Opened::open(path) {
        Ok(opened) => opened,
        // Files that contradict each other are what a doctor is asked about.
        Err(CliError::Open(error)) => match open_diagnosis(&error) {
            Some(diagnosis) => return Ok((vec![diagnosis], Seen::default())),
            None => return Err(error.into()),
        },
        Err(error) => return Err(error),
    };
    let scope = match args.full {
        true => Scope::Full,
        false => Scope::Sample { seed: args.seed },
    };
    let Examined {
        evidence,
        bytes_read,
        weights_read,
    } = examine(opened.weights(), scope, &Bar::new("reading"), stop)?;
    let mut seen = Seen {
        weights: opened.catalog.weights.len(),
        weights_read,
        bytes: opened.checkpoint.total_bytes(),
        bytes_read,
    };
    let right = args.reference.as_deref().map(Opened::open).transpose()?;
    let interpreted =
        interpret::diagnose(opened.weights(), right.as_ref().map(Opened::weights), scope)?;
    let mut subject = Subject::new(&opened.checkpoint, &opened.catalog).with_evidence(evidence);
    if let Some(right) = &right {
        let examined = examine(right.weights(), scope, &Bar::new("reading reference"), stop)?;
        subject = subject.with_reference(&right.catalog, &examined.evidence);
    }
    let mut doctor = Doctor::default();
    if let Some(target) = target {
        doctor = doctor.with(target);
    }
    let mut found = doctor.examine(&subject);
    found.extend(check_manifest(&opened.checkpoint, &opened.source, scope)?);
    // Scales of one weight are read for others too.
    seen.bytes_read = seen.bytes.min(seen.bytes_read + interpreted.bytes_read);
    for diagnosis in interpreted.diagnoses {
        let diagnosis = with_repair(diagnosis, args.reference.as_deref());
        let is_known = |d: &Diagnosis| d.rule == diagnosis.rule && d.tensor == diagnosis.tensor;
        if !found.iter().any(is_known) {
            found.push(diagnosis);
        }
    }
    found.sort_by_key(|d| std::cmp::Reverse(d.severity));
    Ok((found, seen))
}

/// The command that repairs what only a reference tells.
fn with_repair(diagnosis: Diagnosis, reference: Option<&Path>) -> Diagnosis {
    match reference {
        Some(reference) if *diagnosis.rule != NOT_THE_REFERENCE => {
            let reference = reference.display();
            diagnosis.with_fix(format!(
                "`blockscale convert PATH OUT --repair --reference {reference}`"
            ))
        }
        _ => diagnosis,
    }
}

fn levels(args: &DoctorArgs) -> Result<Levels, CliError> {
    let mut levels = Levels::default();
    let lists = [
        (&args.warn, Level::Warn),
        (&args.deny, Level::Deny),
        (&args.allow, Level::Allow),
    ];
    for (words, level) in lists {
        for word in words {
            if word != Levels::WARNINGS && rule(word).is_none() {
                return Err(CliError::NoSuchRule(word.clone()));
            }
            levels.set(word, level);
        }
    }
    Ok(levels)
}

fn report(
    args: &DoctorArgs,
    path: &Path,
    found: &[Diagnosis],
    seen: &Seen,
) -> Result<(), CliError> {
    if args.sarif {
        return super::print_json(&sarif::log(path, found));
    }
    if args.json {
        let path = path.display().to_string();
        let found: Vec<Value> = found.iter().map(|d| with_fix(d, &path)).collect();
        return super::print_json(&json!({
            "checkpoint": path,
            "weights": seen.weights,
            "weights_read": seen.weights_read,
            "bytes": seen.bytes,
            "bytes_read": seen.bytes_read,
            "findings": found,
        }));
    }
    super::print_text(&text::report(path, found, seen, args.top))
}

/// A diagnosis whose fix names the checkpoint.
fn with_fix(diagnosis: &Diagnosis, path: &str) -> Value {
    let mut value = json!(diagnosis);
    value["fix"] = json!(diagnosis.fix(path));
    value
}

fn explain(word: &str) -> Result<ExitCode, CliError> {
    let rule = rule(word).ok_or_else(|| CliError::NoSuchRule(word.to_owned()))?;
    super::print_text(rule.page)?;
    Ok(ExitCode::SUCCESS)
}
