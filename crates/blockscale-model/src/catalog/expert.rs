//! What a weight is to the experts of its layer, by its name.

use super::row_order::{GateUp, RowOrder};
use super::weight::module_of;

/// The names of a gate, of the up beside it, and of both in one.
const PAIRS: [Pair; 2] = [
    Pair {
        gate: "w1",
        up: "w3",
        both: "w13",
    },
    Pair {
        gate: "gate_proj",
        up: "up_proj",
        both: "gate_up_proj",
    },
];

/// Last parts of names that mean gate and up in one: those of [`PAIRS`], and gpt-oss' first.
const BOTH: [&str; 3] = ["w13", "gate_up_proj", "mlp1_weight"];

/// Last parts of names of biases of gate and up in one.
const BOTH_BIASES: [&str; 2] = ["gate_up_proj_bias", "mlp1_bias"];

#[derive(Clone, Copy)]
struct Pair {
    gate: &'static str,
    up: &'static str,
    both: &'static str,
}

/// What a weight is to the routed experts of its layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExpertPart {
    /// The gate of one expert: `...experts.7.w1`, `...experts.7.gate_proj`.
    Gate,
    /// The up projection of one expert: `w3`, `up_proj`.
    Up,
    /// Both in one, of one expert or of all in a stack: `...experts.gate_up_proj`, `w13`.
    GateUp,
    /// The down projection: `w2`, `down_proj`.
    Down,
}

impl ExpertPart {
    /// The part that a weight of this name is; `None` for what is no routed expert.
    ///
    /// ```
    /// use blockscale_model::catalog::ExpertPart;
    ///
    /// assert_eq!(ExpertPart::of("layers.3.ffn.experts.7.w1.weight"), Some(ExpertPart::Gate));
    /// assert_eq!(ExpertPart::of("model.layers.3.mlp.experts.down_proj"), Some(ExpertPart::Down));
    /// assert_eq!(ExpertPart::of("layers.3.ffn.shared_experts.w1.weight"), None);
    /// ```
    pub fn of(name: &str) -> Option<Self> {
        let mut modules = module_of(name).rsplit('.');
        let last = modules.next()?;
        match last {
            // gpt-oss as published first has no module of experts.
            "mlp1_weight" => return Some(Self::GateUp),
            "mlp2_weight" => return Some(Self::Down),
            _ => {}
        }
        let above = modules.next()?;
        let is_number = above.bytes().all(|byte| byte.is_ascii_digit());
        let stack = if is_number { modules.next()? } else { above };
        if stack != "experts" {
            return None;
        }
        match last {
            _ if BOTH.contains(&last) => Some(Self::GateUp),
            _ if PAIRS.iter().any(|pair| pair.gate == last) => Some(Self::Gate),
            _ if PAIRS.iter().any(|pair| pair.up == last) => Some(Self::Up),
            "w2" | "down_proj" => Some(Self::Down),
            _ => None,
        }
    }
}

/// A name taken apart around its last module: `a.b.`, `w1`, `.weight`.
fn split_last(name: &str) -> (&str, &str, &str) {
    let module = module_of(name);
    let last = module.rsplit('.').next().unwrap_or(module);
    let (parent, _) = module.split_at(module.len() - last.len());
    (parent, last, &name[module.len()..])
}

/// The name with another last module.
fn with_last(name: &str, last: &str) -> String {
    let (parent, _, suffix) = split_last(name);
    format!("{parent}{last}{suffix}")
}

/// Whether the name is of a weight, or of its bias, that holds gate and up in one.
pub(super) fn holds_both(name: &str) -> bool {
    let (_, last, _) = split_last(name);
    BOTH.contains(&last) || is_bias_of_both(name)
}

/// Whether the name is of the bias of gate and up in one, which has them along its last axis.
pub(crate) fn is_bias_of_both(name: &str) -> bool {
    let bias_of = name.strip_suffix(".bias");
    let dotted = bias_of.is_some_and(|module| BOTH.contains(&split_last(module).1));
    dotted || BOTH_BIASES.contains(&split_last(name).1)
}

/// The name of the weight that a bias of gate and up in one goes with, without a `.weight`.
pub(crate) fn weight_of_bias(name: &str) -> Option<String> {
    if let Some(parent) = name.strip_suffix("mlp1_bias") {
        return Some(format!("{parent}mlp1_weight"));
    }
    let module = name
        .strip_suffix(".bias")
        .or_else(|| name.strip_suffix("_bias"));
    module.map(str::to_owned)
}

/// The other half of a gate or of an up.
///
/// `a.experts.0.w1.weight` goes with `a.experts.0.w3.weight`, and the other way round.
pub fn other_half(name: &str) -> Option<String> {
    let (_, last, _) = split_last(name);
    let other = PAIRS.iter().find_map(|pair| match last {
        _ if last == pair.gate => Some(pair.up),
        _ if last == pair.up => Some(pair.gate),
        _ => None,
    })?;
    Some(with_last(name, other))
}

/// The name of gate and up in one, from the name of either.
pub(crate) fn name_of_both(half: &str) -> Option<String> {
    let (_, last, _) = split_last(half);
    let pair = PAIRS.iter().find(|p| last == p.gate || last == p.up)?;
    Some(with_last(half, pair.both))
}

/// The names of gate and up, from the name of both in one.
pub(crate) fn names_of_halves(both: &str) -> Option<[String; 2]> {
    let (_, last, _) = split_last(both);
    let pair = PAIRS.iter().find(|pair| last == pair.both)?;
    Some([pair.gate, pair.up].map(|half| with_last(both, half)))
}

/// What a weight holds that is made of others, from their names in the order of their rows.
pub(crate) fn held_by(members: &[&str]) -> GateUp {
    let &[first, second] = members else {
        return GateUp::Apart;
    };
    let halves = name_of_both(first).and_then(|both| names_of_halves(&both));
    match halves
        .as_ref()
        .map(|[gate, up]| (gate.as_str(), up.as_str()))
    {
        Some(halves) if halves == (first, second) => GateUp::Ordered(RowOrder::GateFirst),
        Some(halves) if halves == (second, first) => GateUp::Ordered(RowOrder::UpFirst),
        _ => GateUp::Apart,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_and_both_name_each_other() {
        for (gate, up, both) in [
            (
                "a.experts.0.w1.weight",
                "a.experts.0.w3.weight",
                "a.experts.0.w13.weight",
            ),
            ("w1", "w3", "w13"),
            (
                "mlp.gate_proj.weight",
                "mlp.up_proj.weight",
                "mlp.gate_up_proj.weight",
            ),
        ] {
            assert_eq!(other_half(gate).as_deref(), Some(up));
            assert_eq!(other_half(up).as_deref(), Some(gate));
            assert_eq!(name_of_both(gate).as_deref(), Some(both));
            assert_eq!(name_of_both(up).as_deref(), Some(both));
            assert_eq!(names_of_halves(both).unwrap(), [gate, up]);
        }
        assert_eq!(other_half("a.w2.weight"), None);
        assert_eq!(names_of_halves("block.0.mlp.mlp1_weight"), None);
    }

    #[test]
    fn members_tell_what_a_joined_weight_holds() {
        let ordered = GateUp::Ordered;
        for (members, held) in [
            (
                &["a.w1.weight", "a.w3.weight"][..],
                ordered(RowOrder::GateFirst),
            ),
            (&["a.up_proj", "a.gate_proj"], ordered(RowOrder::UpFirst)),
            (&["a.w1.weight", "b.w3.weight"], GateUp::Apart),
            (&["a.wkv.weight", "a.wgate.weight"], GateUp::Apart),
            (&["a.w1.weight"], GateUp::Apart),
        ] {
            assert_eq!(held_by(members), held, "{members:?}");
        }
    }

    #[test]
    fn parts_of_experts_are_known_in_every_spelling() {
        use ExpertPart::{Down, Gate, GateUp, Up};
        for (name, part) in [
            ("model.layers.0.mlp.experts.3.gate_proj.weight", Some(Gate)),
            ("layers.0.ffn.experts.3.w3.weight", Some(Up)),
            ("model.layers.0.mlp.experts.gate_up_proj", Some(GateUp)),
            ("experts.3.w13.weight", Some(GateUp)),
            ("block.3.mlp.mlp1_weight", Some(GateUp)),
            ("block.3.mlp.mlp2_weight", Some(Down)),
            ("experts.3.w2.weight", Some(Down)),
            ("model.layers.0.mlp.gate_up_proj.weight", None),
            ("shared_experts.w1.weight", None),
            ("experts.3.w1", Some(Gate)),
            ("w1.weight", None),
        ] {
            assert_eq!(ExpertPart::of(name), part, "{name}");
        }
    }

    #[test]
    fn biases_go_with_their_weights() {
        for (bias, weight) in [
            ("a.experts.gate_up_proj_bias", "a.experts.gate_up_proj"),
            ("a.mlp.gate_up_proj.bias", "a.mlp.gate_up_proj"),
            ("block.0.mlp.mlp1_bias", "block.0.mlp.mlp1_weight"),
        ] {
            assert!(is_bias_of_both(bias) && holds_both(bias), "{bias}");
            assert_eq!(weight_of_bias(bias).as_deref(), Some(weight));
            assert!(holds_both(weight) && !is_bias_of_both(weight));
        }
        assert!(!holds_both("a.experts.down_proj_bias"));
    }
}
