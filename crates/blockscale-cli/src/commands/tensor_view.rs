//! One weight in numbers: statistics and histograms in the terminal.

use std::fmt::Write as _;

use blockscale_convert::{Run, Weights, decode};
use blockscale_model::catalog::{Encoding, PartRole, Weight};
use serde::Serialize;

use super::Opened;
use super::inspect::{gate_up_json, rows_text, shape_text};
use crate::error::CliError;
use crate::style::STRONG;

/// Elements decoded at a time.
const CHUNK: usize = 1 << 24;

/// Bars of the histogram: powers of two, the largest magnitude's first.
const OCTAVES: usize = 16;

/// Characters of the longest bar.
const BAR: usize = 48;

/// What is shown of a weight.
#[derive(Debug, Default, Serialize)]
struct Numbers {
    elements: u64,
    zeros: u64,
    nan: u64,
    inf: u64,
    min: f32,
    max: f32,
    mean: f64,
    rms: f64,
    /// Elements by the exponent of their magnitude.
    #[serde(skip)]
    octaves: std::collections::BTreeMap<i32, u64>,
}

pub(crate) fn show(opened: &Opened, weight: usize, as_json: bool) -> Result<(), CliError> {
    let meta = &opened.catalog.weights[weight];
    let numbers = gather(opened.weights(), weight)?;
    if as_json {
        let octaves: Vec<_> = numbers.octaves.iter().map(|(e, n)| (*e, *n)).collect();
        return super::print_json(&serde_json::json!({
            "name": meta.name,
            "format": meta.encoding.to_string(),
            "shape": meta.shape,
            "layout": meta.layout.name(),
            "gate_up": gate_up_json(meta.gate_up),
            "axes": meta.axes,
            "numbers": numbers,
            "elements_by_exponent": octaves,
        }));
    }
    super::print_text(&text(opened, meta, &numbers))
}

/// Decodes the weight in pieces that fit memory and gathers its numbers.
fn gather(weights: Weights<'_>, index: usize) -> Result<Numbers, CliError> {
    let weight = &weights.catalog.weights[index];
    let matrices = weight.matrices();
    let block = weights.run_alignment(index);
    let step = (CHUNK / matrices.shape.cols.max(1))
        .next_multiple_of(block)
        .max(block);
    let mut numbers = Numbers {
        min: f32::INFINITY,
        max: f32::NEG_INFINITY,
        ..Numbers::default()
    };
    for matrix in 0..matrices.count {
        for start in (0..matrices.shape.rows).step_by(step) {
            let rows = start..matrices.shape.rows.min(start + step);
            let run = Run {
                weight: index,
                matrix,
                rows,
            };
            let bytes = weights.read(&run)?;
            numbers.add(&decode(weight, weights.shape(&run), &bytes)?);
        }
    }
    let finite = (numbers.elements - numbers.nan - numbers.inf).max(1) as f64;
    numbers.mean /= finite;
    numbers.rms = (numbers.rms / finite).sqrt();
    Ok(numbers)
}

impl Numbers {
    /// Adds values; until the end `mean` holds their sum and `rms` that of their squares.
    fn add(&mut self, values: &[f32]) {
        self.elements += values.len() as u64;
        for &value in values {
            if value.is_nan() {
                self.nan += 1;
                continue;
            }
            if value.is_infinite() {
                self.inf += 1;
                continue;
            }
            self.min = self.min.min(value);
            self.max = self.max.max(value);
            self.mean += f64::from(value);
            self.rms += f64::from(value) * f64::from(value);
            if value == 0.0 {
                self.zeros += 1;
            } else {
                *self
                    .octaves
                    .entry(f64::from(value.abs()).log2().floor() as i32)
                    .or_default() += 1;
            }
        }
    }
}

fn text(opened: &Opened, weight: &Weight, numbers: &Numbers) -> String {
    let mut text = format!(
        "{STRONG}{}{STRONG:#}  {}  {}\n",
        weight.name,
        weight.encoding,
        shape_text(&weight.shape)
    );
    for part in &weight.parts {
        let raw = &opened.checkpoint.tensors[part.tensor];
        let role = match part.role {
            PartRole::Codes if matches!(weight.encoding, Encoding::Plain(_)) => "values",
            PartRole::Codes => "codes",
            PartRole::BlockScale => "block scales",
            PartRole::GlobalScale => "global scale",
            PartRole::InputScale => "activation scale",
            PartRole::ZeroPoint => "zero points",
            PartRole::GroupIndex => "group index",
            PartRole::StatedShape => "stated shape",
        };
        let _ = writeln!(
            text,
            "  {role:<16} {} {} {} in {}",
            raw.name,
            raw.dtype,
            shape_text(&raw.shape),
            opened.checkpoint.shards[raw.shard].name.as_str()
        );
    }
    let rows = rows_text(weight);
    if !rows.is_empty() {
        let _ = writeln!(text, "  {rows}");
    }
    let _ = writeln!(
        text,
        "{} elements, {} zero, {} NaN, {} infinite\nmin {:e}, max {:e}, mean {:.4e}, rms {:.4e}",
        numbers.elements,
        numbers.zeros,
        numbers.nan,
        numbers.inf,
        numbers.min,
        numbers.max,
        numbers.mean,
        numbers.rms
    );
    text.push_str(&histogram(numbers));
    text
}

/// Magnitudes by power of two, largest first, smaller ones than fit together.
fn histogram(numbers: &Numbers) -> String {
    let most = numbers
        .octaves
        .values()
        .copied()
        .max()
        .unwrap_or(0)
        .max(numbers.zeros)
        .max(1);
    let mut text = String::new();
    let mut line = |label: String, count: u64| {
        let length = (count as f64 / most as f64 * BAR as f64).ceil() as usize;
        let _ = writeln!(text, "{label:>14} {:<BAR$} {count}", "█".repeat(length));
    };
    let mut octaves = numbers.octaves.iter().rev();
    for (exponent, count) in octaves.by_ref().take(OCTAVES) {
        line(format!("2^{exponent} and up"), *count);
    }
    let rest: u64 = octaves.map(|(_, count)| count).sum();
    if rest > 0 {
        line("smaller".to_owned(), rest);
    }
    if numbers.zeros > 0 {
        line("zero".to_owned(), numbers.zeros);
    }
    text
}
