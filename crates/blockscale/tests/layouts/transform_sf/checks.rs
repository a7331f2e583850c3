//! What is refused, in the order in which the library looks.

use blockscale::LenMismatch;
use blockscale::layout::LayoutError;
use blockscale::layout::transform_sf::{
    Arch, Dim, Dims, Operand, Recipe, Request, SfDtype, Transform, TransformError,
};

use super::{TOKENS, WO_A, bytes, execute, f32, i32, plan_of};

#[test]
fn a_recipe_of_three_needs_the_operand_and_one_of_two_forbids_it() {
    let missing = Request {
        operand: None,
        ..WO_A
    };
    let given = Request {
        recipe: Recipe::Operand {
            rows: 128,
            cols: 128,
        },
        ..WO_A
    };
    let zero = Request {
        recipe: Recipe::Operand { rows: 128, cols: 0 },
        operand: None,
        ..WO_A
    };
    let plan = |request| f32(&[2, 8, 32], &[256, 32, 1], request);
    assert_eq!(plan(missing), Err(TransformError::OperandMissing));
    assert_eq!(plan(given), Err(TransformError::OperandGiven));
    assert_eq!(plan(zero), Err(TransformError::ZeroGranularity));
}

#[test]
fn only_f32_and_i32_are_accepted() {
    for dtype in [SfDtype::Bf16, SfDtype::E8m0Fnu] {
        let error = plan_of(dtype, &[2, 8, 32], &[256, 32, 1], WO_A).unwrap_err();
        let expected = format!("`sf` is {dtype}, expected F32 or I32; pass F32 (2, 8, 32)");
        assert_eq!(error.to_string(), expected);
    }
}

/// What a loader leaves behind that treats `wo_a` as one matrix, or as having one scale.
#[test]
fn scales_without_the_groups_are_refused_with_the_shape_to_pass() {
    let cases: [(&[usize], &[usize], usize); 3] =
        [(&[16, 32], &[32, 1], 2), (&[16], &[1], 1), (&[], &[], 0)];
    for (shape, strides, found) in cases {
        let error = f32(shape, strides, WO_A).unwrap_err();
        let expected = format!("`sf` has {found} dimensions, expected 3; pass F32 (2, 8, 32)");
        assert_eq!(error.to_string(), expected);
    }
    let flat = Request {
        groups: None,
        ..WO_A
    };
    let error = f32(&[2, 8, 32], &[256, 32, 1], flat).unwrap_err();
    let pass = Dims::two(8, 32);
    let dtype = SfDtype::F32;
    let expected = TransformError::Dimensions {
        dtype,
        found: 3,
        pass,
    };
    assert_eq!(error, expected);
    // As many strides as sizes.
    assert!(f32(&[2, 8, 32], &[32, 1], WO_A).is_err());
}

#[test]
fn each_size_is_checked() {
    let size = |result: Result<Transform, TransformError>| match result {
        Err(TransformError::Size {
            dim,
            expected,
            found,
            ..
        }) => (dim, expected, found),
        other => panic!("{other:?}"),
    };
    let groups = f32(&[16, 8, 32], &[256, 32, 1], WO_A);
    assert_eq!(size(groups), (Dim::Groups, 2, 16));
    let rows = f32(&[2, 32, 8], &[256, 8, 1], WO_A);
    assert_eq!(size(rows), (Dim::Rows, 8, 32));
    let cols = f32(&[2, 8, 56], &[448, 56, 1], WO_A);
    assert_eq!(size(cols), (Dim::Cols, 32, 56));
    // Packed scales belong to rows: with the recipe of block scales they have too many.
    let packed = i32(&[2, 1024, 8], &[8192, 1, 1024], WO_A);
    assert_eq!(size(packed), (Dim::Rows, 8, 1024));
    // And the other way round: block scales where scales of rows are announced.
    let per_row = Request {
        recipe: Recipe::default_for(Arch::Sm100, SfDtype::I32),
        ..WO_A
    };
    let error = f32(&[2, 8, 32], &[256, 32, 1], per_row).unwrap_err();
    assert_eq!(
        error.to_string(),
        "`sf` has size(-2) = 8, expected 1024; pass F32 (2, 1024, 32)"
    );
    // Partial blocks at the edge have a scale.
    let ragged = Request {
        rows: 1000,
        cols: 4100,
        ..WO_A
    };
    assert!(f32(&[2, 8, 33], &[264, 33, 1], ragged).is_ok());
    let words = i32(
        &[2, 1000, 8],
        &[8000, 1, 1000],
        Request {
            recipe: per_row.recipe,
            ..ragged
        },
    );
    assert_eq!(size(words), (Dim::Cols, 9, 8));
}

#[test]
fn block_scales_with_gaps_are_refused() {
    let hopper = Request {
        arch: Arch::Sm90,
        ..WO_A
    };
    let gaps_in_rows = f32(&[2, 8, 32], &[256, 64, 1], hopper);
    let shape = Dims::three(2, 8, 32);
    let strides = Dims::three(256, 64, 1);
    let expected = TransformError::NotContiguous { shape, strides };
    assert_eq!(gaps_in_rows, Err(expected));

    let gaps_between_groups = f32(&[2, 8, 32], &[512, 32, 1], hopper);
    let expected = TransformError::Stride {
        dim: Dim::Groups,
        expected: 256,
        found: 512,
    };
    assert_eq!(gaps_between_groups, Err(expected));
    assert_eq!(
        expected.to_string(),
        "`sf` has stride(-3) = 512, expected 256; pass scales without gaps in the order that the \
         recipe asks for"
    );
}

#[test]
fn packed_scales_with_other_strides_are_refused() {
    let request = Request {
        rows: 6,
        recipe: Recipe::default_for(Arch::Sm100, SfDtype::I32),
        ..WO_A
    };
    let stride = |strides: &[usize]| match i32(&[2, 6, 8], strides, request) {
        Err(TransformError::Stride {
            dim,
            expected,
            found,
        }) => (dim, expected, found),
        other => panic!("{other:?}"),
    };
    assert!(i32(&[2, 6, 8], &[64, 1, 8], request).is_ok());
    assert_eq!(stride(&[48, 8, 1]), (Dim::Groups, 8, 48));
    assert_eq!(stride(&[8, 8, 1]), (Dim::Rows, 1, 8));
    assert_eq!(stride(&[48, 1, 6]), (Dim::Cols, 8, 6));
}

#[test]
fn default_recipes_follow_the_gpu_and_the_type_of_b() {
    let b_rows = |arch, dtype| match Recipe::default_for(arch, dtype) {
        Recipe::Product {
            a_rows: 1,
            b_rows,
            cols: 128,
        } => b_rows,
        other => panic!("{other:?}"),
    };
    assert_eq!(b_rows(Arch::Sm90, SfDtype::F32), 128);
    assert_eq!(b_rows(Arch::Sm100, SfDtype::F32), 128);
    assert_eq!(b_rows(Arch::Sm100, SfDtype::I32), 1);
}

#[test]
fn scales_that_are_no_powers_of_two_are_refused_before_they_are_packed() {
    let transform = f32(&[2, 8, 32], &[256, 32, 1], WO_A).unwrap();
    let mut scales = [1.0; 512];
    scales[300] = 1.5;
    let error = LayoutError::NotPowerOfTwo {
        index: 300,
        value: 1.5,
    };
    assert_eq!(execute(&transform, &bytes(&scales)), Err(error));
}

#[test]
fn memory_that_is_too_short_is_refused() {
    let transform = f32(&[2, 8, 32], &[256, 32, 1], WO_A).unwrap();
    let error = LenMismatch {
        what: "sf",
        expected: 2048,
        found: 2044,
    };
    assert_eq!(execute(&transform, &[0; 2044]), Err(error.into()));
    let error = LenMismatch {
        what: "out",
        expected: 65_536,
        found: 4,
    };
    assert_eq!(
        transform.execute(&[0; 2048], &mut [0; 4]),
        Err(error.into())
    );
}

#[test]
fn sizes_that_overflow_are_errors() {
    let huge = Request {
        rows: usize::MAX,
        groups: None,
        operand: Some(Operand::A),
        arch: Arch::Sm90,
        ..WO_A
    };
    let error = f32(&[usize::MAX, 32], &[32, 1], huge);
    assert_eq!(error, Err(TransformError::TooLarge));
    // Strides are the caller's: they may point anywhere, and nothing is read there.
    let far = f32(&[2, 6, 32], &[usize::MAX, usize::MAX, 1], TOKENS).unwrap();
    let error = LenMismatch {
        what: "sf",
        expected: usize::MAX,
        found: 16,
    };
    assert_eq!(execute(&far, &[0; 16]), Err(error.into()));
}
