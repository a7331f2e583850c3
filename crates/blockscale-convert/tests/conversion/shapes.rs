//! Stacks, vectors, scalars and tensors of nothing.

use std::sync::atomic::AtomicBool;

use blockscale_convert::doctor::{Scope, examine};
use blockscale_convert::{ConvertError, ConvertOptions, Run, VerifyOptions};
use blockscale_model::Dtype;
use blockscale_model::recipe::Target;
use tempfile::TempDir;

use crate::checkpoint::{NewTensor, bf16_bytes, noise, write_single};
use crate::run::{Opened, converted, everything_to, to};

fn source(tensors: &[NewTensor]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_single(dir.path(), tensors);
    dir
}

#[test]
fn each_matrix_of_a_stack_has_its_own_blocks() {
    let [experts, rows, cols] = [3, 130, 144];
    let one = rows * cols;
    // Matrices of very different size: under a neighbour's scales they would come out wrong.
    let mut values = noise(5, experts * one);
    for (matrix, scale) in [1e-4, 1.0, 1e4].into_iter().enumerate() {
        values[matrix * one..(matrix + 1) * one]
            .iter_mut()
            .for_each(|v| *v *= scale);
    }
    let stack = source(&[NewTensor::bf16(
        "experts.weight",
        &[experts, rows, cols],
        &values,
    )]);
    for target in [Target::Fp8Block, Target::Fp8BlockUe8m0] {
        let out = tempfile::tempdir().unwrap();
        let (_, output) = converted(stack.path(), &to(target), out.path());
        let together = output.decode("experts.weight");
        assert_eq!(
            output
                .checkpoint
                .tensor("experts.weight_scale_inv")
                .unwrap()
                .shape,
            [3, 2, 2]
        );
        for matrix in 0..experts {
            let range = matrix * one..(matrix + 1) * one;
            let alone = source(&[NewTensor::bf16(
                "w.weight",
                &[rows, cols],
                &values[range.clone()],
            )]);
            let out = tempfile::tempdir().unwrap();
            let (_, output) = converted(alone.path(), &to(target), out.path());
            assert_eq!(
                output.decode("w.weight"),
                together[range],
                "matrix {matrix} to {target}"
            );
        }
    }
}

#[test]
fn stack_survives_nvfp4_and_back() {
    let stack = source(&[NewTensor::noise("experts.weight", &[4, 6, 32])]);
    let first = tempfile::tempdir().unwrap();
    let (_, nvfp4) = converted(stack.path(), &to(Target::Nvfp4), first.path());
    assert_eq!(
        nvfp4.checkpoint.tensor("experts.weight").unwrap().shape,
        [4, 6, 16]
    );
    assert_eq!(
        nvfp4
            .checkpoint
            .tensor("experts.weight_scale")
            .unwrap()
            .shape,
        [4, 6, 2]
    );
    let second = tempfile::tempdir().unwrap();
    let (_, f32s) = converted(first.path(), &to(Target::F32), second.path());
    assert_eq!(
        f32s.decode("experts.weight"),
        nvfp4.decode("experts.weight")
    );
    let report = nvfp4.verify(&f32s, &VerifyOptions::default());
    assert!(report.passed(), "{report:?}");
    assert!(report.weights[0].exact, "{report:?}");
}

#[test]
fn matrices_of_a_stack_may_have_a_global_scale_each() {
    // E2M1 code 2 and E4M3 code 0x38 are both 1.
    let dir = source(&[
        NewTensor::new("experts.weight", Dtype::U8, &[2, 1, 8], vec![0x22; 16]),
        NewTensor::new(
            "experts.weight_scale",
            Dtype::F8_E4M3,
            &[2, 1, 1],
            vec![0x38; 2],
        ),
        NewTensor::f32("experts.weight_scale_2", &[2], &[0.5, 4.0]),
    ]);
    let out = tempfile::tempdir().unwrap();
    let (_, output) = converted(dir.path(), &to(Target::F32), out.path());
    assert_eq!(
        output.decode("experts.weight"),
        [[0.5; 16], [4.0; 16]].concat()
    );
    assert_eq!(
        Opened::new(dir.path()).decode("experts.weight"),
        output.decode("experts.weight")
    );
}

#[test]
fn vectors_and_scalars_convert_to_plain_formats() {
    let vector = noise(6, 37);
    let dir = source(&[
        NewTensor::f32("bias", &[37], &vector),
        NewTensor::f32("temperature", &[], &[0.1]),
    ]);
    let out = tempfile::tempdir().unwrap();
    let (manifest, output) = converted(dir.path(), &everything_to(Target::Bf16), out.path());
    assert_eq!(output.bytes("bias"), bf16_bytes(&vector));
    assert_eq!(output.bytes("temperature"), bf16_bytes(&[0.1]));
    assert_eq!(
        output.checkpoint.tensor("temperature").unwrap().shape,
        [0; 0]
    );
    assert_eq!(manifest.weights.len(), 2);
}

#[test]
fn vectors_are_left_alone_by_block_formats() {
    let dir = source(&[
        NewTensor::noise("a.weight", &[16, 16]),
        NewTensor::noise("sinks", &[16]),
    ]);
    let out = tempfile::tempdir().unwrap();
    let (_, output) = converted(dir.path(), &to(Target::Fp8Block), out.path());
    assert_eq!(
        output.bytes("sinks"),
        Opened::new(dir.path()).bytes("sinks")
    );
    assert_eq!(
        output.checkpoint.tensor("a.weight").unwrap().dtype,
        Dtype::F8_E4M3
    );
}

#[test]
fn tensors_of_nothing_pass_through_every_conversion() {
    let dir = source(&[
        NewTensor::noise("a.weight", &[16, 16]),
        NewTensor::noise("no_rows.weight", &[0, 16]),
        NewTensor::noise("no_cols.weight", &[16, 0]),
        NewTensor::noise("no_experts.weight", &[0, 16, 16]),
        NewTensor::new("no_codes.weight", Dtype::F8_E4M3, &[0, 16], Vec::new()),
    ]);
    let source = Opened::new(dir.path());
    for target in Target::CONVERSIONS {
        let out = tempfile::tempdir().unwrap();
        let (_, output) = converted(dir.path(), &to(target), out.path());
        for weight in &source.catalog.weights {
            let name = &weight.name;
            let written = output.catalog.weight(name);
            let written = written.unwrap_or_else(|| panic!("no `{name}` in {target}"));
            assert_eq!(written.elements(), weight.elements(), "{name} in {target}");
            if target.is_plain() {
                assert_eq!(written.shape, weight.shape, "{}", weight.name);
            }
        }
        let report = source.verify(&output, &VerifyOptions::default());
        assert!(report.passed(), "{target}: {report:?}");
        assert_eq!(report.identical, 4, "{target}");
    }
}

#[test]
fn rows_that_share_their_scales_with_others_are_not_read_alone() {
    let dir = source(&[NewTensor::noise("a.weight", &[160, 16])]);
    let out = tempfile::tempdir().unwrap();
    let (_, output) = converted(dir.path(), &to(Target::Fp8Block), out.path());
    let run = |rows| Run {
        weight: 0,
        matrix: 0,
        rows,
    };
    for rows in [0..128, 0..5, 128..130] {
        output.weights().read(&run(rows)).unwrap();
    }
    let error = output.weights().read(&run(64..128)).unwrap_err();
    assert!(
        matches!(
            error,
            ConvertError::InsideBlock {
                row: 64,
                block: 128,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn integers_are_copied() {
    let bytes: Vec<u8> = (0..64).collect();
    let dir = source(&[
        NewTensor::noise("a.weight", &[16, 16]),
        NewTensor::new("ids", Dtype::I64, &[4, 2], bytes.clone()),
    ]);
    let out = tempfile::tempdir().unwrap();
    let (_, output) = converted(dir.path(), &to(Target::Nvfp4), out.path());
    assert_eq!(output.bytes("ids"), bytes);
    let report = Opened::new(dir.path()).verify(&output, &VerifyOptions::default());
    assert_eq!((report.identical, report.weights.len()), (1, 1));
}

#[test]
fn nothing_in_any_number_of_rows_is_passed_over() {
    let huge = 1 << 62;
    let shapes = [
        vec![huge, 0],
        vec![0, huge],
        vec![1 << 40, 0, 3],
        vec![3, 0, 1 << 40],
    ];
    for shape in shapes {
        let tensors = [
            NewTensor::new("a.weight", Dtype::BF16, &shape, Vec::new()),
            NewTensor::new("b.weight", Dtype::F8_E4M3, &shape, Vec::new()),
            NewTensor::f32("b.weight_scale", &[1], &[0.5]),
        ];
        let dir = source(&tensors);
        let opened = Opened::new(dir.path());
        for scope in [Scope::Full, Scope::Sample { seed: 1 }] {
            examine(opened.weights(), scope, &(), &AtomicBool::new(false)).unwrap();
        }
        for target in Target::CONVERSIONS {
            let Ok(plan) = opened.plan_with(&to(target), 1 << 20) else {
                continue;
            };
            let out = tempfile::tempdir().unwrap();
            opened
                .convert(&plan, out.path(), &ConvertOptions::default())
                .unwrap();
            let report = opened.verify(&Opened::new(out.path()), &VerifyOptions::default());
            assert!(report.failures.is_empty(), "{target} {shape:?}");
        }
    }
}
