//! Weights put together from any tensors, and everything that is planned from them.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;

use blockscale::layout::ScaleLayout;
use blockscale_model::catalog::{BAKED_KEY, Catalog, ROWS_KEY, RowOrder};
use blockscale_model::doctor::{Doctor, Subject};
use blockscale_model::plan::{Plan, PlanOptions};
use blockscale_model::recipe::{Recipe, Target, generic};
use blockscale_model::view::{AsIf, Region, View};
use blockscale_model::{Checkpoint, CheckpointFiles, comparables};

use super::checkpoint::{shard, tensors};
use crate::input::Input;

/// One or two files of tensors, with a config and metadata of some kind.
pub(super) fn catalog(data: &[u8]) {
    let mut input = Input::new(data);
    let mut metadata = BTreeMap::new();
    for key in [BAKED_KEY, ROWS_KEY] {
        if input.below(4) == 0 {
            metadata.insert(key.to_owned(), metadata_text(&mut input));
        }
    }
    let configs = [
        "null",
        r#"{"model_type":"deepseek_v4","quantization_config":{"quant_method":"fp8","weight_block_size":[128,128]}}"#,
        r#"{"model_type":"gpt_oss","quantization_config":{"quant_method":"mxfp4"}}"#,
        r#"{"quantization_config":{"quant_method":"awq","bits":4,"group_size":32,"version":"gemm"}}"#,
        r#"{"quantization_config":{"quant_method":"gptq","bits":4,"group_size":-1,"checkpoint_format":"gptq_v2"}}"#,
        r#"{"quantization":{"bits":4,"group_size":32,"mode":"affine"}}"#,
        r#"{"quantization_config":{"quant_method":"fp8","weight_block_size":[0,18446744073709551615]}}"#,
        r#"{"quantization_config":{"quant_method":"compressed-tensors","config_groups":{"g":{"targets":["Linear"],"weights":{"num_bits":4,"type":"int","group_size":16,"strategy":"group"}}}}}"#,
    ];
    let config = serde_json::from_str(input.pick(&configs)).expect("it is JSON");
    let names = [
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    ];
    let shards = (0..=input.below(2))
        .filter_map(|i| shard(names[i], &tensors(&mut input), &metadata))
        .collect();
    let files = CheckpointFiles {
        shards,
        config: Some(config),
        ..CheckpointFiles::default()
    };
    let Ok(checkpoint) = Checkpoint::assemble(files) else {
        return;
    };
    plan_everything(&checkpoint);
    look_at(&checkpoint, &mut input);
}

fn metadata_text(input: &mut Input<'_>) -> String {
    let texts = [
        r#"{"a":{"layout":"tiles-128x4","format":"NVFP4","shape":[128,64],"tensors":[["codes","a.weight"],["block-scale","a.weight_scale"]]}}"#,
        r#"{"a.weight":{"gate_up":"interleaved"}}"#,
        "{}",
        "[]",
    ];
    match input.below(3) {
        0 => {
            let len = input.below(80);
            String::from_utf8_lossy(&input.bytes(len)).into_owned()
        }
        _ => input.pick(&texts).to_owned(),
    }
}

/// Every `--to`, made once: their patterns take longer than most plans.
static RECIPES: LazyLock<Vec<(Target, Recipe)>> = LazyLock::new(|| {
    let targets = [Target::Keep].into_iter().chain(Target::CONVERSIONS);
    targets
        .map(|target| (target, generic(target, Vec::new(), Vec::new())))
        .collect()
});

/// Plans every conversion, and lets every rule of the doctor look.
pub(super) fn plan_everything(checkpoint: &Checkpoint) {
    let mut catalog = Catalog::of(checkpoint);
    for (target, recipe) in &*RECIPES {
        plan(checkpoint, &catalog, recipe, ScaleLayout::Linear);
        if matches!(target, Target::Keep | Target::Nvfp4) {
            plan(checkpoint, &catalog, recipe, ScaleLayout::Tiles128x4);
            plan(checkpoint, &catalog, recipe, ScaleLayout::MarlinNvfp4);
        }
    }
    let _ = comparables(checkpoint, &catalog);
    let _ = Doctor::default().examine(&Subject::new(checkpoint, &catalog));
    catalog.state_gate_up(RowOrder::Interleaved);
    for (_, recipe) in &RECIPES[..2] {
        plan(checkpoint, &catalog, recipe, ScaleLayout::Linear);
    }
}

fn plan(checkpoint: &Checkpoint, catalog: &Catalog, recipe: &Recipe, layout: ScaleLayout) {
    let options = PlanOptions {
        max_shard_bytes: 1 << 20,
        layout,
    };
    if let Ok(plan) = Plan::build(checkpoint, catalog, recipe, &options) {
        check_plan(&plan);
    }
}

/// Every output tensor has its bytes for itself, inside its file, and a name of its own.
pub(super) fn check_plan(plan: &Plan) {
    let mut names = HashSet::new();
    let mut ranges: Vec<Vec<_>> = vec![Vec::new(); plan.shards.len()];
    for weight in &plan.weights {
        for tensor in &weight.tensors {
            assert!(names.insert(&tensor.name), "`{}` twice", tensor.name);
            ranges[weight.shard].push(tensor.range.clone());
        }
    }
    for (shard, mut ranges) in plan.shards.iter().zip(ranges) {
        ranges.sort_by_key(|range| (range.start, range.end));
        let mut covered = shard.header.len() as u64;
        for range in ranges {
            assert_eq!(range.start, covered, "in `{}`", shard.name);
            covered = range.end;
        }
        assert_eq!(covered, shard.len, "of `{}`", shard.name);
    }
    let _ = plan.output_bytes();
}

/// Some rows of every weight: what they take lies in their file.
fn look_at(checkpoint: &Checkpoint, input: &mut Input<'_>) {
    let catalog = Catalog::of(checkpoint);
    for weight in &catalog.weights {
        let _ = weight.elements();
        let (start, len) = (input.size(), input.size());
        let region = Region {
            matrix: input.below(3),
            rows: start..start.saturating_add(len),
        };
        let Ok(view) = View::of(checkpoint, weight, region, AsIf::AS_STORED) else {
            continue;
        };
        for pieces in [view.scale_pieces(), view.pieces()].into_iter().flatten() {
            for piece in pieces {
                let len = checkpoint.shards[piece.shard].len;
                let range = &piece.range;
                assert!(
                    range.start <= range.end && range.end <= len,
                    "{piece:?} of {len}"
                );
            }
        }
    }
}
