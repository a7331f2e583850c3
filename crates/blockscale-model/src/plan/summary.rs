//! Counts of a plan, by kind of weight.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use blockscale::format::{Element, Format, ScaleElement};
use safetensors::Dtype;
use serde::Serialize;

use super::{PlannedWeight, Step};
use crate::catalog::{Catalog, Encoding};
use crate::recipe::Recipe;

/// Counts of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// One line per label and transition, in the order of the recipe's rules.
    pub lines: Vec<SummaryLine>,
    /// Weights that were BF16 and become FP8.
    pub bf16_to_fp8: usize,
    /// Weights copied byte for byte.
    pub copied: usize,
}

/// Weights of one label that go the same way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SummaryLine {
    /// The rule's label.
    pub label: String,
    /// How many: weights, or modules where a runtime joins several into one.
    pub count: usize,
    /// How many weights these are.
    pub weights: usize,
    /// Whether `count` counts joined modules.
    pub modules: bool,
    /// Family of the format before.
    pub from: &'static str,
    /// Family of the format after.
    pub to: &'static str,
    /// Whether bytes stay as they are.
    pub copied: bool,
    /// Counts by the rules' `part`, where they name one.
    pub parts: Vec<(String, usize)>,
}

/// The family that people speak of: `NVFP4`, `FP8`, `BF16`.
pub(crate) fn family(encoding: &Encoding) -> &'static str {
    match encoding {
        Encoding::Block(Format {
            element: Element::E2m1,
            scale: ScaleElement::E4m3Fn,
            ..
        }) => "NVFP4",
        Encoding::Block(Format {
            element: Element::E2m1,
            ..
        }) => "MXFP4",
        Encoding::Block(Format {
            element: Element::E2m3 | Element::E3m2,
            ..
        }) => "MXFP6",
        Encoding::Block(_) => "FP8",
        Encoding::Grouped(format) => match format.bits {
            4 => "INT4",
            8 => "INT8",
            _ => "INT",
        },
        Encoding::Ggml(_) => "GGUF",
        Encoding::Plain(Dtype::BF16) => "BF16",
        Encoding::Plain(Dtype::F16) => "F16",
        Encoding::Plain(Dtype::F32) => "F32",
        Encoding::Plain(_) => "other",
    }
}

pub(super) fn summarise(weights: &[PlannedWeight], catalog: &Catalog, recipe: &Recipe) -> Summary {
    let mut summary = Summary::default();
    let mut lines: BTreeMap<Key<'_>, Group<'_>> = BTreeMap::new();
    for weight in weights {
        let from = catalog.weights[weight.pieces[0].weight].encoding;
        let to = weight.step.result(&from);
        let (from, to) = (family(&from), family(&to));
        summary.bf16_to_fp8 += usize::from(from == "BF16" && to == "FP8");
        summary.copied += usize::from(weight.step == Step::Copy);
        let rule = &recipe.rules[weight.rule];
        let label = rule.label.as_deref().unwrap_or("");
        let order = recipe.rules.iter().position(|r| r.label == rule.label);
        let key = Key {
            order: order.unwrap_or(weight.rule),
            label,
            from,
            to,
            copied: weight.step == Step::Copy,
        };
        let group = lines.entry(key).or_default();
        group.weights += weight.pieces.len();
        group.modules |= rule.label.is_some() && !rule.modules.is_empty();
        let module = match rule.member(&weight.name) {
            Some(member) if rule.label.is_some() => member.joined,
            _ => weight.name.clone(),
        };
        if group.members.insert(module)
            && let Some(part) = &rule.part
        {
            group.count_part(part);
        }
    }
    summary.lines = lines
        .into_iter()
        .map(|(key, group)| SummaryLine {
            label: key.label.to_owned(),
            count: group.members.len(),
            weights: group.weights,
            modules: group.modules,
            from: key.from,
            to: key.to,
            copied: key.copied,
            parts: group
                .parts
                .into_iter()
                .map(|(p, n)| (p.to_owned(), n))
                .collect(),
        })
        .collect();
    summary
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key<'a> {
    order: usize,
    label: &'a str,
    from: &'static str,
    to: &'static str,
    copied: bool,
}

#[derive(Default)]
struct Group<'a> {
    members: HashSet<String>,
    weights: usize,
    modules: bool,
    parts: Vec<(&'a str, usize)>,
}

impl<'a> Group<'a> {
    fn count_part(&mut self, part: &'a str) {
        match self.parts.iter_mut().find(|(p, _)| *p == part) {
            Some((_, n)) => *n += 1,
            None => self.parts.push((part, 1)),
        }
    }
}

impl fmt::Display for SummaryLine {
    /// `61 wo_a NVFP4 -> FP8`, or for joined modules
    /// `91 compressors -> BF16 (61 main + 30 indexer)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let label = match (self.label.as_str(), self.count) {
            ("", 1) => "weight",
            ("", _) => "weights",
            (label, _) => label,
        };
        write!(f, "{} {label}", self.count)?;
        if self.copied {
            write!(f, " {} copied", self.from)?;
        } else if self.modules {
            write!(f, " -> {}", self.to)?;
        } else {
            write!(f, " {} -> {}", self.from, self.to)?;
        }
        if !self.parts.is_empty() {
            let parts: Vec<String> = self
                .parts
                .iter()
                .map(|(part, n)| format!("{n} {part}"))
                .collect();
            write!(f, " ({})", parts.join(" + "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.lines {
            writeln!(f, "{line}")?;
        }
        write!(f, "{} BF16 -> FP8", self.bf16_to_fp8)
    }
}
