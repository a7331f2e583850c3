//! Shapes that every layout takes, and short ways to apply and undo one.

use blockscale::layout::{
    Codes, LayoutError, RowShuffle, ScaleLayout, Scales, Stack, permute_codes, permute_scales,
    unpermute_codes, unpermute_scales,
};
use blockscale::{ScaleElement, Shape};
use proptest::prelude::*;

pub(crate) fn any_layout() -> impl Strategy<Value = ScaleLayout> {
    prop::sample::select(ScaleLayout::ALL.to_vec())
}

/// What the number of rows has to be a multiple of, so that both codes and scales are taken.
pub(crate) fn row_multiple(layout: ScaleLayout) -> usize {
    match layout {
        ScaleLayout::TrtllmMoeW13(_)
        | ScaleLayout::TrtllmMoeW2(_)
        | ScaleLayout::TrtllmLinear(_)
        | ScaleLayout::MegaMoeL1
        | ScaleLayout::MegaMoeL2 => 128,
        _ => 1,
    }
}

/// A type of scales that the layout takes; F32 scales hold powers of two.
pub(crate) fn any_element(layout: ScaleLayout) -> impl Strategy<Value = ScaleElement> {
    let all = [
        ScaleElement::E4m3Fn,
        ScaleElement::E8m0Fnu,
        ScaleElement::F32,
        ScaleElement::Bf16,
        ScaleElement::F16,
    ];
    let held: Vec<_> = all.into_iter().filter(|&e| layout.holds(e)).collect();
    prop::sample::select(held)
}

/// A layout and a small stack of scales for it.
pub(crate) fn any_stack() -> impl Strategy<Value = (ScaleLayout, Stack, ScaleElement)> {
    any_layout().prop_flat_map(|layout| {
        let rows = match row_multiple(layout) {
            1 => (0_usize..300).boxed(),
            multiple => (0_usize..4).prop_map(move |n| n * multiple).boxed(),
        };
        let stack = (0_usize..4, rows, 0_usize..11)
            .prop_map(|(matrices, rows, cols)| Stack::new(matrices, Shape::new(rows, cols)));
        (Just(layout), stack, any_element(layout))
    })
}

pub(crate) fn linear_bytes(layout: ScaleLayout, stack: Stack, element: ScaleElement) -> usize {
    let scales = layout.linear_shape(stack.shape).len().unwrap();
    stack.matrices * scales * element.bytes()
}

pub(crate) fn permute(
    layout: ScaleLayout,
    stack: Stack,
    element: ScaleElement,
    linear: &[u8],
) -> Result<Vec<u8>, LayoutError> {
    let mut out = vec![0xa5; layout.scale_bytes(stack, element)?];
    let scales = Scales {
        layout: ScaleLayout::Linear,
        element,
        bytes: linear,
    };
    permute_scales(layout, stack, scales, &mut out)?;
    Ok(out)
}

pub(crate) fn unpermute(
    layout: ScaleLayout,
    stack: Stack,
    element: ScaleElement,
    bytes: &[u8],
) -> Result<Vec<u8>, LayoutError> {
    let mut out = vec![0xa5; linear_bytes(layout, stack, element)];
    let scales = Scales {
        layout,
        element,
        bytes,
    };
    unpermute_scales(stack, scales, &mut out)?;
    Ok(out)
}

pub(crate) fn permute_code_bytes(layout: ScaleLayout, stack: Stack, linear: &[u8]) -> Vec<u8> {
    let mut out = vec![0xa5; layout.code_bytes(stack).unwrap()];
    let codes = Codes {
        layout: ScaleLayout::Linear,
        bytes: linear,
    };
    permute_codes(layout, stack, codes, &mut out).unwrap();
    out
}

pub(crate) fn unpermute_code_bytes(layout: ScaleLayout, stack: Stack, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0xa5; stack.matrices * stack.shape.len().unwrap()];
    unpermute_codes(stack, Codes { layout, bytes }, &mut out).unwrap();
    out
}

pub(crate) const BOTH_SHUFFLES: [RowShuffle; 2] = [RowShuffle::By32, RowShuffle::By16];

/// Numbers without a pattern that a layout could share.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// SplitMix64.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
