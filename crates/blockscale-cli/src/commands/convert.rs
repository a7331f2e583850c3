//! `blockscale convert SRC DST`.

use std::fmt::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use blockscale::layout::ScaleLayout;
use blockscale_convert::{
    CastBlocks, ConvertOptions, Existing, MANIFEST, Manifest, Prediction, Weights, convert,
    peak_memory, predict_casts, refuse_in_place,
};
use blockscale_model::plan::{Plan, PlanOptions};
use blockscale_model::recipe::{
    BUILTIN, EncodeBy, Naming, Recipe, RecipeError, ScaleRuleName, SchemeName, builtin, generic,
};
use serde_json::json;

use super::{Opened, repair};
use crate::args::{ConvertArgs, Names};
use crate::error::CliError;
use crate::progress::Bar;
use crate::style::{self, STRONG};

pub(crate) fn run(args: &ConvertArgs, stop: &AtomicBool) -> Result<ExitCode, CliError> {
    let opened = Opened::open_with(&args.source, args.gate_up)?;
    if args.repair {
        return repair::run(args, &opened, stop);
    }
    run_on(args, opened.weights(), stop)
}

/// Converts weights, whatever they were opened from.
pub(super) fn run_on(
    args: &ConvertArgs,
    weights: Weights<'_>,
    stop: &AtomicBool,
) -> Result<ExitCode, CliError> {
    let recipe = recipe(args, weights)?;
    let options = PlanOptions {
        max_shard_bytes: args.shard_size.0,
        layout: args.layout.unwrap_or(ScaleLayout::Linear),
    };
    let plan = Plan::build(weights.checkpoint, weights.catalog, &recipe, &options)?;
    match &args.output {
        Some(output) if !args.dry_run => write(args, weights, &plan, output, stop),
        _ => dry_run(args, weights, &plan),
    }
}

fn recipe(args: &ConvertArgs, weights: Weights<'_>) -> Result<Recipe, CliError> {
    let mut recipe = match (args.to, &args.recipe) {
        (Some(target), _) => generic(target, args.include.clone(), args.exclude.clone()),
        (None, Some(path)) if path.ends_with(".toml") => read_recipe(Path::new(path))?,
        (None, Some(name)) => builtin(name)?,
        (None, None) if args.repair => repair::recipe(weights)?,
        (None, None) => default_recipe(weights)?,
    };
    if args.fuse {
        recipe.fuse_modules()?;
    }
    if let Some(names) = args.names {
        recipe.naming = naming(names);
    }
    recipe.dialect = args.dialect.or(recipe.dialect);
    if let Some(ScaleRuleName(rule)) = args.scale_rule {
        recipe.encode_by(EncodeBy::Rule(rule))?;
    }
    if let Some(SchemeName(named)) = args.scheme {
        recipe.encode_by(EncodeBy::Scheme(named))?;
    }
    if let Some(cols) = args.group {
        recipe.group_columns(cols)?;
    }
    Ok(recipe)
}

fn naming(names: Names) -> Naming {
    match names {
        Names::Native => Naming::DeepseekV4,
        Names::HalfNative => Naming::DeepseekV4HalfNative,
        Names::Hf => Naming::DeepseekV4Hf,
        Names::HfPerExpert => Naming::DeepseekV4HfPerExpert,
        Names::Modelopt => Naming::DeepseekV4Modelopt,
    }
}

fn read_recipe(path: &Path) -> Result<Recipe, CliError> {
    let text = std::fs::read_to_string(path).map_err(|source| CliError::ReadRecipe {
        path: path.to_owned(),
        source,
    })?;
    Recipe::parse(&text).map_err(|error| match error {
        RecipeError::Syntax { reason, .. } => RecipeError::Syntax {
            recipe: path.display().to_string(),
            reason,
        }
        .into(),
        error => error.into(),
    })
}

/// The first embedded recipe that is for this model.
fn default_recipe(weights: Weights<'_>) -> Result<Recipe, CliError> {
    let model_type = weights.checkpoint.model_type().map(str::to_owned);
    for candidate in BUILTIN {
        let recipe = builtin(candidate.name)?;
        if model_type
            .as_ref()
            .is_some_and(|m| recipe.model_types.contains(m))
        {
            return Ok(recipe);
        }
    }
    Err(CliError::NoDefaultRecipe { model_type })
}

fn dry_run(args: &ConvertArgs, weights: Weights<'_>, plan: &Plan) -> Result<ExitCode, CliError> {
    let peak = peak_memory(weights, plan, args.max_memory.0)?;
    let casts = predict_casts(weights, plan)?;
    if args.json {
        super::print_json(&plan_json(weights, plan, peak, &casts))?;
        return Ok(ExitCode::SUCCESS);
    }
    style::print_findings(&plan.findings);
    let mut text = format!(
        "{STRONG}plan by recipe {}{STRONG:#} (nothing is written)\n",
        plan.recipe
    );
    let _ = writeln!(text, "{}", plan.summary);
    let tensors: usize = plan.weights.iter().map(|w| w.tensors.len()).sum();
    let _ = writeln!(
        text,
        "{} in {}, {} from {}; buffers up to {}",
        style::count(tensors, "tensor"),
        style::count(plan.shards.len(), "shard"),
        style::bytes(plan.output_bytes()),
        style::bytes(weights.checkpoint.total_bytes()),
        style::bytes(peak),
    );
    text.push_str(&casts_text(&casts));
    super::print_text(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// What the casts of MXFP4 will keep: the sum, and the weights that lose something.
fn casts_text(casts: &[Prediction]) -> String {
    const LISTED: usize = 5;
    if casts.is_empty() {
        return String::new();
    }
    let sum = |count: fn(&CastBlocks) -> u64| casts.iter().map(|c| count(&c.blocks)).sum::<u64>();
    let (lossless, rounded) = (sum(|b| b.lossless), sum(|b| b.rounded));
    let mut text = format!("MXFP4 cast: {lossless} blocks lossless, {rounded} to be rounded\n");
    for cast in casts.iter().filter(|c| c.blocks.rounded > 0).take(LISTED) {
        let _ = writeln!(
            text,
            "  `{}`: {} blocks to be rounded",
            cast.tensor, cast.blocks.rounded
        );
    }
    text
}

fn plan_json(
    source: Weights<'_>,
    plan: &Plan,
    peak: u64,
    casts: &[Prediction],
) -> serde_json::Value {
    let weights: Vec<_> = plan
        .weights
        .iter()
        .map(|weight| {
            let from = source.catalog.weights[weight.pieces[0].weight].encoding;
            let tensors: Vec<_> = weight
                .tensors
                .iter()
                .map(|t| {
                    json!({
                        "name": t.name,
                        "dtype": t.dtype.to_string(),
                        "shape": t.shape,
                        "range": [t.range.start, t.range.end],
                    })
                })
                .collect();
            let sources: Vec<_> = weight
                .pieces
                .iter()
                .map(|p| {
                    let name = &source.catalog.weights[p.weight].name;
                    json!({ "weight": name, "rows": [p.rows.start, p.rows.end] })
                })
                .collect();
            json!({
                "name": weight.name,
                "from": from.to_string(),
                "to": weight.step.result(&from).to_string(),
                "copied": weight.step == blockscale_model::plan::Step::Copy,
                "encoded_by": weight.step.encoded_by(),
                "sources": sources,
                "shard": plan.shards[weight.shard].name,
                "tensors": tensors,
            })
        })
        .collect();
    let shards: Vec<_> = plan
        .shards
        .iter()
        .map(|s| json!({ "name": s.name, "bytes": s.len }))
        .collect();
    json!({
        "recipe": plan.recipe,
        "summary": plan.summary,
        "source_bytes": source.checkpoint.total_bytes(),
        "output_bytes": plan.output_bytes(),
        "peak_buffer_bytes": peak,
        "casts": casts,
        "shards": shards,
        "weights": weights,
        "copied_files": plan.copied_files,
        "dropped": plan.dropped,
        "findings": plan.findings,
    })
}

fn write(
    args: &ConvertArgs,
    weights: Weights<'_>,
    plan: &Plan,
    output: &Path,
    stop: &AtomicBool,
) -> Result<ExitCode, CliError> {
    refuse_in_place(&args.source, output)?;
    let options = ConvertOptions {
        max_memory: args.max_memory.0,
        min_sqnr: args.min_sqnr,
        existing: match (args.resume, args.overwrite) {
            (true, _) => Existing::Resume,
            (_, true) => Existing::Overwrite,
            _ => Existing::Refuse,
        },
        backend: args.device.backend(args.max_memory.0)?,
    };
    let bar = Bar::new("converting");
    let begun = Instant::now();
    let result = convert(weights, plan, output, &options, &bar, stop);
    bar.done();
    let manifest = result?;
    if args.json {
        let value = serde_json::to_value(&manifest).unwrap_or_default();
        super::print_json(&value)?;
    } else {
        style::print_findings(&manifest.findings);
        super::print_text(&report(plan, &manifest, output, begun.elapsed()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn report(plan: &Plan, manifest: &Manifest, output: &Path, took: Duration) -> String {
    let mut text = format!(
        "{STRONG}converted by recipe {}{STRONG:#}\n{}\n",
        plan.recipe, plan.summary
    );
    let exact = manifest.weights.iter().filter(|w| w.exact).count();
    let worst = manifest
        .weights
        .iter()
        .filter_map(|w| Some((w.sqnr_db?, w)))
        .min_by(|a, b| a.0.total_cmp(&b.0));
    let _ = write!(
        text,
        "{} checked against the source: {exact} exact",
        style::count(manifest.weights.len(), "weight")
    );
    if let Some((db, weight)) = worst {
        let _ = write!(
            text,
            ", the others at least {db:.2} dB (`{}`)",
            weight.tensor
        );
    }
    if !manifest.dropped.is_empty() {
        let _ = write!(
            text,
            "\n{} dropped",
            style::count(manifest.dropped.len(), "activation scale")
        );
    }
    let seconds = took.as_secs_f64();
    let _ = writeln!(
        text,
        "\n{} in {} at `{}`, {seconds:.1} s ({}/s); proof in `{MANIFEST}`",
        style::bytes(plan.output_bytes()),
        style::count(plan.shards.len(), "shard"),
        output.display(),
        style::bytes((plan.output_bytes() as f64 / seconds.max(1e-3)) as u64),
    );
    text
}
