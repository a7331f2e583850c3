//! What `verify` finds in an output that something went wrong with.

use std::fs;
use std::path::Path;

use blockscale_convert::{VerifyOptions, VerifyReport};
use blockscale_model::recipe::{Target, builtin};
use tempfile::TempDir;

use crate::checkpoint::{NewTensor, noise, write_single};
use crate::files::data;
use crate::run::{Opened, converted, to};

fn folder(tensors: &[NewTensor]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_single(dir.path(), tensors);
    dir
}

fn verify(source: &Path, output: &Path) -> VerifyReport {
    Opened::new(source).verify(&Opened::new(output), &VerifyOptions::default())
}

/// Overwrites the bytes of a tensor in its file.
fn overwrite(dir: &Path, tensor: &str, bytes: &[u8]) {
    let opened = Opened::new(dir);
    let raw = opened.checkpoint.tensor(tensor).unwrap();
    assert_eq!(raw.bytes(), bytes.len() as u64, "{tensor}");
    let path = dir.join("model.safetensors");
    let mut file = fs::read(&path).unwrap();
    file[raw.range.start as usize..raw.range.end as usize].copy_from_slice(bytes);
    fs::write(&path, file).unwrap();
}

#[test]
fn scale_plane_of_ones_fails_although_the_angle_is_right() {
    // One block: a wrong scale is one factor for all, which no cosine sees.
    let source = folder(&[NewTensor::noise("a.weight", &[128, 128])]);
    let out = tempfile::tempdir().unwrap();
    converted(source.path(), &to(Target::Fp8Block), out.path());
    assert!(verify(source.path(), out.path()).passed());
    overwrite(out.path(), "a.weight_scale_inv", &1.0_f32.to_le_bytes());
    let report = verify(source.path(), out.path());
    assert!(!report.passed());
    let weight = &report.weights[0];
    assert!(weight.cosine.unwrap() > 0.999, "{weight:?}");
    assert!(weight.norm_ratio.unwrap() > 2.0, "{weight:?}");
    assert_eq!(report.failures[0].tensor, "a.weight");
    assert!(
        report.failures[0].reason.contains("SQNR"),
        "{}",
        report.failures[0].reason
    );
}

#[test]
fn swapped_nibbles_fail() {
    let source = folder(&[NewTensor::noise("a.weight", &[64, 64])]);
    let out = tempfile::tempdir().unwrap();
    let (_, output) = converted(source.path(), &to(Target::Nvfp4), out.path());
    let swapped: Vec<u8> = output
        .bytes("a.weight")
        .iter()
        .map(|b| b.rotate_left(4))
        .collect();
    overwrite(out.path(), "a.weight", &swapped);
    let report = verify(source.path(), out.path());
    assert_eq!(report.failures.len(), 1, "{report:?}");
}

#[test]
fn one_changed_bit_of_a_copy_fails() {
    let dir = tempfile::tempdir().unwrap();
    let tensors = [
        NewTensor::noise("norm.weight", &[64]),
        NewTensor::new("ids", blockscale_model::Dtype::I64, &[2], (0..16).collect()),
    ];
    write_single(dir.path(), &tensors);
    let out = tempfile::tempdir().unwrap();
    let (_, output) = converted(dir.path(), &to(Target::Bf16), out.path());
    assert!(verify(dir.path(), out.path()).passed());
    for tensor in ["norm.weight", "ids"] {
        let good = output.bytes(tensor);
        let mut bad = good.clone();
        bad[6] ^= 1;
        overwrite(out.path(), tensor, &bad);
        let report = verify(dir.path(), out.path());
        let failed: Vec<_> = report.failures.iter().map(|f| f.tensor.as_str()).collect();
        assert_eq!(failed, [tensor]);
        overwrite(out.path(), tensor, &good);
    }
}

#[test]
fn missing_weight_fails_and_an_extra_one_is_reported() {
    let a = NewTensor::noise("a.weight", &[4, 4]);
    let b = NewTensor::noise("b.weight", &[4, 4]);
    let both = folder(&[a.clone(), b]);
    let one = folder(&[a]);
    let report = verify(both.path(), one.path());
    assert_eq!(report.only_in_source, ["b.weight"]);
    assert!(!report.passed());
    let report = verify(one.path(), both.path());
    assert_eq!(report.only_in_output, ["b.weight"]);
    assert!(report.passed());
}

#[test]
fn other_shape_fails_and_both_are_named() {
    let values = noise(8, 32);
    let source = folder(&[NewTensor::f32("a.weight", &[4, 8], &values)]);
    let output = folder(&[NewTensor::f32("a.weight", &[8, 4], &values)]);
    let report = verify(source.path(), output.path());
    let reason = &report.failures[0].reason;
    assert!(reason.contains("4x8") && reason.contains("8x4"), "{reason}");
}

#[test]
fn nan_on_one_side_fails_whatever_the_bound() {
    let mut values = noise(9, 64);
    let source = folder(&[NewTensor::bf16("a.weight", &[4, 16], &values)]);
    values[9] = f32::NAN;
    let output = folder(&[NewTensor::f32("a.weight", &[4, 16], &values)]);
    let report = verify(source.path(), output.path());
    assert!(report.failures[0].reason.contains("NaN"), "{report:?}");
}

#[test]
fn given_bound_replaces_bounds_in_both_directions_and_never_equality() {
    let tensors = [
        NewTensor::noise("a.weight", &[64, 64]),
        NewTensor::f32("bias", &[16], &noise(4, 16)),
    ];
    let source = folder(&tensors);
    let out = tempfile::tempdir().unwrap();
    let (_, output) = converted(source.path(), &to(Target::Nvfp4), out.path());
    let failed = |min_sqnr| {
        let options = VerifyOptions {
            min_sqnr: Some(min_sqnr),
            ..VerifyOptions::default()
        };
        let report = Opened::new(source.path()).verify(&Opened::new(out.path()), &options);
        let names = report.failures.iter().map(|f| f.tensor.clone());
        names.collect::<Vec<_>>()
    };
    assert_eq!(failed(10.0), [""; 0]);
    assert_eq!(failed(30.0), ["a.weight"]);

    // Swapped nibbles come to less than 0 dB.
    let swapped: Vec<u8> = output
        .bytes("a.weight")
        .iter()
        .map(|byte| byte.rotate_left(4))
        .collect();
    overwrite(out.path(), "a.weight", &swapped);
    assert_eq!(failed(0.0), ["a.weight"]);
    assert_eq!(failed(-10.0), [""; 0]);

    // F32 that was F32 has to be equal, however loose the bound.
    let mut bias = output.bytes("bias");
    bias[0] ^= 1;
    overwrite(out.path(), "bias", &bias);
    assert_eq!(failed(-10.0), ["bias"]);
}

#[test]
fn fused_compressors_compare_with_split_ones_half_by_half() {
    let folder = data("checkpoints/modelopt-nvfp4-dsv4");
    let mut recipe = builtin("deepseek-v4-bf16").unwrap();
    recipe.fuse_modules().unwrap();
    let out = tempfile::tempdir().unwrap();
    let (_, output) = converted(&folder, &recipe, out.path());
    let fused = "layers.0.attn.compressor.fused_wkv_wgate.weight";
    assert_eq!(output.catalog.weight(fused).unwrap().shape, [512, 128]);
    let source = Opened::new(&folder);
    let report = source.verify(&output, &VerifyOptions::default());
    assert!(report.passed(), "{report:?}");
    let compared = |name: &str| report.weights.iter().any(|w| w.tensor == name);
    for half in ["wkv", "wgate"] {
        assert!(
            compared(&format!("layers.0.attn.compressor.{half}.weight")),
            "{half}"
        );
        assert!(
            compared(&format!("layers.0.attn.indexer.compressor.{half}.weight")),
            "{half}"
        );
    }
    let report = output.verify(&source, &VerifyOptions::default());
    assert!(report.only_in_source.is_empty(), "{report:?}");
}

#[test]
fn report_does_not_depend_on_the_memory_limit() {
    let folder = data("checkpoints/dsv4-nvfp4");
    let out = tempfile::tempdir().unwrap();
    let (_, output) = converted(&folder, &builtin("deepseek-v4-bf16").unwrap(), out.path());
    let source = Opened::new(&folder);
    let report = |max_memory| {
        let options = VerifyOptions {
            max_memory,
            min_sqnr: None,
        };
        source.verify(&output, &options).weights
    };
    assert_eq!(report(1), report(1 << 30));
}
