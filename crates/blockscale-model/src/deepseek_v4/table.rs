//! The table of names: what each tensor is called, in every spelling.

use std::fmt;

use super::names::Layer;

use Scope::{AnyLayer, Mtp, Top, TopOrMtp};

/// What a tensor is, whatever layer and expert it belongs to.
///
/// In an expert `w1` is the gate, `w3` the up and `w2` the down projection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(
    missing_docs,
    reason = "the names are those of the tensors; see the table of names"
)]
#[non_exhaustive]
pub enum Part {
    WqA,
    WqB,
    Wkv,
    WoA,
    WoB,
    QNorm,
    KvNorm,
    AttnSink,
    IndexerWqB,
    IndexerWeightsProj,
    IndexerWkv,
    IndexerWgate,
    IndexerApe,
    IndexerNorm,
    CompressorWkv,
    CompressorWgate,
    CompressorApe,
    CompressorNorm,
    AttnNorm,
    FfnNorm,
    Gate,
    GateBias,
    GateTid2eid,
    ExpertW1,
    ExpertW2,
    ExpertW3,
    SharedW1,
    SharedW2,
    SharedW3,
    FusedGateUp,
    FusedDown,
    HcAttnFn,
    HcAttnBase,
    HcAttnScale,
    HcFfnFn,
    HcFfnBase,
    HcFfnScale,
    EProj,
    HProj,
    Enorm,
    Hnorm,
    Norm,
    HcHeadFn,
    HcHeadBase,
    HcHeadScale,
    Embed,
    Head,
}

impl Part {
    /// All parts, in the order of the table of names.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.part)
    }

    /// Whether the tensor exists once an expert, so that its name holds an expert number.
    pub fn is_routed_expert(self) -> bool {
        matches!(self, Self::ExpertW1 | Self::ExpertW2 | Self::ExpertW3)
    }

    /// Whether the tensor stacks all experts of a layer, as transformers does.
    pub fn is_stacked_experts(self) -> bool {
        matches!(self, Self::FusedGateUp | Self::FusedDown)
    }

    /// Whether names of this part occur in `layer`.
    ///
    /// Says nothing about the layer's attention: whether layer 3 has an indexer is
    /// for [`DeepSeekV4::expected_shape`](super::DeepSeekV4::expected_shape).
    pub fn occurs_in(self, layer: Layer) -> bool {
        match self.row().scope {
            AnyLayer => layer != Layer::Top,
            Mtp => matches!(layer, Layer::Mtp(_)),
            Top => layer == Layer::Top,
            TopOrMtp => !matches!(layer, Layer::Main(_)),
        }
    }

    pub(super) fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }
}

/// Where names of a part occur.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    AnyLayer,
    Mtp,
    Top,
    TopOrMtp,
}

pub(super) struct Row {
    pub(super) part: Part,
    scope: Scope,
    /// The published name, behind the layer prefix.
    pub(super) native: &'static str,
    /// The name of the transformers module, behind `model.` and the layer prefix.
    pub(super) hf: &'static str,
    /// Further spellings that are found in checkpoints.
    also: &'static [&'static str],
}

impl Row {
    /// The expert number (0 without one) and whether the spelling is the native one.
    pub(super) fn match_rest(&self, rest: &str) -> Option<(usize, bool)> {
        let matches = |pattern: &&str| match self.part.is_routed_expert() {
            true => match_numbered(pattern, rest),
            false => (*pattern == rest).then_some(0),
        };
        if let Some(expert) = matches(&self.native) {
            return Some((expert, true));
        }
        let mut others = std::iter::once(&self.hf).chain(self.also);
        others.find_map(matches).map(|expert| (expert, false))
    }
}

const fn row(part: Part, scope: Scope, native: &'static str, hf: &'static str) -> Row {
    Row {
        part,
        scope,
        native,
        hf,
        also: &[],
    }
}

const fn row_also(
    part: Part,
    scope: Scope,
    native: &'static str,
    hf: &'static str,
    also: &'static [&'static str],
) -> Row {
    Row {
        part,
        scope,
        native,
        hf,
        also,
    }
}

/// The place of the expert number in a pattern.
const EXPERT: &str = "{E}";

fn match_numbered(pattern: &str, rest: &str) -> Option<usize> {
    let (before, after) = pattern.split_once(EXPERT)?;
    parse_number(rest.strip_prefix(before)?.strip_suffix(after)?)
}

/// A pattern to be written with the number of the expert.
pub(super) struct Pattern {
    pub(super) text: &'static str,
    pub(super) expert: usize,
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text.split_once(EXPERT) {
            None => f.write_str(self.text),
            Some((before, after)) => write!(f, "{before}{}{after}", self.expert),
        }
    }
}

/// A number as names hold it: no sign, no leading zero, so that it is written back the same.
pub(super) fn parse_number(digits: &str) -> Option<usize> {
    let canonical = digits.bytes().all(|b| b.is_ascii_digit())
        && (digits.len() == 1 || !digits.starts_with('0'));
    if canonical { digits.parse().ok() } else { None }
}

/// Native and Hugging Face names, in the order of [`Part`].
///
/// `attn.norm` (transformers writing native names), `self_attn.norm` and the norms of the
/// compressors (ModelOpt) come from a rename that was reversed without being one to one.
/// `mlp.experts.E.w1` is how transformers itself reads split experts.
#[rustfmt::skip]
pub(super) static TABLE: &[Row] = &[
    row(Part::WqA, AnyLayer, "attn.wq_a.weight", "self_attn.q_a_proj.weight"),
    row(Part::WqB, AnyLayer, "attn.wq_b.weight", "self_attn.q_b_proj.weight"),
    row(Part::Wkv, AnyLayer, "attn.wkv.weight", "self_attn.kv_proj.weight"),
    row(Part::WoA, AnyLayer, "attn.wo_a.weight", "self_attn.o_a_proj.weight"),
    row(Part::WoB, AnyLayer, "attn.wo_b.weight", "self_attn.o_b_proj.weight"),
    row(Part::QNorm, AnyLayer, "attn.q_norm.weight", "self_attn.q_a_norm.weight"),
    row_also(Part::KvNorm, AnyLayer, "attn.kv_norm.weight", "self_attn.kv_norm.weight",
        &["attn.norm.weight", "self_attn.norm.weight"]),
    row(Part::AttnSink, AnyLayer, "attn.attn_sink", "self_attn.sinks"),
    row(Part::IndexerWqB, AnyLayer, "attn.indexer.wq_b.weight",
        "self_attn.compressor.indexer.q_b_proj.weight"),
    row(Part::IndexerWeightsProj, AnyLayer, "attn.indexer.weights_proj.weight",
        "self_attn.compressor.indexer.scorer.weights_proj.weight"),
    row(Part::IndexerWkv, AnyLayer, "attn.indexer.compressor.wkv.weight",
        "self_attn.compressor.indexer.kv_proj.weight"),
    row(Part::IndexerWgate, AnyLayer, "attn.indexer.compressor.wgate.weight",
        "self_attn.compressor.indexer.gate_proj.weight"),
    row(Part::IndexerApe, AnyLayer, "attn.indexer.compressor.ape",
        "self_attn.compressor.indexer.position_bias"),
    row_also(Part::IndexerNorm, AnyLayer, "attn.indexer.compressor.norm.weight",
        "self_attn.compressor.indexer.kv_norm.weight",
        &["self_attn.compressor.indexer.norm.weight"]),
    row(Part::CompressorWkv, AnyLayer, "attn.compressor.wkv.weight",
        "self_attn.compressor.kv_proj.weight"),
    row(Part::CompressorWgate, AnyLayer, "attn.compressor.wgate.weight",
        "self_attn.compressor.gate_proj.weight"),
    row(Part::CompressorApe, AnyLayer, "attn.compressor.ape",
        "self_attn.compressor.position_bias"),
    row_also(Part::CompressorNorm, AnyLayer, "attn.compressor.norm.weight",
        "self_attn.compressor.kv_norm.weight", &["self_attn.compressor.norm.weight"]),
    row(Part::AttnNorm, AnyLayer, "attn_norm.weight", "input_layernorm.weight"),
    row(Part::FfnNorm, AnyLayer, "ffn_norm.weight", "post_attention_layernorm.weight"),
    row(Part::Gate, AnyLayer, "ffn.gate.weight", "mlp.gate.weight"),
    row(Part::GateBias, AnyLayer, "ffn.gate.bias", "mlp.gate.e_score_correction_bias"),
    row(Part::GateTid2eid, AnyLayer, "ffn.gate.tid2eid", "mlp.gate.tid2eid"),
    row_also(Part::ExpertW1, AnyLayer, "ffn.experts.{E}.w1.weight",
        "mlp.experts.{E}.gate_proj.weight", &["mlp.experts.{E}.w1.weight"]),
    row_also(Part::ExpertW2, AnyLayer, "ffn.experts.{E}.w2.weight",
        "mlp.experts.{E}.down_proj.weight", &["mlp.experts.{E}.w2.weight"]),
    row_also(Part::ExpertW3, AnyLayer, "ffn.experts.{E}.w3.weight",
        "mlp.experts.{E}.up_proj.weight", &["mlp.experts.{E}.w3.weight"]),
    row(Part::SharedW1, AnyLayer, "ffn.shared_experts.w1.weight",
        "mlp.shared_experts.gate_proj.weight"),
    row(Part::SharedW2, AnyLayer, "ffn.shared_experts.w2.weight",
        "mlp.shared_experts.down_proj.weight"),
    row(Part::SharedW3, AnyLayer, "ffn.shared_experts.w3.weight",
        "mlp.shared_experts.up_proj.weight"),
    row(Part::FusedGateUp, AnyLayer, "ffn.experts.gate_up_proj", "mlp.experts.gate_up_proj"),
    row(Part::FusedDown, AnyLayer, "ffn.experts.down_proj", "mlp.experts.down_proj"),
    row(Part::HcAttnFn, AnyLayer, "hc_attn_fn", "attn_hc.fn"),
    row(Part::HcAttnBase, AnyLayer, "hc_attn_base", "attn_hc.base"),
    row(Part::HcAttnScale, AnyLayer, "hc_attn_scale", "attn_hc.scale"),
    row(Part::HcFfnFn, AnyLayer, "hc_ffn_fn", "ffn_hc.fn"),
    row(Part::HcFfnBase, AnyLayer, "hc_ffn_base", "ffn_hc.base"),
    row(Part::HcFfnScale, AnyLayer, "hc_ffn_scale", "ffn_hc.scale"),
    row(Part::EProj, Mtp, "e_proj.weight", "e_proj.weight"),
    row(Part::HProj, Mtp, "h_proj.weight", "h_proj.weight"),
    row(Part::Enorm, Mtp, "enorm.weight", "enorm.weight"),
    row(Part::Hnorm, Mtp, "hnorm.weight", "hnorm.weight"),
    row(Part::Norm, TopOrMtp, "norm.weight", "norm.weight"),
    row(Part::HcHeadFn, TopOrMtp, "hc_head_fn", "hc_head.hc_fn"),
    row(Part::HcHeadBase, TopOrMtp, "hc_head_base", "hc_head.hc_base"),
    row(Part::HcHeadScale, TopOrMtp, "hc_head_scale", "hc_head.hc_scale"),
    row(Part::Embed, Top, "embed.weight", "embed_tokens.weight"),
    row(Part::Head, Top, "head.weight", "lm_head.weight"),
];

// `Part::row` indexes the table by discriminant: a row out of order must not compile.
const _: () = {
    let mut i = 0;
    while i < TABLE.len() {
        assert!(TABLE[i].part as usize == i);
        i += 1;
    }
    assert!(TABLE.len() == Part::Head as usize + 1);
};
