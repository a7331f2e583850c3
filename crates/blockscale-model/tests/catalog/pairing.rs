//! Which tensors make a weight, and which format they spell.

use blockscale::format::{Block, Element, Format, ScaleElement};
use blockscale_model::catalog::{Catalog, Encoding, PartRole};
use blockscale_model::{Dtype, NewTensor};
use serde_json::{Value, json};

use crate::common::{checkpoint, nvfp4, tensor};

fn catalog_of(config: Value, tensors: &[NewTensor]) -> Catalog {
    let catalog = Catalog::of(&checkpoint(config, &[tensors]));
    assert_eq!(catalog.refusals, []);
    assert_eq!(catalog.findings, []);
    catalog
}

/// The format of the only weight.
fn format_of(config: Value, tensors: &[NewTensor]) -> Format {
    let catalog = catalog_of(config, tensors);
    let [weight] = catalog.weights.as_slice() else {
        panic!("{:?}", catalog.weights)
    };
    *weight.encoding.format().unwrap()
}

fn with_scale(scale: ScaleElement, format: Format) -> Format {
    Format { scale, ..format }
}

#[test]
fn every_spelling_of_an_fp8_scale_is_paired() {
    use ScaleElement::{Bf16, F16};
    let scales: [(Dtype, &[usize], Format); 14] = [
        (Dtype::F32, &[], Format::FP8_TENSOR),
        (Dtype::F32, &[1], Format::FP8_TENSOR),
        (Dtype::F32, &[1, 1], Format::FP8_TENSOR),
        (Dtype::BF16, &[1], with_scale(Bf16, Format::FP8_TENSOR)),
        (Dtype::F32, &[256], Format::FP8_CHANNEL),
        (Dtype::F32, &[256, 1], Format::FP8_CHANNEL),
        (
            Dtype::BF16,
            &[256, 1],
            with_scale(Bf16, Format::FP8_CHANNEL),
        ),
        (Dtype::F32, &[2, 3], Format::FP8_BLOCK),
        (Dtype::BF16, &[2, 3], with_scale(Bf16, Format::FP8_BLOCK)),
        (Dtype::F16, &[2, 3], with_scale(F16, Format::FP8_BLOCK)),
        (Dtype::F8_E8M0, &[2, 3], Format::FP8_BLOCK_UE8M0),
        (Dtype::U8, &[2, 3], Format::FP8_BLOCK_UE8M0),
        (Dtype::F8_E8M0, &[256, 12], Format::MXFP8_E4M3),
        (Dtype::U8, &[256, 12], Format::MXFP8_E4M3),
    ];
    for suffix in ["weight_scale", "weight_scale_inv", "scale"] {
        for (dtype, shape, expected) in scales {
            let tensors = [
                tensor("a.weight", Dtype::F8_E4M3, &[256, 384]),
                tensor(&format!("a.{suffix}"), dtype, shape),
            ];
            let checkpoint = checkpoint(Value::Null, &[&tensors]);
            let catalog = Catalog::of(&checkpoint);
            let case = format!("{suffix} {dtype} {shape:?}");
            assert_eq!(catalog.refusals, [], "{case}");
            let weight = catalog.weight("a.weight").unwrap();
            assert_eq!(weight.encoding, Encoding::Block(expected), "{case}");
            assert_eq!(weight.shape, [256, 384], "{case}");
            assert_eq!(checkpoint.tensors[weight.codes()].name, "a.weight");
            let scale = weight.part(PartRole::BlockScale).unwrap();
            assert_eq!(checkpoint.tensors[scale].name, format!("a.{suffix}"));
            assert_eq!(catalog.weights.len(), 1, "{case}");
        }
    }
}

#[test]
fn e5m2_codes_have_e5m2_formats() {
    let tensors = [
        tensor("a.weight", Dtype::F8_E5M2, &[4, 64]),
        tensor("a.weight_scale", Dtype::F8_E8M0, &[4, 2]),
    ];
    assert_eq!(format_of(Value::Null, &tensors), Format::MXFP8_E5M2);
}

#[test]
fn global_scale_that_multiplies_and_one_that_divides_are_different_formats() {
    let modelopt = nvfp4("down_proj", [4, 64]);
    assert_eq!(format_of(Value::Null, &modelopt), Format::NVFP4);

    let compressed_tensors = [
        tensor("down_proj.weight_packed", Dtype::U8, &[4, 32]),
        tensor("down_proj.weight_scale", Dtype::F8_E4M3, &[4, 4]),
        tensor("down_proj.weight_global_scale", Dtype::F32, &[1]),
        tensor("down_proj.input_global_scale", Dtype::F32, &[1]),
    ];
    let catalog = catalog_of(Value::Null, &compressed_tensors);
    let weight = catalog.weight("down_proj.weight").unwrap();
    assert_eq!(weight.encoding, Encoding::Block(Format::NVFP4_DIVISOR));
    assert_eq!(weight.shape, [4, 64]);
    let roles: Vec<PartRole> = weight.parts.iter().map(|p| p.role).collect();
    use PartRole::*;
    assert_eq!(roles, [Codes, BlockScale, GlobalScale, InputScale]);
}

#[test]
fn one_block_of_sixteen_codes_is_a_weight() {
    let tensors = [
        tensor("blk.weight", Dtype::U8, &[1, 8]),
        tensor("blk.weight_scale", Dtype::F8_E4M3, &[1, 1]),
        tensor("blk.weight_scale_2", Dtype::F32, &[]),
    ];
    assert_eq!(format_of(Value::Null, &tensors), Format::NVFP4);
}

#[test]
fn packed_codes_count_two_elements_a_byte() {
    let mxfp4: [(Dtype, &[usize], Dtype, &str); 4] = [
        (Dtype::I8, &[4, 32], Dtype::F8_E8M0, "scale"),
        (Dtype::U8, &[4, 32], Dtype::F8_E8M0, "weight_scale"),
        (Dtype::U8, &[4, 32], Dtype::U8, "weight_scale"),
        // This dtype counts elements itself.
        (Dtype::F4, &[4, 64], Dtype::F8_E8M0, "weight_scale"),
    ];
    for (codes, shape, scale, suffix) in mxfp4 {
        let tensors = [
            tensor("w1.weight", codes, shape),
            tensor(&format!("w1.{suffix}"), scale, &[4, 2]),
        ];
        let catalog = catalog_of(Value::Null, &tensors);
        let weight = catalog.weight("w1.weight").unwrap();
        assert_eq!(weight.encoding, Encoding::Block(Format::MXFP4), "{codes}");
        assert_eq!(weight.shape, [4, 64], "{codes}");
    }
}

#[test]
fn scale_is_found_in_another_shard() {
    let first = [
        tensor("q_proj.weight", Dtype::F8_E4M3, &[8, 16]),
        tensor("k_proj.weight_scale_inv", Dtype::F32, &[1, 1]),
    ];
    let second = [
        tensor("q_proj.weight_scale_inv", Dtype::F32, &[1, 1]),
        tensor("k_proj.weight", Dtype::F8_E4M3, &[4, 16]),
    ];
    let checkpoint = checkpoint(Value::Null, &[&first, &second]);
    let catalog = Catalog::of(&checkpoint);
    assert_eq!(catalog.refusals, []);
    assert_eq!(catalog.findings, []);
    for (name, codes, scale) in [("q_proj.weight", 0, 1), ("k_proj.weight", 1, 0)] {
        let weight = catalog.weight(name).unwrap();
        let shard = |role| checkpoint.tensors[weight.part(role).unwrap()].shard;
        assert_eq!(shard(PartRole::Codes), codes, "{name}");
        assert_eq!(shard(PartRole::BlockScale), scale, "{name}");
    }
}

#[test]
fn weights_come_in_the_order_of_their_codes() {
    let tensors = [
        tensor("b.weight", Dtype::BF16, &[2]),
        tensor("a.weight", Dtype::F8_E4M3, &[2, 2]),
        tensor("a.weight_scale", Dtype::F32, &[]),
    ];
    let catalog = catalog_of(Value::Null, &tensors);
    assert!(catalog.weights.is_sorted_by_key(|w| w.codes()));
    for (i, weight) in catalog.weights.iter().enumerate() {
        assert_eq!(catalog.position(&weight.name), Some(i));
    }
    assert_eq!(catalog.position("c.weight"), None);
}

#[test]
fn float_scale_beside_no_weight_is_a_weight() {
    let tensors = [
        tensor("layers.0.attn_hc.scale", Dtype::F32, &[3]),
        tensor("norm.weight", Dtype::BF16, &[8]),
        tensor("norm.scale", Dtype::BF16, &[8]),
    ];
    let catalog = catalog_of(Value::Null, &tensors);
    assert_eq!(catalog.weights.len(), 3);
    assert!(
        catalog
            .weights
            .iter()
            .all(|w| w.encoding.is_plain_float() && w.parts.len() == 1)
    );
}

#[test]
fn block_size_of_the_config_decides_the_grid() {
    let config = json!({ "quantization_config": { "weight_block_size": [64, 32] } });
    let tensors = [
        tensor("a.weight", Dtype::F8_E4M3, &[256, 256]),
        tensor("a.weight_scale_inv", Dtype::F32, &[4, 8]),
    ];
    let block = Block::Grid { rows: 64, cols: 32 };
    assert_eq!(
        format_of(config, &tensors),
        Format {
            block,
            ..Format::FP8_BLOCK
        }
    );
}

#[test]
fn impossible_block_size_of_the_config_is_not_used() {
    let tensors = [
        tensor("a.weight", Dtype::F8_E4M3, &[256, 256]),
        tensor("a.weight_scale_inv", Dtype::F32, &[2, 2]),
    ];
    for size in [
        json!([0, 128]),
        json!([128]),
        json!([128, 128, 1]),
        json!("128x128"),
    ] {
        let config = json!({ "quantization_config": { "weight_block_size": size } });
        assert_eq!(format_of(config, &tensors), Format::FP8_BLOCK);
    }
}

#[test]
fn last_block_is_short_not_all_blocks_even() {
    let config = json!({ "quantization_config": { "weight_block_size": [128, 128] } });
    let tensors = [
        tensor("kv_a_proj.weight", Dtype::F8_E4M3, &[144, 272]),
        tensor("kv_a_proj.weight_scale_inv", Dtype::F32, &[2, 3]),
    ];
    for config in [config, Value::Null] {
        let block = format_of(config, &tensors).block;
        assert_eq!(
            block,
            Block::Grid {
                rows: 128,
                cols: 128
            }
        );
    }
}

#[test]
fn stacked_matrices_have_a_plane_of_scales_each() {
    let fp8 = [
        tensor("e.weight", Dtype::F8_E4M3, &[5, 256, 384]),
        tensor("e.weight_scale_inv", Dtype::F32, &[5, 2, 3]),
    ];
    assert_eq!(format_of(Value::Null, &fp8), Format::FP8_BLOCK);

    for global in [&[5][..], &[1], &[]] {
        let nvfp4 = [
            tensor("e.weight", Dtype::U8, &[5, 4, 32]),
            tensor("e.weight_scale", Dtype::F8_E4M3, &[5, 4, 4]),
            tensor("e.weight_scale_2", Dtype::F32, global),
        ];
        let catalog = catalog_of(Value::Null, &nvfp4);
        let weight = catalog.weight("e.weight").unwrap();
        assert_eq!(
            weight.encoding,
            Encoding::Block(Format::NVFP4),
            "{global:?}"
        );
        assert_eq!(weight.shape, [5, 4, 64]);
        let matrices = weight.matrices();
        assert_eq!((matrices.count, matrices.total_rows()), (5, 20));
    }
}

#[test]
fn codes_of_no_element_need_no_scale() {
    let tensors = [tensor("a.weight", Dtype::F8_E4M3, &[0, 128])];
    let catalog = catalog_of(Value::Null, &tensors);
    let weight = catalog.weight("a.weight").unwrap();
    assert_eq!(weight.encoding, Encoding::Plain(Dtype::F8_E4M3));
}

#[test]
fn integers_are_codes_only_where_something_says_so() {
    let tensors = [
        tensor("router.weight", Dtype::U8, &[4, 8]),
        tensor("table.weight", Dtype::I8, &[4, 8]),
    ];
    let catalog = catalog_of(Value::Null, &tensors);
    let encodings: Vec<Encoding> = catalog.weights.iter().map(|w| w.encoding).collect();
    assert!(encodings.contains(&Encoding::Plain(Dtype::U8)));
    assert!(encodings.contains(&Encoding::Plain(Dtype::I8)));
}

#[test]
fn element_and_scale_are_those_of_the_dtypes() {
    let tensors = [
        tensor("a.weight", Dtype::F8_E5M2, &[256, 256]),
        tensor("a.weight_scale", Dtype::BF16, &[256, 1]),
    ];
    let format = format_of(Value::Null, &tensors);
    assert_eq!(format.element, Element::E5m2);
    assert_eq!(format.scale, ScaleElement::Bf16);
    assert_eq!(format.block, Block::Row);
}
