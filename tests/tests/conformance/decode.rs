//! Stored codes and scales to the numbers that their producers decode them to.

use blockscale::decode::{Rows, decode_rows};
use blockscale::format::Packing;
use blockscale::{Block, Element, Format, ScaleElement, bf16};
use blockscale_tests::{Dtype, Tensor};

use crate::vectors::{
    COMPRESSED_TENSORS, Fields, MODELOPT, PACKED, Stored, TORCHAO, Vectors, WEIGHT, stack,
};

pub(crate) const TESTS: [fn(); 10] = [
    nvfp4_of_modelopt,
    nvfp4_of_compressed_tensors,
    nvfp4_of_torchao,
    mxfp4,
    mxfp6,
    mxfp8,
    fp8_in_blocks_of_128_by_128,
    fp8_in_blocks_of_modelopt_under_scales_in_bf16,
    fp8_per_tensor_and_per_channel,
    ue8m0_scales_decode_as_the_same_scales_in_f32,
];

/// How a peer decodes the code of negative zero.
#[derive(Clone, Copy, PartialEq)]
enum NegativeZero {
    Kept,
    /// To +0, by a table of values.
    Dropped,
}

use NegativeZero::{Dropped, Kept};

/// Compares every `dequant*` field of `peer`, and returns how many there were.
fn check(file: &str, peer: &str, format: &Format, fields: &Fields, zero: NegativeZero) -> usize {
    let vectors = Vectors::read(file);
    let mut compared = 0;
    for field in ["dequant_f32", "dequant_bf16", "dequant"] {
        for case in vectors.cases(peer, field) {
            let expected = vectors.get(&format!("{case}.{peer}.{field}"));
            let stored = Stored::new(&vectors, case, peer, fields);
            let values = decode(format, &stored, expected);
            let expected = widen(expected);
            assert_eq!(values.len(), expected.len());
            for (i, (&value, &expected)) in values.iter().zip(&expected).enumerate() {
                let same = value.to_bits() == expected.to_bits()
                    || (value.is_nan() && expected.is_nan())
                    || (zero == Dropped && value == 0.0 && expected.to_bits() == 0);
                assert!(
                    same,
                    "{case}.{peer}.{field}[{i}]: {value:e}, expected {expected:e}"
                );
            }
            compared += 1;
        }
    }
    compared
}

/// Decodes to the type of `like`, which then widens exactly.
fn decode(format: &Format, stored: &Stored<'_>, like: &Tensor) -> Vec<f32> {
    let (matrices, shape) = stack(like);
    let mut values = Vec::new();
    for index in 0..matrices {
        let matrix = stored.matrix(format, shape, index);
        let rows = Rows {
            codes: matrix.codes,
            scales: matrix.scales,
            global: matrix.global,
        };
        if like.dtype == Dtype::BF16 {
            let mut out = vec![bf16::ZERO; shape.len().unwrap()];
            decode_rows(format, shape, rows, &mut out).unwrap();
            values.extend(out.into_iter().map(bf16::to_f32));
        } else {
            let mut out = vec![0.0; shape.len().unwrap()];
            decode_rows(format, shape, rows, &mut out).unwrap();
            values.extend(out);
        }
    }
    values
}

fn widen(tensor: &Tensor) -> Vec<f32> {
    match tensor.dtype {
        Dtype::BF16 => tensor
            .bf16_bits()
            .into_iter()
            .map(|b| bf16::from_bits(b).to_f32())
            .collect(),
        _ => tensor.f32s(),
    }
}

#[test]
fn nvfp4_of_modelopt() {
    let file = "nvfp4_modelopt";
    assert_eq!(
        check(file, "modelopt", &Format::NVFP4, &MODELOPT, Dropped),
        24
    );
}

#[test]
fn nvfp4_of_compressed_tensors() {
    let (file, format) = ("nvfp4_compressed_tensors", Format::NVFP4_DIVISOR);
    assert_eq!(check(file, "ct", &format, &COMPRESSED_TENSORS, Kept), 18);
}

#[test]
fn nvfp4_of_torchao() {
    assert_eq!(
        check("nvfp4_torchao", "ao", &Format::NVFP4, &TORCHAO, Kept),
        18
    );
}

#[test]
fn mxfp4() {
    let check = |peer, zero| check("mxfp4", peer, &Format::MXFP4, &PACKED, zero);
    assert_eq!(check("ao_e2m1_floor", Kept), 15);
    assert_eq!(check("ct", Kept), 6);
    assert_eq!(check("modelopt", Dropped), 7);
}

/// torchao keeps one code a byte, compressed-tensors four codes in three bytes.
#[test]
fn mxfp6() {
    let check = |peer, format| check("mxfp6", peer, &format, &PACKED, Kept);
    let bytes = |format: Format| format.packed(Packing::Bytes);
    assert_eq!(check("ao_e2m3_floor", bytes(Format::MXFP6_E2M3)), 15);
    assert_eq!(check("ao_e3m2_floor", bytes(Format::MXFP6_E3M2)), 15);
    assert_eq!(check("ct", Format::MXFP6_E2M3), 6);
}

#[test]
fn mxfp8() {
    let check = |peer, format| check("mxfp8", peer, &format, &PACKED, Kept);
    assert_eq!(check("ao_e4m3_floor", Format::MXFP8_E4M3), 15);
    assert_eq!(check("ao_e5m2_floor", Format::MXFP8_E5M2), 15);
    assert_eq!(check("ct", Format::MXFP8_E4M3), 6);
    assert_eq!(check("modelopt", Format::MXFP8_E4M3), 7);
}

#[test]
fn fp8_in_blocks_of_128_by_128() {
    let check = |peer, format| check("fp8_block", peer, &format, &WEIGHT, Kept);
    let bf16_scales = Format {
        scale: ScaleElement::Bf16,
        ..Format::FP8_BLOCK
    };
    assert_eq!(check("deepgemm", Format::FP8_BLOCK), 23);
    assert_eq!(check("ct_f32", Format::FP8_BLOCK), 6);
    assert_eq!(check("ct", bf16_scales), 2);
    assert_eq!(check("modelopt", bf16_scales), 2);
}

/// To decode to BF16 under F32 scales, ModelOpt rounds the scales to BF16 first.
#[test]
fn fp8_in_blocks_of_modelopt_under_scales_in_bf16() {
    let vectors = Vectors::read("fp8_block");
    let format = Format {
        scale: ScaleElement::Bf16,
        ..Format::FP8_BLOCK
    };
    let cases = vectors.cases("modelopt_f32", "dequant_bf16");
    assert_eq!(cases.len(), 6);
    for case in cases {
        let get = |field: &str| vectors.get(&format!("{case}.modelopt_f32.{field}"));
        let expected = get("dequant_bf16");
        let (_, shape) = stack(expected);
        let scales: Vec<u8> = get("scale")
            .f32s()
            .into_iter()
            .flat_map(|scale| bf16::from_f32(scale).to_le_bytes())
            .collect();
        let rows = Rows {
            codes: &get("weight").data,
            scales: &scales,
            global: 1.0,
        };
        let mut values = vec![bf16::ZERO; shape.len().unwrap()];
        decode_rows(&format, shape, rows, &mut values).unwrap();
        for (i, (value, expected)) in values.iter().zip(widen(expected)).enumerate() {
            let value = value.to_f32();
            let same = value.to_bits() == expected.to_bits() || value.is_nan() && expected.is_nan();
            assert!(same, "{case} {i}: {value:e}, expected {expected:e}");
        }
    }
}

#[test]
fn fp8_per_tensor_and_per_channel() {
    let check = |peer, block, element| {
        let format = Format {
            block,
            element,
            ..Format::FP8_TENSOR
        };
        check("fp8_tensor_channel", peer, &format, &WEIGHT, Kept)
    };
    assert_eq!(check("ao_tensor", Block::Tensor, Element::E4m3Fn), 13);
    assert_eq!(check("ao_channel", Block::Row, Element::E4m3Fn), 13);
    assert_eq!(check("ao_tensor_e5m2", Block::Tensor, Element::E5m2), 6);
    assert_eq!(check("ao_channel_e5m2", Block::Row, Element::E5m2), 6);
}

/// DeepGEMM gives its powers of two both ways: as exponent bytes and as F32.
#[test]
fn ue8m0_scales_decode_as_the_same_scales_in_f32() {
    let vectors = Vectors::read("fp8_block_ue8m0");
    let cases = vectors.cases("deepgemm", "e8m0");
    assert_eq!(cases.len(), 14);
    for case in cases {
        let bytes = Fields {
            scales: "e8m0",
            ..WEIGHT
        };
        let narrow = Stored::new(&vectors, case, "deepgemm", &bytes);
        let wide = Stored::new(&vectors, case, "deepgemm", &WEIGHT);
        let like = Tensor {
            dtype: Dtype::F32,
            ..vectors.get(&format!("{case}.deepgemm.weight")).clone()
        };
        let narrow = decode(&Format::FP8_BLOCK_UE8M0, &narrow, &like);
        assert_eq!(narrow, decode(&Format::FP8_BLOCK, &wide, &like), "{case}");
    }
}
