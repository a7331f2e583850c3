//! Formats, shapes and inputs that the tests of rows share, and the slowest correct code to hold
//! against.

use blockscale::encode::{ErrorMeasure, ScaleRule};
use blockscale::format::Packing;
use blockscale::{Block, Element, Format, GlobalScale, ScaleElement, Shape};
use proptest::prelude::*;

pub(crate) const NAMED: [Format; 14] = [
    Format::NVFP4,
    Format::NVFP4_DIVISOR,
    Format::NVFP4_ONE_LEVEL,
    Format::MXFP4,
    Format::MXFP6_E2M3,
    Format::MXFP6_E3M2,
    Format::MXFP8_E4M3,
    Format::MXFP8_E5M2,
    Format::FP8_BLOCK,
    Format::FP8_BLOCK_UE8M0,
    Format::FP8_TOKEN,
    Format::FP8_TOKEN_UE8M0,
    Format::FP8_CHANNEL,
    Format::FP8_TENSOR,
];

pub(crate) const ELEMENTS: [Element; 6] = [
    Element::E2m1,
    Element::E2m3,
    Element::E3m2,
    Element::E4m3Fn,
    Element::E4m3Fnuz,
    Element::E5m2,
];

/// A format of any parts, with blocks small enough that a small matrix has several, odd widths
/// included.
pub(crate) fn any_format() -> impl Strategy<Value = Format> {
    let element = prop::sample::select(&ELEMENTS);
    let packing = prop_oneof![Just(Packing::Dense), Just(Packing::Bytes)];
    let block = prop_oneof![
        4 => (1_usize..5, 1_usize..8).prop_map(|(rows, cols)| Block::Grid { rows, cols }),
        1 => Just(Block::Row),
        1 => Just(Block::Tensor),
    ];
    let scale = prop_oneof![
        Just(ScaleElement::E4m3Fn),
        Just(ScaleElement::E8m0Fnu),
        Just(ScaleElement::F32),
        Just(ScaleElement::Bf16),
        Just(ScaleElement::F16),
    ];
    let global = prop_oneof![
        Just(GlobalScale::None),
        Just(GlobalScale::Multiplier),
        Just(GlobalScale::Divisor),
    ];
    let parts = (element, packing, block, scale, global);
    parts.prop_map(|(element, packing, block, scale, global)| Format {
        element,
        packing,
        block,
        scale,
        global,
    })
}

pub(crate) fn any_shape() -> impl Strategy<Value = Shape> {
    (0_usize..9, 0_usize..20).prop_map(|(rows, cols)| Shape::new(rows, cols))
}

pub(crate) const RULES: [ScaleRule; 14] = [
    ScaleRule::Amax,
    ScaleRule::AmaxReciprocal,
    ScaleRule::AmaxMin1e4,
    ScaleRule::Floor,
    ScaleRule::Ceil,
    ScaleRule::Rceil,
    ScaleRule::RceilMin1e4,
    ScaleRule::Even,
    ScaleRule::EvenAt { mantissa_bits: 1 },
    ScaleRule::EvenAt { mantissa_bits: 255 },
    ScaleRule::Nearest,
    ScaleRule::FourOverSix(ErrorMeasure::Absolute),
    ScaleRule::FourOverSix(ErrorMeasure::Squared),
    ScaleRule::MseSearch,
];

pub(crate) fn any_rule() -> impl Strategy<Value = ScaleRule> {
    prop::sample::select(&RULES)
}

/// Rules that look at nothing but the largest magnitude.
pub(crate) fn any_amax_rule() -> impl Strategy<Value = ScaleRule> {
    prop::sample::select(&RULES[..11])
}

/// A format, a shape and bytes of the lengths they ask for.
pub(crate) fn any_rows() -> impl Strategy<Value = (Format, Shape, Vec<u8>, Vec<u8>)> {
    (any_format(), any_shape()).prop_flat_map(|(format, shape)| {
        let codes = prop::collection::vec(any::<u8>(), format.code_bytes(shape).unwrap());
        let scales = prop::collection::vec(any::<u8>(), format.scale_bytes(shape).unwrap());
        (Just(format), Just(shape), codes, scales)
    })
}

/// A format, a shape and as many numbers of ordinary size.
pub(crate) fn any_values() -> impl Strategy<Value = (Format, Shape, Vec<f32>)> {
    (any_format(), any_shape()).prop_flat_map(|(format, shape)| {
        let value = prop_oneof![8 => -8.0_f32..8.0, 1 => Just(0.0), 1 => -1e-4_f32..1e-4];
        let values = prop::collection::vec(value, shape.len().unwrap());
        (Just(format), Just(shape), values)
    })
}

/// Which scale covers an element, counted row by row.
pub(crate) fn scale_index(format: &Format, shape: Shape, row: usize, col: usize) -> usize {
    match format.block {
        Block::Grid { rows, cols } => row / rows * shape.cols.div_ceil(cols) + col / cols,
        Block::Row => row,
        Block::Tensor => 0,
    }
}

/// The code of an element, taken out of its row bit by bit.
pub(crate) fn code_at(format: &Format, shape: Shape, codes: &[u8], row: usize, col: usize) -> u8 {
    let row = &codes[row * format.row_bytes(shape.cols)..][..format.row_bytes(shape.cols)];
    let (bits, stride) = match format.packing {
        Packing::Dense => (format.element.bits(), format.element.bits()),
        Packing::Bytes => (format.element.bits(), 8),
    };
    (0..bits).fold(0, |code, bit| {
        let place = col * stride + bit;
        code | ((row[place / 8] >> (place % 8) & 1) << bit)
    })
}

/// What the element is multiplied by.
pub(crate) fn effective_scale(format: &Format, scales: &[u8], index: usize, global: f32) -> f32 {
    let bytes = format.scale.bytes();
    let scale = format.scale.decode(&scales[index * bytes..][..bytes]);
    match format.global {
        GlobalScale::None => scale,
        GlobalScale::Multiplier => scale * global,
        GlobalScale::Divisor => scale / global,
    }
}

/// Rows and columns of a matrix, row by row.
pub(crate) fn elements(shape: Shape) -> impl Iterator<Item = (usize, usize)> {
    (0..shape.rows).flat_map(move |row| (0..shape.cols).map(move |col| (row, col)))
}

/// Equal bits, or NaN on both sides.
pub(crate) fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}
