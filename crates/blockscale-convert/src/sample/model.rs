//! Dimensions of the sample, and how each of its tensors is stored.

use blockscale_model::deepseek_v4::{DeepSeekV4, Layer, NativeName, Part, parse};

/// DeepSeek-V4-Pro with small dimensions. All widths of linear layers are multiples of 128, but for
/// `indexer.weights_proj`, whose rows are the heads of the indexer in the large model too.
pub(super) fn small_pro(layers: usize) -> DeepSeekV4 {
    let pro = DeepSeekV4::pro();
    let alternating = [4, 128].into_iter().cycle();
    DeepSeekV4 {
        layers,
        hidden: 256,
        heads: 4,
        head_dim: 128,
        q_lora_rank: 128,
        o_groups: 2,
        o_lora_rank: 128,
        experts: 3,
        experts_per_token: 2,
        moe_intermediate: 128,
        index_heads: 4,
        index_head_dim: 64,
        hash_layers: pro.hash_layers.min(layers),
        vocab: 256,
        ratios: [128, 128]
            .into_iter()
            .chain(alternating)
            .take(layers)
            .collect(),
        ..pro
    }
}

/// How a tensor is stored, and what its numbers are like.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Storage {
    /// A linear layer in NVFP4, with the standard deviation of its weights.
    Nvfp4 { sigma: f32 },
    /// A matrix in BF16, with its standard deviation.
    Bf16 { sigma: f32 },
    /// A norm: near one, values that BF16 holds.
    Norm,
    /// A vector or matrix in F32, with its standard deviation.
    F32 { sigma: f32 },
    /// Experts of each token, I64.
    ExpertIds,
}

impl Storage {
    pub(super) fn of(part: Part) -> Self {
        match part {
            Part::QNorm
            | Part::KvNorm
            | Part::CompressorNorm
            | Part::IndexerNorm
            | Part::AttnNorm
            | Part::FfnNorm
            | Part::Enorm
            | Part::Hnorm
            | Part::Norm => Self::Norm,
            Part::Gate | Part::Embed | Part::Head => Self::Bf16 { sigma: 0.02 },
            Part::GateTid2eid => Self::ExpertIds,
            Part::AttnSink => Self::F32 { sigma: 1.0 },
            Part::GateBias
            | Part::CompressorApe
            | Part::IndexerApe
            | Part::HcAttnFn
            | Part::HcAttnBase
            | Part::HcAttnScale
            | Part::HcFfnFn
            | Part::HcFfnBase
            | Part::HcFfnScale
            | Part::HcHeadFn
            | Part::HcHeadBase
            | Part::HcHeadScale => Self::F32 { sigma: 0.02 },
            // So that the halves of a compressor differ in their global scale.
            Part::CompressorWgate | Part::IndexerWgate => Self::Nvfp4 { sigma: 0.05 },
            _ => Self::Nvfp4 { sigma: 0.02 },
        }
    }
}

/// Tensors that are encoded together: one, or the two that share their global scale.
pub(super) type Unit = Vec<NativeName>;

/// All tensors. `w1` and `w3` of a routed expert are one unit, because runtimes run them as one
/// matrix product with one global scale.
pub(super) fn units(arch: &DeepSeekV4) -> impl Iterator<Item = Unit> + '_ {
    arch.tensor_names()
        .filter_map(|name| parse(&name))
        .filter_map(|name| match name.part {
            Part::ExpertW1 => Some(vec![
                name,
                NativeName {
                    part: Part::ExpertW3,
                    ..name
                },
            ]),
            Part::ExpertW3 => None,
            _ => Some(vec![name]),
        })
}

/// Place of a tensor in the order of the file: the embedding first, then layer by layer, and what
/// follows the last layer with the last.
pub(super) fn position(arch: &DeepSeekV4, name: NativeName) -> usize {
    match (name.layer, name.part) {
        (_, Part::Embed) => 0,
        (Layer::Main(n), _) => n,
        (Layer::Mtp(n), _) => arch.layers + n,
        (Layer::Top, _) => arch.layers + arch.mtp_layers - 1,
    }
}
