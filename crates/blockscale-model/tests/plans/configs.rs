//! The configs that describe what was written.

use blockscale_model::deepseek_v4::DeepSeekV4;
use blockscale_model::plan::Plan;
use blockscale_model::recipe::{Recipe, Target, builtin, generic};
use blockscale_model::{Checkpoint, Dtype};
use serde_json::{Value, json};

use crate::common::{Field, checkpoint, nvfp4, tensor};
use crate::model::{hf_checkpoint, small_pro};
use crate::{document, plan};

fn names(plan: &Plan) -> Vec<&str> {
    plan.documents.iter().map(|d| d.name.as_str()).collect()
}

/// Takes the producer out, which is the program that wrote the file.
fn without_producer(mut value: Value, section: Option<&str>) -> Value {
    let holder = match section {
        Some(key) => &mut value[key],
        None => &mut value,
    };
    let producer = holder.as_object_mut().unwrap().remove("producer").unwrap();
    assert_eq!(producer["name"].as_str().map(str::is_empty), Some(false));
    value
}

fn to(target: Target) -> Recipe {
    generic(target, vec![], vec![])
}

fn with_hf_quant_config(mut checkpoint: Checkpoint) -> Checkpoint {
    checkpoint.hf_quant_config = Some(json!({
        "producer": { "name": "modelopt", "version": "0.47.0" },
        "quantization": { "quant_algo": "NVFP4", "group_size": 16, "exclude_modules": ["lm_head"] },
    }));
    checkpoint
}

#[test]
fn nvfp4_release_keeps_its_config() {
    let checkpoint = Field::Dsv4Nvfp4.checkpoint();
    let plan = plan(&checkpoint, &builtin("deepseek-v4").unwrap());
    assert_eq!(names(&plan), ["hf_quant_config.json", "config.json"]);
    let section = Some("quantization_config");
    assert_eq!(
        without_producer(document(&plan, "config.json"), section),
        without_producer(checkpoint.config.unwrap(), section)
    );
    assert_eq!(
        without_producer(document(&plan, "hf_quant_config.json"), None),
        json!({ "quantization": {
            "quant_algo": "MIXED_PRECISION",
            "kv_cache_quant_algo": null,
            "group_size": 16,
            "quantized_layers": {
                "layers.0.ffn.experts": { "quant_algo": "NVFP4", "group_size": 16 },
            },
            "exclude_modules": ["*.attn.*", "*.ffn.shared_experts.*", "head", "mtp.*"],
        } })
    );
}

#[test]
fn published_form_without_nvfp4_speaks_of_none() {
    let checkpoint = Field::Dsv4Official.checkpoint();
    let plan = plan(&checkpoint, &builtin("deepseek-v4").unwrap());
    let config = document(&plan, "config.json");
    assert_eq!(
        config["quantization_config"],
        json!({
            "quant_method": "fp8",
            "fmt": "e4m3",
            "scale_fmt": "ue8m0",
            "activation_scheme": "dynamic",
            "weight_block_size": [128, 128],
        })
    );
    assert!(!names(&plan).contains(&"hf_quant_config.json"));
}

#[test]
fn released_keys_return_in_place_of_those_of_transformers() {
    let arch = small_pro();
    let plan = plan(&hf_checkpoint(&arch), &builtin("deepseek-v4").unwrap());
    let config = document(&plan, "config.json");
    assert_eq!(DeepSeekV4::from_config(&config).unwrap(), arch);
    let ratios = config["compress_ratios"].as_array().unwrap();
    assert_eq!(ratios.len(), 62);
    assert_eq!(
        [&ratios[0], &ratios[1], &ratios[2], &ratios[61]],
        [128, 128, 4, 0]
    );
    assert_eq!(config["num_hash_layers"], 3);
    assert_eq!(config["expert_dtype"], "fp4");
    for key in [
        "layer_types",
        "compress_rates",
        "mlp_layer_types",
        "rope_parameters",
    ] {
        assert_eq!(config.get(key), None, "{key}");
    }
    assert_eq!(config["swiglu_limit"], 10.0);
}

#[test]
fn experts_of_every_layer_are_described() {
    let plan = plan(
        &hf_checkpoint(&small_pro()),
        &builtin("deepseek-v4").unwrap(),
    );
    let config = document(&plan, "config.json");
    let section = &config["quantization_config"];
    assert_eq!(section["quant_method"], "fp8");
    assert_eq!(section["moe_quant_algo"], "NVFP4");
    assert_eq!(section["quant_algo"], "MIXED_PRECISION");
    assert_eq!(section["scale_fmt"], "ue8m0");
    assert_eq!(section.get("modules_to_not_convert"), None);
    let layers = section["quantized_layers"].as_object().unwrap();
    assert_eq!(layers.len(), 62);
    assert_eq!(layers["layers.60.ffn.experts"]["quant_algo"], "NVFP4");
    // Its MTP experts are NVFP4 too, so that not all of MTP is left out.
    assert!(layers.contains_key("mtp.0.ffn.experts"));
    let ignore = section["ignore"].as_array().unwrap();
    assert!(!ignore.contains(&json!("mtp.*")));
    assert!(ignore.contains(&json!("mtp.*.e_proj")));
    let quant = document(&plan, "hf_quant_config.json");
    assert_eq!(
        quant["quantization"]["quantized_layers"],
        section["quantized_layers"]
    );
    assert_eq!(quant["quantization"]["exclude_modules"], section["ignore"]);
}

#[test]
fn bf16_linears_are_listed_under_their_own_and_their_joined_names() {
    let plan = plan(
        &hf_checkpoint(&small_pro()),
        &builtin("deepseek-v4-bf16").unwrap(),
    );
    let config = document(&plan, "config.json");
    let section = &config["quantization_config"];
    let plain = section["modules_to_not_convert"].as_array().unwrap();
    for module in [
        "layers.0.attn.wq_a",
        "layers.0.attn.fused_wqa_wkv",
        "layers.60.attn.indexer.wq_b",
        "layers.60.ffn.shared_experts.w2",
        "layers.60.ffn.shared_experts.gate_up_proj",
        "mtp.0.e_proj",
    ] {
        assert!(plain.contains(&json!(module)), "{module}");
        assert!(
            section["ignore"]
                .as_array()
                .unwrap()
                .contains(&json!(module)),
            "{module}"
        );
    }
    let speaks_of = |part: &str| plain.iter().any(|m| m.as_str().unwrap().contains(part));
    assert!(!speaks_of("wo_a") && !speaks_of(".experts.") && !speaks_of("gate.weight"));
    // Never FP8 in a release, so that no loader expects scales there.
    assert!(!speaks_of("compressor") && !speaks_of("weights_proj"));
}

#[test]
fn plain_output_has_no_quantisation_config_and_keeps_the_rest() {
    let source = with_hf_quant_config(Field::ModeloptNvfp4Dsv4.checkpoint());
    for target in [Target::Bf16, Target::F32] {
        let plan = plan(&source, &to(target));
        assert_eq!(names(&plan), ["config.json"]);
        let mut expected = source.config.clone().unwrap();
        expected
            .as_object_mut()
            .unwrap()
            .remove("quantization_config");
        assert_eq!(document(&plan, "config.json"), expected);
    }
}

#[test]
fn decoded_modules_join_the_list_of_those_left_out() {
    let source = with_hf_quant_config(Field::ModeloptNvfp4Dsv4.checkpoint());
    let include = vec!["*.self_attn.q_a_proj.weight".parse().unwrap()];
    let plan = plan(&source, &generic(Target::Bf16, include, vec![]));
    let module = "model.layers.0.self_attn.q_a_proj";
    let config = document(&plan, "config.json");
    assert_eq!(
        config["quantization_config"]["ignore"],
        json!([
            "lm_head",
            "model.embed_tokens",
            "model.layers.0.mlp.gate",
            module
        ])
    );
    assert_eq!(config["quantization_config"]["quant_algo"], "NVFP4");
    let quant = document(&plan, "hf_quant_config.json");
    assert_eq!(
        quant["quantization"]["exclude_modules"],
        json!(["lm_head", module])
    );
}

/// One linear layer, one embedding, one norm.
fn small_plain(config: Value) -> Checkpoint {
    let tensors = [
        tensor("model.embed_tokens.weight", Dtype::BF16, &[64, 128]),
        tensor(
            "model.layers.0.mlp.up_proj.weight",
            Dtype::BF16,
            &[128, 128],
        ),
        tensor("model.norm.weight", Dtype::BF16, &[128]),
    ];
    checkpoint(config, &[&tensors])
}

#[test]
fn fp8_blocks_are_described_as_deepseek_does() {
    let source = small_plain(json!({ "model_type": "llama" }));
    for (target, scale_fmt) in [
        (Target::Fp8Block, None),
        (Target::Fp8BlockUe8m0, Some("ue8m0")),
    ] {
        let plan = plan(&source, &to(target));
        assert_eq!(names(&plan), ["config.json"]);
        let config = document(&plan, "config.json");
        assert_eq!(config["model_type"], "llama");
        let section = &config["quantization_config"];
        assert_eq!(section["quant_method"], "fp8");
        assert_eq!(section["fmt"], "e4m3");
        assert_eq!(section["weight_block_size"], json!([128, 128]));
        assert_eq!(section.get("scale_fmt").and_then(Value::as_str), scale_fmt);
        // Vectors are no linears: no loader would look for their scales.
        assert_eq!(
            section["modules_to_not_convert"],
            json!(["model.embed_tokens"])
        );
    }
}

#[test]
fn nvfp4_is_described_as_modelopt_does() {
    let plan = plan(&small_plain(json!({})), &to(Target::Nvfp4));
    let config = document(&plan, "config.json");
    let section = &config["quantization_config"];
    assert_eq!(section["quant_method"], "modelopt");
    // There are no activation scales.
    assert_eq!(section["quant_algo"], "W4A16_NVFP4");
    assert_eq!(section["ignore"], json!(["model.embed_tokens"]));
    assert_eq!(
        section["config_groups"]["group_0"]["weights"]["group_size"],
        16
    );
    let quant = document(&plan, "hf_quant_config.json");
    assert_eq!(quant["quantization"]["quant_algo"], "W4A16_NVFP4");
    assert_eq!(
        quant["quantization"]["exclude_modules"],
        json!(["model.embed_tokens"])
    );
}

#[test]
fn nvfp4_with_activation_scales_keeps_the_algorithm() {
    let mut tensors = nvfp4("layers.0.up_proj", [128, 128]).to_vec();
    tensors.push(tensor(
        "layers.0.down_proj.weight",
        Dtype::BF16,
        &[128, 128],
    ));
    let source = checkpoint(json!({}), &[&tensors]);
    let plan = plan(&source, &to(Target::Nvfp4));
    assert_eq!(
        document(&plan, "config.json")["quantization_config"]["quant_algo"],
        "NVFP4"
    );
}

#[test]
fn what_is_only_copied_keeps_its_configs() {
    let source = with_hf_quant_config(Field::ModeloptNvfp4Dsv4.checkpoint());
    let recipe =
        Recipe::parse("version = 1\nname = \"r\"\n[[rule]]\nmatch = [\"*\"]\nto = \"keep\"");
    let plan = plan(&source, &recipe.unwrap());
    assert_eq!(document(&plan, "config.json"), source.config.unwrap());
    assert_eq!(
        document(&plan, "hf_quant_config.json"),
        source.hf_quant_config.unwrap()
    );
}

#[test]
fn checkpoint_without_a_config_gets_none() {
    for target in [Target::Bf16, Target::Fp8Block] {
        let plan = plan(&small_plain(Value::Null), &to(target));
        assert_eq!(plan.documents, [], "{target}");
    }
}
