//! Integers in groups.

use blockscale::int::{IntFormat, IntLayout, IntParts, IntPartsMut, IntRule, decode_rows, encode};

use crate::input::Input;

const LAYOUTS: [IntLayout; 6] = [
    IntLayout::AwqGemm,
    IntLayout::Gptq,
    IntLayout::GptqV2,
    IntLayout::CompressedTensors,
    IntLayout::Modelopt,
    IntLayout::Mlx,
];

const RULES: [IntRule; 5] = [
    IntRule::Symmetric,
    IntRule::SymmetricFull,
    IntRule::Affine,
    IntRule::MinMax,
    IntRule::Mlx,
];

/// Any layout, width, group and lengths, both ways.
pub(super) fn integers(data: &[u8]) {
    let mut input = Input::new(data);
    let format = IntFormat {
        bits: match input.byte() {
            any @ 0..=31 => any,
            other => 1 + other % 8,
        },
        group_cols: input.size(),
        scale: input.scale_element(),
        layout: input.pick(&LAYOUTS),
    };
    let shape = input.shape();
    let mut codes = input.buffer(format.code_bytes(shape));
    let mut scales = input.buffer(format.scale_bytes(shape));
    let mut zeros = match input.below(2) {
        0 => None,
        _ => Some(input.buffer(format.zero_bytes(shape))),
    };
    let groups = match input.below(4) {
        0 => Some(input.buffer(shape.cols.checked_mul(4))),
        _ => None,
    };
    let (start, len) = (input.size(), input.size());
    let some = start..start.saturating_add(len);
    for rows in [0..shape.rows, some] {
        let mut out = vec![0.0_f32; input.length(rows.len().checked_mul(shape.cols))];
        let parts = IntParts {
            codes: &codes,
            scales: &scales,
            zeros: zeros.as_deref(),
            groups: groups.as_deref(),
        };
        let _ = decode_rows(&format, shape, parts, rows, &mut out);
    }
    let values = input.floats(shape.len());
    let parts = IntPartsMut {
        codes: &mut codes,
        scales: &mut scales,
        zeros: zeros.as_deref_mut(),
    };
    if encode(&format, input.pick(&RULES), shape, &values, parts).is_ok() {
        let mut out = vec![0.0_f32; values.len()];
        let parts = IntParts {
            codes: &codes,
            scales: &scales,
            zeros: zeros.as_deref(),
            groups: None,
        };
        decode_rows(&format, shape, parts, 0..shape.rows, &mut out)
            .expect("what was encoded is decoded");
    }
}
