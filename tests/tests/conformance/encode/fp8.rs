use blockscale::decode::{Rows, decode_rows};
use blockscale::encode::{ScaleRule, Scheme};
use blockscale::{Block, Element, Format, ScaleElement};
use blockscale_tests::Dtype;

use super::{Encoded, Global, Peer, assert_same, assert_within_a_step, but_zeros, every};
use crate::vectors::{Fields, Stored, Vectors, WEIGHT, stack};

const E8M0: Fields = Fields {
    scales: "e8m0",
    ..WEIGHT
};

fn peer<'a>(file: &'a str, peer: &'a str, format: Format, scheme: Scheme) -> Peer<'a> {
    Peer {
        file,
        peer,
        format,
        scheme,
        fields: &WEIGHT,
        global: Global::Given,
    }
}

fn in_f32(_: &str, dtype: Dtype) -> bool {
    dtype == Dtype::F32
}

#[test]
fn blocks_of_deepgemm() {
    let deepgemm = peer(
        "fp8_block",
        "deepgemm",
        Format::FP8_BLOCK,
        Scheme::DEEPGEMM_FP8,
    );
    assert_eq!(deepgemm.check(every), 16);
}

#[test]
fn blocks_of_deepgemm_with_powers_of_two() {
    let wide = peer(
        "fp8_block_ue8m0",
        "deepgemm",
        Format::FP8_BLOCK,
        Scheme::DEEPGEMM_FP8_UE8M0,
    );
    assert_eq!(wide.check(every), 16);
    let narrow = Peer {
        format: Format::FP8_BLOCK_UE8M0,
        fields: &E8M0,
        ..wide
    };
    assert_eq!(narrow.check(every), 16);
}

#[test]
fn rows_of_128_columns_of_deepgemm() {
    let file = "fp8_block_ue8m0";
    let f32_scales = peer(file, "token_f32", Format::FP8_TOKEN, Scheme::DEEPGEMM_FP8);
    assert_eq!(f32_scales.check(every), 10);
    let pow2 = peer(file, "token", Format::FP8_TOKEN, Scheme::DEEPGEMM_FP8_UE8M0);
    assert_eq!(pow2.check(every), 10);
}

/// An F32-scaled weight decoded and encoded anew, DeepGEMM's way to powers of two.
#[test]
fn blocks_requantised_from_f32_scales() {
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

        let expected = Stored::new(&vectors, case, "requant", &WEIGHT).matrix(&format, shape, 0);
        // Under a power of two the quotient and the product with the reciprocal are the same.
        for scheme in [Scheme::DEEPGEMM_FP8_UE8M0, ScaleRule::RceilMin1e4.into()] {
            let encoded = Encoded::new(&format, &scheme, shape, &values, 1.0);
            assert_same(&encoded.scales, expected.scales, case);
            assert_same(&encoded.codes, expected.codes, case);
        }
    }
}

/// ModelOpt cannot encode zeros.
#[test]
fn blocks_of_compressed_tensors_and_modelopt() {
    let format = Format::FP8_BLOCK;
    let scheme = Scheme::COMPRESSED_TENSORS_FP8;
    assert_eq!(peer("fp8_block", "ct_f32", format, scheme).check(every), 11);
    let scheme = Scheme::MODELOPT_FP8;
    assert_eq!(
        peer("fp8_block", "modelopt_f32", format, scheme).check(but_zeros),
        10
    );
}

/// The F32 inputs only: these peers compute in the type of the weight. Rows whose scale is zero in
/// F32 keep that scale in torchao and ModelOpt, and are left out.
#[test]
fn per_tensor_and_per_channel() {
    let (e4m3, e5m2) = (Element::E4m3Fn, Element::E5m2);
    let peers = [
        ("ao_tensor", Block::Tensor, e4m3, Scheme::DEFAULT),
        ("ao_channel", Block::Row, e4m3, Scheme::DEFAULT),
        ("ao_tensor_e5m2", Block::Tensor, e5m2, Scheme::DEFAULT),
        ("ao_channel_e5m2", Block::Row, e5m2, Scheme::DEFAULT),
        (
            "ct_tensor",
            Block::Tensor,
            e4m3,
            Scheme::COMPRESSED_TENSORS_FP8,
        ),
        (
            "ct_channel",
            Block::Row,
            e4m3,
            Scheme::COMPRESSED_TENSORS_FP8,
        ),
        ("modelopt_tensor", Block::Tensor, e4m3, Scheme::MODELOPT_FP8),
        ("modelopt_channel", Block::Row, e4m3, Scheme::MODELOPT_FP8),
    ];
    let compared = peers.map(|(name, block, element, scheme)| {
        let format = Format {
            block,
            element,
            ..Format::FP8_TENSOR
        };
        let peer = peer("fp8_tensor_channel", name, format, scheme);
        let mut compared = 0;
        peer.each_matrix(in_f32, |what, input, shape, stored| {
            let encoded = input.encode(&format, &scheme, shape, 1.0);
            let scales = encoded.scales.chunks(4).zip(stored.scales.chunks(4));
            let rows_a_scale = shape.rows / scales.len();
            let codes_a_scale = rows_a_scale * shape.cols;
            let codes = encoded
                .codes
                .chunks(codes_a_scale)
                .zip(stored.codes.chunks(codes_a_scale));
            for ((scale, expected_scale), (codes, expected)) in scales.zip(codes) {
                if expected_scale != [0; 4] {
                    assert_same(scale, expected_scale, what);
                    assert_same(codes, expected, what);
                    compared += 1;
                }
            }
        });
        compared
    });
    assert_eq!(compared, [5, 189, 4, 139, 5, 192, 5, 189]);
}

/// Weights in BF16, whose scales and quotients these peers round to BF16.
#[test]
fn in_bf16_to_a_step() {
    let bf16_scales = |block| Format {
        block,
        scale: ScaleElement::Bf16,
        ..Format::FP8_BLOCK
    };
    let grid = Format::FP8_BLOCK.block;
    let peers = [
        ("fp8_block", "ct", grid),
        ("fp8_block", "modelopt", grid),
        ("fp8_tensor_channel", "ct_tensor", Block::Tensor),
        ("fp8_tensor_channel", "ct_channel", Block::Row),
        ("fp8_tensor_channel", "modelopt_tensor", Block::Tensor),
        ("fp8_tensor_channel", "modelopt_channel", Block::Row),
    ];
    for (file, name, block) in peers {
        let format = bf16_scales(block);
        let peer = peer(file, name, format, Scheme::DEFAULT);
        let bf16 = |case: &str, dtype| dtype == Dtype::BF16 && case != "allzero" && case != "zeros";
        let (mut differing, mut matrices) = (0, 0);
        peer.each_matrix(bf16, |what, input, shape, stored| {
            let encoded = input.encode(&format, &peer.scheme, shape, 1.0);
            let pairs = encoded
                .scales
                .as_chunks::<2>()
                .0
                .iter()
                .zip(stored.scales.as_chunks::<2>().0);
            for (&ours, &theirs) in pairs {
                let apart = u16::from_le_bytes(ours).abs_diff(u16::from_le_bytes(theirs));
                assert!(apart <= 1, "{what} scale: {ours:?} {theirs:?}");
            }
            let codes = input.codes(&format, &peer.scheme, shape, stored);
            differing += assert_within_a_step(&format, &codes, stored.codes, what);
            matrices += 1;
        });
        assert!(
            matrices >= 3 && differing > 0,
            "{name}: {matrices}, {differing}"
        );
    }
}
