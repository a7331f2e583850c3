//! Blocks of ggml, as the Python package `gguf` writes and reads them.

use blockscale::ggml::{
    GgmlType, decode_rows, encode_rows, pack_mxfp4, pack_nvfp4, ue4m3_from_f32, ue4m3_to_f32,
    unpack_mxfp4, unpack_nvfp4,
};
use blockscale::{Format, Shape, bf16};
use blockscale_tests::{Dtype, Tensor};

use crate::coverage;
use crate::vectors::{Vectors, stack};

pub(crate) const TESTS: [fn(); 5] = [
    blocks_decode_to_the_numbers_of_the_peer,
    weights_encode_to_the_bytes_of_the_peer,
    scales_convert_as_the_peer_converts_them,
    powers_of_two_are_halved_as_the_peer_halves_them,
    blocks_and_planes_hold_the_same_numbers,
];

const TYPES: [(&str, GgmlType, usize); 4] = [
    ("q8_0", GgmlType::Q8_0, 7),
    ("q4_0", GgmlType::Q4_0, 7),
    ("mxfp4", GgmlType::Mxfp4, 7),
    ("nvfp4", GgmlType::Nvfp4, 1),
];

fn values(input: &Tensor) -> Vec<f32> {
    match input.dtype {
        Dtype::BF16 => {
            let bits = input.bf16_bits().into_iter();
            bits.map(|bits| bf16::from_bits(bits).to_f32()).collect()
        }
        _ => input.f32s(),
    }
}

#[test]
fn blocks_decode_to_the_numbers_of_the_peer() {
    let vectors = Vectors::read("gguf");
    for (name, ty, count) in TYPES {
        let cases = vectors.cases(name, "packed");
        assert_eq!(cases.len(), count, "{name}");
        for case in cases {
            let expected = vectors.get(&format!("{case}.{name}.dequant_f32"));
            let (_, shape) = stack(expected);
            let packed = &vectors.get(&format!("{case}.{name}.packed")).data;
            let mut out = vec![0.0_f32; shape.len().unwrap()];
            decode_rows(ty, shape, packed, &mut out).unwrap();
            for (at, (ours, theirs)) in out.iter().zip(expected.f32s()).enumerate() {
                let same = ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan();
                assert!(same, "{case}.{name} {at}: {ours:e} {theirs:e}");
            }
        }
    }
}

/// Left out are blocks at the edges of F32, where the peer's exponent wraps around in its byte, or
/// the inverse of its scale is infinite.
#[test]
fn weights_encode_to_the_bytes_of_the_peer() {
    let (inputs, vectors) = (Vectors::read("inputs"), Vectors::read("gguf"));
    let mut compared = Vec::new();
    for (name, ty, _) in &TYPES[..3] {
        let mut blocks = 0;
        for case in vectors.cases(name, "packed") {
            coverage::encoded("gguf", case, name);
            let input = inputs.get(case);
            let (_, shape) = stack(input);
            let values = values(input);
            let expected = &vectors.get(&format!("{case}.{name}.packed")).data;
            let mut rows = vec![0; expected.len()];
            encode_rows(*ty, shape, &values, &mut rows).unwrap();
            let bytes = ty.block_bytes();
            let pairs = rows.chunks(bytes).zip(expected.chunks(bytes));
            for ((ours, theirs), values) in pairs.zip(values.chunks(32)) {
                let largest = values
                    .iter()
                    .fold(0.0_f32, |largest, x| largest.max(x.abs()));
                let undefined = match *ty {
                    GgmlType::Mxfp4 => largest < 2_f32.powi(-125) || largest > 3.4e38,
                    _ => (8.0 / largest).is_infinite(),
                };
                if largest > 0.0 && undefined {
                    continue;
                }
                assert_eq!(ours, theirs, "{case}.{name} {values:?}");
                blocks += 1;
            }
        }
        compared.push(blocks);
    }
    assert_eq!(compared, [590, 590, 589]);
}

#[test]
fn scales_convert_as_the_peer_converts_them() {
    let vectors = Vectors::read("gguf");
    let halves = vectors.get("table.nvfp4.scale_decode_half").f32s();
    for (code, half) in (0..=u8::MAX).zip(halves) {
        assert_eq!(ue4m3_to_f32(code) * 0.5, half, "{code:#04x}");
    }
    let inputs = vectors.get("table.nvfp4.scale_encode_input").f32s();
    let expected = &vectors.get("table.nvfp4.scale_encode").data;
    assert_eq!(inputs.len(), 5991);
    for (&x, &expected) in inputs.iter().zip(expected) {
        assert_eq!(ue4m3_from_f32(x), expected, "{x:e}");
    }
}

/// The decoder's table of scales, seen through a block of ones.
#[test]
fn powers_of_two_are_halved_as_the_peer_halves_them() {
    let halves = Vectors::read("gguf")
        .get("table.mxfp4.scale_decode_half")
        .f32s();
    for (code, half) in (0..=u8::MAX).zip(halves) {
        // E2M1's code 1 is 0.5, doubled 1.
        let mut block = [0x11; 17];
        block[0] = code;
        let mut out = [0.0_f32; 32];
        decode_rows(GgmlType::Mxfp4, Shape::new(1, 32), &block, &mut out).unwrap();
        assert_eq!(out, [half; 32], "{code}");
    }
}

#[test]
fn blocks_and_planes_hold_the_same_numbers() {
    use blockscale::decode::{Rows, decode_rows as decode_planes};

    type Repack = fn(Shape, &[u8], &mut [u8], &mut [u8]) -> Result<(), blockscale::ggml::GgmlError>;
    type Pack = fn(Shape, &[u8], &[u8], &mut [u8]) -> Result<(), blockscale::ggml::GgmlError>;
    let vectors = Vectors::read("gguf");
    let kinds: [(&str, GgmlType, Format, Repack, Pack); 2] = [
        (
            "mxfp4",
            GgmlType::Mxfp4,
            Format::MXFP4,
            unpack_mxfp4,
            pack_mxfp4,
        ),
        (
            "nvfp4",
            GgmlType::Nvfp4,
            Format::NVFP4_ONE_LEVEL,
            unpack_nvfp4,
            pack_nvfp4,
        ),
    ];
    for (name, ty, format, unpack, pack) in kinds {
        for case in vectors.cases(name, "packed") {
            let like = vectors.get(&format!("{case}.{name}.dequant_f32"));
            let (_, shape) = stack(like);
            let rows = &vectors.get(&format!("{case}.{name}.packed")).data;
            let mut codes = vec![0; format.code_bytes(shape).unwrap()];
            let mut scales = vec![0; format.scale_bytes(shape).unwrap()];
            unpack(shape, rows, &mut codes, &mut scales).unwrap();

            let mut again = vec![0; rows.len()];
            pack(shape, &codes, &scales, &mut again).unwrap();
            let unsigned = |block: &[u8]| -> Vec<u8> {
                let scales = if ty == GgmlType::Nvfp4 { 4 } else { 0 };
                let masked = block[..scales].iter().map(|scale| scale & 0x7f);
                masked.chain(block[scales..].iter().copied()).collect()
            };
            let expected: Vec<u8> = rows.chunks(ty.block_bytes()).flat_map(unsigned).collect();
            assert_eq!(again, expected, "{case}.{name}");

            let mut values = vec![0.0_f32; shape.len().unwrap()];
            let planes = Rows {
                codes: &codes,
                scales: &scales,
                global: 1.0,
            };
            decode_planes(&format, shape, planes, &mut values).unwrap();
            for (ours, theirs) in values.iter().zip(like.f32s()) {
                // ggml takes the scale code of NaN for zero.
                assert!(
                    *ours == theirs || ours.is_nan() && theirs == 0.0,
                    "{ours} {theirs}"
                );
            }
        }
    }
}
