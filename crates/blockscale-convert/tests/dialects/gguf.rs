//! GGUF files: opened, decoded, converted.
//!
//! `tests/data/gguf` has the file and what its maker decodes it to.

use std::fs;
use std::path::Path;

use blockscale::ggml;
use blockscale_convert::source::{LocalSource, OpenError};
use blockscale_model::catalog::{Encoding, PartRole, ScaleProblem};
use blockscale_model::plan::{Plan, PlanError, PlanOptions};
use blockscale_model::recipe::{Recipe, Target, generic};

use crate::support::{Opened, bf16_bytes, data, f32_bytes, json, sha256};

fn small() -> Opened {
    Opened::new(&data("gguf/small.gguf"))
}

/// A header of so many tensors, all `[2, cols]` and one after the other, and zeros for data.
fn gguf(metadata: &[(&str, u32)], tensors: &[(&str, u32, u64, u64)]) -> Vec<u8> {
    let mut file = b"GGUF".to_vec();
    file.extend(3u32.to_le_bytes());
    file.extend((tensors.len() as u64).to_le_bytes());
    file.extend((metadata.len() as u64).to_le_bytes());
    let text = |file: &mut Vec<u8>, text: &str| {
        file.extend((text.len() as u64).to_le_bytes());
        file.extend(text.as_bytes());
    };
    for (key, value) in metadata {
        text(&mut file, key);
        file.extend(4u32.to_le_bytes());
        file.extend(value.to_le_bytes());
    }
    let mut offset = 0u64;
    for &(name, kind, cols, bytes) in tensors {
        text(&mut file, name);
        file.extend(2u32.to_le_bytes());
        file.extend(cols.to_le_bytes());
        file.extend(2u64.to_le_bytes());
        file.extend(kind.to_le_bytes());
        file.extend(offset.to_le_bytes());
        offset += bytes.next_multiple_of(32);
    }
    let start = file.len().next_multiple_of(32);
    file.resize(start + offset as usize, 0);
    file
}

#[test]
fn every_tensor_decodes_to_the_values_of_its_maker() {
    let opened = small();
    let expected = json("gguf/small.expected.json");
    let expected = expected["tensors"].as_array().unwrap();
    assert_eq!(opened.checkpoint.tensors.len(), expected.len());
    for tensor in expected {
        let name = tensor["name"].as_str().unwrap();
        let Some(weight) = opened.catalog.weight(name) else {
            // The scale of another weight.
            assert!(name.ends_with(".scale"), "{name}");
            continue;
        };
        assert_eq!(serde_json::json!(weight.shape), tensor["shape"], "{name}");
        if weight.part(PartRole::GlobalScale).is_none() {
            let values = opened.decode(name);
            assert_eq!(sha256(&f32_bytes(&values)), tensor["f32_sha256"], "{name}");
        }
    }
}

#[test]
fn scale_beside_nvfp4_multiplies_the_decoded_values() {
    let opened = small();
    let weight = opened.catalog.weight("blk.0.ffn_down.weight").unwrap();
    assert_eq!(weight.encoding, Encoding::Ggml(ggml::GgmlType::Nvfp4));
    let stored = opened.bytes("blk.0.ffn_down.weight");
    let mut values = vec![0.0_f32; weight.shape.iter().product()];
    let shape = weight.matrices().shape;
    ggml::decode_rows(ggml::GgmlType::Nvfp4, shape, &stored, &mut values).unwrap();
    let scale = opened.bytes("blk.0.ffn_down.scale");
    let scale = f32::from_le_bytes(scale.as_slice().try_into().unwrap());
    assert_ne!(scale, 1.0);
    let scaled: Vec<f32> = values.iter().map(|v| v * scale).collect();
    assert_eq!(
        f32_bytes(&opened.decode("blk.0.ffn_down.weight")),
        f32_bytes(&scaled)
    );
}

#[test]
fn becomes_safetensors_in_bf16() {
    let source = small();
    let out = tempfile::tempdir().unwrap();
    let recipe = generic(Target::Bf16, Vec::new(), Vec::new());
    let output = source.converted(&recipe, out.path());
    assert!(source.verify(&output).passed());
    assert!(out.path().join("model.safetensors").exists());
    for weight in source
        .catalog
        .weights
        .iter()
        .filter(|w| w.encoding.is_scaled())
    {
        let values = source.decode(&weight.name);
        assert_eq!(
            output.bytes(&weight.name),
            bf16_bytes(&values),
            "{}",
            weight.name
        );
    }
}

#[test]
fn converts_to_every_block_format_and_verifies() {
    let source = small();
    for target in [
        Target::Nvfp4,
        Target::Mxfp4,
        Target::Mxfp8,
        Target::Fp8Block,
        Target::Fp8BlockUe8m0,
        Target::Fp8Channel,
        Target::Fp8Tensor,
    ] {
        let out = tempfile::tempdir().unwrap();
        let output = source.converted(&generic(target, Vec::new(), Vec::new()), out.path());
        let report = source.verify(&output);
        assert!(report.passed(), "{target}: {:?}", report.failures);
    }
}

#[test]
fn blocks_cannot_be_kept_in_safetensors() {
    let source = small();
    let text = "version = 1\nname = \"keep\"\n[[rule]]\nmatch = [\"*\"]\nto = \"keep\"";
    let recipe = Recipe::parse(text).unwrap();
    let options = PlanOptions::default();
    let error = Plan::build(&source.checkpoint, &source.catalog, &recipe, &options).unwrap_err();
    assert!(matches!(error, PlanError::OnlyInGguf { .. }), "{error}");
}

#[test]
fn metadata_take_the_place_of_a_config() {
    let opened = small();
    assert_eq!(opened.checkpoint.config, None);
    let header = opened.checkpoint.gguf.as_ref().unwrap();
    assert!(header.architecture().is_some());
    assert_eq!(opened.checkpoint.model_type(), header.architecture());
}

#[test]
fn folder_with_one_gguf_file_stands_for_it() {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(data("gguf/small.gguf"), dir.path().join("a.gguf")).unwrap();
    let opened = Opened::new(dir.path());
    assert_eq!(opened.catalog.weights, small().catalog.weights);
    fs::copy(data("gguf/small.gguf"), dir.path().join("b.gguf")).unwrap();
    let Err(OpenError::Several { names, .. }) = LocalSource::open(dir.path()) else {
        panic!("one of two was taken");
    };
    assert_eq!(names, ["a.gguf", "b.gguf"]);
}

#[test]
fn file_is_known_by_its_first_bytes_under_any_name() {
    let dir = tempfile::tempdir().unwrap();
    let blob = dir.path().join("0f3a");
    fs::copy(data("gguf/small.gguf"), &blob).unwrap();
    assert_eq!(Opened::new(&blob).catalog.weights, small().catalog.weights);
}

fn write(dir: &Path, bytes: &[u8]) -> std::path::PathBuf {
    let path = dir.join("a.gguf");
    fs::write(&path, bytes).unwrap();
    path
}

#[test]
fn blocks_without_a_decoder_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    let path = write(dir.path(), &gguf(&[], &[("a.weight", 12, 256, 288)]));
    let refusals = Opened::new(&path).catalog.refusals;
    assert_eq!(refusals[0].tensor, "a.weight");
    assert!(matches!(refusals[0].problem, ScaleProblem::NotRead { .. }));
    assert!(refusals[0].to_string().contains("Q4_K"), "{}", refusals[0]);
}

#[test]
fn one_part_of_a_split_model_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let split = [("split.no", 1), ("split.count", 3)];
    let path = write(dir.path(), &gguf(&split, &[("a.weight", 8, 32, 68)]));
    let error = LocalSource::open(&path).unwrap_err();
    assert!(
        matches!(
            error,
            OpenError::GgufPart {
                part: 2,
                count: 3,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn damaged_header_is_refused_with_its_file_named() {
    let dir = tempfile::tempdir().unwrap();
    let mut bytes = gguf(&[], &[("a.weight", 8, 32, 68)]);
    bytes.truncate(40);
    let path = write(dir.path(), &bytes);
    let error = LocalSource::open(&path).unwrap_err();
    assert!(matches!(error, OpenError::Gguf { .. }), "{error}");
    assert!(error.to_string().contains("a.gguf"), "{error}");
}
