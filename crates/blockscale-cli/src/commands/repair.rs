//! `blockscale convert SRC DST --repair`.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use blockscale_convert::Weights;
use blockscale_convert::interpret::{CompareOptions, ExamineOptions, compare, examine};
use blockscale_convert::repair::{
    Fix, Repaired, Unsettled, fixes_of_readings, fixes_of_reference, needs_powers_of_two,
};
use blockscale_model::recipe::{Recipe, Target, generic};

use super::Opened;
use super::convert::run_on;
use crate::args::ConvertArgs;
use crate::error::CliError;
use crate::style;

/// Names listed before "and N more".
const LISTED: usize = 5;

pub(super) fn run(
    args: &ConvertArgs,
    opened: &Opened,
    stop: &AtomicBool,
) -> Result<ExitCode, CliError> {
    let reference = args.reference.as_deref().map(Opened::open).transpose()?;
    let (fixes, unsettled) = look(opened.weights(), reference.as_ref())?;
    tell(&fixes, &unsettled);
    let repaired = Repaired::new(opened.weights(), &fixes);
    let code = run_on(args, repaired.weights(), stop)?;
    let Some(output) = args.output.as_deref().filter(|_| !args.dry_run) else {
        return Ok(code);
    };
    let (left, unexplained) = look(Opened::open(output)?.weights(), reference.as_ref())?;
    if left.is_empty() && unexplained.is_empty() {
        style::print_note("read back and judged again: every weight is as stored");
        return Ok(code);
    }
    tell_left(&left, &unexplained);
    Ok(ExitCode::from(1))
}

/// What is to be repaired, and what cannot be told.
fn look(
    weights: Weights<'_>,
    reference: Option<&Opened>,
) -> Result<(Vec<Fix>, Vec<Unsettled>), CliError> {
    Ok(match reference {
        Some(right) => {
            let options = CompareOptions::default();
            fixes_of_reference(&compare(weights, right.weights(), &options)?)
        }
        None => fixes_of_readings(&examine(weights, &ExamineOptions::default())?),
    })
}

/// The recipe of a repair alone: everything stays, but for scales that the config says are powers of
/// two.
pub(super) fn recipe(weights: Weights<'_>) -> Result<Recipe, CliError> {
    const POWERS_OF_TWO: &str = r#"
        version = 1
        name = "repair"

        [[rule]]
        match = ["*"]
        stored = ["fp8"]
        to = "fp8-block-ue8m0"
        optional = true

        [[rule]]
        match = ["*"]
        to = "keep"
        optional = true
    "#;
    if needs_powers_of_two(weights) {
        return Ok(Recipe::parse(POWERS_OF_TWO)?);
    }
    Ok(Recipe {
        name: "repair".to_owned(),
        ..generic(Target::Keep, Vec::new(), Vec::new())
    })
}

fn tell(fixes: &[Fix], unsettled: &[Unsettled]) {
    let mut kinds: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for fix in fixes {
        let kind = kinds.entry(fix.interpretation.to_string()).or_default();
        kind.push(&fix.name);
    }
    if kinds.is_empty() && unsettled.is_empty() {
        style::print_note("nothing to repair: every weight is read rightly as stored");
    }
    for (interpretation, names) in kinds {
        let weights = style::count(names.len(), "weight");
        style::print_note(&format!(
            "{weights} repaired: {interpretation} ({})",
            some(&names)
        ));
    }
    tell_unsettled(unsettled);
}

fn tell_unsettled(unsettled: &[Unsettled]) {
    for weight in unsettled.iter().take(LISTED) {
        style::print_note(&format!(
            "`{}` is left as it is: {}",
            weight.name, weight.reason
        ));
    }
    if unsettled.len() > LISTED {
        style::print_note(&format!(
            "{} more are left as they are",
            unsettled.len() - LISTED
        ));
    }
}

fn tell_left(left: &[Fix], unexplained: &[Unsettled]) {
    for fix in left.iter().take(LISTED) {
        let reading = fix.interpretation;
        style::print_note(&format!("`{}` still has {reading} in the output", fix.name));
    }
    tell_unsettled(unexplained);
}

fn some(names: &[&str]) -> String {
    let shown: Vec<String> = names
        .iter()
        .take(LISTED)
        .map(|n| format!("`{n}`"))
        .collect();
    match names.len().saturating_sub(LISTED) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
