//! What becomes of scales that are accepted.

use blockscale::layout::transform_sf::{
    Action, Arch, Dims, Recipe, Request, SfDtype, Transform, TransformError, Ue8m0Cast,
};
use blockscale::layout::{ScaleLayout, Stack};
use blockscale::{ScaleElement, Shape};

use super::{TOKENS, WO_A, action, bytes, execute, f32, i32};
use crate::common::permute;

#[test]
fn row_1_copies_single_row_scales_to_columns() {
    let transform = f32(&[2, 6, 32], &[192, 32, 1], TOKENS).unwrap();
    assert_eq!(transform.action, Action::ToColumns);
    assert_eq!(transform.dtype, SfDtype::F32);
    assert_eq!(transform.shape, Dims::three(2, 6, 32));
    assert_eq!(transform.strides, Dims::three(8 * 32, 1, 8));

    let source = bytes(&std::array::from_fn::<f32, 384, _>(|i| i as f32));
    let stack = Stack::new(2, Shape::new(6, 32));
    let expected = permute(ScaleLayout::DeepGemmF32, stack, ScaleElement::F32, &source);
    assert_eq!(execute(&transform, &source), expected);

    let flat = Request {
        groups: None,
        ..TOKENS
    };
    let transform = f32(&[6, 32], &[32, 1], flat).unwrap();
    assert_eq!(transform.strides, Dims::two(1, 8));
}

#[test]
fn row_1_takes_scales_that_lie_column_by_column_without_padding() {
    // Of 6 tokens, unpadded columns are 6 apart, and the kernel wants 8.
    let transform = f32(&[2, 6, 32], &[192, 1, 6], TOKENS).unwrap();
    assert_eq!(transform.action, Action::ToColumns);
    let by_rows: [f32; 384] = std::array::from_fn(|i| i as f32);
    let by_cols: [f32; 384] = std::array::from_fn(|i| {
        let (group, col, row) = (i / 192, i % 192 / 6, i % 6);
        by_rows[group * 192 + row * 32 + col]
    });
    let from_rows = f32(&[2, 6, 32], &[192, 32, 1], TOKENS).unwrap();
    assert_eq!(
        execute(&transform, &bytes(&by_cols)),
        execute(&from_rows, &bytes(&by_rows))
    );
}

#[test]
fn row_1_keeps_scales_that_conform() {
    let transform = f32(&[2, 6, 32], &[256, 1, 8], TOKENS).unwrap();
    assert_eq!(transform.action, Action::Keep);
    assert_eq!(transform.strides, Dims::three(256, 1, 8));
    let source = bytes(&std::array::from_fn::<f32, 512, _>(|i| i as f32));
    // The last column's padding is no part of the tensor.
    assert_eq!(
        execute(&transform, &source).unwrap(),
        source[..(512 - 2) * 4]
    );
}

#[test]
fn row_2_keeps_block_scales_in_either_order() {
    let hopper = Request {
        arch: Arch::Sm90,
        ..WO_A
    };
    for strides in [[256, 32, 1], [256, 1, 8]] {
        let transform = f32(&[2, 8, 32], &strides, hopper).unwrap();
        assert_eq!(transform.action, Action::Keep);
        assert_eq!(transform.shape, Dims::three(2, 8, 32));
        let source = bytes(&[1.5; 512]);
        assert_eq!(execute(&transform, &source).unwrap(), source);
    }
}

#[test]
fn rows_1_and_2_apply_on_sm100_where_the_cast_is_disabled() {
    let disabled = |request| Request {
        arch: Arch::Sm100,
        ue8m0_cast: Ue8m0Cast::Disabled,
        ..request
    };
    let tokens = f32(&[2, 6, 32], &[192, 32, 1], disabled(TOKENS));
    assert_eq!(action(tokens), Action::ToColumns);
    let blocks = f32(&[2, 8, 32], &[256, 32, 1], disabled(WO_A));
    assert_eq!(action(blocks), Action::Keep);
}

#[test]
fn row_3_packs_block_scales_for_every_row() {
    let transform = f32(&[2, 8, 32], &[256, 32, 1], WO_A).unwrap();
    let rows_per_scale = 128;
    assert_eq!(transform.action, Action::Pack { rows_per_scale });
    assert_eq!(transform.dtype, SfDtype::I32);
    assert_eq!(transform.shape, Dims::three(2, 1024, 8));
    assert_eq!(transform.strides, Dims::three(8192, 1, 1024));

    let source = bytes(&std::array::from_fn::<f32, 512, _>(|i| {
        2_f32.powi(i as i32 % 100 - 50)
    }));
    let stack = Stack::new(2, Shape::new(1024, 32));
    let layout = ScaleLayout::DeepGemmPackedBlocks;
    let expected = permute(layout, stack, ScaleElement::F32, &source);
    assert_eq!(execute(&transform, &source), expected);
}

#[test]
fn row_3_packs_single_row_scales_of_32_and_128_columns() {
    for (cols, words) in [(32, 32), (128, 8)] {
        let request = Request {
            recipe: Recipe::Operand { rows: 1, cols },
            groups: None,
            operand: None,
            arch: Arch::Sm100,
            ..TOKENS
        };
        let scales = 4096 / cols;
        let transform = f32(&[6, scales], &[scales, 1], request).unwrap();
        assert_eq!(transform.action, Action::Pack { rows_per_scale: 1 });
        assert_eq!(transform.shape, Dims::two(6, words));
        assert_eq!(transform.strides, Dims::two(1, 8));

        let source = bytes(&vec![0.25; 6 * scales]);
        let packed = execute(&transform, &source).unwrap();
        let used = |i: usize| if i % 8 < 6 { [125; 4] } else { [0; 4] };
        assert_eq!(
            packed.as_chunks::<4>().0,
            (0..8 * words).map(used).collect::<Vec<_>>()
        );
    }
}

#[test]
fn row_4_keeps_packed_scales() {
    for cols in [32, 128] {
        let request = Request {
            recipe: Recipe::Product {
                a_rows: 1,
                b_rows: 1,
                cols,
            },
            ..WO_A
        };
        let words = 4096 / cols / 4;
        let transform = i32(&[2, 1024, words], &[1024 * words, 1, 1024], request).unwrap();
        assert_eq!(transform.action, Action::Keep);
        assert_eq!(transform.dtype, SfDtype::I32);
    }
    // The row stride of a single row is not looked at.
    let one_row = Request {
        rows: 1,
        arch: Arch::Sm100,
        ..TOKENS
    };
    assert_eq!(action(i32(&[2, 1, 8], &[32, 8, 4], one_row)), Action::Keep);
}

#[test]
fn everything_else_is_unknown() {
    let operand = |rows, cols| Request {
        recipe: Recipe::Operand { rows, cols },
        groups: None,
        operand: None,
        ..WO_A
    };
    let hopper = |request| Request {
        arch: Arch::Sm90,
        ..request
    };
    let unknown = |result: Result<Transform, TransformError>| {
        let error = result.unwrap_err();
        assert!(matches!(error, TransformError::Unknown { .. }), "{error}");
        error.to_string()
    };
    assert_eq!(
        unknown(i32(&[1024, 8], &[1, 1024], hopper(operand(1, 128)))),
        "no kernel for SM90 reads I32 scales of 1 x 128 elements; packed scales are for SM100, \
         pass F32"
    );
    assert_eq!(
        unknown(f32(&[1024, 128], &[128, 1], hopper(operand(1, 32)))),
        "no kernel for SM90 reads F32 scales of 1 x 32 elements; requantise to 1 x 128 or 128 x 128"
    );
    assert_eq!(
        unknown(f32(&[1024, 256], &[256, 1], operand(1, 16))),
        "no kernel for SM100 reads F32 scales of 1 x 16 elements; requantise to 32 or 128 columns \
         a scale"
    );
    assert_eq!(
        unknown(i32(&[8, 8], &[1, 8], operand(128, 128))),
        "no kernel for SM100 reads I32 scales of 128 x 128 elements; pack them for single rows of \
         32 or 128 columns"
    );
    let disabled = Request {
        ue8m0_cast: Ue8m0Cast::Disabled,
        ..operand(1, 32)
    };
    unknown(f32(&[1024, 128], &[128, 1], disabled));
}
