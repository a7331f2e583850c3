//! Checkpoints written by the tools themselves, against what these tools decode them to.
//!
//! The files and their makers are in `tests/data/checkpoints`.

use blockscale::format::Format;
use blockscale_model::catalog::Encoding;
use blockscale_model::dialect::Dialect;

use crate::support::{Opened, bf16_bytes, data, f32_bytes, json, sha256};

/// Every folder, and the dialect that its config announces.
pub(crate) const FOLDERS: [(&str, Dialect); 21] = [
    ("autoawq", Dialect::Awq),
    ("autogptq", Dialect::Gptq),
    ("ct-fp8-block-llama", Dialect::CompressedTensors),
    ("ct-int-mxfp6", Dialect::CompressedTensors),
    ("ct-mxfp4-llama", Dialect::CompressedTensors),
    ("ct-mxfp8-llama", Dialect::CompressedTensors),
    ("ct-nvfp4-dsv4", Dialect::CompressedTensors),
    ("ct-nvfp4a16-llama", Dialect::CompressedTensors),
    ("dsv4-nvfp4", Dialect::Deepseek),
    ("dsv4-official", Dialect::Deepseek),
    ("gptoss-mxfp4", Dialect::GptOss),
    ("gptqmodel", Dialect::Gptq),
    ("hf-fp8-dsv3", Dialect::Deepseek),
    ("mlx-affine", Dialect::Mlx),
    ("mlx-nvfp4-llama", Dialect::Mlx),
    ("modelopt-fp8-llama", Dialect::Modelopt),
    ("modelopt-nvfp4-dsv4", Dialect::Modelopt),
    ("modelopt-nvfp4-llama", Dialect::Modelopt),
    ("quark", Dialect::Quark),
    ("quark-e3m2", Dialect::Quark),
    ("torchao", Dialect::Torchao),
];

pub(crate) fn open(folder: &str) -> Opened {
    Opened::new(&data("checkpoints").join(folder))
}

/// Swaps the last two axes of a stack: transformers has gpt-oss' experts as `[E, in, out]`.
pub(crate) fn transposed(values: &[f32], [count, rows, cols]: [usize; 3]) -> Vec<f32> {
    let matrices = values.chunks_exact(rows * cols).take(count);
    matrices
        .flat_map(|m| (0..cols).flat_map(move |col| (0..rows).map(move |row| m[row * cols + col])))
        .collect()
}

#[test]
fn every_weight_decodes_to_the_producers_values() {
    for (folder, dialect) in FOLDERS {
        let opened = open(folder);
        assert_eq!(opened.catalog.refusals, [], "{folder}");
        let expected = json(&format!("checkpoints/{folder}.expected.json"));
        let expected = expected.as_object().unwrap();
        let scaled = opened.catalog.weights.iter();
        let scaled = scaled.filter(|w| w.encoding.is_scaled()).count();
        assert_eq!(scaled, expected.len(), "{folder}");
        for (name, weight) in expected {
            let shape = &opened.catalog.weight(name).unwrap().shape;
            let mut values = opened.decode(name);
            if dialect == Dialect::GptOss {
                values = transposed(&values, shape.as_slice().try_into().unwrap());
            }
            // The hashes count -0 as +0.
            values.iter_mut().for_each(|v| *v += 0.0);
            let found = (sha256(&f32_bytes(&values)), sha256(&bf16_bytes(&values)));
            // compressed-tensors decodes to BF16 and never has the F32 values.
            if dialect != Dialect::CompressedTensors {
                assert_eq!(found.0, weight["sha256_f32"], "{folder}: {name}");
            }
            assert_eq!(found.1, weight["sha256_bf16"], "{folder}: {name}");
        }
    }
}

#[test]
fn announced_dialect_is_confirmed_by_the_tensors() {
    for (folder, dialect) in FOLDERS {
        let opened = open(folder);
        assert_eq!(
            Dialect::announced(&opened.checkpoint),
            Some(dialect),
            "{folder}"
        );
        assert_eq!(opened.catalog.findings, [], "{folder}");
    }
}

#[test]
fn scales_of_torchaos_fp8_are_named_by_what_they_cover() {
    let opened = open("torchao");
    for (module, format) in [
        ("fp8_row", Format::FP8_CHANNEL),
        // Smaller than a block, and so the same as one.
        ("fp8_tensor", Format::FP8_BLOCK),
        ("fp8_block", Format::FP8_BLOCK),
    ] {
        let weight = opened.catalog.weight(&format!("layers.0.{module}.weight"));
        assert_eq!(
            weight.unwrap().encoding,
            Encoding::Block(format),
            "{module}"
        );
    }
}

#[test]
fn every_tensor_belongs_to_one_weight() {
    for (folder, _) in FOLDERS {
        let opened = open(folder);
        let parts = opened.catalog.weights.iter().flat_map(|w| &w.parts);
        let mut parts: Vec<usize> = parts.map(|p| p.tensor).collect();
        parts.sort_unstable();
        let all: Vec<usize> = (0..opened.checkpoint.tensors.len()).collect();
        assert_eq!(parts, all, "{folder}");
    }
}

#[test]
fn runs_of_rows_decode_to_the_same_values_as_whole_matrices() {
    for (folder, _) in FOLDERS {
        let opened = open(folder);
        for (i, weight) in opened.catalog.weights.iter().enumerate() {
            if !weight.encoding.is_scaled() {
                continue;
            }
            let rows = opened.weights().run_alignment(i);
            let pieces = opened.decode_runs(i, rows).unwrap();
            let whole = opened.decode(&weight.name);
            let bits =
                |values: &[f32]| -> Vec<u32> { values.iter().map(|v| v.to_bits()).collect() };
            assert_eq!(bits(&pieces), bits(&whole), "{folder}: {}", weight.name);
        }
    }
}
