//! Scalar codecs, under the policy of each peer.

use blockscale::element::{E8m0Fnu, EncodePolicy, NanCode, Overflow, Ties, ZeroSign};
use blockscale::{Element, bf16};

use crate::vectors::Vectors;

const DEFAULT: EncodePolicy = EncodePolicy::DEFAULT;

/// Overflow is special, NaN keeps its sign; types without NaN give zero of the other sign.
const ML_DTYPES: EncodePolicy = EncodePolicy {
    overflow: Overflow::Special,
    nan: NanCode::Opposite(0),
    ..DEFAULT
};

const fn with_nan(policy: EncodePolicy, nan: NanCode) -> EncodePolicy {
    EncodePolicy { nan, ..policy }
}

const fn dropping_zero_sign(nan: NanCode) -> EncodePolicy {
    EncodePolicy {
        zero: ZeroSign::Drop,
        nan,
        ..DEFAULT
    }
}

struct Codec {
    name: &'static str,
    element: Element,
    /// The two that decode.
    second_peer: &'static str,
    peers: &'static [(&'static str, EncodePolicy)],
}

const CODECS: [Codec; 6] = [
    Codec {
        name: "e2m1",
        element: Element::E2m1,
        second_peer: "torchao",
        peers: &[
            ("ml_dtypes", ML_DTYPES),
            ("torchao", DEFAULT),
            ("tilekernels", with_nan(DEFAULT, NanCode::Signed(0x7))),
            ("modelopt", dropping_zero_sign(NanCode::OfType)),
            ("compressed_tensors", dropping_zero_sign(NanCode::Fixed(0))),
            (
                "deepgemm",
                EncodePolicy {
                    ties: Ties::TowardZero,
                    zero: ZeroSign::DropRounded,
                    nan: NanCode::Fixed(0),
                    ..DEFAULT
                },
            ),
        ],
    },
    Codec {
        name: "e2m3",
        element: Element::E2m3,
        second_peer: "torchao",
        peers: &[
            ("ml_dtypes", ML_DTYPES),
            ("torchao", DEFAULT),
            (
                "compressed_tensors",
                with_nan(DEFAULT, NanCode::Fixed(0x20)),
            ),
        ],
    },
    Codec {
        name: "e3m2",
        element: Element::E3m2,
        second_peer: "torchao",
        peers: &[("ml_dtypes", ML_DTYPES), ("torchao", DEFAULT)],
    },
    Codec {
        name: "e4m3fn",
        element: Element::E4m3Fn,
        second_peer: "torch",
        peers: &[
            ("ml_dtypes", with_nan(ML_DTYPES, NanCode::Signed(0x7f))),
            ("torch", with_nan(DEFAULT, NanCode::Signed(0x7f))),
        ],
    },
    Codec {
        name: "e4m3fnuz",
        element: Element::E4m3Fnuz,
        second_peer: "torch",
        peers: &[("ml_dtypes", ML_DTYPES), ("torch", ML_DTYPES)],
    },
    Codec {
        name: "e5m2",
        element: Element::E5m2,
        second_peer: "torch",
        peers: &[
            ("ml_dtypes", with_nan(ML_DTYPES, NanCode::Signed(0x7e))),
            ("torch", with_nan(ML_DTYPES, NanCode::Signed(0x7f))),
        ],
    },
];

/// Of a NaN, torchao keeps whichever bits of its payload fall into the code.
fn is_unspecified(peer: &str, x: f32) -> bool {
    peer == "torchao" && x.is_nan()
}

fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

fn assert_values(vectors: &Vectors, codec: &str, second_peer: &str, decode: impl Fn(u8) -> f32) {
    for peer in ["ml_dtypes", second_peer] {
        let expected = vectors.get(&format!("{codec}.decode.{peer}")).f32s();
        for (code, &expected) in (0..=u8::MAX).zip(&expected) {
            let value = decode(code);
            assert!(
                same(value, expected),
                "{codec} {code:#04x}: {value}, {peer} {expected}"
            );
        }
    }
    let expected = vectors
        .get(&format!("{codec}.decode_bf16.ml_dtypes"))
        .bf16_bits();
    for (code, &expected) in (0..=u8::MAX).zip(&expected) {
        let (value, expected) = (bf16::from_f32(decode(code)), bf16::from_bits(expected));
        let same = same(value.to_f32(), expected.to_f32());
        assert!(same, "{codec} {code:#04x} in bf16");
    }
}

#[test]
fn every_code_widens_to_the_value_that_peers_give_it() {
    let vectors = Vectors::read("codecs");
    for Codec {
        name,
        element,
        second_peer,
        ..
    } in CODECS
    {
        let decoded = vectors.get(&format!("{name}.decode.ml_dtypes")).f32s();
        assert_eq!(decoded.len(), 1 << element.bits(), "{name}");
        assert_values(&vectors, name, second_peer, |code| element.decode(code));
    }
    assert_values(&vectors, "e8m0", "torch", |code| {
        E8m0Fnu::from_bits(code).to_f32()
    });
}

#[test]
fn every_number_rounds_as_each_peer_rounds_it_under_its_policy() {
    let vectors = Vectors::read("codecs");
    for Codec {
        name,
        element,
        peers,
        ..
    } in CODECS
    {
        let inputs = vectors.get(&format!("{name}.encode.input")).f32s();
        for (peer, policy) in peers {
            let expected = &vectors.get(&format!("{name}.encode.{peer}")).data;
            assert_eq!(inputs.len(), expected.len());
            for (&x, &expected) in inputs.iter().zip(expected) {
                if !is_unspecified(peer, x) {
                    let code = element.encode_with(x, policy);
                    assert_eq!(code, expected, "{name} of {x:e} by {peer}");
                }
            }
        }
    }
}

#[test]
fn every_bf16_rounds_as_each_peer_rounds_it_under_its_policy() {
    let vectors = Vectors::read("codecs");
    let mut compared = 0;
    for Codec {
        name,
        element,
        peers,
        ..
    } in CODECS
    {
        for (peer, policy) in peers {
            let Some(expected) = vectors.find(&format!("{name}.encode_bf16.{peer}")) else {
                continue;
            };
            assert_eq!(expected.data.len(), 1 << 16);
            for (bits, &expected) in (0..=u16::MAX).zip(&expected.data) {
                let x = bf16::from_bits(bits).to_f32();
                let code = element.encode_with(x, policy);
                assert_eq!(code, expected, "{name} of {x:e} by {peer}");
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 4);
}

/// NaN and overflow aside, wherever peers agree this project's own policy agrees with them.
#[test]
fn the_default_policy_is_that_of_all_peers_wherever_they_agree() {
    let vectors = Vectors::read("codecs");
    for Codec { name, element, .. } in CODECS {
        let get = |field: &str| vectors.get(&format!("{name}.encode.{field}"));
        let (inputs, agree) = (get("input").f32s(), &get("agree").data);
        let mut compared = 0;
        for ((&x, &agree), &expected) in inputs.iter().zip(agree).zip(&get("ml_dtypes").data) {
            let overflows = element.encode(x) != element.encode_with(x, &ML_DTYPES);
            if agree == 1 && !x.is_nan() && !overflows {
                assert_eq!(element.encode(x), expected, "{name} of {x:e}");
                compared += 1;
            }
        }
        assert!(compared * 2 > inputs.len(), "{name}: only {compared}");
    }
}

/// DeepGEMM keeps to codes 1 to 254, drops signs and makes infinity finite.
#[test]
fn e8m0_rounds_up_as_deepgemm_does() {
    let vectors = Vectors::read("codecs");
    let inputs = vectors.get("e8m0.encode.input").f32s();
    let expected = &vectors.get("e8m0.encode.deepgemm_ceil").data;
    let mut compared = 0;
    for (&x, &expected) in inputs.iter().zip(expected).filter(|(x, _)| x.is_finite()) {
        let code = E8m0Fnu::from_f32_ceil(x.abs()).to_bits();
        assert_eq!(code.clamp(1, 254), expected, "{x:e}");
        compared += 1;
    }
    assert!(compared > 10_000);
}

/// Zero and negative numbers are NaN in ml_dtypes; torch drops the sign.
#[test]
fn e8m0_rounds_to_nearest_as_ml_dtypes_and_torch_do() {
    let vectors = Vectors::read("codecs");
    let inputs = vectors.get("e8m0.encode.input").f32s();
    let ml_dtypes = &vectors.get("e8m0.encode.ml_dtypes").data;
    let torch = &vectors.get("e8m0.encode.torch").data;
    for ((&x, &ml_dtypes), &torch) in inputs.iter().zip(ml_dtypes).zip(torch) {
        let nearest = |x| E8m0Fnu::from_f32_nearest(x).to_bits();
        let positive = if x > 0.0 { nearest(x) } else { 0xff };
        assert_eq!(positive, ml_dtypes, "{x:e} by ml_dtypes");
        assert_eq!(nearest(x.abs()), torch, "{x:e} by torch");
    }
}
