//! Spellings of tensor names.

use blockscale_model::deepseek_v4::{
    DeepSeekV4, FusedExperts, Layer, NativeName, Part, fused_experts, parse, to_hf, to_native,
};
use proptest::prelude::*;

#[test]
fn each_spelling_maps_to_the_tensor_it_means() {
    let pairs = [
        (
            "model.layers.3.self_attn.q_a_proj.weight",
            "layers.3.attn.wq_a.weight",
        ),
        (
            "model.layers.3.self_attn.q_b_proj.weight",
            "layers.3.attn.wq_b.weight",
        ),
        (
            "model.layers.3.self_attn.kv_proj.weight",
            "layers.3.attn.wkv.weight",
        ),
        (
            "model.layers.3.self_attn.o_a_proj.weight",
            "layers.3.attn.wo_a.weight",
        ),
        (
            "model.layers.3.self_attn.o_b_proj.weight",
            "layers.3.attn.wo_b.weight",
        ),
        (
            "model.layers.3.self_attn.q_a_norm.weight",
            "layers.3.attn.q_norm.weight",
        ),
        (
            "model.layers.3.self_attn.kv_norm.weight",
            "layers.3.attn.kv_norm.weight",
        ),
        (
            "model.layers.3.self_attn.norm.weight",
            "layers.3.attn.kv_norm.weight",
        ),
        (
            "model.layers.3.attn.norm.weight",
            "layers.3.attn.kv_norm.weight",
        ),
        ("model.layers.3.self_attn.sinks", "layers.3.attn.attn_sink"),
        (
            "model.layers.2.self_attn.compressor.kv_proj.weight",
            "layers.2.attn.compressor.wkv.weight",
        ),
        (
            "model.layers.2.self_attn.compressor.gate_proj.weight",
            "layers.2.attn.compressor.wgate.weight",
        ),
        (
            "model.layers.2.self_attn.compressor.position_bias",
            "layers.2.attn.compressor.ape",
        ),
        (
            "model.layers.2.self_attn.compressor.norm.weight",
            "layers.2.attn.compressor.norm.weight",
        ),
        (
            "model.layers.2.self_attn.compressor.indexer.kv_proj.weight",
            "layers.2.attn.indexer.compressor.wkv.weight",
        ),
        (
            "model.layers.2.self_attn.compressor.indexer.gate_proj.weight",
            "layers.2.attn.indexer.compressor.wgate.weight",
        ),
        (
            "model.layers.2.self_attn.compressor.indexer.q_b_proj.weight",
            "layers.2.attn.indexer.wq_b.weight",
        ),
        (
            "model.layers.2.self_attn.compressor.indexer.scorer.weights_proj.weight",
            "layers.2.attn.indexer.weights_proj.weight",
        ),
        (
            "model.layers.2.self_attn.compressor.indexer.norm.weight",
            "layers.2.attn.indexer.compressor.norm.weight",
        ),
        (
            "model.layers.0.input_layernorm.weight",
            "layers.0.attn_norm.weight",
        ),
        (
            "model.layers.0.post_attention_layernorm.weight",
            "layers.0.ffn_norm.weight",
        ),
        (
            "model.layers.0.mlp.gate.e_score_correction_bias",
            "layers.0.ffn.gate.bias",
        ),
        (
            "model.layers.0.mlp.experts.10.gate_proj.weight",
            "layers.0.ffn.experts.10.w1.weight",
        ),
        (
            "model.layers.0.mlp.experts.10.down_proj.weight",
            "layers.0.ffn.experts.10.w2.weight",
        ),
        (
            "model.layers.0.mlp.experts.10.up_proj.weight",
            "layers.0.ffn.experts.10.w3.weight",
        ),
        (
            "model.layers.0.mlp.shared_experts.up_proj.weight",
            "layers.0.ffn.shared_experts.w3.weight",
        ),
        (
            "model.layers.0.ffn.experts.0.w1.weight",
            "layers.0.ffn.experts.0.w1.weight",
        ),
        ("model.layers.0.attn_hc.scale", "layers.0.hc_attn_scale"),
        ("model.layers.0.ffn_hc.fn", "layers.0.hc_ffn_fn"),
        (
            "model.mtp.0.self_attn.q_a_proj.weight",
            "mtp.0.attn.wq_a.weight",
        ),
        ("mtp.0.self_attn.q_a_proj.weight", "mtp.0.attn.wq_a.weight"),
        ("model.mtp.0.hc_head.hc_base", "mtp.0.hc_head_base"),
        ("model.mtp.0.norm.weight", "mtp.0.norm.weight"),
        ("model.hc_head.hc_scale", "hc_head_scale"),
        ("model.embed_tokens.weight", "embed.weight"),
        ("lm_head.weight", "head.weight"),
        ("model.norm.weight", "norm.weight"),
    ];
    for (spelled, native) in pairs {
        assert_eq!(to_native(spelled).as_deref(), Some(native), "{spelled}");
    }
}

#[test]
fn hugging_face_names_come_back_for_every_tensor_of_both_releases() {
    for arch in [DeepSeekV4::pro(), DeepSeekV4::flash()] {
        for native in arch.tensor_names() {
            assert_eq!(to_native(&native).as_deref(), Some(native.as_str()));
            let hf = to_hf(&native).unwrap_or_else(|| panic!("no Hugging Face name for {native}"));
            assert_eq!(to_native(&hf).as_deref(), Some(native.as_str()), "{hf}");
        }
    }
}

#[test]
fn scales_and_foreign_names_are_no_weights() {
    let names = [
        "",
        "model.",
        "layers.0",
        "layers..attn.wq_a.weight",
        "layers.00.attn.wq_a.weight",
        "layers.+1.attn.wq_a.weight",
        "layers.99999999999999999999999.attn.wq_a.weight",
        "layers.0.attn.wq_a.scale",
        "layers.0.attn.wq_a.weight_scale_2",
        "layers.0.ffn.experts.x.w1.weight",
        "layers.0.ffn.experts.01.w1.weight",
        "layers.0.ffn.experts.{E}.w1.weight",
        "layers.0.enorm.weight",
        "mtp.0.embed.weight",
        "model.model.norm.weight",
        "model.layers.0.mlp.down_proj.weight",
        "model.layers.0.self_attn.indexer.wq_b.weight",
    ];
    for name in names {
        assert_eq!(to_native(name), None, "{name}");
    }
}

#[test]
fn only_native_spelling_parses_as_native() {
    let name = NativeName {
        layer: Layer::Main(4),
        expert: 12,
        part: Part::ExpertW2,
    };
    assert_eq!(name.to_string(), "layers.4.ffn.experts.12.w2.weight");
    assert_eq!(parse(&name.to_string()), Some(name));
    assert_eq!(parse("model.layers.4.ffn.experts.12.w2.weight"), None);
    assert_eq!(
        to_hf("model.layers.4.mlp.experts.12.down_proj.weight"),
        None
    );
}

#[test]
fn stacked_experts_are_told_from_single_ones() {
    let gate_up = fused_experts("model.layers.5.mlp.experts.gate_up_proj");
    assert_eq!(gate_up, Some((Layer::Main(5), FusedExperts::GateUp)));
    let down = fused_experts("mtp.0.mlp.experts.down_proj");
    assert_eq!(down, Some((Layer::Mtp(0), FusedExperts::Down)));
    assert_eq!(
        fused_experts("model.layers.5.mlp.experts.0.down_proj.weight"),
        None
    );

    let pro = DeepSeekV4::pro();
    let shape = |name| pro.expected_shape(&to_native(name).unwrap());
    assert_eq!(
        shape("model.layers.5.mlp.experts.gate_up_proj"),
        Some(vec![384, 6144, 7168])
    );
    assert_eq!(
        shape("model.layers.5.mlp.experts.down_proj"),
        Some(vec![384, 7168, 3072])
    );
    assert!(
        pro.tensor_names()
            .all(|name| fused_experts(&name).is_none())
    );
}

fn any_name() -> impl Strategy<Value = NativeName> {
    let layer = prop_oneof![
        any::<usize>().prop_map(Layer::Main),
        any::<usize>().prop_map(Layer::Mtp),
        Just(Layer::Top),
    ];
    let parts: Vec<Part> = Part::all().collect();
    (layer, any::<usize>(), proptest::sample::select(parts))
        .prop_filter("the part must occur in the layer", |(layer, _, part)| {
            part.occurs_in(*layer)
        })
        .prop_map(|(layer, expert, part)| {
            let expert = if part.is_routed_expert() { expert } else { 0 };
            NativeName {
                layer,
                expert,
                part,
            }
        })
}

proptest! {
    #[test]
    fn every_name_survives_both_spellings(name in any_name()) {
        let native = name.to_string();
        prop_assert_eq!(parse(&native), Some(name));
        prop_assert_eq!(to_native(&native).unwrap(), native.as_str());
        let hf = to_hf(&native).unwrap();
        prop_assert_eq!(to_native(&hf).unwrap(), native.as_str());
    }

    #[test]
    fn the_prefix_of_the_base_model_is_optional(name in any_name()) {
        let native = name.to_string();
        let prefixed = format!("model.{native}");
        prop_assert_eq!(to_native(&prefixed).unwrap(), native.as_str());
        let hf = name.to_hf();
        let bare = hf.strip_prefix("model.").unwrap_or(&hf);
        prop_assert_eq!(to_native(bare).unwrap(), native.as_str());
    }
}
