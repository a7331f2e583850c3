//! Reading, refusing and restoring configurations.

use blockscale_model::deepseek_v4::{ConfigError, DeepSeekV4, Detection, released_config_keys};
use serde_json::{Value, json};

use crate::config_of;

#[test]
fn released_keys_come_back_from_those_of_transformers() {
    let released = released_config_keys(&config_of("modelopt-export")).unwrap();
    assert_eq!(released["compress_ratios"], json!([4]));
    assert_eq!(released["num_hash_layers"], json!(0));
    assert_eq!(released["qk_rope_head_dim"], json!(64));
    for key in [
        "layer_types",
        "compress_rates",
        "mlp_layer_types",
        "rope_parameters",
    ] {
        assert!(!released.contains_key(key), "{key}");
    }
    let expected = DeepSeekV4::from_config(&config_of("modelopt-export"));
    assert_eq!(DeepSeekV4::from_config(&Value::Object(released)), expected);
}

#[test]
fn a_released_configuration_is_left_as_it_is() {
    let config = config_of("official");
    assert_eq!(
        Value::Object(released_config_keys(&config).unwrap()),
        config
    );
}

#[test]
fn scaling_of_compressed_layers_and_expert_dtype_are_restored() {
    let mut config = config_of("modelopt-export");
    config["num_nextn_predict_layers"] = json!(1);
    config["quantization_config"] = json!({"quant_method": "fp8", "expert_dtype": "fp4"});
    config["rope_parameters"] = json!({
        "main": {"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.5},
        "compress": {
            "rope_type": "yarn", "rope_theta": 160000.0, "partial_rotary_factor": 0.5,
            "attention_factor": 1.0, "factor": 16, "original_max_position_embeddings": 65536,
        },
    });
    for key in [
        "rope_theta",
        "compress_rope_theta",
        "qk_rope_head_dim",
        "partial_rotary_factor",
    ] {
        config.as_object_mut().unwrap().remove(key);
    }
    let released = released_config_keys(&config).unwrap();
    assert_eq!(released["compress_ratios"], json!([4, 0]));
    assert_eq!(released["rope_theta"], json!(10000.0));
    assert_eq!(released["compress_rope_theta"], json!(160000.0));
    assert_eq!(released["qk_rope_head_dim"], json!(64));
    assert_eq!(released["expert_dtype"], json!("fp4"));
    let scaling = json!({"type": "yarn", "factor": 16, "original_max_position_embeddings": 65536});
    assert_eq!(released["rope_scaling"], scaling);
}

#[test]
fn entries_behind_the_layers_describe_mtp_layers() {
    let mut config = config_of("official");
    config["compress_ratios"] = json!([0, 4, 128, 0, 0, 0]);
    assert_eq!(
        DeepSeekV4::from_config(&config).unwrap().ratios,
        [0, 4, 128]
    );
}

#[test]
fn configuration_errors_name_the_key() {
    let without = |key: &str| {
        let mut config = config_of("official");
        config.as_object_mut().unwrap().remove(key);
        config
    };
    let with = |key: &str, value: Value| {
        let mut config = config_of("official");
        config[key] = value;
        config
    };
    let cases = [
        (without("hidden_size"), "`hidden_size` is missing"),
        (
            without("compress_ratios"),
            "`compress_ratios` or `layer_types` is missing",
        ),
        (
            without("num_hash_layers"),
            "`num_hash_layers` or `mlp_layer_types` is missing",
        ),
        (
            with("o_groups", json!(0)),
            "`o_groups` must be at least 1, found 0",
        ),
        (
            with("head_dim", json!("wide")),
            "`head_dim` must be an integer from 0 to 65535, found \"wide\"",
        ),
        (
            with("head_dim", json!(-1)),
            "`head_dim` must be an integer from 0 to 65535, found -1",
        ),
        (
            with("compress_ratios", json!([0, 4])),
            "`compress_ratios` has 2 entries for 3 layers",
        ),
        (
            with("compress_ratios", json!([0, 2, 4])),
            "`compress_ratios[1]` must be 0, 4 or 128, found 2",
        ),
        (
            with("compress_ratios", json!(4)),
            "`compress_ratios` must be a list, found 4",
        ),
        (
            with("mlp_layer_types", json!(["moe", "hash_moe", "moe"])),
            "`mlp_layer_types[1]` must be `moe` behind the first `moe`, found \"hash_moe\"",
        ),
        (
            with("mlp_layer_types", json!(["moe", "moe", "moe"])),
            "`num_hash_layers` says 1 and `mlp_layer_types` says 0; remove the wrong one",
        ),
        (
            with("layer_types", json!(vec!["sliding_attention"; 3])),
            "`compress_ratios` says [0,4,128] and `layer_types` says [0,0,0]; remove the wrong one",
        ),
        (
            with("layer_types", json!(vec!["full_attention"; 3])),
            "`layer_types[0]` must be `sliding_attention`, `compressed_sparse_attention` or \
             `heavily_compressed_attention`, found \"full_attention\"",
        ),
    ];
    for (config, message) in cases {
        assert_eq!(
            DeepSeekV4::from_config(&config).unwrap_err().to_string(),
            message
        );
    }
    assert_eq!(
        DeepSeekV4::from_config(&json!([1])),
        Err(ConfigError::NotAnObject)
    );

    let mut config = config_of("modelopt-export");
    config["compress_rates"]["compressed_sparse_attention"] = json!(2);
    let error = DeepSeekV4::from_config(&config).unwrap_err();
    let message = "`compress_rates.compressed_sparse_attention` must be 4, found 2";
    assert_eq!(error.to_string(), message);
}

#[test]
fn relatives_are_refused_with_the_reason() {
    let of_type = |name: &str| DeepSeekV4::detect(&json!({ "model_type": name }));
    assert_eq!(of_type("deepseek_v4"), Detection::V4);
    assert_eq!(
        DeepSeekV4::detect(&json!({"architectures": ["DeepseekV4ForCausalLM"]})),
        Detection::V4
    );
    for name in ["deepseek_v41", "deepseek_v4.1"] {
        let Detection::Unsupported { model_type, reason } = of_type(name) else {
            panic!("{name} was not refused");
        };
        assert_eq!(model_type, name);
        assert!(reason.contains("32x32"), "{reason}");
    }
    assert!(matches!(
        of_type("deepseek_v4_vision"),
        Detection::Unsupported { .. }
    ));
    assert_eq!(of_type("deepseek_v3"), Detection::Other);
    assert_eq!(DeepSeekV4::detect(&json!({})), Detection::Other);
    assert_eq!(DeepSeekV4::detect(&json!([])), Detection::Other);
}
