//! Where every output tensor lies.

use std::collections::BTreeMap;

use blockscale_model::catalog::Catalog;
use blockscale_model::plan::{Plan, PlanOptions};
use blockscale_model::recipe::{Recipe, Target, builtin, generic};
use blockscale_model::{
    Checkpoint, Dtype, Header, Index, NewTensor, PREFIX_BYTES, ShardName, lay_out,
};
use proptest::prelude::*;
use serde_json::Value;

use crate::common::{Field, checkpoint, tensor};
use crate::model::{hf_checkpoint, small_pro};
use crate::{document, plan, weight};

const INDEX: &str = "model.safetensors.index.json";

fn plan_in(checkpoint: &Checkpoint, recipe: &Recipe, max_shard_bytes: u64) -> Plan {
    let options = PlanOptions {
        max_shard_bytes,
        ..PlanOptions::default()
    };
    Plan::build(checkpoint, &Catalog::of(checkpoint), recipe, &options).unwrap()
}

/// U8 vectors of these lengths.
fn bytes(lengths: &[usize]) -> Checkpoint {
    let name = |i: usize| format!("{i:03}");
    let tensors: Vec<NewTensor> = lengths
        .iter()
        .enumerate()
        .map(|(i, &len)| tensor(&name(i), Dtype::U8, &[len]))
        .collect();
    checkpoint(Value::Null, &[&tensors])
}

fn keep() -> Recipe {
    Recipe::parse("version = 1\nname = \"r\"\n[[rule]]\nmatch = [\"*\"]\nto = \"keep\"").unwrap()
}

fn shard_sizes(plan: &Plan) -> Vec<u64> {
    plan.shards
        .iter()
        .map(|s| {
            plan.weights[s.weights.clone()]
                .iter()
                .map(|w| w.bytes())
                .sum()
        })
        .collect()
}

proptest! {
    #[test]
    fn shards_are_filled_in_order_up_to_the_limit(
        lengths in prop::collection::vec(0usize..200, 1..30),
        limit in 1u64..400,
    ) {
        let plan = plan_in(&bytes(&lengths), &keep(), limit);
        let mut next = 0;
        for (i, shard) in plan.shards.iter().enumerate() {
            prop_assert_eq!(shard.weights.start, next);
            next = shard.weights.end;
            for weight in &plan.weights[shard.weights.clone()] {
                prop_assert_eq!(weight.shard, i);
            }
        }
        prop_assert_eq!(next, lengths.len());
        let sizes = shard_sizes(&plan);
        for (i, shard) in plan.shards.iter().enumerate() {
            // Larger than the limit only where one weight is.
            prop_assert!(sizes[i] <= limit || plan.weights[shard.weights.start].bytes() > limit);
            // Closed only where the next weight does not fit.
            if let Some(next) = plan.weights.get(shard.weights.end) {
                prop_assert!(sizes[i] + next.bytes() > limit);
            }
        }
    }
}

#[test]
fn all_tensors_of_a_weight_are_in_one_shard() {
    let plan = plan_in(
        &hf_checkpoint(&small_pro()),
        &builtin("deepseek-v4").unwrap(),
        1 << 30,
    );
    assert!(plan.shards.len() > 10);
    for (i, shard) in plan.shards.iter().enumerate() {
        let json = &shard.header[PREFIX_BYTES..];
        let header = Header::parse(json, shard.len).unwrap();
        let planned: usize = plan.weights[shard.weights.clone()]
            .iter()
            .map(|w| w.tensors.len())
            .sum();
        assert_eq!(header.tensors.len(), planned);
        let names: Vec<&str> = header.tensors.iter().map(|t| t.name.as_str()).collect();
        for weight in plan.weights.iter().filter(|w| w.shard == i) {
            assert!(
                weight
                    .tensors
                    .iter()
                    .all(|t| names.contains(&t.name.as_str()))
            );
        }
    }
}

#[test]
fn ranges_are_those_that_the_header_lays_out() {
    let checkpoint = Field::ModeloptNvfp4Dsv4.checkpoint();
    let plan = plan_in(&checkpoint, &builtin("deepseek-v4").unwrap(), 100_000);
    assert!(plan.shards.len() > 1);
    let metadata = BTreeMap::from([("format".to_owned(), "pt".to_owned())]);
    for shard in &plan.shards {
        let tensors: Vec<_> = plan.weights[shard.weights.clone()]
            .iter()
            .flat_map(|w| &w.tensors)
            .collect();
        let new: Vec<NewTensor> = tensors
            .iter()
            .map(|t| tensor(&t.name, t.dtype, &t.shape))
            .collect();
        let layout = lay_out(&new, &metadata).unwrap();
        assert_eq!(shard.header, layout.bytes);
        assert_eq!(shard.len, layout.file_len);
        let ranges: Vec<_> = tensors.iter().map(|t| t.range.clone()).collect();
        assert_eq!(ranges, layout.ranges);
    }
    let len: u64 = plan.shards.iter().map(|s| s.len).sum();
    assert_eq!(plan.output_bytes(), len);
}

#[test]
fn index_lists_exactly_the_output_tensors() {
    let checkpoint = Field::ModeloptNvfp4Dsv4.checkpoint();
    let plan = plan_in(&checkpoint, &builtin("deepseek-v4").unwrap(), 100_000);
    let last = plan.documents.last().unwrap();
    assert_eq!(last.name, INDEX);
    let index = Index::parse(&last.bytes).unwrap();
    let mut listed: Vec<(String, ShardName)> = index.weight_map;
    listed.sort();
    let mut written: Vec<(String, ShardName)> = plan
        .weights
        .iter()
        .flat_map(|w| w.tensors.iter().map(move |t| (t, w.shard)))
        .map(|(t, shard)| {
            (
                t.name.clone(),
                ShardName::new(&plan.shards[shard].name).unwrap(),
            )
        })
        .collect();
    written.sort();
    assert_eq!(listed, written);
    let total = document(&plan, INDEX)["metadata"]["total_size"].as_u64();
    assert_eq!(total, Some(shard_sizes(&plan).iter().sum()));
}

#[test]
fn scales_in_other_shards_leave_the_index() {
    let first = [
        tensor(
            "model.layers.0.self_attn.q_proj.weight",
            Dtype::F8_E4M3,
            &[8, 16],
        ),
        tensor(
            "model.layers.0.self_attn.k_proj.weight_scale_inv",
            Dtype::F32,
            &[1, 1],
        ),
    ];
    let second = [
        tensor(
            "model.layers.0.self_attn.q_proj.weight_scale_inv",
            Dtype::F32,
            &[1, 1],
        ),
        tensor(
            "model.layers.0.self_attn.k_proj.weight",
            Dtype::F8_E4M3,
            &[4, 16],
        ),
        tensor("model.layers.0.input_layernorm.weight", Dtype::BF16, &[16]),
    ];
    let checkpoint = checkpoint(Value::Null, &[&first, &second]);
    let plan = plan(&checkpoint, &generic(Target::Bf16, vec![], vec![]));
    let index = document(&plan, INDEX);
    assert_eq!(index["metadata"]["total_size"], 416);
    let names: Vec<&String> = index["weight_map"].as_object().unwrap().keys().collect();
    assert_eq!(
        names,
        [
            "model.layers.0.input_layernorm.weight",
            "model.layers.0.self_attn.k_proj.weight",
            "model.layers.0.self_attn.q_proj.weight",
        ]
    );
}

#[test]
fn one_file_has_a_plain_name_unless_the_source_was_sharded() {
    let single = bytes(&[4, 4]);
    let single_plan = plan(&single, &keep());
    assert_eq!(single_plan.shards[0].name, "model.safetensors");
    assert_eq!(single_plan.documents, []);

    let sharded = checkpoint(
        Value::Null,
        &[
            &[tensor("a", Dtype::U8, &[4])],
            &[tensor("b", Dtype::U8, &[4])],
        ],
    );
    let sharded_plan = plan(&sharded, &keep());
    let names: Vec<&str> = sharded_plan
        .shards
        .iter()
        .map(|s| s.name.as_str())
        .collect();
    assert_eq!(names, ["model-00001-of-00001.safetensors"]);
    assert_eq!(sharded_plan.documents.last().unwrap().name, INDEX);

    let cut: Vec<String> = plan_in(&single, &keep(), 4)
        .shards
        .into_iter()
        .map(|s| s.name)
        .collect();
    assert_eq!(
        cut,
        [
            "model-00001-of-00002.safetensors",
            "model-00002-of-00002.safetensors"
        ]
    );
}

#[test]
fn checkpoint_without_tensors_stays_a_checkpoint() {
    let recipe = Recipe::parse(
        "version = 1\nname = \"r\"\n[[rule]]\nmatch = [\"*\"]\nto = \"keep\"\noptional = true",
    );
    let plan = plan(&bytes(&[]), &recipe.unwrap());
    let [shard] = plan.shards.as_slice() else {
        panic!("{:?}", plan.shards)
    };
    assert_eq!(shard.len, shard.header.len() as u64);
    assert_eq!(shard.weights, 0..0);
}

#[test]
fn plan_of_the_same_checkpoint_is_the_same_plan() {
    let recipe = builtin("deepseek-v4-bf16").unwrap();
    let [first, second] =
        [(); 2].map(|()| plan_in(&Field::ModeloptNvfp4Dsv4.checkpoint(), &recipe, 100_000));
    assert_eq!(first.weights, second.weights);
    assert_eq!(first.shards, second.shards);
    assert_eq!(first.documents, second.documents);
    assert_eq!(first.dropped, second.dropped);
    assert_eq!(first.summary, second.summary);
}

#[test]
fn other_files_are_copied_and_the_recipe_is_named() {
    let mut checkpoint = bytes(&[4]);
    checkpoint.other_files = vec!["tokenizer.json".to_owned()];
    let plan = plan(&checkpoint, &keep());
    assert_eq!(plan.copied_files, ["tokenizer.json"]);
    assert_eq!(plan.recipe, "r");
    assert_eq!(weight(&plan, "000").rule, 0);
}
