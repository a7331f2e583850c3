//! Names of tensors, in every spelling.

use blockscale::layout::ScaleLayout;
use blockscale_model::catalog::{ExpertPart, module_of, other_half};
use blockscale_model::deepseek_v4::{fused_experts, parse, to_hf, to_native};
use blockscale_model::dialect::Dialect;
use blockscale_model::recipe::Target;

/// A name. What is native is native after the way through Hugging Face's spelling, too.
pub(super) fn names(data: &[u8]) {
    let name = &*String::from_utf8_lossy(data);
    if let Some(native) = parse(name) {
        assert_eq!(native.to_string(), name);
        let hf = to_hf(name).expect("a native name has a spelling");
        assert_eq!(to_native(&hf).as_deref(), Some(name), "by way of `{hf}`");
    }
    if let Some(native) = to_native(name) {
        assert!(parse(&native).is_some(), "`{native}` is not native");
    }
    let _ = fused_experts(name);
    let _ = ExpertPart::of(name);
    if let Some(other) = other_half(name) {
        assert_eq!(
            other_half(&other).as_deref(),
            Some(name),
            "by way of `{other}`"
        );
    }
    assert!(name.starts_with(module_of(name)));
    if let Some(layout) = ScaleLayout::from_name(name) {
        assert_eq!(layout.name(), name);
    }
    let _ = (name.parse::<Target>(), name.parse::<Dialect>());
}

pub(super) fn known() -> Vec<Vec<u8>> {
    let all = [
        "layers.2.attn.indexer.compressor.wkv.weight",
        "model.layers.2.self_attn.compressor.indexer.kv_proj.weight",
        "model.layers.2.mlp.experts.17.up_proj.weight",
        "model.layers.7.mlp.experts.down_proj",
        "mtp.0.ffn.experts.3.w1.scale",
        "layers.0.hc_attn_fn",
        "embed.weight",
        "lm_head.weight_scale_inv",
        "blk.3.ffn_gate_exps.weight",
    ];
    let layouts = ScaleLayout::ALL.map(|layout| layout.name());
    let texts = all.iter().copied().chain(layouts);
    texts.map(|text| text.as_bytes().to_vec()).collect()
}
