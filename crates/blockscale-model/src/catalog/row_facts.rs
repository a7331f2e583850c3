//! What is known of the rows of weights: the order of gate and up, axes, and members.
//!
//! A file that this program wrote says it in its metadata. Else names tell, where only one tool uses
//! them, and then the architecture of the config. What none of them says stays unknown.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::expert::{ExpertPart, holds_both, is_bias_of_both};
use super::row_order::{Axes, GateUp, RowOrder};
use super::weight::Weight;
use super::{Catalog, Encoding};
use crate::checkpoint::Checkpoint;
use crate::deepseek_v4::{DeepSeekV4, Detection};
use crate::dialect::Dialect;
use crate::finding::{Finding, Severity};

/// Key of a shard's metadata; its value is a JSON object of [`RowFacts`] by the tensor of the codes.
pub const ROWS_KEY: &str = "blockscale.rows";

/// Architectures of transformers that keep the rows of the gate above those of up.
const GATE_FIRST: [&str; 12] = [
    "deepseek_v2",
    "deepseek_v3",
    "glm4_moe",
    "llama4",
    "llama4_text",
    "minimax_m2",
    "mixtral",
    "phi3",
    "qwen2_moe",
    "qwen3_5_moe",
    "qwen3_moe",
    "qwen3_next",
];

/// What a file says of the rows of a weight.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RowFacts {
    /// The order of gate and up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate_up: Option<RowOrder>,
    /// The axes of its matrices.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub axes: Axes,
    /// The weights that were put on top of each other in it, from the first row.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
}

fn is_usual(axes: &Axes) -> bool {
    *axes == Axes::OutIn
}

/// A weight that lies in a joined one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Its name by itself.
    pub name: String,
    /// Its rows.
    pub rows: usize,
}

/// Settles the rows of every weight.
pub(super) fn settle(checkpoint: &Checkpoint, catalog: &mut Catalog) {
    let stated = stated(checkpoint, &mut catalog.findings);
    let known = Known::of(checkpoint);
    for weight in &mut catalog.weights {
        if !weight.encoding.is_number() {
            continue;
        }
        let codes = &checkpoint.tensors[weight.codes()].name;
        let facts = match stated.get(codes) {
            Some(facts) => facts.clone(),
            None => known.facts(weight, codes),
        };
        if let Some(problem) = apply(weight, facts) {
            let shard = checkpoint.tensors[weight.codes()].shard;
            catalog.findings.push(Finding {
                severity: Severity::Warning,
                code: "rows-not-as-stated",
                file: Some(checkpoint.shards[shard].name.as_str().to_owned()),
                tensor: Some(weight.name.clone()),
                message: format!("`{}`: {problem}", weight.name),
            });
        }
    }
}

/// What the metadata of all shards says.
fn stated(checkpoint: &Checkpoint, findings: &mut Vec<Finding>) -> HashMap<String, RowFacts> {
    let mut all = HashMap::new();
    for shard in &checkpoint.shards {
        let Some(text) = shard.header.metadata.get(ROWS_KEY) else {
            continue;
        };
        match serde_json::from_str::<BTreeMap<String, RowFacts>>(text) {
            Ok(facts) => all.extend(facts),
            Err(error) => findings.push(Finding {
                severity: Severity::Warning,
                code: "rows-not-understood",
                file: Some(shard.name.as_str().to_owned()),
                tensor: None,
                message: format!("metadata `{ROWS_KEY}` is not understood and not used: {error}"),
            }),
        }
    }
    all
}

/// Takes what is said of a weight over to it, as far as its shape allows; returns what does not fit.
fn apply(weight: &mut Weight, facts: RowFacts) -> Option<&'static str> {
    if facts.axes == Axes::InOut && !weight.encoding.is_plain_float() {
        return Some("only plain numbers are stored with inputs before outputs");
    }
    weight.axes = facts.axes;
    if let (Axes::InOut, [.., inputs, outputs]) = (facts.axes, weight.shape.as_mut_slice()) {
        std::mem::swap(inputs, outputs);
    }
    let rows = weight.outputs();
    let both = holds_both(&weight.name) || facts.gate_up.is_some();
    weight.gate_up = match facts.gate_up {
        _ if !both => GateUp::Apart,
        Some(order) if rows.is_multiple_of(2) => GateUp::Ordered(order),
        _ => GateUp::Unknown,
    };
    let rows_of_members = facts
        .members
        .iter()
        .try_fold(0usize, |sum, m| sum.checked_add(m.rows));
    if !facts.members.is_empty() && (weight.shape.len() != 2 || rows_of_members != Some(rows)) {
        return Some("the rows of its members, as the metadata has them, are not its own");
    }
    weight.members = facts.members;
    (facts.gate_up.is_some() && !rows.is_multiple_of(2))
        .then_some("an odd number of rows cannot hold gate and up")
}

/// What the configs say of a model's experts.
struct Known {
    gpt_oss: bool,
    llama4: bool,
    gate_first: bool,
    hidden: Option<usize>,
}

impl Known {
    fn of(checkpoint: &Checkpoint) -> Self {
        let config = checkpoint.config.as_ref();
        let text = config.and_then(|c| c.get("text_config"));
        let types = [config, text].into_iter().flatten();
        let types: Vec<&str> = types
            .filter_map(|c| c.get("model_type")?.as_str())
            .collect();
        let is = |kind: &str| types.contains(&kind);
        let is_v4 = config.is_some_and(|c| DeepSeekV4::detect(c) == Detection::V4);
        let hidden = |c: &Value| usize::try_from(c.get("hidden_size")?.as_u64()?).ok();
        Self {
            gpt_oss: is("gpt_oss") || Dialect::announced(checkpoint) == Some(Dialect::GptOss),
            llama4: is("llama4") || is("llama4_text"),
            gate_first: is_v4 || GATE_FIRST.iter().any(|kind| is(kind)),
            hidden: text.and_then(hidden).or_else(|| config.and_then(hidden)),
        }
    }

    fn facts(&self, weight: &Weight, codes: &str) -> RowFacts {
        // Names that no other tool uses.
        let gpt_oss_names = ["_blocks", ".blocks", "mlp1_weight", "mlp1_bias"];
        let by_name = gpt_oss_names.iter().any(|end| codes.ends_with(end));
        let gate_up = match holds_both(&weight.name) {
            false => None,
            true if by_name || self.gpt_oss => Some(RowOrder::Interleaved),
            true => self.gate_first.then_some(RowOrder::GateFirst),
        };
        RowFacts {
            gate_up,
            axes: self.axes(weight),
            members: Vec::new(),
        }
    }

    /// transformers multiplies activations from the left with the stacked experts of two models.
    ///
    /// Other tools turn them around; where the two sides differ, `hidden_size` tells.
    fn axes(&self, weight: &Weight) -> Axes {
        let Encoding::Plain(_) = weight.encoding else {
            return Axes::OutIn;
        };
        let (&[_, first, second], true) = (
            weight.shape.as_slice(),
            (self.gpt_oss || self.llama4) && weight.name.ends_with("_proj"),
        ) else {
            return Axes::OutIn;
        };
        // The axis that is `hidden_size` where inputs come first, and the other.
        let (here, there) = match ExpertPart::of(&weight.name) {
            Some(ExpertPart::GateUp) => (first, second),
            Some(ExpertPart::Down) => (second, first),
            _ => return Axes::OutIn,
        };
        match self.hidden {
            Some(hidden) if here != hidden && there == hidden => Axes::OutIn,
            _ => Axes::InOut,
        }
    }
}

/// The axes in which transformers' class of this model has the plain numbers of a stack that the
/// checkpoint holds with scales.
pub(crate) fn plain_axes(checkpoint: &Checkpoint, name: &str) -> Axes {
    let stack = matches!(
        ExpertPart::of(name),
        Some(ExpertPart::GateUp | ExpertPart::Down)
    );
    match stack && name.ends_with("_proj") && Known::of(checkpoint).gpt_oss {
        true => Axes::InOut,
        false => Axes::OutIn,
    }
}

impl Weight {
    /// Outputs of a matrix: its rows, or the length of a bias.
    pub fn outputs(&self) -> usize {
        match self.is_bias() {
            true => self.shape.last().copied().unwrap_or(1),
            false => self.matrices().shape.rows,
        }
    }

    /// Whether it is the bias of gate and up in one, which has them along its last axis.
    pub fn is_bias(&self) -> bool {
        is_bias_of_both(&self.name)
    }
}
