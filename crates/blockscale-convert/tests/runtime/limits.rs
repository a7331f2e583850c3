//! Sampled rows, and the memory limit.

use blockscale::runtime::Runtime;
use blockscale_convert::{Baked, CheckedWeight, ConvertError};

use crate::checkpoint::{NewTensor, Opened, fp8_block, nvfp4, options, written};

fn only(opened: &Opened, runtime: Runtime, rows: usize, max_memory: u64) -> CheckedWeight {
    let report = opened
        .try_check(runtime, &options(rows, max_memory))
        .unwrap();
    assert!(report.passed(), "{report:?}");
    assert_eq!(report.weights.len(), 1);
    report.weights[0].clone()
}

fn pair() -> Vec<NewTensor> {
    [
        nvfp4("experts.0.w1", 320, 64, 0.5),
        nvfp4("experts.0.w3", 320, 64, 0.5),
    ]
    .concat()
}

#[test]
fn rows_are_counted_for_each_matrix_and_never_more_than_there_are() {
    let (_dir, opened) = written(&fp8_block("a", &[3, 200, 136], &[0.5, 2.0]), None);
    for (rows, expected) in [(1, 3), (7, 21), (200, 600), (1000, 600)] {
        let found = only(&opened, Runtime::DeepGemmSm90, rows, 1 << 30);
        assert_eq!(found.rows, expected);
    }
}

#[test]
fn a_small_limit_takes_matrices_and_then_tiles() {
    let (_dir, opened) = written(&fp8_block("a", &[3, 256, 128], &[0.5, 2.0]), None);
    // A matrix takes 32 KiB of codes and as much again twice.
    for (limit, baked) in [
        (1 << 30, Baked::Whole),
        (210_000, Baked::Matrices(2)),
        (110_000, Baked::Matrices(1)),
        (60_000, Baked::Tiles(128)),
    ] {
        for runtime in [Runtime::DeepGemmSm90, Runtime::DeepGemmSm100] {
            assert_eq!(
                only(&opened, runtime, 9, limit).baked,
                baked,
                "{runtime} {limit}"
            );
        }
    }
}

#[test]
fn tiles_hold_gate_and_up_rows_that_belong_together() {
    let (_dir, opened) = written(&pair(), None);
    for runtime in [Runtime::TrtllmMoe, Runtime::Cutlass] {
        let whole = only(&opened, runtime, 640, 1 << 30);
        let tiles = only(&opened, runtime, 640, 40_000);
        assert_eq!(
            (whole.baked, tiles.baked),
            (Baked::Whole, Baked::Tiles(128))
        );
        assert_eq!((whole.rows, tiles.rows), (640, 640));
    }
}

#[test]
fn a_difference_is_found_at_the_same_place_in_tiles() {
    let unlike = [
        nvfp4("experts.0.w1", 320, 64, 0.5),
        nvfp4("experts.0.w3", 320, 64, 0.75),
    ];
    let (_dir, opened) = written(&unlike.concat(), None);
    let found = |limit| {
        let report = opened
            .try_check(Runtime::TrtllmMoe, &options(640, limit))
            .unwrap();
        report.weights[0].difference.clone().unwrap()
    };
    assert_eq!(found(1 << 30), found(40_000));
}

#[test]
fn a_limit_below_one_tile_is_an_error_that_says_how_much_it_takes() {
    let (_dir, opened) = written(&pair(), None);
    let error = opened
        .try_check(Runtime::TrtllmMoe, &options(1, 1000))
        .unwrap_err();
    let ConvertError::Memory {
        tensor,
        needed,
        limit,
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!((tensor.as_str(), limit), ("experts.0.w1.weight", 1000));
    assert_eq!(
        only(&opened, Runtime::TrtllmMoe, 1, needed).baked,
        Baked::Tiles(128)
    );
    let below = opened.try_check(Runtime::TrtllmMoe, &options(1, needed - 1));
    assert!(matches!(below, Err(ConvertError::Memory { .. })));
}
