//! Layouts that went wrong in the field, with the right answer known.

use blockscale::layout::transform_sf::{
    Action, Arch, Dims, Recipe, Request, ScaleTensor, SfDtype, Ue8m0Cast, plan,
};
use blockscale::layout::{LayoutError, ScaleLayout, Scales, Stack, permute_scales};
use blockscale::{ScaleElement, Shape};
use blockscale_tests::read_tensors;

use crate::common::{check, permute, sha256, stack_of, unpermute};

#[test]
fn scales_5_by_6_pack_into_words_of_8_padded_rows() {
    let tensors = read_tensors("conformance/layouts/pow2_scales.safetensors");
    let scales = &tensors["sf"];
    let words: [u32; 16] = [
        2_037_938_038,
        2_138_996_092,
        2_240_054_146,
        2_341_112_200,
        2_442_170_254,
        0,
        0,
        0,
        31_610,
        33_152,
        34_694,
        36_236,
        37_778,
        0,
        0,
        0,
    ];
    let expected: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let (layout, stack) = (ScaleLayout::DeepGemmPacked, stack_of(scales));
    check(
        "sf",
        layout,
        stack,
        ScaleElement::F32,
        &scales.data,
        &expected,
    );

    let request = Request {
        rows: 5,
        cols: 6 * 128,
        recipe: Recipe::Operand { rows: 1, cols: 128 },
        groups: None,
        operand: None,
        arch: Arch::Sm100,
        ue8m0_cast: Ue8m0Cast::Enabled,
    };
    let tensor = ScaleTensor {
        dtype: SfDtype::F32,
        shape: &[5, 6],
        strides: &[6, 1],
    };
    let transform = plan(&tensor, &request).unwrap();
    assert_eq!(transform.action, Action::Pack { rows_per_scale: 1 });
    assert_eq!(transform.dtype, SfDtype::I32);
    assert_eq!(transform.shape, Dims::two(5, 2));
    assert_eq!(transform.strides, Dims::two(1, 8));
}

/// Keeping only the exponent would silently turn 1.5 into 1.
#[test]
fn a_scale_of_one_and_a_half_is_refused() {
    let tensors = read_tensors("conformance/layouts/scales_not_pow2.safetensors");
    let scales = &tensors["sf"];
    let found = Scales {
        layout: ScaleLayout::Linear,
        element: ScaleElement::F32,
        bytes: &scales.data,
    };
    let index = scales
        .f32s()
        .iter()
        .position(|&scale| scale == 1.5)
        .unwrap();
    let result = permute_scales(
        ScaleLayout::DeepGemmPacked,
        stack_of(scales),
        found,
        &mut [0; 16],
    );
    let value = 1.5;
    assert_eq!(result, Err(LayoutError::NotPowerOfTwo { index, value }));
}

#[test]
fn scales_130_by_5_fill_four_tiles() {
    let tensors = read_tensors("conformance/layouts/scales_130x5.safetensors");
    let scales = &tensors["sf"].data;
    let stack = Stack::single(Shape::new(130, 5));
    let (layout, element) = (ScaleLayout::Tiles128x4, ScaleElement::E4m3Fn);
    let tiles = permute(layout, stack, element, scales);
    assert_eq!(tiles.len(), 256 * 8);
    assert_eq!(
        sha256(&tiles),
        "81eee000f0ef86e635864773aa842e89530916f01657857b2d09b89e27bd56b4"
    );
    assert_eq!(tiles.iter().filter(|&&byte| byte != 0).count(), 644);
    let probes = [
        ((0, 0), 0, 0),
        ((0, 1), 1, 1),
        ((1, 0), 16, 5),
        ((31, 3), 499, 31),
        ((32, 0), 4, 33),
        ((33, 2), 22, 40),
        ((127, 3), 511, 3),
        ((0, 4), 512, 4),
        ((127, 4), 1020, 4),
        ((128, 0), 1024, 5),
        ((129, 4), 1552, 14),
    ];
    for ((row, col), offset, value) in probes {
        assert_eq!(layout.offset(stack, element, 0, row, col), Some(offset));
        assert_eq!(tiles[offset], value);
    }
    let back = unpermute(layout, stack, element, &tiles);
    assert_eq!(
        sha256(&back),
        "95b1c1b993c1bf628a34f58c058cb16e8403aa8772e247d91dfe79192316e72b"
    );
}
