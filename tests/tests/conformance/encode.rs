//! Weights to the codes and scales that peers store for them, where a peer's rules are those of
//! this project.

use blockscale::decode::{Rows, decode_rows};
use blockscale::encode::{ScaleRule, amax, encode_codes, encode_rows, global_scale};
use blockscale::{Block, Element, Format, Real, ScaleElement, Shape, bf16};
use blockscale_tests::{Dtype, Tensor};

use crate::vectors::{COMPRESSED_TENSORS, MODELOPT, PACKED, Stored, Vectors, WEIGHT, stack};

/// The matrices of an input, each of its own type.
enum Input {
    F32(Vec<f32>),
    Bf16(Vec<bf16>),
}

impl Input {
    fn of(tensor: &Tensor) -> (Vec<Self>, Shape) {
        let (matrices, shape) = stack(tensor);
        let len = shape.len().unwrap();
        let matrix = |index: usize| match tensor.dtype {
            Dtype::BF16 => {
                let bits = &tensor.bf16_bits()[index * len..][..len];
                Self::Bf16(bits.iter().copied().map(bf16::from_bits).collect())
            }
            _ => Self::F32(tensor.f32s()[index * len..][..len].to_vec()),
        };
        ((0..matrices).map(matrix).collect(), shape)
    }

    fn amax(&self) -> f32 {
        match self {
            Self::F32(values) => amax(values),
            Self::Bf16(values) => amax(values),
        }
    }

    fn encode(&self, format: &Format, rule: ScaleRule, shape: Shape, global: f32) -> Encoded {
        match self {
            Self::F32(values) => Encoded::new(format, rule, shape, values, global),
            Self::Bf16(values) => Encoded::new(format, rule, shape, values, global),
        }
    }

    fn codes(&self, format: &Format, shape: Shape, scales: &[u8], global: f32) -> Vec<u8> {
        let mut codes = vec![0; format.code_bytes(shape).unwrap()];
        match self {
            Self::F32(values) => encode_codes(format, shape, values, scales, global, &mut codes),
            Self::Bf16(values) => encode_codes(format, shape, values, scales, global, &mut codes),
        }
        .unwrap();
        codes
    }
}

struct Encoded {
    codes: Vec<u8>,
    scales: Vec<u8>,
}

impl Encoded {
    fn new<T: Real>(
        format: &Format,
        rule: ScaleRule,
        shape: Shape,
        values: &[T],
        global: f32,
    ) -> Self {
        let mut codes = vec![0; format.code_bytes(shape).unwrap()];
        let mut scales = vec![0; format.scale_bytes(shape).unwrap()];
        encode_rows(format, rule, shape, values, global, &mut codes, &mut scales).unwrap();
        Self { codes, scales }
    }
}

/// Compares packed E2M1 codes, the sign of zero aside.
#[track_caller]
fn assert_same_nibbles(codes: &[u8], expected: &[u8], what: &str) {
    let positive = |nibble: u8| if nibble == 8 { 0 } else { nibble };
    let unsigned = |byte: u8| positive(byte & 0xf) | (positive(byte >> 4) << 4);
    assert_eq!(codes.len(), expected.len(), "{what}");
    for (i, (&ours, &theirs)) in codes.iter().zip(expected).enumerate() {
        assert_eq!(
            unsigned(ours),
            unsigned(theirs),
            "{what} byte {i}: {ours:02x} {theirs:02x}"
        );
    }
}

/// ModelOpt drops the sign of zero, not of what rounds to it. A block scale that underflows to zero
/// before it is clamped becomes 1 there, as if the block were zeros. Its tensor of zeros, which
/// gets NaN scales, is left out.
#[test]
fn nvfp4_of_modelopt() {
    let (inputs, vectors) = (Vectors::read("inputs"), Vectors::read("nvfp4_modelopt"));
    let format = Format::NVFP4;
    // In `modelopt_shared` the global scale is given, that of a fused weight.
    for (peer, global_is_given, count) in [("modelopt", false, 13), ("modelopt_shared", true, 12)] {
        let cases = vectors.cases(peer, "packed");
        assert_eq!(cases.len(), count, "{peer}");
        for case in cases.into_iter().filter(|&case| case != "allzero") {
            let (matrices, shape) = Input::of(inputs.get(case));
            let stored = Stored::new(&vectors, case, peer, &MODELOPT);
            for (index, input) in matrices.iter().enumerate() {
                let expected = stored.matrix(&format, shape, index);
                let global = global_scale(&format, input.amax());
                assert!(
                    global_is_given || global == expected.global,
                    "{case}.{peer} global"
                );

                let encoded = input.encode(&format, ScaleRule::Amax, shape, expected.global);
                for (&ours, &theirs) in encoded.scales.iter().zip(expected.scales) {
                    let underflows = global_is_given && (ours, theirs) == (0x01, 0x38);
                    assert!(
                        ours == theirs || underflows,
                        "{case}.{peer}: {ours} {theirs}"
                    );
                }
                let codes = input.codes(&format, shape, expected.scales, expected.global);
                assert_same_nibbles(&codes, expected.codes, case);
            }
        }
    }
}

/// compressed-tensors drops the sign of zero, and stores 0.125 for a block scale that rounds to
/// zero. Its divisor is `2688 * (1 / amax)`, which differs from `2688 / amax` in the last bit.
#[test]
fn nvfp4_of_compressed_tensors() {
    let (inputs, vectors) = (
        Vectors::read("inputs"),
        Vectors::read("nvfp4_compressed_tensors"),
    );
    let format = Format::NVFP4_DIVISOR;
    for (peer, count) in [("ct_f32", 8), ("ct", 5)] {
        let in_f32 = |case: &&str| peer == "ct_f32" || inputs.get(case).dtype == Dtype::F32;
        let cases: Vec<_> = vectors
            .cases(peer, "packed")
            .into_iter()
            .filter(in_f32)
            .collect();
        assert_eq!(cases.len(), count, "{peer}");
        for case in cases.into_iter().filter(|&case| case != "allzero") {
            let (matrices, shape) = Input::of(inputs.get(case));
            let stored = Stored::new(&vectors, case, peer, &COMPRESSED_TENSORS);
            for (index, input) in matrices.iter().enumerate() {
                let expected = stored.matrix(&format, shape, index);
                let global = global_scale(&format, input.amax());
                let apart = global.to_bits().abs_diff(expected.global.to_bits());
                assert!(
                    apart <= 1,
                    "{case}.{peer}: {global} and {}",
                    expected.global
                );

                let encoded = input.encode(&format, ScaleRule::Amax, shape, expected.global);
                for (&ours, &theirs) in encoded.scales.iter().zip(expected.scales) {
                    let rounds_to_zero = theirs == 0x20 && (ours == 0x01 || ours == 0x38);
                    assert!(
                        ours == theirs || rounds_to_zero,
                        "{case}.{peer}: {ours} {theirs}"
                    );
                }
                let codes = input.codes(&format, shape, expected.scales, expected.global);
                assert_same_nibbles(&codes, expected.codes, case);
            }
        }
    }
}

/// Compares scales and codes of all blocks but those that `skips` by their stored scale byte.
fn check_mx(file: &str, peer: &str, format: &Format, skips: fn(u8) -> bool) -> usize {
    let (inputs, vectors) = (Vectors::read("inputs"), Vectors::read(file));
    let mut compared = 0;
    for case in vectors.cases(peer, "packed") {
        let (matrices, shape) = Input::of(inputs.get(case));
        let stored = Stored::new(&vectors, case, peer, &PACKED);
        for (index, input) in matrices.iter().enumerate() {
            let expected = stored.matrix(format, shape, index);
            let encoded = input.encode(format, ScaleRule::Rceil, shape, 1.0);
            let block_bytes = format.row_bytes(32);
            let blocks = encoded
                .codes
                .chunks(block_bytes)
                .zip(expected.codes.chunks(block_bytes));
            for (block, (codes, expected_codes)) in blocks.enumerate() {
                if !skips(expected.scales[block]) {
                    assert_eq!(
                        encoded.scales[block], expected.scales[block],
                        "{case} {block}"
                    );
                    assert_eq!(codes, expected_codes, "{case}.{peer} block {block}");
                    compared += 1;
                }
            }
        }
    }
    compared
}

/// TileKernels does not go below 2^-126; torchao divides by 1 in blocks whose scale is 2^-127.
#[test]
fn mxfp4_scaled_by_rceil() {
    assert_eq!(
        check_mx("mxfp4", "tilekernels", &Format::MXFP4, |scale| scale <= 1),
        805
    );
    assert_eq!(
        check_mx("mxfp4", "ao_e2m1_rceil", &Format::MXFP4, |scale| scale == 0),
        1189
    );
}

#[test]
fn mxfp8_scaled_by_rceil() {
    let check =
        |peer, format: Format, skips: fn(u8) -> bool| check_mx("mxfp8", peer, &format, skips);
    assert_eq!(check("modelopt", Format::MXFP8_E4M3, |_| false), 1248);
    assert_eq!(
        check("ao_e4m3_rceil", Format::MXFP8_E4M3, |scale| scale == 0),
        801
    );
    assert_eq!(
        check("ao_e5m2_rceil", Format::MXFP8_E5M2, |scale| scale == 0),
        795
    );
}

/// Weights of zeros are left out: peers write scales of zero, or of their type's epsilon, for them.
#[test]
fn fp8_blocks_scaled_by_amax() {
    let (inputs, vectors) = (Vectors::read("inputs"), Vectors::read("fp8_block"));
    let format = Format::FP8_BLOCK;
    for peer in ["ct_f32", "modelopt_f32"] {
        let cases = vectors.cases(peer, "weight");
        assert_eq!(cases.len(), 11);
        for case in cases.into_iter().filter(|&case| case != "allzero") {
            let (matrices, shape) = Input::of(inputs.get(case));
            let expected = Stored::new(&vectors, case, peer, &WEIGHT).matrix(&format, shape, 0);
            let encoded = matrices[0].encode(&format, format.default_rule(), shape, 1.0);
            assert_eq!(encoded.scales, expected.scales, "{case}.{peer} scales");
            assert_eq!(encoded.codes, expected.codes, "{case}.{peer}");
        }
    }
}

#[test]
fn fp8_blocks_of_deepgemm_with_ue8m0_scales() {
    let (inputs, vectors) = (Vectors::read("inputs"), Vectors::read("fp8_block_ue8m0"));
    let (narrow, wide) = (Format::FP8_BLOCK_UE8M0, Format::FP8_BLOCK);
    let cases = vectors.cases("deepgemm", "weight");
    assert_eq!(cases.len(), 14);
    for case in cases {
        let (matrices, shape) = Input::of(inputs.get(case));
        let bytes = vectors.get(&format!("{case}.deepgemm.e8m0"));
        let stored = Stored::new(&vectors, case, "deepgemm", &WEIGHT);
        for (index, input) in matrices.iter().enumerate() {
            let expected = stored.matrix(&wide, shape, index);
            let encoded = input.encode(&wide, ScaleRule::RceilMin1e4, shape, 1.0);
            assert_eq!(encoded.scales, expected.scales, "{case} F32 scales");
            assert_eq!(encoded.codes, expected.codes, "{case}");

            let encoded = input.encode(&narrow, narrow.default_rule(), shape, 1.0);
            let blocks = narrow.scale_bytes(shape).unwrap();
            assert_eq!(
                encoded.scales,
                bytes.data[index * blocks..][..blocks],
                "{case} UE8M0"
            );
            assert_eq!(encoded.codes, expected.codes, "{case}");
        }
    }
}

/// An F32-scaled weight decoded and encoded anew, DeepGEMM's way to powers of two.
#[test]
fn fp8_blocks_requantised_from_f32_scales() {
    let (source, vectors) = (Vectors::read("fp8_block"), Vectors::read("fp8_block_ue8m0"));
    let format = Format::FP8_BLOCK;
    let cases = vectors.cases("requant", "weight");
    assert_eq!(cases.len(), 12);
    for case in cases {
        let (_, shape) = stack(source.get(&format!("{case}.deepgemm.weight")));
        let from = Stored::new(&source, case, "deepgemm", &WEIGHT).matrix(&format, shape, 0);
        let mut values = vec![0.0_f32; shape.len().unwrap()];
        let rows = Rows {
            codes: from.codes,
            scales: from.scales,
            global: 1.0,
        };
        decode_rows(&format, shape, rows, &mut values).unwrap();

        let encoded = Encoded::new(&format, ScaleRule::RceilMin1e4, shape, &values, 1.0);
        let expected = Stored::new(&vectors, case, "requant", &WEIGHT).matrix(&format, shape, 0);
        assert_eq!(encoded.scales, expected.scales, "{case} scales");
        assert_eq!(encoded.codes, expected.codes, "{case}");
    }
}

/// Inputs in F32 only: peers do the arithmetic in the type of the weight. Rows whose scale
/// underflows, and gets the smallest positive number here, are left out: peers store zero or an
/// epsilon.
#[test]
fn fp8_per_tensor_and_per_channel_scaled_by_amax() {
    let (inputs, vectors) = (Vectors::read("inputs"), Vectors::read("fp8_tensor_channel"));
    let (e4m3, e5m2) = (Element::E4m3Fn, Element::E5m2);
    let peers = [
        ("ao_tensor", Block::Tensor, e4m3),
        ("ao_channel", Block::Row, e4m3),
        ("ao_tensor_e5m2", Block::Tensor, e5m2),
        ("ao_channel_e5m2", Block::Row, e5m2),
        ("ct_tensor", Block::Tensor, e4m3),
        ("ct_channel", Block::Row, e4m3),
        ("modelopt_tensor", Block::Tensor, e4m3),
        ("modelopt_channel", Block::Row, e4m3),
    ];
    let mut compared = 0;
    for (peer, block, element) in peers {
        let format = Format {
            block,
            element,
            ..Format::FP8_TENSOR
        };
        let cases = vectors.cases(peer, "weight").into_iter();
        for case in cases.filter(|case| inputs.get(case).dtype == Dtype::F32) {
            let (matrices, shape) = Input::of(inputs.get(case));
            let expected = Stored::new(&vectors, case, peer, &WEIGHT).matrix(&format, shape, 0);
            let encoded = matrices[0].encode(&format, ScaleRule::Amax, shape, 1.0);
            let scale_at = |scales: &[u8], row: usize| {
                let index = if block == Block::Row { row } else { 0 };
                ScaleElement::F32.decode(&scales[index * 4..][..4])
            };
            let rows = encoded
                .codes
                .chunks(shape.cols)
                .zip(expected.codes.chunks(shape.cols));
            for (row, (codes, expected_codes)) in rows.enumerate() {
                let scale = scale_at(&encoded.scales, row);
                if scale > f32::from_bits(1) {
                    assert_eq!(
                        scale,
                        scale_at(expected.scales, row),
                        "{case}.{peer} row {row}"
                    );
                    assert_eq!(codes, expected_codes, "{case}.{peer} row {row}");
                    compared += 1;
                }
            }
        }
    }
    assert_eq!(compared, 1425);
}
