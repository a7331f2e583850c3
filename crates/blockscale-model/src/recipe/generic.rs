//! The recipe behind `--to`: one format for every weight that takes it.

use super::{Module, Naming, Pattern, Recipe, Rule, Stored, Target, VERSION};
use crate::catalog::Encoding;

/// Names of linear weights: the usual one, and stacked experts.
const LINEARS: [&str; 2] = ["*.weight", "*_proj"];

/// Weights that are left alone unless `--include` names them: tables, norms,
/// heads and routers lose more by rounding than they save.
const LEFT_ALONE: [&str; 6] = [
    "*norm*",
    "*embed*",
    "*lm_head*",
    "head.weight",
    "*.gate.weight",
    "*router*",
];

/// Every way in which a weight has scales.
const SCALED: [Stored; 6] = [
    Stored::Nvfp4,
    Stored::Mxfp4,
    Stored::Mxfp6,
    Stored::Fp8,
    Stored::Int,
    Stored::Ggml,
];

/// Siblings that runtimes join into one matrix and that therefore have to share
/// one NVFP4 global scale.
const JOINED: [(&str, &[&str]); 5] = [
    ("qkv_proj", &["q_proj", "k_proj", "v_proj"]),
    ("gate_up_proj", &["gate_proj", "up_proj"]),
    ("w13", &["w1", "w3"]),
    ("fused_wqa_wkv", &["wq_a", "wkv"]),
    ("fused_qkv_a_proj", &["q_a_proj", "kv_a_proj_with_mqa"]),
];

/// Every linear weight to `target`.
///
/// `exclude` wins over `include`. Without `include` norms, embeddings, output
/// heads and routers are left alone, and parameters that are no linear weights.
/// Block-scaled weights are always decoded when `target` is plain, whatever
/// their name, unless excluded.
pub fn generic(target: Target, include: Vec<Pattern>, exclude: Vec<Pattern>) -> Recipe {
    let mut rules = Vec::new();
    if !exclude.is_empty() {
        rules.push(rule(exclude, Target::Keep));
    }
    if include.is_empty() {
        rules.extend(scaled(target));
        rules.push(Rule {
            optional: true,
            ..rule(patterns(&LEFT_ALONE), Target::Keep)
        });
        rules.push(Rule {
            optional: true,
            ..matrices(patterns(&LINEARS), target)
        });
    } else {
        rules.push(matrices(include, target));
    }
    rules.push(Rule {
        optional: true,
        ..rule(patterns(&["*"]), Target::Keep)
    });
    Recipe {
        version: VERSION,
        name: format!("to {target}"),
        summary: String::new(),
        naming: Naming::Keep,
        dialect: None,
        model_types: Vec::new(),
        rules,
    }
}

/// What becomes of weights with scales that would be left alone as plain ones.
///
/// No config describes a checkpoint in two such formats, so they take the
/// target's, where that is their own family, or become plain.
fn scaled(target: Target) -> Vec<Rule> {
    let decided = |names: &[&str], stored: Vec<Stored>, to| Rule {
        stored,
        optional: true,
        ..rule(patterns(names), to)
    };
    let own = match (target.format(), target.int_bits()) {
        (Some(format), _) => Stored::of(&Encoding::Block(format)),
        (None, Some(_)) => Stored::Int,
        (None, None) if target == Target::Keep => return Vec::new(),
        (None, None) => return vec![decided(&["*"], SCALED.to_vec(), target)],
    };
    let others = SCALED.into_iter().filter(|&s| s != own).collect();
    vec![
        decided(&LEFT_ALONE, vec![own], target),
        decided(&LEFT_ALONE, others, Target::Bf16),
    ]
}

/// The rule that converts: matrices only, joined siblings under one global scale.
fn matrices(include: Vec<Pattern>, target: Target) -> Rule {
    let modules = JOINED.iter().map(|(name, rows)| Module {
        name: (*name).to_owned(),
        rows: rows.iter().map(|r| (*r).to_owned()).collect(),
    });
    Rule {
        matrices: true,
        modules: modules.collect(),
        share_global: target == Target::Nvfp4,
        ..rule(include, target)
    }
}

fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().filter_map(|t| t.parse().ok()).collect()
}

fn rule(patterns: Vec<Pattern>, to: Target) -> Rule {
    Rule {
        patterns,
        stored: Vec::new(),
        matrices: false,
        to,
        accept: Vec::new(),
        label: None,
        part: None,
        scale_name: None,
        scale_rule: None,
        scheme: None,
        group: None,
        zero_points: false,
        modules: Vec::new(),
        fuse: None,
        share_global: false,
        exact: false,
        optional: false,
    }
}
