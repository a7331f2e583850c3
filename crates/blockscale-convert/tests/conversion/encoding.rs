//! Codes and scales that are chosen afresh.

use blockscale_convert::ConvertOptions;
use blockscale_model::recipe::Target;

use crate::checkpoint::{NewTensor, write_sharded, write_single};
use crate::files::data;
use crate::run::{Opened, comparison, converted, to};

fn amax(values: &[f32]) -> f32 {
    values.iter().fold(0.0, |largest, v| v.abs().max(largest))
}

#[test]
fn nvfp4_global_scale_is_amax_over_2688_however_many_runs_it_takes() {
    let dir = tempfile::tempdir().unwrap();
    let mut tensors = vec![NewTensor::noise("a.weight", &[500, 64])];
    tensors.push(NewTensor::noise("stack.weight", &[5, 20, 64]));
    write_single(dir.path(), &tensors);
    let source = Opened::new(dir.path());
    let few_rows = ConvertOptions {
        max_memory: 64 << 10,
        ..ConvertOptions::default()
    };
    let out = tempfile::tempdir().unwrap();
    source
        .convert(&source.plan(&to(Target::Nvfp4)), out.path(), &few_rows)
        .unwrap();
    let output = Opened::new(out.path());
    for module in ["a", "stack"] {
        let expected = amax(&source.decode(&format!("{module}.weight"))) / 2688.0;
        assert_eq!(
            output.f32s(&format!("{module}.weight_scale_2")),
            [expected],
            "{module}"
        );
    }
}

#[test]
fn joined_siblings_share_the_global_scale_of_the_largest_also_across_shards() {
    let dir = tempfile::tempdir().unwrap();
    let shards = [
        vec![NewTensor::noise("l.q_proj.weight", &[64, 32])],
        vec![
            NewTensor::bf16("l.k_proj.weight", &[2, 32], &[3.0; 64]),
            NewTensor::noise("l.o_proj.weight", &[32, 32]),
        ],
        vec![NewTensor::noise("l.v_proj.weight", &[16, 32])],
    ];
    write_sharded(dir.path(), &shards);
    let source = Opened::new(dir.path());
    for shard_bytes in [1, 1 << 30] {
        let plan = source.plan_with(&to(Target::Nvfp4), shard_bytes).unwrap();
        let out = tempfile::tempdir().unwrap();
        source
            .convert(&plan, out.path(), &ConvertOptions::default())
            .unwrap();
        let output = Opened::new(out.path());
        for member in ["q_proj", "k_proj", "v_proj"] {
            let global = output.f32s(&format!("l.{member}.weight_scale_2"));
            assert_eq!(global, [3.0 / 2688.0], "{member}, shards of {shard_bytes}");
        }
        let o_proj = amax(&source.decode("l.o_proj.weight")) / 2688.0;
        assert_eq!(output.f32s("l.o_proj.weight_scale_2"), [o_proj]);
    }
}

#[test]
fn zeros_stay_zeros_with_finite_scales() {
    let dir = tempfile::tempdir().unwrap();
    write_single(
        dir.path(),
        &[NewTensor::bf16("zero.weight", &[130, 48], &[0.0; 130 * 48])],
    );
    for target in [Target::Fp8Block, Target::Fp8BlockUe8m0, Target::Nvfp4] {
        let out = tempfile::tempdir().unwrap();
        let (manifest, output) = converted(dir.path(), &to(target), out.path());
        assert!(comparison(&manifest, "zero.weight").exact, "{target}");
        assert!(
            output.decode("zero.weight").iter().all(|v| *v == 0.0),
            "{target}"
        );
        if target == Target::Nvfp4 {
            assert_eq!(output.f32s("zero.weight_scale_2"), [1.0]);
        }
    }
}

#[test]
fn noise_keeps_the_sqnr_that_each_format_reaches() {
    let dir = tempfile::tempdir().unwrap();
    write_single(dir.path(), &[NewTensor::noise("a.weight", &[256, 256])]);
    // About what gaussian weights reach: 20.4 dB in NVFP4, 31.5 dB in FP8 blocks.
    let formats = [
        (Target::Nvfp4, 20.0..21.5),
        (Target::Fp8Block, 31.0..32.5),
        (Target::Fp8BlockUe8m0, 31.0..32.5),
    ];
    for (target, range) in formats {
        let out = tempfile::tempdir().unwrap();
        let (manifest, _) = converted(dir.path(), &to(target), out.path());
        let comparison = comparison(&manifest, "a.weight");
        let sqnr = comparison.sqnr_db.unwrap();
        assert!(range.contains(&sqnr), "{target}: {comparison:?}");
    }
}

#[test]
fn power_of_two_scales_widen_to_f32_without_a_change() {
    let first = tempfile::tempdir().unwrap();
    let name = "model.layers.0.self_attn.q_proj.weight";
    let llama = data("checkpoints/modelopt-nvfp4-llama");
    let (_, ue8m0) = converted(&llama, &to(Target::Fp8BlockUe8m0), first.path());
    let second = tempfile::tempdir().unwrap();
    let (manifest, f32s) = converted(first.path(), &to(Target::Fp8Block), second.path());
    assert!(
        manifest.weights.iter().all(|w| w.exact),
        "{:?}",
        manifest.weights
    );
    assert_eq!(ue8m0.bytes(name), f32s.bytes(name));
    assert_eq!(ue8m0.decode(name), f32s.decode(name));
}
