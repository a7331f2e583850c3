//! The built-in recipes on DeepSeek-V4-Pro.

use std::collections::BTreeSet;

use blockscale_model::catalog::PartRole;
use blockscale_model::deepseek_v4::{DeepSeekV4, parse};
use blockscale_model::plan::{Plan, Step};
use blockscale_model::recipe::builtin;
use blockscale_model::{Dtype, comparables};

use crate::common::Field;
use crate::model::{hf_checkpoint, small_pro};
use crate::{plan, tensors, weight};

fn plan_of(recipe: &str) -> Plan {
    plan(&hf_checkpoint(&small_pro()), &builtin(recipe).unwrap())
}

fn has_lines(plan: &Plan, lines: &[&str]) {
    let text = plan.summary.to_string();
    for line in lines {
        assert!(
            text.lines().any(|found| found == *line),
            "no `{line}` in\n{text}"
        );
    }
}

#[test]
fn summary_of_the_bf16_recipe_on_all_of_pro() {
    let pro = DeepSeekV4::pro();
    let plan = plan(&hf_checkpoint(&pro), &builtin("deepseek-v4-bf16").unwrap());
    has_lines(
        &plan,
        &[
            "61 wo_a NVFP4 -> FP8",
            "305 attention/shared modules -> BF16",
            "91 compressors -> BF16 (61 main + 30 indexer)",
            "30 indexer wq_b NVFP4 -> BF16",
            "71424 routed experts NVFP4 copied",
            "0 BF16 -> FP8",
        ],
    );
    let weights = |label: &str| {
        let line = plan.summary.lines.iter().find(|line| line.label == label);
        line.unwrap().weights
    };
    assert_eq!(weights("attention/shared modules"), 427);
    assert_eq!(weights("compressors"), 182);
    // One MTP layer has experts too.
    assert_eq!(
        weights("routed experts"),
        pro.counts().expert_linears + 3 * 384
    );
    assert_eq!(plan.findings, []);
}

#[test]
fn summary_of_the_official_recipe() {
    has_lines(
        &plan_of("deepseek-v4"),
        &[
            "61 wo_a NVFP4 -> FP8",
            "305 attention/shared modules -> FP8",
            "91 compressors -> BF16 (61 main + 30 indexer)",
            "30 indexer wq_b NVFP4 -> FP8",
            "0 BF16 -> FP8",
        ],
    );
}

#[test]
fn bf16_weights_that_become_fp8_are_counted() {
    // Its exporter left `o_a_proj` in BF16.
    let checkpoint = Field::ModeloptNvfp4Dsv4.checkpoint();
    let plan = plan(&checkpoint, &builtin("deepseek-v4").unwrap());
    has_lines(&plan, &["1 wo_a BF16 -> FP8", "1 BF16 -> FP8"]);
}

/// The published table of one layer, with NVFP4 experts.
fn published_layer(layer: usize) -> BTreeSet<(String, Dtype, Vec<usize>)> {
    use Dtype::{BF16, F8_E4M3, F8_E8M0, F32, I64, U8};
    let common: [(&str, Dtype, &[usize]); 34] = [
        ("attn.wq_a.weight", F8_E4M3, &[1536, 7168]),
        ("attn.wq_a.scale", F8_E8M0, &[12, 56]),
        ("attn.wkv.weight", F8_E4M3, &[512, 7168]),
        ("attn.wkv.scale", F8_E8M0, &[4, 56]),
        ("attn.wq_b.weight", F8_E4M3, &[65536, 1536]),
        ("attn.wq_b.scale", F8_E8M0, &[512, 12]),
        ("attn.wo_a.weight", F8_E4M3, &[16384, 4096]),
        ("attn.wo_a.scale", F8_E8M0, &[128, 32]),
        ("attn.wo_b.weight", F8_E4M3, &[7168, 16384]),
        ("attn.wo_b.scale", F8_E8M0, &[56, 128]),
        ("attn.q_norm.weight", BF16, &[1536]),
        ("attn.kv_norm.weight", BF16, &[512]),
        ("attn.attn_sink", F32, &[128]),
        ("attn.compressor.norm.weight", BF16, &[512]),
        ("ffn.gate.weight", BF16, &[2, 7168]),
        ("ffn.shared_experts.w1.weight", F8_E4M3, &[3072, 7168]),
        ("ffn.shared_experts.w1.scale", F8_E8M0, &[24, 56]),
        ("ffn.shared_experts.w3.weight", F8_E4M3, &[3072, 7168]),
        ("ffn.shared_experts.w3.scale", F8_E8M0, &[24, 56]),
        ("ffn.shared_experts.w2.weight", F8_E4M3, &[7168, 3072]),
        ("ffn.shared_experts.w2.scale", F8_E8M0, &[56, 24]),
        ("attn_norm.weight", BF16, &[7168]),
        ("ffn_norm.weight", BF16, &[7168]),
        ("hc_attn_fn", F32, &[24, 28672]),
        ("hc_attn_base", F32, &[24]),
        ("hc_attn_scale", F32, &[3]),
        ("hc_ffn_fn", F32, &[24, 28672]),
        ("hc_ffn_base", F32, &[24]),
        ("hc_ffn_scale", F32, &[3]),
        ("ffn.experts.1.w1.weight", U8, &[3072, 3584]),
        ("ffn.experts.1.w1.weight_scale", F8_E4M3, &[3072, 448]),
        ("ffn.experts.1.w2.weight", U8, &[7168, 1536]),
        ("ffn.experts.1.w2.weight_scale", F8_E4M3, &[7168, 192]),
        ("ffn.experts.1.w3.weight", U8, &[3072, 3584]),
    ];
    let overlapping: [(&str, Dtype, &[usize]); 10] = [
        ("attn.compressor.wkv.weight", BF16, &[1024, 7168]),
        ("attn.compressor.wgate.weight", BF16, &[1024, 7168]),
        ("attn.compressor.ape", F32, &[4, 1024]),
        ("attn.indexer.wq_b.weight", F8_E4M3, &[8192, 1536]),
        ("attn.indexer.wq_b.scale", F8_E8M0, &[64, 12]),
        ("attn.indexer.weights_proj.weight", BF16, &[64, 7168]),
        ("attn.indexer.compressor.wkv.weight", BF16, &[256, 7168]),
        ("attn.indexer.compressor.wgate.weight", BF16, &[256, 7168]),
        ("attn.indexer.compressor.ape", F32, &[4, 256]),
        ("attn.indexer.compressor.norm.weight", BF16, &[128]),
    ];
    let long: [(&str, Dtype, &[usize]); 3] = [
        ("attn.compressor.wkv.weight", BF16, &[512, 7168]),
        ("attn.compressor.wgate.weight", BF16, &[512, 7168]),
        ("attn.compressor.ape", F32, &[128, 512]),
    ];
    let router: (&str, Dtype, &[usize]) = match layer {
        0..3 => ("ffn.gate.tid2eid", I64, &[129_280, 6]),
        _ => ("ffn.gate.bias", F32, &[2]),
    };
    let own = if layer.is_multiple_of(2) {
        &overlapping[..]
    } else {
        &long
    };
    let mut table: BTreeSet<_> = common
        .iter()
        .chain(own)
        .chain([&router])
        .map(|&(name, dtype, shape)| (format!("layers.{layer}.{name}"), dtype, shape.to_vec()))
        .collect();
    let expert = format!("layers.{layer}.ffn.experts.1");
    table.insert((
        format!("{expert}.w3.weight_scale"),
        F8_E4M3,
        vec![3072, 448],
    ));
    for linear in ["w1", "w2", "w3"] {
        for scale in ["weight_scale_2", "input_scale"] {
            table.insert((format!("{expert}.{linear}.{scale}"), F32, vec![]));
        }
    }
    table
}

#[test]
fn layers_of_the_official_recipe_are_the_published_ones() {
    let plan = plan_of("deepseek-v4");
    // With the overlapping compressor and an indexer; with the long one.
    for layer in [2, 3] {
        let prefix = format!("layers.{layer}.");
        let found: BTreeSet<_> = tensors(&plan)
            .into_iter()
            .filter(|(name, ..)| name.starts_with(&prefix) && !name.contains(".experts.0."))
            .map(|(name, dtype, shape)| (name.to_owned(), dtype, shape.to_vec()))
            .collect();
        let published = published_layer(layer);
        let missing: Vec<_> = published.difference(&found).collect();
        let surplus: Vec<_> = found.difference(&published).collect();
        assert!(
            missing.is_empty() && surplus.is_empty(),
            "{missing:?}\n{surplus:?}"
        );
    }
}

#[test]
fn every_weight_of_the_model_is_written_once_under_its_native_name() {
    for recipe in ["deepseek-v4", "deepseek-v4-bf16"] {
        let names: Vec<String> = plan_of(recipe)
            .weights
            .into_iter()
            .map(|w| w.name)
            .collect();
        let distinct: BTreeSet<String> = names.iter().cloned().collect();
        assert_eq!(names.len(), distinct.len());
        assert_eq!(distinct, small_pro().tensor_names().collect(), "{recipe}");
    }
}

#[test]
fn wo_a_of_the_bf16_recipe_has_an_f32_block_scale() {
    let plan = plan_of("deepseek-v4-bf16");
    for layer in ["layers.0", "layers.60", "mtp.0"] {
        let wo_a = weight(&plan, &format!("{layer}.attn.wo_a.weight"));
        let scale = wo_a.tensor(PartRole::BlockScale).unwrap();
        assert_eq!(scale.name, format!("{layer}.attn.wo_a.weight_scale_inv"));
        assert_eq!(
            (scale.dtype, scale.shape.as_slice()),
            (Dtype::F32, &[128, 32][..])
        );
    }
}

#[test]
fn routed_experts_are_copied_byte_for_byte() {
    let checkpoint = hf_checkpoint(&small_pro());
    for recipe in ["deepseek-v4", "deepseek-v4-bf16"] {
        let plan = plan(&checkpoint, &builtin(recipe).unwrap());
        let experts: Vec<_> = plan
            .weights
            .iter()
            .filter(|w| parse(&w.name).is_some_and(|name| name.part.is_routed_expert()))
            .collect();
        assert_eq!(experts.len(), 62 * 2 * 3);
        for expert in experts {
            assert_eq!(expert.step, Step::Copy);
            assert_eq!(expert.tensors.len(), 4);
            for tensor in &expert.tensors {
                let [from] = tensor.copied_from() else {
                    panic!("{tensor:?}")
                };
                let raw = &checkpoint.tensors[from.tensor];
                assert_eq!((from.range.start, from.range.end), (0, raw.bytes()));
                assert_eq!((raw.dtype, &raw.shape), (tensor.dtype, &tensor.shape));
            }
        }
    }
}

#[test]
fn activation_scales_of_converted_weights_are_dropped_and_listed() {
    let plan = plan_of("deepseek-v4");
    let kept = tensors(&plan)
        .iter()
        .filter(|(name, ..)| name.ends_with(".input_scale"))
        .count();
    assert_eq!(kept, 62 * 2 * 3);
    // 62 layers with 5 attention and 3 shared linears, 91 compressors of 2, 30
    // indexers of 2, the two of the MTP layer.
    assert_eq!(plan.dropped.len(), 62 * 8 + 91 * 2 + 30 * 2 + 2);
    assert!(
        plan.dropped
            .iter()
            .all(|d| d.tensor.ends_with(".input_scale"))
    );
}

#[test]
fn norms_return_to_bf16_and_should_not_change_by_it() {
    let plan = plan_of("deepseek-v4");
    let norm = weight(&plan, "layers.0.attn.kv_norm.weight");
    assert_eq!(norm.step, Step::Decode(Dtype::BF16));
    assert!(norm.should_be_exact);
    let attention = weight(&plan, "layers.0.attn.wq_a.weight");
    assert!(!attention.should_be_exact);
}

#[test]
fn published_form_goes_through_the_official_recipe_unchanged() {
    for field in [Field::Dsv4Official, Field::Dsv4Nvfp4] {
        let checkpoint = field.checkpoint();
        let plan = plan(&checkpoint, &builtin("deepseek-v4").unwrap());
        assert_eq!(plan.summary.copied, plan.weights.len(), "{field:?}");
        let mut written: Vec<_> = tensors(&plan);
        written.sort();
        let mut read: Vec<_> = checkpoint
            .tensors
            .iter()
            .map(|t| (t.name.as_str(), t.dtype, t.shape.as_slice()))
            .collect();
        read.sort();
        assert_eq!(written, read, "{field:?}");
        assert_eq!(plan.findings, []);
    }
}

#[test]
fn names_in_two_spellings_are_comparable() {
    let native = |field: Field| -> BTreeSet<String> {
        let checkpoint = field.checkpoint();
        let catalog = blockscale_model::catalog::Catalog::of(&checkpoint);
        comparables(&checkpoint, &catalog)
            .into_iter()
            .map(|c| c.name)
            .collect()
    };
    assert_eq!(native(Field::Dsv4Nvfp4), native(Field::ModeloptNvfp4Dsv4));
}
