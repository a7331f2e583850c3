//! Weights as less common tools spell them: 6-bit floats, torchao, integers in groups.

use std::collections::BTreeMap;

use blockscale::format::{Element, Format, Packing, ScaleElement};
use blockscale::int::{IntFormat, IntLayout};
use blockscale::layout::ScaleLayout;
use blockscale_model::catalog::{Catalog, Encoding, PartRole, ScaleProblem};
use blockscale_model::{
    Checkpoint, CheckpointFiles, Dtype, Header, NewTensor, ShardFile, ShardName, lay_out,
};
use serde_json::{Value, json};

use crate::common::{checkpoint, tensor};

fn encoding(config: Value, tensors: &[NewTensor]) -> Result<Encoding, ScaleProblem> {
    let catalog = Catalog::of(&checkpoint(config, &[tensors]));
    match catalog.refusals.first() {
        Some(refusal) => Err(refusal.problem.clone()),
        None => Ok(catalog.weight("a.weight").unwrap().encoding),
    }
}

/// 64 columns of 6-bit codes: 48 bytes, two scales.
fn six_bit(codes: &str) -> [NewTensor; 2] {
    [
        tensor(codes, Dtype::U8, &[8, 48]),
        tensor("a.weight_scale", Dtype::U8, &[8, 2]),
    ]
}

fn quark(dtypes: &[&str]) -> Value {
    let layers = dtypes.iter().enumerate().map(|(i, dtype)| {
        let weight = json!({ "dtype": dtype, "qscheme": "per_group", "group_size": 32 });
        (format!("*.{i}"), json!({ "weight": weight }))
    });
    let layers: serde_json::Map<String, Value> = layers.collect();
    json!({ "quantization_config": { "quant_method": "quark", "layer_quant_config": layers } })
}

#[test]
fn config_says_which_six_bit_float_bytes_are() {
    let compressed_tensors = json!({ "quantization_config": {
        "quant_method": "compressed-tensors",
        "config_groups": { "group_0": { "weights": { "num_bits": 6, "type": "float" } } },
    } });
    let of = |config, codes| encoding(config, &six_bit(codes));
    let (e2m3, e3m2) = (Format::MXFP6_E2M3, Format::MXFP6_E3M2);
    assert_eq!(
        of(quark(&["fp6_e2m3"]), "a.weight"),
        Ok(Encoding::Block(e2m3))
    );
    assert_eq!(
        of(quark(&["fp6_e3m2"]), "a.weight"),
        Ok(Encoding::Block(e3m2))
    );
    assert_eq!(
        of(compressed_tensors, "a.weight_packed"),
        Ok(Encoding::Block(e2m3))
    );
}

#[test]
fn six_bit_codes_are_refused_where_nothing_says_which_float() {
    for config in [Value::Null, quark(&["fp6_e2m3", "fp6_e3m2"])] {
        let problem = encoding(config, &six_bit("a.weight")).unwrap_err();
        assert!(matches!(problem, ScaleProblem::Unsaid { .. }), "{problem}");
        assert!(problem.to_string().contains("fp6_e2m3"), "{problem}");
    }
}

#[test]
fn config_of_six_bit_floats_does_not_make_four_bit_ones_of_them() {
    let tensors = [
        tensor("a.weight", Dtype::U8, &[8, 32]),
        tensor("a.weight_scale", Dtype::U8, &[8, 2]),
    ];
    let found = encoding(quark(&["fp4", "fp6_e2m3"]), &tensors);
    assert_eq!(found, Ok(Encoding::Block(Format::MXFP4)));
}

#[test]
fn six_bit_dtypes_say_it_themselves() {
    for (dtype, format) in [
        (Dtype::F6_E2M3, Format::MXFP6_E2M3),
        (Dtype::F6_E3M2, Format::MXFP6_E3M2),
    ] {
        let tensors = [
            tensor("a.weight", dtype, &[8, 64]),
            tensor("a.weight_scale", Dtype::F8_E8M0, &[8, 2]),
        ];
        assert_eq!(encoding(Value::Null, &tensors), Ok(Encoding::Block(format)));
    }
}

#[test]
fn fnuz_codes_have_fnuz_elements() {
    let tensors = [
        tensor("a.weight", Dtype::F8_E4M3FNUZ, &[8, 64]),
        tensor("a.weight_scale", Dtype::F32, &[]),
    ];
    let format = Format {
        element: Element::E4m3Fnuz,
        ..Format::FP8_TENSOR
    };
    assert_eq!(encoding(Value::Null, &tensors), Ok(Encoding::Block(format)));
}

/// A checkpoint of torchao's tensors, `a.weight` described by `data`.
fn torchao(kind: &str, data: &Value, tensors: &[NewTensor]) -> Checkpoint {
    let described =
        json!({ "_type": kind, "_data": data, "_tensor_data_names": ["qdata", "scale"] });
    let metadata = BTreeMap::from([("a.weight".to_owned(), described.to_string())]);
    let layout = lay_out(tensors, &metadata).unwrap();
    let header = Header::parse(&layout.bytes[8..], layout.file_len).unwrap();
    Checkpoint::assemble(CheckpointFiles {
        shards: vec![ShardFile {
            name: ShardName::new("model.safetensors").unwrap(),
            len: layout.file_len,
            header,
        }],
        ..CheckpointFiles::default()
    })
    .unwrap()
}

#[test]
fn torchao_says_element_and_tiles_in_its_metadata() {
    let tensors = [
        tensor("a._weight_qdata", Dtype::U8, &[40, 64]),
        tensor("a._weight_scale", Dtype::F8_E8M0, &[32, 16]),
    ];
    let data = json!({ "elem_dtype": "fp6_e3m2", "block_size": 32, "is_swizzled_scales": true });
    let catalog = Catalog::of(&torchao("MXTensor", &data, &tensors));
    assert_eq!(catalog.refusals, []);
    let weight = catalog.weight("a.weight").unwrap();
    let format = Format::MXFP6_E3M2.packed(Packing::Bytes);
    assert_eq!(weight.encoding, Encoding::Block(format));
    assert_eq!(weight.layout, ScaleLayout::Tiles128x4);
    assert_eq!(weight.shape, [40, 64]);
}

#[test]
fn subclass_of_torchao_without_a_reader_is_refused_by_name() {
    let tensors = [
        tensor("a._weight_qdata", Dtype::U8, &[40, 64]),
        tensor("a._weight_scale", Dtype::BF16, &[4, 40]),
    ];
    let catalog = Catalog::of(&torchao("Int4Tensor", &json!({}), &tensors));
    let refusal = &catalog.refusals[0];
    assert!(matches!(refusal.problem, ScaleProblem::NotRead { .. }));
    assert!(refusal.to_string().contains("Int4Tensor"), "{refusal}");
}

fn mlx_config(bits: u8, group: usize) -> Value {
    json!({ "quantization": {
        "group_size": group, "bits": bits, "b": { "group_size": 32, "bits": 8 }, "c": false,
    } })
}

fn mlx(module: &str, groups: usize) -> [NewTensor; 3] {
    let part =
        |suffix: &str, dtype, cols| tensor(&format!("{module}.{suffix}"), dtype, &[2, 24, cols]);
    [
        part("weight", Dtype::U32, 16),
        part("scales", Dtype::BF16, groups),
        part("biases", Dtype::BF16, groups),
    ]
}

#[test]
fn mlx_affine_takes_bits_and_groups_from_the_config_and_its_overrides() {
    let tensors = [mlx("a", 2), mlx("b", 2)].concat();
    let catalog = Catalog::of(&checkpoint(mlx_config(4, 64), &[&tensors]));
    assert_eq!(catalog.refusals, []);
    for (name, bits, group_cols) in [("a.weight", 4, 64), ("b.weight", 8, 32)] {
        let weight = catalog.weight(name).unwrap();
        let format = IntFormat {
            bits,
            group_cols,
            scale: ScaleElement::Bf16,
            layout: IntLayout::Mlx,
        };
        assert_eq!(weight.encoding, Encoding::Grouped(format));
        assert_eq!(weight.shape, [2, 24, 2 * group_cols]);
        assert!(weight.part(PartRole::ZeroPoint).is_some());
    }
}

#[test]
fn mlx_affine_of_another_width_than_the_config_says_is_refused() {
    let problem = encoding(mlx_config(8, 64), &mlx("a", 2)).unwrap_err();
    let text = problem.to_string();
    assert!(
        matches!(
            problem,
            ScaleProblem::Disagrees {
                key: "group_size",
                ..
            }
        ),
        "{text}"
    );
    assert!(
        text.contains("64") && text.contains("2 groups of 64 columns"),
        "{text}"
    );
}

#[test]
fn mlx_affine_without_biases_or_config_is_refused() {
    let problem = encoding(Value::Null, &mlx("a", 2)).unwrap_err();
    assert!(matches!(problem, ScaleProblem::Unsaid { .. }), "{problem}");
    let problem = encoding(mlx_config(4, 64), &mlx("a", 2)[..2]).unwrap_err();
    assert!(problem.to_string().contains("`a.biases`"), "{problem}");
}

#[test]
fn targets_of_compressed_tensors_tell_groups_apart_that_fit_the_same_shapes() {
    let group = |target: &str, bits: u8, size: Value| {
        let weights = json!({ "num_bits": bits, "type": "int", "group_size": size });
        json!({ "targets": [target], "weights": weights })
    };
    let tensors = [
        tensor("a.weight_packed", Dtype::I32, &[24, 16]),
        tensor("a.weight_scale", Dtype::BF16, &[24, 1]),
    ];
    // 128 columns of 4 bits, or 64 of 8.
    for (target, bits, found) in [("a", 8, 8), ("re:a", 8, 8), ("re:b", 8, 4), ("b", 8, 4)] {
        let config = json!({ "quantization_config": { "config_groups": {
            "g0": group(if found == 4 { "a" } else { "b" }, 4, json!(128)),
            "g1": group(target, bits, Value::Null),
        } } });
        let Ok(Encoding::Grouped(format)) = encoding(config, &tensors) else {
            panic!("{target}");
        };
        assert_eq!(format.bits, found, "{target}");
    }
    let config = json!({ "quantization_config": { "config_groups": {
        "g0": group("Linear", 4, json!(128)),
        "g1": group("Linear", 8, Value::Null),
    } } });
    let problem = encoding(config, &tensors).unwrap_err();
    assert!(matches!(problem, ScaleProblem::Unsaid { .. }), "{problem}");
}

#[test]
fn width_that_a_layout_does_not_have_is_refused() {
    let config = json!({ "quantization_config": {
        "quant_method": "gptq", "bits": 3, "group_size": 32,
    } });
    let tensors = [
        tensor("a.qweight", Dtype::I32, &[6, 32]),
        tensor("a.qzeros", Dtype::I32, &[2, 3]),
        tensor("a.scales", Dtype::F16, &[2, 32]),
    ];
    let problem = encoding(config, &tensors).unwrap_err();
    assert!(matches!(problem, ScaleProblem::Integers(_)), "{problem}");
}

#[test]
fn part_of_another_shape_is_refused_with_both_shapes_named() {
    let config = json!({ "quantization_config": {
        "quant_method": "gptq", "bits": 4, "group_size": 32,
    } });
    let tensors = [
        tensor("a.qweight", Dtype::I32, &[8, 32]),
        tensor("a.qzeros", Dtype::I32, &[1, 4]),
        tensor("a.scales", Dtype::F16, &[2, 32]),
    ];
    let problem = encoding(config, &tensors).unwrap_err();
    let ScaleProblem::PartShape {
        tensor,
        expected,
        found,
        ..
    } = &problem
    else {
        panic!("{problem}");
    };
    assert_eq!(
        (tensor.as_str(), expected, found),
        ("a.qzeros", &vec![2, 4], &vec![1, 4])
    );
}

#[test]
fn announced_dialect_that_no_tensor_follows_is_noticed() {
    let announce = |method: &str| json!({ "quantization_config": { "quant_method": method } });
    let tensors = [tensor("a.weight", Dtype::BF16, &[8, 64])];
    for method in [
        "awq",
        "gptq",
        "modelopt",
        "compressed-tensors",
        "fp8",
        "mxfp4",
        "quark",
        "torchao",
    ] {
        let catalog = Catalog::of(&checkpoint(announce(method), &[&tensors]));
        let codes: Vec<&str> = catalog.findings.iter().map(|f| f.code).collect();
        assert_eq!(codes, ["dialect-not-confirmed"], "{method}");
    }
    let catalog = Catalog::of(&checkpoint(Value::Null, &[&tensors]));
    assert_eq!(catalog.findings, []);
}
