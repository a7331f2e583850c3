//! Blocks of ggml: sizes, worked blocks, and the order of codes.

use blockscale::decode::Rows;
use blockscale::ggml::{
    GgmlError, GgmlType, decode_rows, encode_rows, pack_mxfp4, pack_nvfp4, ue4m3_from_f32,
    ue4m3_to_f32, unpack_mxfp4, unpack_nvfp4,
};
use blockscale::{Format, LenMismatch, Shape, bf16};
use proptest::prelude::*;

/// (i - 15.5) / 8, of which a block has the published bytes below.
fn ramp() -> [f32; 32] {
    std::array::from_fn(|i| (i as f32 - 15.5) / 8.0)
}

fn encode(ty: GgmlType, values: &[f32]) -> Vec<u8> {
    let mut rows = vec![0xaa; ty.row_bytes(values.len()).unwrap()];
    encode_rows(ty, Shape::new(1, values.len()), values, &mut rows).unwrap();
    rows
}

fn decode(ty: GgmlType, cols: usize, rows: &[u8]) -> Vec<f32> {
    let mut out = vec![0.0; cols];
    decode_rows(ty, Shape::new(1, cols), rows, &mut out).unwrap();
    out
}

#[test]
fn ids_and_sizes_are_those_of_ggml() {
    let table: Vec<_> = GgmlType::ALL
        .map(|ty| (ty.name(), ty.id(), ty.block_len(), ty.block_bytes()))
        .into();
    let expected = [
        ("F32", 0, 1, 4),
        ("F16", 1, 1, 2),
        ("Q4_0", 2, 32, 18),
        ("Q8_0", 8, 32, 34),
        ("BF16", 30, 1, 2),
        ("MXFP4", 39, 32, 17),
        ("NVFP4", 40, 64, 36),
    ];
    assert_eq!(table, expected);
    let known = (0..64).filter_map(GgmlType::from_id).collect::<Vec<_>>();
    assert_eq!(known, GgmlType::ALL);
}

#[test]
fn the_published_worked_blocks_are_reproduced() {
    let mxfp4 = [
        0x7d, 0x0f, 0x1f, 0x2f, 0x3f, 0x4f, 0x5f, 0x5e, 0x6e, 0x6e, 0x6d, 0x7d, 0x7c, 0x7b, 0x7a,
        0x79, 0x70,
    ];
    assert_eq!(encode(GgmlType::Mxfp4, &ramp()), mxfp4);
    let q4_0 = [
        0xc0, 0x33, 0x80, 0x91, 0x91, 0xa2, 0xa2, 0xb3, 0xb3, 0xc4, 0xc4, 0xd5, 0xd5, 0xe6, 0xe6,
        0xf7, 0xf7, 0xf8,
    ];
    assert_eq!(encode(GgmlType::Q4_0, &ramp()), q4_0);
    let q8_0 = encode(GgmlType::Q8_0, &ramp());
    assert_eq!(q8_0[..2], [0xd0, 0x23]);
    assert_eq!(
        q8_0[2..6].iter().map(|&q| q as i8).collect::<Vec<_>>(),
        [-127, -119, -111, -102]
    );

    let mut values = [0.0; 64];
    for (i, value) in values.iter_mut().take(16).enumerate().skip(1) {
        *value = i as f32 / 10.0 * if i % 2 == 0 { -1.0 } else { 1.0 };
    }
    let nvfp4 = encode(GgmlType::Nvfp4, &values);
    assert_eq!(nvfp4[..4], [0x28, 0, 0, 0]);
    assert_eq!(
        nvfp4[4..12],
        [0xd0, 0x61, 0xea, 0x62, 0xeb, 0x74, 0xfc, 0x75]
    );
    assert_eq!(nvfp4[12..], [0; 24]);
}

#[test]
fn a_block_of_zeros_decodes_to_zeros() {
    for ty in GgmlType::ALL {
        let zeros = vec![0.0; 2 * ty.block_len()];
        assert_eq!(decode(ty, zeros.len(), &encode(ty, &zeros)), zeros, "{ty}");
    }
    assert_eq!(encode(GgmlType::Q4_0, &[0.0; 32])[2..], [0x88; 16]);
    assert_eq!(encode(GgmlType::Mxfp4, &[-0.0; 32]), [0; 17]);
}

#[test]
fn a_tensor_on_the_grid_comes_back_exactly() {
    let grid = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];
    let e2m1: Vec<f32> = (0..64)
        .map(|i| grid[(i + 7) % 8] * if i % 3 == 0 { -2.0 } else { 2.0 })
        .collect();
    for ty in [
        GgmlType::Mxfp4,
        GgmlType::Nvfp4,
        GgmlType::Bf16,
        GgmlType::F16,
        GgmlType::F32,
    ] {
        assert_eq!(decode(ty, 64, &encode(ty, &e2m1)), e2m1, "{ty}");
    }
    let q8_0: Vec<f32> = (0..32).map(|i| (127 - 8 * i) as f32 * 0.25).collect();
    assert_eq!(
        decode(GgmlType::Q8_0, 32, &encode(GgmlType::Q8_0, &q8_0)),
        q8_0
    );
    let q4_0: Vec<f32> = (0..32).map(|i| (i % 16 - 8) as f32 * 0.25).collect();
    assert_eq!(
        decode(GgmlType::Q4_0, 32, &encode(GgmlType::Q4_0, &q4_0)),
        q4_0
    );
}

#[test]
fn what_is_not_finite_does_not_reach_the_scale() {
    let mut values = ramp();
    values[3] = f32::NAN;
    values[4] = f32::INFINITY;
    values[5] = f32::NEG_INFINITY;
    for ty in [GgmlType::Q8_0, GgmlType::Q4_0, GgmlType::Mxfp4] {
        let decoded = decode(ty, 32, &encode(ty, &values));
        assert!(decoded.iter().all(|x| x.is_finite()), "{ty} {decoded:?}");
        assert!(decoded[4] > 1.2 && decoded[5] < -1.2, "{ty} {decoded:?}");
    }
}

#[test]
fn scales_of_nvfp4_round_as_ggml_has_it() {
    // 2^-10, 2^-9, 1.0625, 232, 240, 248, 256 and what is no scale.
    let inputs = [
        0.0009765625,
        0.001953125,
        1.0625,
        232.0,
        240.0,
        248.0,
        256.0,
        0.0,
        -1.0,
        f32::NAN,
        1e9,
    ];
    let expected = [0x01, 0x01, 0x39, 0x77, 0x77, 0x7e, 0x7e, 0, 0, 0, 0x7e];
    assert_eq!(inputs.map(ue4m3_from_f32), expected);
    for code in (0..=0x77).chain([0x7e]) {
        assert_eq!(ue4m3_from_f32(ue4m3_to_f32(code)), code, "{code:#04x}");
    }
    assert_eq!([0x7f, 0xff, 0xb8].map(ue4m3_to_f32), [0.0, 480.0, 1.0]);
}

#[test]
fn rows_that_are_no_whole_blocks_are_refused() {
    let (ty, cols) = (GgmlType::Nvfp4, 96);
    let error = decode_rows(ty, Shape::new(1, cols), &[0; 54], &mut [0.0_f32; 96]);
    assert_eq!(error, Err(GgmlError::Cols { ty, cols }));
    let error = error.unwrap_err().to_string();
    assert!(error.starts_with("rows of 96 columns cannot be `NVFP4`, whose blocks hold 64"));

    let (what, expected, found) = ("rows", 34, 33);
    let short = encode_rows(
        GgmlType::Q8_0,
        Shape::new(1, 32),
        &[bf16::ZERO; 32],
        &mut [0; 33],
    );
    assert_eq!(
        short,
        Err(LenMismatch {
            what,
            expected,
            found
        }
        .into())
    );
}

/// The way of gpt-oss: bytes of a row as `[blocks, 16]`, even columns low, scales apart.
#[test]
fn gpt_oss_blocks_become_ggml_blocks_nibble_by_nibble() {
    let codes: Vec<u8> = (0..64).map(|i: u8| i.wrapping_mul(29)).collect();
    let scales = [120, 121, 122, 123];
    let mut rows = [0; 4 * 17];
    pack_mxfp4(Shape::new(2, 64), &codes, &scales, &mut rows).unwrap();
    let nibble = |column: usize| codes[column / 2] >> (column % 2 * 4) & 0xf;
    for (block, bytes) in rows.chunks(17).enumerate() {
        assert_eq!(bytes[0], scales[block]);
        for (j, byte) in bytes[1..].iter().enumerate() {
            let first = block * 32 + j;
            assert_eq!(*byte, nibble(first) | nibble(first + 16) << 4);
        }
    }
}

proptest! {
    #[test]
    fn planes_survive_blocks(bytes in prop::collection::vec(any::<u8>(), 3 * 72), rows in 1_usize..4) {
        let shape = Shape::new(rows, 128);
        let (codes, scales) = (&bytes[..rows * 64], &bytes[..rows * 4]);
        let mut blocks = vec![0; rows * 68];
        let (mut codes_again, mut scales_again) = (vec![0; rows * 64], vec![0; rows * 4]);
        pack_mxfp4(shape, codes, scales, &mut blocks).unwrap();
        unpack_mxfp4(shape, &blocks, &mut codes_again, &mut scales_again).unwrap();
        prop_assert_eq!((&codes_again[..], &scales_again[..]), (codes, scales));

        let scales: Vec<u8> = bytes[..rows * 8].iter().map(|scale| scale & 0x7f).collect();
        let (mut blocks, mut scales_again) = (vec![0; rows * 72], vec![0; rows * 8]);
        pack_nvfp4(shape, codes, &scales, &mut blocks).unwrap();
        unpack_nvfp4(shape, &blocks, &mut codes_again, &mut scales_again).unwrap();
        prop_assert_eq!((&codes_again[..], &scales_again), (codes, &scales));
    }
}

#[test]
fn planes_of_every_scale_are_worth_what_the_blocks_are() {
    let shape = Shape::new(1, 64);
    // 0x7F and 0xFF are NaN in E4M3 and something else in ggml.
    for scale in (0..=255_u8).filter(|scale| scale & 0x7f != 0x7f) {
        let mut block = [0x52_u8; 36];
        block[..4].fill(scale);
        let (mut codes, mut scales) = ([0; 32], [0; 4]);
        unpack_nvfp4(shape, &block, &mut codes, &mut scales).unwrap();
        let rows = Rows {
            codes: &codes,
            scales: &scales,
            global: 1.0,
        };
        let mut planes = [0.0_f32; 64];
        blockscale::decode::decode_rows(&Format::NVFP4, shape, rows, &mut planes).unwrap();
        assert_eq!(
            planes[..],
            decode(GgmlType::Nvfp4, 64, &block),
            "{scale:#x}"
        );
    }
}
