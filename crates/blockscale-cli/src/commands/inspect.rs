//! `blockscale inspect PATH`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::ExitCode;

use blockscale::layout::ScaleLayout;
use blockscale_model::catalog::{Axes, GateUp, Weight};
use serde_json::json;

use super::Opened;
use crate::args::InspectArgs;
use crate::commands::tensor_view;
use crate::error::CliError;
use crate::style::{self, STRONG};

/// Names offered when one is not found.
const SUGGESTIONS: usize = 3;

pub(crate) fn run(args: &InspectArgs) -> Result<ExitCode, CliError> {
    let opened = Opened::open_with(&args.path, args.gate_up)?;
    if let Some(name) = &args.tensor {
        let weight = opened
            .catalog
            .position(name)
            .ok_or_else(|| CliError::NoSuchWeight {
                path: args.path.clone(),
                name: name.clone(),
                similar: similar(&opened, name),
            })?;
        tensor_view::show(&opened, weight, args.json)?;
        return Ok(ExitCode::SUCCESS);
    }
    if args.json {
        super::print_json(&listing_json(&opened))?;
    } else {
        let mut findings = opened.checkpoint.findings.clone();
        findings.extend(opened.catalog.findings.iter().cloned());
        style::print_findings(&findings);
        super::print_text(&listing(&opened))?;
    }
    Ok(if opened.catalog.refusals.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

/// Names that share the most with the one asked for: its last parts.
fn similar(opened: &Opened, name: &str) -> Vec<String> {
    let tail = |n: &str| {
        n.rsplit('.')
            .zip(name.rsplit('.'))
            .take_while(|(a, b)| a == b)
            .count()
    };
    let mut names: Vec<(usize, &str)> = opened
        .catalog
        .weights
        .iter()
        .map(|w| (tail(&w.name), w.name.as_str()))
        .collect();
    names.sort_by_key(|(shared, _)| std::cmp::Reverse(*shared));
    let close = names
        .into_iter()
        .take_while(|(shared, _)| *shared >= 2)
        .take(SUGGESTIONS);
    close.map(|(_, name)| name.to_owned()).collect()
}

fn stored_bytes(opened: &Opened, weight: &Weight) -> u64 {
    weight
        .parts
        .iter()
        .map(|p| opened.checkpoint.tensors[p.tensor].bytes())
        .sum()
}

fn listing(opened: &Opened) -> String {
    let checkpoint = &opened.checkpoint;
    let mut text = format!(
        "{STRONG}{}{STRONG:#}: {} in {}, {}\n",
        opened
            .model_type()
            .unwrap_or_else(|| "checkpoint".to_owned()),
        style::count(checkpoint.tensors.len(), "tensor"),
        style::count(checkpoint.shards.len(), "shard"),
        style::bytes(checkpoint.total_bytes()),
    );
    let mut formats: BTreeMap<String, (usize, u64, u64)> = BTreeMap::new();
    for weight in &opened.catalog.weights {
        let entry = formats.entry(weight.encoding.to_string()).or_default();
        entry.0 += 1;
        entry.1 += weight.elements();
        entry.2 += stored_bytes(opened, weight);
    }
    let heading = ["format", "weights", "elements", "stored"]
        .map(str::to_owned)
        .to_vec();
    let mut rows = vec![heading];
    for (format, (weights, elements, bytes)) in formats {
        rows.push(vec![
            format,
            weights.to_string(),
            elements.to_string(),
            style::bytes(bytes),
        ]);
    }
    text.push_str(&style::table(&rows));
    text.push('\n');
    let heading = ["weight", "format", "shape", "stored", ""]
        .map(str::to_owned)
        .to_vec();
    let mut rows = vec![heading];
    rows.extend(opened.catalog.weights.iter().map(|weight| {
        vec![
            weight.name.clone(),
            weight.encoding.to_string(),
            shape_text(&weight.shape),
            style::bytes(stored_bytes(opened, weight)),
            rows_text(weight),
        ]
    }));
    text.push_str(&style::table(&rows));
    for refusal in &opened.catalog.refusals {
        let _ = writeln!(text, "refused: {refusal}");
    }
    text
}

/// `16384x4096`; a scalar has no axes.
pub(crate) fn shape_text(shape: &[usize]) -> String {
    if shape.is_empty() {
        return "scalar".to_owned();
    }
    shape
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("x")
}

/// What is known of the rows of a weight that holds gate and up in one, or lies on its side.
pub(crate) fn rows_text(weight: &Weight) -> String {
    let mut notes = Vec::new();
    if weight.gate_up != GateUp::Apart {
        notes.push(format!("gate and up: {}", weight.gate_up));
    }
    if weight.axes == Axes::InOut {
        notes.push("stored inputs before outputs".to_owned());
    }
    if weight.layout != ScaleLayout::Linear {
        notes.push(format!("layout {}", weight.layout));
    }
    notes.join(", ")
}

fn listing_json(opened: &Opened) -> serde_json::Value {
    let weights: Vec<_> = opened
        .catalog
        .weights
        .iter()
        .map(|w| weight_json(opened, w))
        .collect();
    let mut findings = opened.checkpoint.findings.clone();
    findings.extend(opened.catalog.findings.iter().cloned());
    let refusals: Vec<_> = opened
        .catalog
        .refusals
        .iter()
        .map(|r| json!({ "tensor": r.tensor, "file": r.file, "problem": r.problem.to_string() }))
        .collect();
    json!({
        "model_type": opened.model_type(),
        "shards": opened.checkpoint.shards.iter()
            .map(|s| json!({ "name": s.name.as_str(), "bytes": s.len }))
            .collect::<Vec<_>>(),
        "tensors": opened.checkpoint.tensors.len(),
        "tensor_bytes": opened.checkpoint.total_bytes(),
        "weights": weights,
        "refusals": refusals,
        "findings": findings,
    })
}

/// The order of gate and up, `unknown`, or null for a weight that holds not both.
pub(crate) fn gate_up_json(gate_up: GateUp) -> serde_json::Value {
    match gate_up {
        GateUp::Apart => serde_json::Value::Null,
        known => json!(known.to_string()),
    }
}

fn weight_json(opened: &Opened, weight: &Weight) -> serde_json::Value {
    let parts: Vec<_> = weight
        .parts
        .iter()
        .map(|part| {
            let raw = &opened.checkpoint.tensors[part.tensor];
            json!({
                "role": part.role,
                "name": raw.name,
                "dtype": raw.dtype.to_string(),
                "shape": raw.shape,
                "shard": opened.checkpoint.shards[raw.shard].name.as_str(),
                "range": [raw.range.start, raw.range.end],
            })
        })
        .collect();
    json!({
        "name": weight.name,
        "format": weight.encoding.to_string(),
        "shape": weight.shape,
        "quantised": weight.encoding.is_scaled(),
        "layout": weight.layout.name(),
        "gate_up": gate_up_json(weight.gate_up),
        "axes": weight.axes,
        "parts": parts,
    })
}
