//! Numbers that a format cannot hold stop the run; those it can are kept and reported.

use std::fs;

use blockscale_convert::{ConvertError, ConvertOptions, FailureKind, JOURNAL, NumberFailure};
use blockscale_model::recipe::Target;
use tempfile::TempDir;

use crate::checkpoint::{NewTensor, noise, write_sharded, write_single};
use crate::files::names;
use crate::run::{Opened, comparison, converted, everything_to, to};

fn source(tensors: &[NewTensor]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_single(dir.path(), tensors);
    dir
}

/// Converts into a folder where the numbers must fail; says what failed and what was left there.
fn failure(
    source: &TempDir,
    target: Target,
    options: &ConvertOptions,
) -> (NumberFailure, Vec<String>) {
    let opened = Opened::new(source.path());
    let out = tempfile::tempdir().unwrap();
    let plan = opened.plan(&everything_to(target));
    let error = opened.convert(&plan, out.path(), options).unwrap_err();
    assert_eq!(error.kind(), FailureKind::Mismatch);
    let text = error.to_string();
    let ConvertError::Numbers(failures) = error else {
        panic!("{text}");
    };
    let [failure] = failures.as_slice() else {
        panic!("{text}");
    };
    assert!(text.contains(&format!("`{}`", failure.tensor)), "{text}");
    (failure.clone(), names(out.path()))
}

/// What a failed run leaves of a one-file model: nothing under a final name.
const LEFT: [&str; 2] = [".model.safetensors.partial", JOURNAL];

#[test]
fn number_beyond_f16_stops_the_run() {
    let dir = source(&[NewTensor::f32(
        "big.weight",
        &[2, 2],
        &[1.0, 65520.0, -1.0, 0.0],
    )]);
    let (failure, left) = failure(&dir, Target::F16, &ConvertOptions::default());
    assert_eq!(failure.tensor, "big.weight");
    assert!(failure.reason.contains("1 values"), "{}", failure.reason);
    assert_eq!(left, LEFT);
}

#[test]
fn largest_f16_number_is_kept() {
    let dir = source(&[NewTensor::f32("big.weight", &[1, 2], &[65504.0, -65504.0])]);
    let out = tempfile::tempdir().unwrap();
    let (_, output) = converted(dir.path(), &to(Target::F16), out.path());
    assert_eq!(output.decode("big.weight"), [65504.0, -65504.0]);
}

#[test]
fn infinity_stays_where_the_format_has_one_and_stops_the_run_where_not() {
    let mut values = noise(1, 256);
    values[3] = f32::INFINITY;
    let dir = source(&[NewTensor::bf16("a.weight", &[8, 32], &values)]);
    for target in [Target::F16, Target::F32] {
        let out = tempfile::tempdir().unwrap();
        let (manifest, output) = converted(dir.path(), &to(target), out.path());
        assert_eq!(output.decode("a.weight")[3], f32::INFINITY);
        assert_eq!(comparison(&manifest, "a.weight").inf, 1);
    }
    for target in [Target::Fp8Block, Target::Nvfp4] {
        let (failure, left) = failure(&dir, target, &ConvertOptions::default());
        assert_eq!(failure.tensor, "a.weight");
        assert_eq!(left, LEFT);
    }
}

#[test]
fn nan_is_kept_and_its_place_reported() {
    let mut values = noise(2, 300 * 32);
    values[299 * 32 + 5] = f32::NAN;
    values[17] = f32::NAN;
    let dir = source(&[NewTensor::bf16("a.weight", &[300, 32], &values)]);
    let opened = Opened::new(dir.path());
    // So little that the rows come in several runs.
    let options = ConvertOptions {
        max_memory: 384 << 10,
        ..ConvertOptions::default()
    };
    for target in [Target::F32, Target::Fp8Block] {
        let out = tempfile::tempdir().unwrap();
        let plan = opened.plan(&to(target));
        let manifest = opened.convert(&plan, out.path(), &options).unwrap();
        let output = Opened::new(out.path());
        let comparison = comparison(&manifest, "a.weight");
        assert_eq!(
            (comparison.nan, &comparison.nan_at[..]),
            (2, &[[0, 17], [299, 5]][..])
        );
        let decoded = output.decode("a.weight");
        let nans = decoded.iter().enumerate().filter(|(_, v)| v.is_nan());
        assert_eq!(nans.map(|(i, _)| i).collect::<Vec<_>>(), [17, 299 * 32 + 5]);
        let finding = manifest
            .findings
            .iter()
            .find(|f| f.code == "non-finite-values")
            .unwrap();
        assert_eq!(finding.tensor.as_deref(), Some("a.weight"));
    }
}

#[test]
fn nan_stops_the_run_to_nvfp4_which_has_none() {
    let mut values = noise(3, 256);
    values[100] = f32::NAN;
    let dir = source(&[NewTensor::bf16("a.weight", &[8, 32], &values)]);
    let (failure, left) = failure(&dir, Target::Nvfp4, &ConvertOptions::default());
    assert_eq!(failure.tensor, "a.weight");
    assert_eq!(left, LEFT);
}

#[test]
fn sqnr_below_the_bound_asked_for_names_the_weight_and_publishes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let shards = [
        vec![NewTensor::bf16("one.weight", &[8, 32], &[0.5; 256])],
        vec![NewTensor::noise("noise.weight", &[64, 64])],
    ];
    write_sharded(dir.path(), &shards);
    fs::write(dir.path().join("config.json"), "{}").unwrap();
    let opened = Opened::new(dir.path());
    let plan = opened.plan_with(&to(Target::Nvfp4), 1).unwrap();
    let strict = ConvertOptions {
        min_sqnr: Some(40.0),
        ..ConvertOptions::default()
    };
    let out = tempfile::tempdir().unwrap();
    let error = opened.convert(&plan, out.path(), &strict).unwrap_err();
    assert!(
        matches!(&error, ConvertError::Numbers(all) if all.len() == 1),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("`noise.weight`") && text.contains("below 40 dB"),
        "{text}"
    );

    // The weight whose numbers are good is finished, and can be resumed.
    let shard = |name: &str| {
        let weight = plan.weights.iter().find(|w| w.name == name).unwrap();
        plan.shards[weight.shard].name.clone()
    };
    let left = names(out.path());
    assert!(left.contains(&shard("one.weight")), "{left:?}");
    assert!(!left.contains(&shard("noise.weight")), "{left:?}");
    let document = left.iter().find(|name| name.ends_with(".json"));
    assert_eq!(document, None, "neither an index nor a config is there");
}

#[test]
fn source_file_that_became_shorter_is_an_error() {
    let dir = source(&[NewTensor::noise("a.weight", &[256, 64])]);
    let opened = Opened::new(dir.path());
    let plan = opened.plan(&to(Target::Fp8Block));
    let file = dir.path().join("model.safetensors");
    let len = fs::metadata(&file).unwrap().len();
    fs::File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_len(len - 100)
        .unwrap();
    let out = tempfile::tempdir().unwrap();
    let error = opened
        .convert(&plan, out.path(), &ConvertOptions::default())
        .unwrap_err();
    assert!(matches!(error, ConvertError::Source(_)), "{error}");
    assert!(error.to_string().contains("model.safetensors"), "{error}");
    assert_eq!(names(out.path()), LEFT);
}
