//! Blocks of ggml.

use blockscale::decode::{self, Rows};
use blockscale::ggml::{
    GgmlError, GgmlType, decode_rows, encode_rows, pack_mxfp4, pack_nvfp4, unpack_mxfp4,
    unpack_nvfp4,
};
use blockscale::{Format, ScaleElement, Shape, bf16};

use crate::input::Input;

type Unpack = fn(Shape, &[u8], &mut [u8], &mut [u8]) -> Result<(), GgmlError>;
type Pack = fn(Shape, &[u8], &[u8], &mut [u8]) -> Result<(), GgmlError>;

/// Any type and lengths, to numbers, from numbers, and to planes and back.
pub(super) fn ggml(data: &[u8]) {
    let mut input = Input::new(data);
    let (kind, shape) = (input.pick(&GgmlType::ALL), input.shape());
    let asked = kind
        .row_bytes(shape.cols)
        .and_then(|bytes| bytes.checked_mul(shape.rows));
    let mut rows = input.buffer(asked);
    let mut numbers = vec![0.0_f32; input.length(shape.len())];
    let _ = decode_rows(kind, shape, &rows, &mut numbers);
    let mut narrow = vec![bf16::ZERO; input.length(shape.len())];
    let _ = decode_rows(kind, shape, &rows, &mut narrow);

    let ways: [(Format, Unpack, Pack); 2] = [
        (Format::MXFP4, unpack_mxfp4, pack_mxfp4),
        (Format::NVFP4, unpack_nvfp4, pack_nvfp4),
    ];
    let (format, unpack, pack) = ways[input.below(2)];
    let mut codes = vec![0; input.length(format.code_bytes(shape))];
    let mut scales = vec![0; input.length(format.scale_bytes(shape))];
    if unpack(shape, &rows, &mut codes, &mut scales).is_ok() {
        check_planes(&format, shape, &rows, &codes, &scales);
        let mut packed = vec![0; rows.len()];
        pack(shape, &codes, &scales, &mut packed).expect("it came from there");
        let (mut codes_again, mut scales_again) = (vec![0; codes.len()], vec![0; scales.len()]);
        unpack(shape, &packed, &mut codes_again, &mut scales_again).expect("it was made so");
        assert!(
            codes == codes_again && scales == scales_again,
            "{format:?} {shape:?}"
        );
    }
    let values = input.floats(shape.len());
    if encode_rows(kind, shape, &values, &mut rows).is_ok() {
        let mut numbers = vec![0.0_f32; values.len()];
        decode_rows(kind, shape, &rows, &mut numbers).expect("what was encoded is decoded");
    }
}

/// Codes and scales apart are worth what they were together, but for scales that only one of the two
/// formats has, and the sign of zeros.
fn check_planes(format: &Format, shape: Shape, rows: &[u8], codes: &[u8], scales: &[u8]) {
    let kind = match format.scale {
        ScaleElement::E8m0Fnu => GgmlType::Mxfp4,
        _ => GgmlType::Nvfp4,
    };
    let len = shape.len().expect("its codes fit");
    let (mut before, mut after) = (vec![0.0_f32; len], vec![0.0_f32; len]);
    decode_rows(kind, shape, rows, &mut before).expect("fits");
    let planes = Rows {
        codes,
        scales,
        global: 1.0,
    };
    decode::decode_rows(format, shape, planes, &mut after).expect("fits");
    let mut pairs = before.iter().zip(&after);
    assert!(
        pairs.all(|(before, after)| before == after || after.is_nan() || after.is_infinite()),
        "{format:?} {shape:?}"
    );
}
