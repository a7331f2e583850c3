//! Checkpoints that broke real programs, with values computed by other code: `tests/data/cases`.

use std::fs;
use std::path::Path;

use blockscale::{Block, Format, Shape};
use blockscale_wgpu::{Kind, Source, Window};
use safetensors::SafeTensors;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::common::{Sample, assert_same, block_on, gpus};

struct Case {
    name: &'static str,
    weight: &'static str,
    codes: &'static str,
    scales: &'static str,
    global: Option<&'static str>,
    format: Format,
    shape: Shape,
}

const CASES: [Case; 6] = [
    Case {
        name: "C02",
        weight: "blk.weight",
        codes: "blk.weight",
        scales: "blk.weight_scale",
        global: Some("blk.weight_scale_2"),
        format: Format::NVFP4,
        shape: Shape::new(1, 16),
    },
    Case {
        name: "C03",
        weight: "lin.weight",
        codes: "lin.weight",
        scales: "lin.weight_scale",
        global: None,
        format: Format {
            block: Block::Tensor,
            ..Format::FP8_BLOCK
        },
        shape: Shape::new(16, 16),
    },
    Case {
        name: "C05",
        weight: "model.layers.3.self_attn.k_proj.weight",
        codes: "model.layers.3.self_attn.k_proj.weight",
        scales: "model.layers.3.self_attn.k_proj.weight_scale",
        global: None,
        format: Format::MXFP8_E4M3,
        shape: Shape::new(4, 64),
    },
    Case {
        name: "C06",
        weight: "model.layers.0.self_attn.kv_a_proj.weight",
        codes: "model.layers.0.self_attn.kv_a_proj.weight",
        scales: "model.layers.0.self_attn.kv_a_proj.weight_scale_inv",
        global: None,
        format: Format::FP8_BLOCK,
        shape: Shape::new(144, 272),
    },
    Case {
        name: "C15",
        weight: "layers.0.ffn.experts.0.w1.weight",
        codes: "layers.0.ffn.experts.0.w1.weight",
        scales: "layers.0.ffn.experts.0.w1.scale",
        global: None,
        format: Format::MXFP4,
        shape: Shape::new(4, 64),
    },
    // Two experts of four rows.
    Case {
        name: "C16",
        weight: "model.layers.0.mlp.experts.gate_up_proj",
        codes: "model.layers.0.mlp.experts.gate_up_proj_blocks",
        scales: "model.layers.0.mlp.experts.gate_up_proj_scales",
        global: None,
        format: Format::MXFP4,
        shape: Shape::new(8, 64),
    },
];

fn data(path: &str) -> Vec<u8> {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/cases");
    fs::read(cases.join(path)).unwrap()
}

fn sample(case: &Case) -> Sample {
    let file = data(&format!("{}/model.safetensors", case.name));
    let tensors = SafeTensors::deserialize(&file).unwrap();
    let bytes = |name| tensors.tensor(name).unwrap().data().to_vec();
    let global = case.global.map(bytes);
    Sample {
        kind: Kind::Blocks(case.format),
        shape: case.shape,
        codes: bytes(case.codes),
        scales: bytes(case.scales),
        global: global.map_or(1.0, |bytes| f32::from_le_bytes(bytes.try_into().unwrap())),
    }
}

fn decoded(case: &Case, gpu: &blockscale_wgpu::Gpu) -> Vec<f32> {
    let sample = sample(case);
    let resident = block_on(gpu.upload(&sample.stored())).unwrap();
    let window = Window::whole(case.shape);
    block_on(gpu.tile(Source::Values(&resident), &window)).unwrap()
}

#[test]
fn cases_from_the_field_decode_to_the_values_of_other_code() {
    let expected: Value = serde_json::from_slice(&data("expected.json")).unwrap();
    for gpu in gpus() {
        for case in CASES {
            let expected = &expected["decoded"][case.name][case.weight];
            let found = decoded(&case, gpu);
            if let Some(hash) = expected["sha256_f32"].as_str() {
                let bytes: Vec<u8> = found.iter().flat_map(|x| x.to_le_bytes()).collect();
                let digest = Sha256::digest(&bytes);
                let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
                assert_eq!(hex, hash, "{}", case.name);
                continue;
            }
            let values = expected["values"].as_array().unwrap();
            let values: Vec<f32> = values
                .iter()
                .map(|value| value.as_f64().map_or(f32::NAN, |value| value as f32))
                .collect();
            assert_same(&found, &values, case.name);
        }
    }
}

#[test]
fn edge_codes_of_e8m0_give_subnormals_infinities_and_nan() {
    let case = Case {
        name: "C04",
        weight: "lin.weight",
        codes: "lin.weight",
        scales: "lin.weight_scale",
        global: None,
        format: Format::MXFP8_E4M3,
        shape: Shape::new(3, 160),
    };
    let expected: Value = serde_json::from_slice(&data("expected.json")).unwrap();
    let rows = &expected["decoded"]["C04"]["lin.weight"]["f32_bits_by_row_and_block"];
    let bits = |value: &Value| u32::from_str_radix(value.as_str().unwrap(), 16).unwrap();
    let expected: Vec<f32> = rows
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|blocks| blocks.as_array().unwrap())
        .flat_map(|block| [f32::from_bits(bits(block)); 32])
        .collect();
    for gpu in gpus() {
        assert_same(&decoded(&case, gpu), &expected, "C04");
    }
}
