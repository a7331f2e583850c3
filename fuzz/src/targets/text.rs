//! Configs, recipes and patterns.

use blockscale_model::catalog::{Catalog, QuantConfig};
use blockscale_model::deepseek_v4::{DeepSeekV4, released_config_keys};
use blockscale_model::plan::{Plan, PlanOptions};
use blockscale_model::recipe::{BUILTIN, EncodeBy, Pattern, Recipe, ScaleRuleName};
use blockscale_model::{Checkpoint, Dtype};
use serde_json::Value;

use super::catalog::{check_plan, plan_everything};
use super::checkpoint::checkpoint_of;

/// `config.json`, and the same as `hf_quant_config.json`, beside weights of several kinds.
pub(super) fn config(data: &[u8]) {
    let Ok(config) = serde_json::from_slice::<Value>(data) else {
        return;
    };
    let _ = DeepSeekV4::detect(&config);
    if let Ok(architecture) = DeepSeekV4::from_config(&config) {
        let _ = architecture.expected_shape("layers.0.attn.wq_a.weight");
        let _ = architecture.tensor_names().take(100).count();
    }
    let _ = released_config_keys(&config);
    let mut checkpoint = weights();
    checkpoint.config = Some(config.clone());
    plan_everything(&checkpoint);
    checkpoint.hf_quant_config = checkpoint.config.take();
    let _ = QuantConfig::of(&checkpoint).is_quantised();
    plan_everything(&checkpoint);
}

/// Weights in most of the ways that a config speaks of.
fn weights() -> Checkpoint {
    checkpoint_of(&[
        (
            "model.layers.0.self_attn.q_proj.weight",
            Dtype::F8_E4M3,
            &[256, 256],
        ),
        (
            "model.layers.0.self_attn.q_proj.weight_scale_inv",
            Dtype::F32,
            &[2, 2],
        ),
        (
            "model.layers.0.mlp.up_proj.weight_packed",
            Dtype::U8,
            &[64, 32],
        ),
        (
            "model.layers.0.mlp.up_proj.weight_scale",
            Dtype::F8_E4M3,
            &[64, 4],
        ),
        (
            "model.layers.0.mlp.up_proj.weight_global_scale",
            Dtype::F32,
            &[1],
        ),
        ("model.layers.0.mlp.down_proj.qweight", Dtype::I32, &[8, 64]),
        ("model.layers.0.mlp.down_proj.qzeros", Dtype::I32, &[1, 8]),
        ("model.layers.0.mlp.down_proj.scales", Dtype::F16, &[1, 64]),
        (
            "model.layers.0.mlp.gate_proj.weight_packed",
            Dtype::I32,
            &[64, 8],
        ),
        (
            "model.layers.0.mlp.gate_proj.weight_scale",
            Dtype::BF16,
            &[64, 1],
        ),
        (
            "model.layers.0.mlp.gate_proj.weight_shape",
            Dtype::I64,
            &[2],
        ),
        ("layers.0.ffn.experts.0.w1.weight", Dtype::I8, &[64, 32]),
        ("layers.0.ffn.experts.0.w1.scale", Dtype::F8_E8M0, &[64, 2]),
        ("model.norm.weight", Dtype::BF16, &[64]),
    ])
}

/// A recipe, applied to weights of several kinds.
pub(super) fn recipe(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let Ok(mut recipe) = Recipe::parse(text) else {
        return;
    };
    let checkpoint = weights();
    let catalog = Catalog::of(&checkpoint);
    for change in 0..4 {
        let _ = match change {
            0 => Ok(()),
            1 => recipe.fuse_modules(),
            2 => recipe.group_columns(32),
            _ => "amax"
                .parse::<ScaleRuleName>()
                .map_or(Ok(()), |ScaleRuleName(rule)| {
                    recipe.encode_by(EncodeBy::Rule(rule))
                }),
        };
        if let Ok(plan) = Plan::build(&checkpoint, &catalog, &recipe, &PlanOptions::default()) {
            check_plan(&plan);
        }
    }
}

pub(super) fn recipes() -> Vec<Vec<u8>> {
    let example = "version = 1\nname = \"all\"\n[[rule]]\nmatch = [\"re:.*\", \"*.{a,b}[!0-9]\"]\n\
        stored = [\"bf16\"]\nto = \"int4\"\ngroup = 32\nzero_points = true\noptional = true\n\
        [[rule]]\nmatch = [\"*\"]\nto = \"keep\"\n";
    let builtin = BUILTIN
        .iter()
        .map(|builtin| builtin.text.as_bytes().to_vec());
    builtin.chain([example.as_bytes().to_vec()]).collect()
}

/// A pattern and a name, on two lines.
pub(super) fn glob(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let (pattern, name) = text
        .split_once('\n')
        .unwrap_or((&text, "model.layers.0.w1"));
    if let Ok(pattern) = pattern.parse::<Pattern>() {
        let _ = pattern.matches(name);
    }
}

pub(super) fn globs() -> Vec<Vec<u8>> {
    let all = [
        "model.layers.*.{q,k,v}_proj.weight\nmodel.layers.0.q_proj.weight",
        "[!a-c]?\\*{x,{y,z}}*\ndqxx",
        "re:layers\\.[0-3]{1,2}\\..*(a|b)+?\nlayers.3.a",
        "*a*a*a*a*a*a*a*b\naaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ];
    all.map(|text| text.as_bytes().to_vec()).into()
}
