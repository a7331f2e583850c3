use blockscale::Format;
use blockscale::decode::{Rows, decode_rows};
use blockscale::encode::{ScaleRule, Scheme};
use blockscale::format::Packing;

use super::{Encoded, Global, Input, Peer, assert_same, every};
use crate::vectors::{PACKED, Vectors};

const E2M3_BYTES: Format = Format::MXFP6_E2M3.packed(Packing::Bytes);
const E3M2_BYTES: Format = Format::MXFP6_E3M2.packed(Packing::Bytes);

fn peer<'a>(file: &'a str, peer: &'a str, format: Format, scheme: Scheme) -> Peer<'a> {
    Peer {
        file,
        peer,
        format,
        scheme,
        fields: &PACKED,
        global: Global::Given,
    }
}

fn check(file: &str, name: &str, format: Format, scheme: Scheme) -> usize {
    peer(file, name, format, scheme).check(every)
}

pub(super) const TESTS: [fn(); 5] = [
    of_torchao,
    of_compressed_tensors,
    of_modelopt,
    of_deepgemm_and_tilekernels,
    of_microxcaling,
];

#[test]
fn of_torchao() {
    let elements = [
        ("mxfp4", "e2m1", Format::MXFP4, [12, 12, 12, 12]),
        ("mxfp6", "e2m3", E2M3_BYTES, [9, 6, 6, 9]),
        ("mxfp6", "e3m2", E3M2_BYTES, [9, 6, 6, 9]),
        ("mxfp8", "e4m3", Format::MXFP8_E4M3, [9, 6, 6, 9]),
        ("mxfp8", "e5m2", Format::MXFP8_E5M2, [9, 6, 6, 9]),
    ];
    let modes = [
        ("floor", Scheme::TORCHAO_MX_FLOOR),
        ("ceil", Scheme::TORCHAO_MX_CEIL),
        ("even", Scheme::TORCHAO_MX_EVEN),
        ("rceil", Scheme::TORCHAO_MX_RCEIL),
    ];
    for (file, element, format, counts) in elements {
        for ((mode, scheme), count) in modes.into_iter().zip(counts) {
            let peer = format!("ao_{element}_{mode}");
            assert_eq!(check(file, &peer, format, scheme), count, "{peer}");
        }
    }
}

/// It adds half a step to the bits of a block's largest magnitude. Where that carries into the exponent
/// of infinity, it stores the scale 1 and codes of zero, which is not reproduced.
#[test]
fn of_compressed_tensors() {
    let peers = [
        ("mxfp4", Format::MXFP4, Scheme::COMPRESSED_TENSORS_MXFP4, 21),
        (
            "mxfp6",
            Format::MXFP6_E2M3,
            Scheme::COMPRESSED_TENSORS_MXFP6,
            19,
        ),
        (
            "mxfp8",
            Format::MXFP8_E4M3,
            Scheme::COMPRESSED_TENSORS_MXFP8,
            21,
        ),
    ];
    for (file, format, scheme, half_step) in peers {
        let (mut blocks, mut overflowing) = (0, 0);
        peer(file, "ct", format, scheme).each_matrix(
            every,
            |what, format, input, shape, stored| {
                let encoded = input.encode(format, &scheme, shape, 1.0);
                let code_bytes = format.row_bytes(32);
                let ours = encoded
                    .codes
                    .chunks(code_bytes)
                    .zip(encoded.scales.chunks(1));
                let theirs = stored.codes.chunks(code_bytes).zip(stored.scales.chunks(1));
                for (block, (ours, theirs)) in ours.zip(theirs).enumerate() {
                    let largest = input.amax_of(block * 32..(block + 1) * 32);
                    if f32::from_bits(largest.to_bits() + (1 << half_step)).is_finite() {
                        assert_same(ours.1, theirs.1, &format!("{what} scale {block}"));
                        assert_same(ours.0, theirs.0, &format!("{what} block {block}"));
                        blocks += 1;
                    } else {
                        assert_eq!(theirs.1, [127], "{what} scale {block}");
                        overflowing += 1;
                    }
                }
            },
        );
        assert_eq!((blocks, overflowing), (1247, 1), "{file}");
    }
}

#[test]
fn of_modelopt() {
    let scheme = Scheme::MODELOPT_MXFP4;
    assert_eq!(check("mxfp4", "modelopt", Format::MXFP4, scheme), 12);
    let scheme = Scheme::MODELOPT_MXFP8;
    assert_eq!(check("mxfp8", "modelopt", Format::MXFP8_E4M3, scheme), 12);
}

#[test]
fn of_deepgemm_and_tilekernels() {
    let check = |peer, scheme| check("mxfp4", peer, Format::MXFP4, scheme);
    assert_eq!(check("deepgemm", Scheme::DEEPGEMM_FP4), 9);
    assert_eq!(check("tilekernels", Scheme::TILEKERNELS_FP4), 9);
}

/// microxcaling keeps values, not codes. They are stored for two cases, where they differ from
/// torchao's: it divides by the scale that it multiplies by. At the top of F32 its logarithm is
/// off by one, and clips less.
#[test]
fn of_microxcaling() {
    let inputs = Vectors::read("inputs");
    let elements = [
        ("mxfp4", "e2m1", Format::MXFP4),
        ("mxfp6", "e2m3", E2M3_BYTES),
        ("mxfp6", "e3m2", E3M2_BYTES),
        ("mxfp8", "e4m3", Format::MXFP8_E4M3),
        ("mxfp8", "e5m2", Format::MXFP8_E5M2),
    ];
    for (file, element, format) in elements {
        let vectors = Vectors::read(file);
        let peer = format!("mx_values_{element}");
        for case in ["tiny", "huge"] {
            let expected = vectors.get(&format!("{case}.{peer}.dequant_f32")).f32s();
            let (matrices, shape) = Input::of(inputs.get(case));
            let Input::F32(values) = &matrices[0] else {
                panic!("`{case}` is in F32");
            };
            let scheme = Scheme::from(ScaleRule::Floor);
            let Encoded { codes, scales } = matrices[0].encode(&format, &scheme, shape, 1.0);
            let mut decoded = vec![0.0; values.len()];
            let rows = Rows {
                codes: &codes,
                scales: &scales,
                global: 1.0,
            };
            decode_rows(&format, shape, rows, &mut decoded).unwrap();
            let mut off_by_one = 0;
            for (block, (ours, theirs)) in decoded.chunks(32).zip(expected.chunks(32)).enumerate() {
                if ours != theirs {
                    let largest = values[block * 32..][..32]
                        .iter()
                        .fold(0.0_f32, |a, x| a.max(x.abs()));
                    assert!(
                        case == "huge" && largest > 3.4e38,
                        "{peer} {case} {block}: {largest:e}\n{ours:?}\n{theirs:?}"
                    );
                    off_by_one += 1;
                }
            }
            assert!(off_by_one <= 2, "{peer} {case}: {off_by_one}");
        }
    }
}
