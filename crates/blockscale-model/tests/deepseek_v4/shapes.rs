//! Shapes and counts that follow from the dimensions.

use std::collections::BTreeSet;

use blockscale_model::deepseek_v4::{DeepSeekV4, Layer, Part, parse, to_native};

use crate::WRITTEN_BY_OTHERS;

#[test]
fn names_and_shapes_of_other_writers_are_exactly_those_of_the_architecture() {
    for (writer, config, listing) in WRITTEN_BY_OTHERS {
        let arch = DeepSeekV4::from_config(&serde_json::from_str(config).unwrap()).unwrap();
        let mut found = BTreeSet::new();
        for line in listing.lines() {
            let (name, shape) = line.split_once(' ').unwrap();
            let native = to_native(name)
                .unwrap_or_else(|| panic!("{writer}: {name}"))
                .into_owned();
            let shape: Vec<usize> = shape.split('x').map(|n| n.parse().unwrap()).collect();
            assert_eq!(
                arch.expected_shape(&native),
                Some(shape),
                "{writer}: {name} -> {native}"
            );
            assert!(
                found.insert(native),
                "{writer}: {name} maps to a name already taken"
            );
        }
        assert_eq!(found, arch.tensor_names().collect(), "{writer}");
    }
}

#[test]
fn counts_of_the_releases_are_the_published_ones() {
    let pro = DeepSeekV4::pro().counts();
    assert_eq!(
        (
            pro.wo_a,
            pro.fused_modules,
            pro.main_compressors,
            pro.indexers,
            pro.expert_linears
        ),
        (61, 305, 61, 30, 70_272)
    );
    assert_eq!(pro.compressors(), 91);

    let flash = DeepSeekV4::flash().counts();
    assert_eq!(
        (
            flash.wo_a,
            flash.fused_modules,
            flash.main_compressors,
            flash.indexers
        ),
        (43, 215, 41, 21)
    );
    assert_eq!(flash.expert_linears, 33_024);
}

#[test]
fn counts_are_those_of_the_names() {
    for arch in [DeepSeekV4::pro(), DeepSeekV4::flash()] {
        let parts: Vec<Part> = arch
            .tensor_names()
            .filter_map(|name| parse(&name))
            .filter(|name| matches!(name.layer, Layer::Main(_)))
            .map(|name| name.part)
            .collect();
        let count = |part| parts.iter().filter(|found| **found == part).count();
        let counts = arch.counts();
        assert_eq!(count(Part::WoA), counts.wo_a);
        assert_eq!(count(Part::CompressorWkv), counts.main_compressors);
        assert_eq!(count(Part::IndexerWkv), counts.indexers);
        let experts = parts.iter().filter(|part| part.is_routed_expert()).count();
        assert_eq!(experts, counts.expert_linears);
    }
}

#[test]
fn shapes_of_the_releases_are_the_published_ones() {
    let pro = DeepSeekV4::pro();
    let published: [(&str, &[usize]); 30] = [
        ("layers.0.attn.wq_a.weight", &[1536, 7168]),
        ("layers.0.attn.wkv.weight", &[512, 7168]),
        ("layers.0.attn.wq_b.weight", &[65536, 1536]),
        ("layers.0.attn.wo_a.weight", &[16384, 4096]),
        ("layers.0.attn.wo_b.weight", &[7168, 16384]),
        ("layers.0.attn.q_norm.weight", &[1536]),
        ("layers.0.attn.kv_norm.weight", &[512]),
        ("layers.0.attn.attn_sink", &[128]),
        ("layers.0.attn.compressor.wkv.weight", &[512, 7168]),
        ("layers.2.attn.compressor.wgate.weight", &[1024, 7168]),
        ("layers.0.attn.compressor.ape", &[128, 512]),
        ("layers.2.attn.compressor.ape", &[4, 1024]),
        ("layers.2.attn.compressor.norm.weight", &[512]),
        ("layers.2.attn.indexer.wq_b.weight", &[8192, 1536]),
        ("layers.2.attn.indexer.weights_proj.weight", &[64, 7168]),
        (
            "layers.60.attn.indexer.compressor.wgate.weight",
            &[256, 7168],
        ),
        ("layers.60.attn.indexer.compressor.ape", &[4, 256]),
        ("layers.60.attn.indexer.compressor.norm.weight", &[128]),
        ("layers.0.ffn.gate.weight", &[384, 7168]),
        ("layers.2.ffn.gate.tid2eid", &[129_280, 6]),
        ("layers.3.ffn.gate.bias", &[384]),
        ("layers.60.ffn.experts.383.w1.weight", &[3072, 7168]),
        ("layers.60.ffn.experts.383.w2.weight", &[7168, 3072]),
        ("layers.0.ffn.shared_experts.w3.weight", &[3072, 7168]),
        ("layers.0.hc_attn_fn", &[24, 28672]),
        ("layers.0.hc_ffn_scale", &[3]),
        ("mtp.0.e_proj.weight", &[7168, 7168]),
        ("mtp.0.ffn.gate.bias", &[384]),
        ("hc_head_fn", &[4, 28672]),
        ("embed.weight", &[129_280, 7168]),
    ];
    for (name, shape) in published {
        assert_eq!(pro.expected_shape(name).as_deref(), Some(shape), "{name}");
    }
}

#[test]
fn a_tensor_where_the_architecture_has_none_has_no_shape() {
    let pro = DeepSeekV4::pro();
    let absent = [
        "layers.0.attn.indexer.wq_b.weight",
        "layers.1.attn.indexer.compressor.wkv.weight",
        "layers.61.attn.wq_a.weight",
        "layers.0.ffn.experts.384.w1.weight",
        "layers.0.ffn.gate.bias",
        "layers.3.ffn.gate.tid2eid",
        "mtp.0.attn.compressor.wkv.weight",
        "mtp.0.ffn.gate.tid2eid",
        "mtp.1.attn.wq_a.weight",
        "layers.0.attn.wq_a.scale",
    ];
    for name in absent {
        assert_eq!(pro.expected_shape(name), None, "{name}");
    }
    assert_eq!(
        DeepSeekV4::flash().expected_shape("layers.0.attn.compressor.wkv.weight"),
        None
    );
}
