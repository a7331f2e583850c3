use blockscale::decode::{Rows, decode_rows};
use blockscale::encode::{ScaleRule, Scheme};
use blockscale::{Block, Element, Format};

use super::{Encoded, Global, Peer, assert_same, every};
use crate::coverage;
use crate::vectors::{Fields, Stored, Vectors, WEIGHT, stack};

pub(super) const TESTS: [fn(); 6] = [
    blocks_of_deepgemm,
    blocks_of_deepgemm_with_powers_of_two,
    rows_of_128_columns_of_deepgemm,
    blocks_requantised_from_f32_scales,
    blocks_of_compressed_tensors_and_modelopt,
    per_tensor_and_per_channel,
];

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
        coverage::encoded("fp8_block_ue8m0", case, "requant");
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

/// In F32, and in BF16, where scale and quotient are rounded to that. What ModelOpt makes of zeros is a
/// scale of zero and NaN.
#[test]
fn blocks_of_compressed_tensors_and_modelopt() {
    let check = |name, scheme| peer("fp8_block", name, Format::FP8_BLOCK, scheme).check(every);
    let scheme = Scheme::COMPRESSED_TENSORS_FP8;
    assert_eq!([check("ct_f32", scheme), check("ct", scheme)], [11, 6]);
    let scheme = Scheme::MODELOPT_FP8;
    let counts = [check("modelopt_f32", scheme), check("modelopt", scheme)];
    assert_eq!(counts, [11, 6]);
}

#[test]
fn per_tensor_and_per_channel() {
    let check = |name: &str, element, scheme| {
        let block = match name.contains("tensor") {
            true => Block::Tensor,
            false => Block::Row,
        };
        let format = Format {
            block,
            element,
            ..Format::FP8_TENSOR
        };
        peer("fp8_tensor_channel", name, format, scheme).check(every)
    };
    let (e4m3, e5m2) = (Element::E4m3Fn, Element::E5m2);
    let peers = [
        ("ao_tensor", e4m3, Scheme::TORCHAO_FP8, 9),
        ("ao_channel", e4m3, Scheme::TORCHAO_FP8, 9),
        ("ao_tensor_e5m2", e5m2, Scheme::TORCHAO_FP8, 6),
        ("ao_channel_e5m2", e5m2, Scheme::TORCHAO_FP8, 6),
        ("ct_tensor", e4m3, Scheme::COMPRESSED_TENSORS_FP8, 10),
        ("ct_channel", e4m3, Scheme::COMPRESSED_TENSORS_FP8, 10),
        ("modelopt_tensor", e4m3, Scheme::MODELOPT_FP8, 10),
        ("modelopt_channel", e4m3, Scheme::MODELOPT_FP8, 10),
    ];
    for (name, element, scheme, count) in peers {
        assert_eq!(check(name, element, scheme), count, "{name}");
    }
}
