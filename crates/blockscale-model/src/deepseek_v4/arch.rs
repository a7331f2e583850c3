//! Dimensions of one model of the architecture, and what follows from them.

use super::names::{Layer, NativeName, parse};
use super::table::Part;

/// Dimensions of a DeepSeek-V4 model.
///
/// Shapes follow from these alone, so that a tensor under a wrong name is caught: the main
/// compressor's weight offered as the indexer's has rows of the wrong number.
///
/// # Examples
/// ```
/// use blockscale_model::deepseek_v4::DeepSeekV4;
///
/// let pro = DeepSeekV4::pro();
/// let main = pro.expected_shape("layers.2.attn.compressor.wkv.weight");
/// let indexer = pro.expected_shape("layers.2.attn.indexer.compressor.wkv.weight");
/// assert_eq!(main, Some(vec![1024, 7168]));
/// assert_eq!(indexer, Some(vec![256, 7168]));
/// assert_eq!(pro.counts().compressors(), 91);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeepSeekV4 {
    /// Layers of the main model (`num_hidden_layers`).
    pub layers: usize,
    /// Multi-token prediction layers (`num_nextn_predict_layers`).
    pub mtp_layers: usize,
    /// Width of the residual stream (`hidden_size`).
    pub hidden: usize,
    /// Query heads (`num_attention_heads`).
    pub heads: usize,
    /// Width of a head, and of the one key-value head (`head_dim`).
    pub head_dim: usize,
    /// Rank of the query projection (`q_lora_rank`).
    pub q_lora_rank: usize,
    /// Groups of the output projection (`o_groups`).
    pub o_groups: usize,
    /// Rank of each group of the output projection (`o_lora_rank`).
    pub o_lora_rank: usize,
    /// Routed experts of a layer (`n_routed_experts`).
    pub experts: usize,
    /// Routed experts that see a token (`num_experts_per_tok`).
    pub experts_per_token: usize,
    /// Shared experts of a layer, stored as one of their joint width (`n_shared_experts`).
    pub shared_experts: usize,
    /// Width of an expert (`moe_intermediate_size`).
    pub moe_intermediate: usize,
    /// Heads of the indexer (`index_n_heads`).
    pub index_heads: usize,
    /// Width of an indexer head (`index_head_dim`).
    pub index_head_dim: usize,
    /// Leading layers that route by token id (`num_hash_layers`).
    pub hash_layers: usize,
    /// Entries of the vocabulary (`vocab_size`).
    pub vocab: usize,
    /// Residual streams of the hyper-connections (`hc_mult`).
    pub hc_mult: usize,
    /// Compression ratio of each main layer (`compress_ratios`): 0 for a sliding window alone,
    /// 4 for an overlapping compressor with an indexer, 128 for a compressor alone.
    pub ratios: Vec<u32>,
}

/// How often the parts that conversions speak of occur in the main layers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Grouped output projections, one a layer.
    pub wo_a: usize,
    /// Attention and shared-expert modules as runtimes fuse them, five a layer: `wq_a` with
    /// `wkv`, `wq_b`, `wo_b`, shared `w1` with `w3`, shared `w2`.
    pub fused_modules: usize,
    /// Compressors of the attention.
    pub main_compressors: usize,
    /// Indexers, each with its own compressor.
    pub indexers: usize,
    /// Linear layers of the routed experts.
    pub expert_linears: usize,
}

impl Counts {
    /// Compressors of the attention and of the indexers.
    pub fn compressors(&self) -> usize {
        self.main_compressors + self.indexers
    }
}

/// Ratio of the layers with an overlapping compressor and an indexer.
const OVERLAPPING: u32 = 4;

impl DeepSeekV4 {
    /// DeepSeek-V4-Pro.
    pub fn pro() -> Self {
        Self {
            layers: 61,
            hidden: 7168,
            heads: 128,
            q_lora_rank: 1536,
            o_groups: 16,
            experts: 384,
            moe_intermediate: 3072,
            ratios: alternating_ratios([128, 128], 61),
            ..Self::flash()
        }
    }

    /// DeepSeek-V4-Flash.
    pub fn flash() -> Self {
        Self {
            layers: 43,
            mtp_layers: 1,
            hidden: 4096,
            heads: 64,
            head_dim: 512,
            q_lora_rank: 1024,
            o_groups: 8,
            o_lora_rank: 1024,
            experts: 256,
            experts_per_token: 6,
            shared_experts: 1,
            moe_intermediate: 2048,
            index_heads: 64,
            index_head_dim: 128,
            hash_layers: 3,
            vocab: 129_280,
            hc_mult: 4,
            ratios: alternating_ratios([0, 0], 43),
        }
    }

    /// Logical shape (elements, not packed bytes) of a tensor under its native name.
    ///
    /// `None` if a model of these dimensions has no such tensor: no name of the architecture,
    /// a layer or expert out of range, an indexer in a layer without one.
    pub fn expected_shape(&self, native_name: &str) -> Option<Vec<usize>> {
        self.shape_of(parse(native_name)?)
    }

    /// Native names of all weights, layer by layer; scales of quantisers are not among them.
    pub fn tensor_names(&self) -> impl Iterator<Item = String> + '_ {
        let main = (0..self.layers).map(Layer::Main);
        let mtp = (0..self.mtp_layers).map(Layer::Mtp);
        let layers = main.chain(mtp).chain([Layer::Top]);
        layers
            .flat_map(|layer| Part::all().map(move |part| (layer, part)))
            .filter(|(_, part)| !part.is_stacked_experts())
            .flat_map(|(layer, part)| {
                let copies = if part.is_routed_expert() {
                    self.experts
                } else {
                    1
                };
                (0..copies).map(move |expert| NativeName {
                    layer,
                    expert,
                    part,
                })
            })
            .filter(|name| self.shape_of(*name).is_some())
            .map(|name| name.to_string())
    }

    /// Occurrences in the main layers; MTP layers are not counted.
    pub fn counts(&self) -> Counts {
        Counts {
            wo_a: self.layers,
            fused_modules: 5 * self.layers,
            main_compressors: self.ratios.iter().filter(|ratio| **ratio > 0).count(),
            indexers: self
                .ratios
                .iter()
                .filter(|ratio| **ratio == OVERLAPPING)
                .count(),
            expert_linears: 3 * self.experts * self.layers,
        }
    }

    fn shape_of(&self, name: NativeName) -> Option<Vec<usize>> {
        let exists = match name.layer {
            Layer::Main(n) => n < self.layers,
            Layer::Mtp(n) => n < self.mtp_layers,
            Layer::Top => true,
        };
        let in_place = name.part.occurs_in(name.layer)
            && (!name.part.is_routed_expert() || name.expert < self.experts);
        if !exists || !in_place {
            return None;
        }
        self.attention_shape(name)
            .or_else(|| self.feed_forward_shape(name))
            .or_else(|| self.residual_shape(name.part))
    }

    fn attention_shape(&self, name: NativeName) -> Option<Vec<usize>> {
        let query_width = self.heads * self.head_dim;
        let output_rank = self.o_groups * self.o_lora_rank;
        Some(match name.part {
            Part::WqA => vec![self.q_lora_rank, self.hidden],
            Part::WqB => vec![query_width, self.q_lora_rank],
            Part::Wkv => vec![self.head_dim, self.hidden],
            // Each group projects its own share of the heads.
            Part::WoA => vec![output_rank, query_width.checked_div(self.o_groups)?],
            Part::WoB => vec![self.hidden, output_rank],
            Part::QNorm => vec![self.q_lora_rank],
            Part::KvNorm => vec![self.head_dim],
            Part::AttnSink => vec![self.heads],
            Part::CompressorWkv
            | Part::CompressorWgate
            | Part::CompressorApe
            | Part::CompressorNorm => {
                let ratio = self.ratio(name.layer).filter(|ratio| *ratio > 0)?;
                self.compressor_shape(name.part, ratio, self.head_dim)
            }
            Part::IndexerWqB => {
                self.indexed(name.layer)?;
                vec![self.index_heads * self.index_head_dim, self.q_lora_rank]
            }
            Part::IndexerWeightsProj => {
                self.indexed(name.layer)?;
                vec![self.index_heads, self.hidden]
            }
            Part::IndexerWkv | Part::IndexerWgate | Part::IndexerApe | Part::IndexerNorm => {
                let ratio = self.indexed(name.layer)?;
                self.compressor_shape(name.part, ratio, self.index_head_dim)
            }
            _ => return None,
        })
    }

    fn compressor_shape(&self, part: Part, ratio: u32, head_dim: usize) -> Vec<usize> {
        // Overlapping windows have two sets of rows: the previous window's, then the current's.
        let rows = if ratio == OVERLAPPING {
            2 * head_dim
        } else {
            head_dim
        };
        match part {
            Part::CompressorNorm | Part::IndexerNorm => vec![head_dim],
            Part::CompressorApe | Part::IndexerApe => vec![ratio as usize, rows],
            _ => vec![rows, self.hidden],
        }
    }

    fn feed_forward_shape(&self, name: NativeName) -> Option<Vec<usize>> {
        let shared_width = self.shared_experts * self.moe_intermediate;
        let routed_by_hash = matches!(name.layer, Layer::Main(n) if n < self.hash_layers);
        Some(match name.part {
            Part::Gate => vec![self.experts, self.hidden],
            Part::GateBias if !routed_by_hash => vec![self.experts],
            Part::GateTid2eid if routed_by_hash => vec![self.vocab, self.experts_per_token],
            Part::ExpertW1 | Part::ExpertW3 => vec![self.moe_intermediate, self.hidden],
            Part::ExpertW2 => vec![self.hidden, self.moe_intermediate],
            Part::SharedW1 | Part::SharedW3 => vec![shared_width, self.hidden],
            Part::SharedW2 => vec![self.hidden, shared_width],
            Part::FusedGateUp => vec![self.experts, 2 * self.moe_intermediate, self.hidden],
            Part::FusedDown => vec![self.experts, self.hidden, self.moe_intermediate],
            _ => return None,
        })
    }

    fn residual_shape(&self, part: Part) -> Option<Vec<usize>> {
        let streams = self.hc_mult * self.hidden;
        // Weights to read, weights to write, and a mixing matrix of the streams.
        let mixing = (2 + self.hc_mult) * self.hc_mult;
        Some(match part {
            Part::AttnNorm | Part::FfnNorm | Part::Enorm | Part::Hnorm | Part::Norm => {
                vec![self.hidden]
            }
            Part::HcAttnFn | Part::HcFfnFn => vec![mixing, streams],
            Part::HcAttnBase | Part::HcFfnBase => vec![mixing],
            Part::HcAttnScale | Part::HcFfnScale => vec![3],
            Part::HcHeadFn => vec![self.hc_mult, streams],
            Part::HcHeadBase => vec![self.hc_mult],
            Part::HcHeadScale => vec![1],
            Part::EProj | Part::HProj => vec![self.hidden, self.hidden],
            Part::Embed | Part::Head => vec![self.vocab, self.hidden],
            _ => return None,
        })
    }

    fn ratio(&self, layer: Layer) -> Option<u32> {
        match layer {
            Layer::Main(n) => self.ratios.get(n).copied(),
            Layer::Mtp(_) | Layer::Top => None,
        }
    }

    fn indexed(&self, layer: Layer) -> Option<u32> {
        self.ratio(layer).filter(|ratio| *ratio == OVERLAPPING)
    }
}

/// Two layers of their own, then 4 and 128 in turn, as both released models have them.
fn alternating_ratios(first: [u32; 2], layers: usize) -> Vec<u32> {
    first
        .into_iter()
        .chain([OVERLAPPING, 128].into_iter().cycle())
        .take(layers)
        .collect()
}
