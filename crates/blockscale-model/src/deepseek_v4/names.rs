//! Tensor names taken apart, and turned from one spelling into another.

use std::borrow::Cow;
use std::fmt;

use super::table::{Part, Pattern, TABLE, parse_number};

/// The layer that a tensor belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Layer {
    /// Layer `n` of the main model: `layers.n.`
    Main(usize),
    /// Layer `n` of the multi-token prediction head: `mtp.n.`
    Mtp(usize),
    /// No layer: embedding, head, final norm, `hc_head_*`.
    Top,
}

impl fmt::Display for Layer {
    /// The native prefix with its final full stop: `layers.3.`, `mtp.0.`, or nothing.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Main(n) => write!(f, "layers.{n}."),
            Self::Mtp(n) => write!(f, "mtp.{n}."),
            Self::Top => Ok(()),
        }
    }
}

/// Which of the two stacked expert tensors of transformers a name means.
///
/// Transformers keeps the routed experts of a layer in two 3-D tensors without a
/// `.weight` suffix. No checkpoint in native names holds them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FusedExperts {
    /// `mlp.experts.gate_up_proj`, `[experts, 2 * intermediate, hidden]`: of each
    /// expert the rows of `w1`, then those of `w3`. Not interleaved.
    GateUp,
    /// `mlp.experts.down_proj`, `[experts, hidden, intermediate]`: `w2` of each expert.
    Down,
}

/// A tensor name taken apart. [`Display`](fmt::Display) writes the native spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NativeName {
    /// The layer.
    pub layer: Layer,
    /// The expert, for the parts that exist once an expert; else not written.
    pub expert: usize,
    /// What the tensor is.
    pub part: Part,
}

impl NativeName {
    /// The Hugging Face spelling, with one tensor an expert; see [`to_hf`].
    pub fn to_hf(&self) -> String {
        // The head is the only tensor outside transformers' base model.
        let base = if self.part == Part::Head {
            ""
        } else {
            "model."
        };
        let module = Pattern {
            text: self.part.row().hf,
            expert: self.expert,
        };
        format!("{base}{}{module}", self.layer)
    }
}

impl fmt::Display for NativeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rest = Pattern {
            text: self.part.row().native,
            expert: self.expert,
        };
        write!(f, "{}{rest}", self.layer)
    }
}

/// The native name of a tensor given in any spelling, or `None` if it is no name of
/// this architecture.
///
/// Takes names of *weights*, with `.weight` where the tensor has it. Names of
/// quantiser scales (`….weight_scale`, `….wq_a.scale`) are not names of weights and give
/// `None`; `attn_hc.scale` is a learned weight and is mapped. The stacked experts of
/// transformers have no native counterpart and become `….ffn.experts.gate_up_proj`.
///
/// # Examples
/// ```
/// use blockscale_model::deepseek_v4::to_native;
///
/// // The indexer of transformers sits inside the compressor; both have a `kv_proj`.
/// let main = to_native("model.layers.2.self_attn.compressor.kv_proj.weight");
/// assert_eq!(main.unwrap(), "layers.2.attn.compressor.wkv.weight");
/// let indexer = to_native("model.layers.2.self_attn.compressor.indexer.kv_proj.weight");
/// assert_eq!(indexer.unwrap(), "layers.2.attn.indexer.compressor.wkv.weight");
///
/// assert_eq!(to_native("model.layers.2.mlp.down_proj.weight"), None);
/// ```
pub fn to_native(name: &str) -> Option<Cow<'_, str>> {
    let (parsed, spelling) = parse_any(name)?;
    Some(match spelling {
        Spelling::Native => Cow::Borrowed(name),
        Spelling::Other => Cow::Owned(parsed.to_string()),
    })
}

/// The Hugging Face spelling of a native name, with one tensor an expert.
///
/// Norms are spelled as the modules of transformers are (`self_attn.kv_norm`), not as its
/// reversed rename writes them (`self_attn.norm`); [`to_native`] reads both.
///
/// # Examples
/// ```
/// use blockscale_model::deepseek_v4::to_hf;
///
/// let hf = to_hf("layers.2.ffn.experts.17.w3.weight");
/// assert_eq!(hf.unwrap(), "model.layers.2.mlp.experts.17.up_proj.weight");
/// ```
pub fn to_hf(native: &str) -> Option<String> {
    parse(native).map(|name| name.to_hf())
}

/// Takes a native name apart; `None` for every other spelling.
pub fn parse(native: &str) -> Option<NativeName> {
    match parse_any(native)? {
        (name, Spelling::Native) => Some(name),
        (_, Spelling::Other) => None,
    }
}

/// The layer and kind of a stacked expert tensor in any spelling.
///
/// # Examples
/// ```
/// use blockscale_model::deepseek_v4::{FusedExperts, Layer, fused_experts};
///
/// let found = fused_experts("model.layers.7.mlp.experts.down_proj");
/// assert_eq!(found, Some((Layer::Main(7), FusedExperts::Down)));
/// ```
pub fn fused_experts(name: &str) -> Option<(Layer, FusedExperts)> {
    let (name, _) = parse_any(name)?;
    match name.part {
        Part::FusedGateUp => Some((name.layer, FusedExperts::GateUp)),
        Part::FusedDown => Some((name.layer, FusedExperts::Down)),
        _ => None,
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Native,
    Other,
}

fn parse_any(name: &str) -> Option<(NativeName, Spelling)> {
    let (bare, prefixed) = match name.strip_prefix("model.") {
        Some(bare) => (bare, true),
        None => (name, false),
    };
    let (layer, rest) = split_layer(bare)?;
    TABLE
        .iter()
        .filter(|row| row.part.occurs_in(layer))
        .find_map(|row| {
            let (expert, spelled_native) = row.match_rest(rest)?;
            let spelling = if spelled_native && !prefixed {
                Spelling::Native
            } else {
                Spelling::Other
            };
            Some((
                NativeName {
                    layer,
                    expert,
                    part: row.part,
                },
                spelling,
            ))
        })
}

fn split_layer(name: &str) -> Option<(Layer, &str)> {
    let (layer, numbered): (fn(usize) -> Layer, _) =
        match name.split_once('.').unwrap_or((name, "")) {
            ("layers", numbered) => (Layer::Main, numbered),
            ("mtp", numbered) => (Layer::Mtp, numbered),
            _ => return Some((Layer::Top, name)),
        };
    let (number, rest) = numbered.split_once('.')?;
    Some((layer(parse_number(number)?), rest))
}
