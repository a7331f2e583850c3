//! Rows of block formats, decoded and encoded.

use blockscale::decode::{Rows, decode_rows};
use blockscale::encode::{Scheme, choose_scales_with, encode_codes_with, encode_rows_with};
use blockscale::explain::code_at;
use blockscale::{Format, GlobalScale, Real, ScaleElement, Shape, bf16, f16};

use crate::input::Input;

/// What an output holds that nothing has written to.
const UNTOUCHED: f32 = 1.25;

/// Any format, shape and lengths: right lengths give what the definition says, others an error that
/// leaves the output alone.
pub(super) fn decode(data: &[u8]) {
    let mut input = Input::new(data);
    let (format, shape, global) = (input.format(), input.shape(), input.float());
    let codes = input.buffer(format.code_bytes(shape));
    let scales = input.buffer(format.scale_bytes(shape));
    let len = input.length(shape.len());
    let rows = Rows {
        codes: &codes,
        scales: &scales,
        global,
    };
    let fits = format.code_bytes(shape) == Some(codes.len())
        && format.scale_bytes(shape) == Some(scales.len())
        && shape.len() == Some(len);
    check_decoded::<f32>(&format, shape, rows, len, fits);
    check_decoded::<bf16>(&format, shape, rows, len, fits);
    check_decoded::<f16>(&format, shape, rows, len, fits);
}

fn check_decoded<T: Real>(format: &Format, shape: Shape, rows: Rows<'_>, len: usize, fits: bool) {
    let mut out = vec![T::from_f32(UNTOUCHED); len];
    let result = decode_rows(format, shape, rows, &mut out);
    assert_eq!(result.is_ok(), fits, "{result:?}");
    if !fits {
        assert!(out.iter().all(|value| value.to_f32() == UNTOUCHED));
        return;
    }
    for (index, found) in out.iter().enumerate() {
        let (row, col) = (index / shape.cols, index % shape.cols);
        let expected = T::from_f32(defined(format, shape, &rows, row, col)).to_f32();
        assert!(
            same(found.to_f32(), expected),
            "{format:?} {shape:?} at {row}, {col}"
        );
    }
}

/// One number by the definition.
fn defined(format: &Format, shape: Shape, rows: &Rows<'_>, row: usize, col: usize) -> f32 {
    let row_bytes = format.row_bytes(shape.cols);
    let code = code_at(format, &rows.codes[row * row_bytes..][..row_bytes], col)
        .expect("the column is in the row");
    let scale_cols = format.scale_shape(shape).cols;
    let block =
        row / format.block_rows(shape.rows) * scale_cols + col / format.block_cols(shape.cols);
    let size = format.scale.bytes();
    let scale = format.effective_scale(&rows.scales[block * size..][..size], rows.global);
    format.element.decode(code) * scale
}

fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// Any numbers by any scheme; runs of whole blocks give the bytes of the whole.
pub(super) fn encode(data: &[u8]) {
    let mut input = Input::new(data);
    let format = match input.below(3) {
        0 => input.format(),
        _ => input.pick(&[
            Format::NVFP4,
            Format::NVFP4_DIVISOR,
            Format::MXFP4,
            Format::MXFP6_E3M2,
            Format::MXFP8_E5M2,
            Format::FP8_BLOCK,
            Format::FP8_BLOCK_UE8M0,
            Format::FP8_CHANNEL,
        ]),
    };
    let scheme = input.pick(Scheme::NAMED).scheme;
    let (shape, global) = (input.shape(), input.float());
    let values = input.floats(shape.len());
    let mut codes = vec![0; input.length(format.code_bytes(shape))];
    let mut scales = vec![0; input.length(format.scale_bytes(shape))];
    let fits = shape.len() == Some(values.len())
        && format.code_bytes(shape) == Some(codes.len())
        && format.scale_bytes(shape) == Some(scales.len());

    let whole = encode_rows_with(
        &format,
        &scheme,
        shape,
        &values,
        global,
        &mut codes,
        &mut scales,
    );
    assert_eq!(whole.is_ok(), fits, "{whole:?}");
    if !fits {
        return;
    }
    check_parts(&format, &scheme, shape, &values, global, (&codes, &scales));
    check_no_new_nan(&format, &scheme, shape, &values, (&codes, &scales));
}

/// Run by run of whole blocks, and step by step, the bytes are the same.
fn check_parts(
    format: &Format,
    scheme: &Scheme,
    shape: Shape,
    values: &[f32],
    global: f32,
    (codes, scales): (&[u8], &[u8]),
) {
    let block = format.block_rows(shape.rows);
    let (mut start, mut scale_at) = (0, 0);
    while start < shape.rows && shape.cols > 0 {
        let rows = block.min(shape.rows - start);
        let run = Shape::new(rows, shape.cols);
        let values = &values[start * shape.cols..][..rows * shape.cols];
        let mut run_scales = vec![0; format.scale_bytes(run).expect("a part of the whole")];
        let mut run_codes = vec![0; format.code_bytes(run).expect("a part of the whole")];
        choose_scales_with(format, scheme, run, values, global, &mut run_scales).expect("fits");
        encode_codes_with(
            format,
            scheme,
            run,
            values,
            &run_scales,
            global,
            &mut run_codes,
        )
        .expect("fits");
        assert!(
            run_scales == scales[scale_at..][..run_scales.len()],
            "from row {start}"
        );
        let first = start * format.row_bytes(shape.cols);
        assert!(
            run_codes == codes[first..][..run_codes.len()],
            "from row {start}"
        );
        scale_at += run_scales.len();
        start += rows;
    }
}

/// Finite numbers under scales that are powers of two never become NaN.
fn check_no_new_nan(
    format: &Format,
    scheme: &Scheme,
    shape: Shape,
    values: &[f32],
    (codes, scales): (&[u8], &[u8]),
) {
    let applies = format.scale == ScaleElement::E8m0Fnu
        && format.global == GlobalScale::None
        && *scheme == Scheme::DEFAULT
        && values.iter().all(|value| value.is_finite());
    if !applies {
        return;
    }
    let mut out = vec![0.0_f32; values.len()];
    let rows = Rows {
        codes,
        scales,
        global: 1.0,
    };
    decode_rows(format, shape, rows, &mut out).expect("fits");
    assert!(!out.iter().any(|value| value.is_nan()), "{format:?}");
    assert!(!scales.contains(&0xff) || values.is_empty(), "{format:?}");
}
