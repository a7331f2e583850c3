//! What layouts refuse, and what they say then.

use blockscale::layout::{
    Codes, LayoutError, MemoryShape, RowShuffle, ScaleLayout, Scales, Stack, permute_codes,
    permute_scales, unpermute_scales,
};
use blockscale::{LenMismatch, ScaleElement, Shape};

use crate::common::{permute, row_multiple, unpermute};

#[test]
fn a_layout_on_top_of_another_is_refused() {
    let stack = Stack::single(Shape::new(128, 4));
    for found in ScaleLayout::ALL {
        for asked in ScaleLayout::ALL {
            let scales = Scales {
                layout: found,
                element: ScaleElement::E4m3Fn,
                bytes: &[0; 512],
            };
            let codes = Codes {
                layout: found,
                bytes: &[0; 512],
            };
            let expected = Err(LayoutError::AlreadyApplied { found, asked });
            let on_scales = permute_scales(asked, stack, scales, &mut [0; 512]);
            let on_codes = permute_codes(asked, stack, codes, &mut [0; 512]);
            assert_eq!(on_scales == expected, found != ScaleLayout::Linear);
            assert_eq!(on_codes == expected, found != ScaleLayout::Linear);
        }
    }
}

#[test]
fn f32_scales_between_powers_of_two_are_refused_and_named() {
    let stack = Stack::single(Shape::new(1, 4));
    let scales = |values: [f32; 4]| values.map(f32::to_le_bytes).concat();
    for layout in [
        ScaleLayout::DeepGemmPacked,
        ScaleLayout::DeepGemmPackedBlocks,
    ] {
        for bad in [1.5, 0.0, -1.0, f32::INFINITY, f32::NAN, 0.011] {
            let error = permute(
                layout,
                stack,
                ScaleElement::F32,
                &scales([1.0, 2.0, bad, 1.0]),
            );
            let Err(LayoutError::NotPowerOfTwo { index: 2, value }) = error else {
                panic!("{layout}, {bad}: {error:?}")
            };
            assert_eq!(value.to_bits(), bad.to_bits());
        }
    }
    let error = LayoutError::NotPowerOfTwo {
        index: 1,
        value: 1.5,
    };
    assert_eq!(
        error.to_string(),
        "scale 1 is 1.5e0 (0x3fc00000), which is not a power of two that UE8M0 holds; round the \
         scales up and requantise the weight, do not drop the mantissa"
    );
}

#[test]
fn scales_of_a_type_without_place_are_refused() {
    let stack = Stack::single(Shape::new(128, 4));
    for (layout, found) in [
        (ScaleLayout::Tiles128x4, ScaleElement::F32),
        (ScaleLayout::DeepGemmF32, ScaleElement::E8m0Fnu),
        (ScaleLayout::DeepGemmPacked, ScaleElement::E4m3Fn),
        (ScaleLayout::MarlinNvfp4, ScaleElement::E8m0Fnu),
        (ScaleLayout::MegaMoeL1, ScaleElement::E4m3Fn),
    ] {
        let error = LayoutError::Element { layout, found };
        assert_eq!(layout.scale_bytes(stack, found), Err(error));
        assert_eq!(unpermute(layout, stack, found, &[]), Err(error));
    }
}

#[test]
fn groups_of_rows_have_to_be_whole() {
    let shape = Shape::new(130, 4);
    for layout in ScaleLayout::ALL {
        let element = if layout.holds(ScaleElement::E8m0Fnu) {
            ScaleElement::E8m0Fnu
        } else if layout.holds(ScaleElement::E4m3Fn) {
            ScaleElement::E4m3Fn
        } else {
            ScaleElement::F32
        };
        let size = layout.scale_bytes(Stack::single(shape), element);
        if row_multiple(layout) == 1 {
            assert!(size.is_ok(), "{layout}");
        } else {
            let error = LayoutError::Rows {
                layout: layout.name(),
                multiple: 128,
                found: 130,
            };
            assert_eq!(size, Err(error));
        }
    }
    // Codes are shuffled by smaller groups than scales are tiled.
    let codes = |shuffle, rows| {
        ScaleLayout::TrtllmLinear(shuffle).code_bytes(Stack::single(Shape::new(rows, 1)))
    };
    assert_eq!(codes(RowShuffle::By32, 96), Ok(96));
    assert_eq!(codes(RowShuffle::By16, 48), Ok(48));
    assert!(matches!(
        codes(RowShuffle::By32, 48),
        Err(LayoutError::Rows {
            multiple: 32,
            found: 48,
            ..
        })
    ));
}

#[test]
fn marlin_has_no_code_for_negative_scales_and_nan() {
    let stack = Stack::single(Shape::new(1, 3));
    let layout = ScaleLayout::MarlinNvfp4;
    for code in 0x7f..=255 {
        let error = LayoutError::Scale {
            layout,
            index: 2,
            code,
        };
        let result = permute(layout, stack, ScaleElement::E4m3Fn, &[0x38, 0x40, code]);
        assert_eq!(result, Err(error));
    }
}

#[test]
fn rows_of_a_block_that_differ_are_not_block_scales() {
    let stack = Stack::new(2, Shape::new(130, 5));
    let mut bytes = permute(
        ScaleLayout::DeepGemmPackedBlocks,
        stack,
        ScaleElement::E8m0Fnu,
        &[7; 20],
    )
    .unwrap();
    let at = ScaleLayout::DeepGemmPackedBlocks
        .offset(stack, ScaleElement::E8m0Fnu, 1, 129, 4)
        .unwrap();
    bytes[at] = 8;
    let error = LayoutError::RowsDiffer {
        matrix: 1,
        row: 129,
        col: 4,
    };
    let result = unpermute(
        ScaleLayout::DeepGemmPackedBlocks,
        stack,
        ScaleElement::E8m0Fnu,
        &bytes,
    );
    assert_eq!(result, Err(error));
}

#[test]
fn wrong_lengths_and_sizes_that_overflow_are_errors() {
    let scales = |layout, bytes| Scales {
        layout,
        element: ScaleElement::E4m3Fn,
        bytes,
    };
    let stack = Stack::single(Shape::new(33, 2));
    let len = |what, expected, found| {
        Err(LayoutError::Len(LenMismatch {
            what,
            expected,
            found,
        }))
    };
    let linear = scales(ScaleLayout::Linear, &[0; 65]);
    assert_eq!(
        permute_scales(ScaleLayout::Tiles128x4, stack, linear, &mut [0; 512]),
        len("scales", 66, 65)
    );
    let linear = scales(ScaleLayout::Linear, &[0; 66]);
    assert_eq!(
        permute_scales(ScaleLayout::Tiles128x4, stack, linear, &mut [0; 511]),
        len("laid out scales", 512, 511)
    );
    let tiled = scales(ScaleLayout::Tiles128x4, &[0; 512]);
    assert_eq!(
        unpermute_scales(stack, tiled, &mut [0; 67]),
        len("scales", 66, 67)
    );

    for layout in ScaleLayout::ALL {
        let huge = Stack::new(3, Shape::new(1 << (usize::BITS - 1), usize::MAX / 2));
        let element = [
            ScaleElement::F32,
            ScaleElement::E8m0Fnu,
            ScaleElement::E4m3Fn,
        ]
        .into_iter()
        .find(|&element| layout.holds(element))
        .unwrap();
        let too_large = Err(LayoutError::TooLarge { layout });
        assert_eq!(layout.scale_bytes(huge, element), too_large);
        assert_eq!(layout.code_bytes(huge), too_large);
        assert_eq!(layout.offset(huge, element, 0, 0, 0), None);
    }
}

/// An empty matrix has nothing to visit, however many of them there are said to be.
#[test]
fn empty_stacks_of_any_size_take_no_time() {
    let stack = Stack::new(usize::MAX, Shape::new(usize::MAX / 128 * 128, 0));
    for layout in ScaleLayout::ALL {
        let element = if layout.holds(ScaleElement::E8m0Fnu) {
            ScaleElement::E8m0Fnu
        } else if layout.holds(ScaleElement::F32) {
            ScaleElement::F32
        } else {
            ScaleElement::E4m3Fn
        };
        let result = permute(layout, stack, element, &[]);
        let too_large = Err(LayoutError::TooLarge { layout });
        assert!(
            result == Ok(vec![]) || result == too_large,
            "{layout}: {result:?}"
        );
    }
}

/// Bytes of a tensor: nothing if any size is.
fn product(memory: MemoryShape) -> Option<usize> {
    if memory.dims.contains(&0) {
        return Some(0);
    }
    let mut dims = memory.dims.iter();
    dims.try_fold(memory.element_bytes, |product, &dim| {
        product.checked_mul(dim)
    })
}

#[test]
fn sizes_at_the_end_of_arithmetic_are_right_or_refused() {
    let edges = [
        0,
        1,
        3,
        usize::MAX,
        usize::MAX - 7,
        usize::MAX / 2 + 1,
        1 << 61,
    ];
    let elements = [
        ScaleElement::E4m3Fn,
        ScaleElement::E8m0Fnu,
        ScaleElement::F32,
    ];
    for layout in ScaleLayout::ALL {
        for (matrices, rows, cols) in edges
            .iter()
            .flat_map(|&m| edges.iter().map(move |&r| (m, r)))
            .flat_map(|(m, r)| edges.iter().map(move |&c| (m, r, c)))
        {
            let stack = Stack::new(matrices, Shape::new(rows, cols));
            if let Ok(memory) = layout.code_memory(stack) {
                let bytes = layout.code_bytes(stack).ok();
                assert_eq!(product(memory), bytes, "{layout:?} {stack:?}");
            }
            for element in elements {
                if let Ok(memory) = layout.scale_memory(stack, element) {
                    let bytes = layout.scale_bytes(stack, element).ok();
                    assert_eq!(product(memory), bytes, "{layout:?} {stack:?}");
                }
                for at in edges {
                    let _ = layout.offset(stack, element, at, at, at);
                }
            }
        }
    }
}
