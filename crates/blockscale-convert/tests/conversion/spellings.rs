//! DeepSeek-V4 written in the five spellings of its tools, and NVFP4 in two dialects.

use blockscale_convert::{ConvertOptions, VerifyOptions};
use blockscale_model::dialect::Dialect;
use blockscale_model::plan::PlanError;
use blockscale_model::recipe::{Naming, Target};
use tempfile::tempdir;

use crate::files::data;
use crate::run::{Opened, to};

fn deepseek() -> Opened {
    Opened::new(&data("checkpoints/modelopt-nvfp4-dsv4"))
}

#[test]
fn every_spelling_holds_the_same_weights() {
    let query = [
        (
            Naming::DeepseekV4,
            "layers.0.attn.wq_a.weight",
            "layers.0.attn.kv_norm.weight",
        ),
        (
            Naming::DeepseekV4HalfNative,
            "model.layers.0.attn.wq_a.weight",
            "model.layers.0.attn.norm.weight",
        ),
        (
            Naming::DeepseekV4HfPerExpert,
            "model.layers.0.self_attn.q_a_proj.weight",
            "model.layers.0.self_attn.kv_norm.weight",
        ),
        (
            Naming::DeepseekV4Modelopt,
            "model.layers.0.self_attn.q_a_proj.weight",
            "model.layers.0.self_attn.norm.weight",
        ),
        (
            Naming::DeepseekV4Hf,
            "model.layers.0.self_attn.q_a_proj.weight",
            "model.layers.0.self_attn.kv_norm.weight",
        ),
    ];
    let source = deepseek();
    for (naming, query, norm) in query {
        let mut recipe = to(Target::Bf16);
        recipe.naming = naming;
        let out = tempdir().unwrap();
        source
            .convert(
                &source.plan(&recipe),
                out.path(),
                &ConvertOptions::default(),
            )
            .unwrap();
        let output = Opened::new(out.path());
        assert!(
            output.catalog.weight(query).is_some(),
            "{naming:?}: {query}"
        );
        assert!(output.catalog.weight(norm).is_some(), "{naming:?}: {norm}");
        let report = source.verify(&output, &VerifyOptions::default());
        assert!(
            report.passed() && report.only_in_output.is_empty(),
            "{naming:?}: {report:?}"
        );
    }
}

#[test]
fn transformers_experts_are_stacked_gate_above_up() {
    let source = deepseek();
    let mut recipe = to(Target::Bf16);
    recipe.naming = Naming::DeepseekV4Hf;
    let out = tempdir().unwrap();
    source
        .convert(
            &source.plan(&recipe),
            out.path(),
            &ConvertOptions::default(),
        )
        .unwrap();
    let stacked = Opened::new(out.path()).decode("model.layers.0.mlp.experts.gate_up_proj");
    let mut expected = Vec::new();
    for expert in 0..3 {
        for part in ["gate_proj", "up_proj"] {
            let name = format!("model.layers.0.mlp.experts.{expert}.{part}.weight");
            let values = source.decode(&name);
            expected.extend(
                values
                    .iter()
                    .map(|&v| blockscale::bf16::from_f32(v).to_f32()),
            );
        }
    }
    assert_eq!(stacked, expected);
}

#[test]
fn quantised_experts_are_not_stacked() {
    let source = deepseek();
    let mut recipe = to(Target::Nvfp4);
    recipe.naming = Naming::DeepseekV4Hf;
    let options = blockscale_model::plan::PlanOptions::default();
    let plan = source.plan_with(&recipe, options.max_shard_bytes);
    assert!(matches!(plan, Err(PlanError::StacksBlocks { .. })));
}

#[test]
fn modelopt_and_compressed_tensors_differ_by_a_reciprocal() {
    let source = Opened::new(&data("checkpoints/modelopt-nvfp4-llama"));
    let mut recipe = to(Target::Nvfp4);
    recipe.dialect = Some(Dialect::CompressedTensors);
    let out = tempdir().unwrap();
    source
        .convert(
            &source.plan(&recipe),
            out.path(),
            &ConvertOptions::default(),
        )
        .unwrap();
    let output = Opened::new(out.path());
    let module = "model.layers.0.mlp.down_proj";
    let same = |a: &str, b: &str| {
        let (ours, theirs) = (format!("{module}{a}"), format!("{module}{b}"));
        assert_eq!(source.bytes(&ours), output.bytes(&theirs), "{a} and {b}");
    };
    same(".weight", ".weight_packed");
    same(".weight_scale", ".weight_scale");
    let inverted = |a: &str, b: &str| {
        let ours = source.f32s(&format!("{module}{a}"))[0];
        assert_eq!(
            output.f32s(&format!("{module}{b}")),
            [1.0 / ours],
            "{a} and {b}"
        );
    };
    inverted(".weight_scale_2", ".weight_global_scale");
    inverted(".input_scale", ".input_global_scale");
    let config = output.checkpoint.config.as_ref().unwrap();
    assert_eq!(
        config["quantization_config"]["format"],
        "nvfp4-pack-quantized"
    );
}

#[test]
fn gpt_oss_experts_go_to_another_dialect_and_come_back_as_the_same_bytes() {
    let source = Opened::new(&data("checkpoints/gptoss-mxfp4"));
    let experts = || vec!["*experts*_proj*".parse().unwrap()];
    let mut there = blockscale_model::recipe::generic(Target::Mxfp4, experts(), Vec::new());
    there.dialect = Some(Dialect::CompressedTensors);
    let mut back = blockscale_model::recipe::generic(Target::Mxfp4, experts(), Vec::new());
    back.dialect = Some(Dialect::GptOss);
    let (middle, out) = (tempdir().unwrap(), tempdir().unwrap());
    let options = ConvertOptions::default();
    source
        .convert(&source.plan(&there), middle.path(), &options)
        .unwrap();
    let middle = Opened::new(middle.path());
    let stack = "model.layers.0.mlp.experts.gate_up_proj";
    assert!(
        middle
            .checkpoint
            .position(&format!("{stack}.weight_packed"))
            .is_some()
    );
    middle
        .convert(&middle.plan(&back), out.path(), &options)
        .unwrap();

    let output = Opened::new(out.path());
    for part in ["_blocks", "_scales"] {
        let name = format!("{stack}{part}");
        let shape = |o: &Opened| o.checkpoint.tensor(&name).unwrap().shape.clone();
        assert_eq!(output.bytes(&name), source.bytes(&name), "{name}");
        assert_eq!(shape(&output), shape(&source), "{name}");
    }
    let quantization = &output.checkpoint.config.as_ref().unwrap()["quantization_config"];
    assert_eq!(quantization["quant_method"], "mxfp4");
}
