//! Checkpoints that broke real converters, with values computed by other code.
//!
//! The files and their stories are in `tests/data/cases`.

use blockscale_model::recipe::{Target, generic};
use serde_json::Value;

use crate::support::{Opened, bf16_bytes, data, f32_bytes, json, sha256};

fn open(case: &str) -> Opened {
    Opened::new(&data("cases").join(case))
}

fn expected(case: &str) -> Value {
    json("cases/expected.json")["decoded"][case].clone()
}

fn assert_decodes(case: &str) {
    let opened = open(case);
    for (name, weight) in expected(case).as_object().unwrap() {
        let shape = &opened.catalog.weight(name).unwrap().shape;
        assert_eq!(serde_json::json!(shape), weight["shape"], "{case}: {name}");
        let values = opened.decode(name);
        assert_eq!(
            sha256(&f32_bytes(&values)),
            weight["sha256_f32"],
            "{case}: {name}"
        );
        assert_eq!(
            sha256(&bf16_bytes(&values)),
            weight["sha256_bf16"],
            "{case}: {name}"
        );
    }
}

#[test]
fn edge_codes_of_e8m0_are_a_subnormal_and_nan() {
    let opened = open("C04");
    let values = opened.decode("lin.weight");
    let expected = expected("C04")["lin.weight"].clone();
    assert_eq!(values.iter().filter(|v| v.is_nan()).count(), 96);
    assert_eq!(values.iter().filter(|v| v.is_infinite()).count(), 32);
    assert_eq!(
        (&expected["nan"], &expected["inf"]),
        (&96.into(), &32.into())
    );
    let rows = expected["f32_bits_by_row_and_block"].as_array().unwrap();
    for (row, blocks) in rows.iter().enumerate() {
        for (block, bits) in blocks.as_array().unwrap().iter().enumerate() {
            let expected = f32::from_bits(u32::from_str_radix(bits.as_str().unwrap(), 16).unwrap());
            for found in &values[row * 160 + block * 32..][..32] {
                let same = found.to_bits() == expected.to_bits();
                assert!(
                    same || found.is_nan() && expected.is_nan(),
                    "{row}, {block}: {found}"
                );
            }
        }
    }
}

#[test]
fn e8m0_scales_in_bytes_are_exponents() {
    assert_decodes("C05");
}

#[test]
fn fp4_in_signed_bytes_is_shifted_without_its_sign() {
    assert_decodes("C15");
}

#[test]
fn stacked_experts_keep_gate_and_up_rows_interleaved() {
    assert_decodes("C16");
    let name = "model.layers.0.mlp.experts.gate_up_proj";
    let values = open("C16").decode(name);
    let halves = expected("C16 halves");
    for (half, first) in [("gate", 0), ("up", 1)] {
        let rows = values.chunks_exact(64).skip(first).step_by(2);
        let rows: Vec<f32> = rows.flatten().copied().collect();
        assert_eq!(
            sha256(&f32_bytes(&rows)),
            halves[half]["sha256_f32"],
            "{half}"
        );
    }
}

/// The written scales, and whether the numbers are those of the source where it has none but zeros.
fn converted(case: &str, target: Target) -> (Opened, Opened, tempfile::TempDir) {
    let source = open(case);
    let out = tempfile::tempdir().unwrap();
    let output = source.converted(&generic(target, Vec::new(), Vec::new()), out.path());
    (source, output, out)
}

#[test]
fn zero_blocks_stay_zero_and_give_no_nan() {
    let cases = [
        ("C13/fp8-input", Target::Fp8Block),
        ("C13/fp8-input", Target::Fp8BlockUe8m0),
        ("C13/nvfp4-input", Target::Nvfp4),
        ("C13/all-zero", Target::Nvfp4),
    ];
    for (case, target) in cases {
        let (source, output, _out) = converted(case, target);
        let (before, after) = (source.decode("lin.weight"), output.decode("lin.weight"));
        for (i, (before, after)) in before.iter().zip(&after).enumerate() {
            assert!(after.is_finite(), "{case} to {target}: {after} at {i}");
            assert!(
                *before != 0.0 || *after == 0.0,
                "{case} to {target}: {after} at {i}"
            );
        }
        if target == Target::Nvfp4 {
            let scales = output.bytes("lin.weight_scale");
            assert!(scales.iter().all(|scale| scale & 0x7f != 0x7f), "{case}");
            let global = output.bytes("lin.weight_scale_2");
            let global = f32::from_le_bytes(global.as_slice().try_into().unwrap());
            assert!(global.is_finite() && global > 0.0, "{case}: {global}");
        }
    }
}

#[test]
fn single_one_among_zero_blocks_comes_back() {
    for target in [Target::Fp8Block, Target::Fp8BlockUe8m0] {
        let (_, output, _out) = converted("C13/fp8-input", target);
        let values = output.decode("lin.weight");
        assert!((values[0] - 1.0).abs() <= 1e-6, "{target}: {}", values[0]);
        assert_eq!(values.iter().filter(|v| **v != 0.0).count(), 1, "{target}");
    }
}
