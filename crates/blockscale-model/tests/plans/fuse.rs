//! Modules written as one tensor.

use std::collections::BTreeSet;

use blockscale_model::catalog::{Catalog, GateUp, RowOrder};
use blockscale_model::plan::{Plan, PlanError, Step};
use blockscale_model::recipe::{Recipe, builtin};
use blockscale_model::{
    Checkpoint, CheckpointFiles, Dtype, Header, PREFIX_BYTES, ShardFile, ShardName, comparables,
};
use serde_json::Value;

use crate::common::{checkpoint, nvfp4, tensor};
use crate::model::{hf_checkpoint, hf_config, hf_tensors, small_pro};
use crate::{plan, try_plan, weight};

fn fusing() -> Recipe {
    let mut recipe = builtin("deepseek-v4-bf16").unwrap();
    recipe.fuse_modules().unwrap();
    recipe
}

/// The checkpoint that a plan describes.
fn output(plan: &Plan) -> Checkpoint {
    let shards = plan.shards.iter().map(|shard| {
        let json = &shard.header[PREFIX_BYTES..];
        ShardFile {
            name: ShardName::new(&shard.name).unwrap(),
            len: shard.len,
            header: Header::parse(json, shard.len).unwrap(),
        }
    });
    let shards = shards.collect();
    Checkpoint::assemble(CheckpointFiles {
        shards,
        ..CheckpointFiles::default()
    })
    .unwrap()
}

#[test]
fn compressor_is_one_tensor_with_the_rows_of_wkv_first() {
    let checkpoint = hf_checkpoint(&small_pro());
    let catalog = Catalog::of(&checkpoint);
    let plan = plan(&checkpoint, &fusing());
    let modules = [
        (
            "layers.2.attn.compressor",
            "model.layers.2.self_attn.compressor",
            1024,
        ),
        (
            "layers.3.attn.compressor",
            "model.layers.3.self_attn.compressor",
            512,
        ),
        (
            "layers.2.attn.indexer.compressor",
            "model.layers.2.self_attn.compressor.indexer",
            256,
        ),
    ];
    for (module, source, rows) in modules {
        let fused = weight(&plan, &format!("{module}.fused_wkv_wgate.weight"));
        assert_eq!(fused.shape, [2 * rows, 7168]);
        assert_eq!(fused.step, Step::Decode(Dtype::BF16));
        assert_eq!(fused.tensors.len(), 1);
        let pieces: Vec<_> = fused
            .pieces
            .iter()
            .map(|piece| {
                (
                    catalog.weights[piece.weight].name.clone(),
                    piece.rows.clone(),
                )
            })
            .collect();
        let expected =
            ["kv_proj", "gate_proj"].map(|half| (format!("{source}.{half}.weight"), 0..rows));
        assert_eq!(pieces, expected);
    }
    let halves = [".compressor.wkv.weight", ".compressor.wgate.weight"];
    assert!(
        !plan
            .weights
            .iter()
            .any(|w| halves.iter().any(|half| w.name.ends_with(half)))
    );
}

#[test]
fn summary_counts_modules_whether_fused_or_not() {
    let checkpoint = hf_checkpoint(&small_pro());
    let apart = plan(&checkpoint, &builtin("deepseek-v4-bf16").unwrap());
    let fused = plan(&checkpoint, &fusing());
    assert_eq!(fused.summary.to_string(), apart.summary.to_string());
    assert_eq!(apart.weights.len() - fused.weights.len(), 91);
}

#[test]
fn fused_output_is_compared_half_by_half() {
    let source = hf_checkpoint(&small_pro());
    let output = output(&plan(&source, &fusing()));
    let catalog = Catalog::of(&output);
    assert_eq!(catalog.refusals, []);
    let apart = comparables(&output, &catalog);
    let names: BTreeSet<String> = apart.iter().map(|c| c.name.clone()).collect();
    let expected: BTreeSet<String> = small_pro().tensor_names().collect();
    assert_eq!(names, expected);
    let rows = |name: &str| apart.iter().find(|c| c.name == name).unwrap().rows.clone();
    assert_eq!(rows("layers.2.attn.compressor.wkv.weight"), 0..1024);
    assert_eq!(rows("layers.2.attn.compressor.wgate.weight"), 1024..2048);
    assert_eq!(
        rows("layers.2.attn.indexer.compressor.wgate.weight"),
        256..512
    );
}

#[test]
fn modules_that_any_recipe_fuses_are_compared_member_by_member() {
    let arch = small_pro();
    let source = hf_checkpoint(&arch);
    let mut recipe = builtin("deepseek-v4-bf16").unwrap();
    for rule in &mut recipe.rules {
        if !rule.modules.is_empty() && rule.to.is_plain() {
            rule.fuse = Some(true);
        }
    }
    let plan = plan(&source, &recipe);
    assert!(
        plan.weights
            .iter()
            .any(|w| w.name == "layers.0.attn.fused_wqa_wkv.weight")
    );
    let found = output(&plan);
    let catalog = Catalog::of(&found);
    let shared = catalog.weight("layers.0.ffn.shared_experts.gate_up_proj.weight");
    let gate_first = GateUp::Ordered(RowOrder::GateFirst);
    assert_eq!(shared.unwrap().gate_up, gate_first);
    let apart = comparables(&found, &catalog);
    let names: BTreeSet<String> = apart.iter().map(|c| c.name.clone()).collect();
    assert_eq!(names, arch.tensor_names().collect());
    let rows = |name: &str| apart.iter().find(|c| c.name == name).unwrap().rows.clone();
    assert_eq!(rows("layers.0.attn.wq_a.weight"), 0..1536);
    assert_eq!(rows("layers.0.attn.wkv.weight"), 1536..2048);
    assert_eq!(rows("layers.0.ffn.shared_experts.w3.weight"), 3072..6144);
}

#[test]
fn modules_of_three_members_under_any_name_are_taken_apart() {
    let tensors = ["q", "k", "v"].map(|n| tensor(&format!("m.{n}.weight"), Dtype::F32, &[4, 8]));
    let recipe = r#"
        version = 1
        name = "r"
        [[rule]]
        match = ["*"]
        to = "bf16"
        modules = [{ name = "all", rows = ["q", "k", "v"] }]
        fuse = true
    "#;
    let source = checkpoint(Value::Null, &[&tensors]);
    let found = output(&plan(&source, &Recipe::parse(recipe).unwrap()));
    let apart = comparables(&found, &Catalog::of(&found));
    let parts: Vec<_> = apart
        .iter()
        .map(|c| (c.name.as_str(), c.rows.clone()))
        .collect();
    let expected = [
        ("m.q.weight", 0..4),
        ("m.k.weight", 4..8),
        ("m.v.weight", 8..12),
    ];
    assert_eq!(parts, expected);
}

#[test]
fn fused_modules_of_other_tools_go_by_the_sizes_of_the_architecture() {
    let fused = tensor(
        "layers.0.attn.fused_wqa_wkv.weight",
        Dtype::BF16,
        &[2048, 7168],
    );
    let hf = tensor(
        "model.layers.1.self_attn.fused_wqa_wkv.weight",
        Dtype::BF16,
        &[2048, 7168],
    );
    let shared = tensor(
        "layers.0.ffn.shared_experts.gate_up_proj.weight",
        Dtype::BF16,
        &[6144, 7168],
    );
    let found = checkpoint(hf_config(&small_pro()), &[&[fused.clone(), hf, shared]]);
    let apart = comparables(&found, &Catalog::of(&found));
    let parts: Vec<_> = apart
        .iter()
        .map(|c| (c.name.as_str(), c.rows.clone()))
        .collect();
    assert_eq!(
        parts,
        [
            ("layers.0.attn.wq_a.weight", 0..1536),
            ("layers.0.attn.wkv.weight", 1536..2048),
            ("layers.0.ffn.shared_experts.w1.weight", 0..3072),
            ("layers.0.ffn.shared_experts.w3.weight", 3072..6144),
            ("layers.1.attn.wq_a.weight", 0..1536),
            ("layers.1.attn.wkv.weight", 1536..2048),
        ]
    );
    // Without sizes nothing says where one ends.
    let alone = checkpoint(Value::Null, &[&[fused]]);
    let whole = comparables(&alone, &Catalog::of(&alone));
    assert_eq!(whole.len(), 1);
}

#[test]
fn half_of_a_module_is_refused() {
    let arch = small_pro();
    let halves = [
        (
            "self_attn.compressor.gate_proj.",
            "layers.2.attn.compressor",
            "wgate",
        ),
        (
            "self_attn.compressor.kv_proj.",
            "layers.2.attn.compressor",
            "wkv",
        ),
        (
            "self_attn.compressor.indexer.kv_proj.",
            "layers.2.attn.indexer.compressor",
            "wkv",
        ),
    ];
    for (half, parent, member) in halves {
        let prefix = format!("model.layers.2.{half}");
        let mut tensors = hf_tensors(&arch);
        tensors.retain(|t| !t.name.starts_with(&prefix));
        let checkpoint = checkpoint(hf_config(&arch), &[&tensors]);
        match try_plan(&checkpoint, &fusing()) {
            Err(PlanError::IncompleteModule { module, missing }) => {
                assert_eq!(module, format!("{parent}.fused_wkv_wgate.weight"));
                assert_eq!(missing, member);
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Fuses `a` and `b` to BF16.
fn pair_recipe() -> Recipe {
    Recipe::parse(
        r#"
        version = 1
        name = "r"
        [[rule]]
        match = ["*"]
        to = "bf16"
        modules = [{ name = "ab", rows = ["a", "b"] }]
        fuse = true
        "#,
    )
    .unwrap()
}

#[test]
fn halves_of_different_widths_are_refused() {
    let tensors = [
        tensor("m.a.weight", Dtype::F32, &[4, 8]),
        tensor("m.b.weight", Dtype::F32, &[4, 6]),
    ];
    match try_plan(&checkpoint(Value::Null, &[&tensors]), &pair_recipe()) {
        Err(PlanError::UnevenModule { module, found }) => {
            assert_eq!(
                (module.as_str(), found.as_slice()),
                ("m.ab.weight", &[8, 6][..])
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn halves_that_are_there_already_are_copied_on_top_of_each_other() {
    let tensors = [
        tensor("m.b.weight", Dtype::BF16, &[2, 8]),
        tensor("m.a.weight", Dtype::BF16, &[4, 8]),
    ];
    let checkpoint = checkpoint(Value::Null, &[&tensors]);
    let plan = plan(&checkpoint, &pair_recipe());
    let fused = weight(&plan, "m.ab.weight");
    assert_eq!(fused.step, Step::Copy);
    assert_eq!(fused.tensors[0].shape, [6, 8]);
    let copied: Vec<_> = fused.tensors[0]
        .copied_from()
        .iter()
        .map(|from| {
            (
                checkpoint.tensors[from.tensor].name.as_str(),
                from.range.clone(),
            )
        })
        .collect();
    assert_eq!(copied, [("m.a.weight", 0..64), ("m.b.weight", 0..32)]);
}

#[test]
fn halves_stored_differently_are_decoded_each_in_its_own_format() {
    let mut tensors = nvfp4("m.b", [4, 32]).to_vec();
    tensors.push(tensor("m.a.weight", Dtype::BF16, &[4, 32]));
    let plan = plan(&checkpoint(Value::Null, &[&tensors]), &pair_recipe());
    let fused = weight(&plan, "m.ab.weight");
    assert_eq!(fused.step, Step::Decode(Dtype::BF16));
    assert_eq!(fused.shape, [8, 32]);
    assert_eq!(fused.pieces.len(), 2);
}
