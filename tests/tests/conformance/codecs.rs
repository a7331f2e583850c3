//! Scalar codecs.

use blockscale::element::{E4m3Fn, E8m0Fnu};
use blockscale::{Element, bf16};

use crate::vectors::Vectors;

const E2M1: (&str, Element) = ("e2m1", Element::E2m1);
const E4M3: (&str, Element) = ("e4m3fn", Element::E4m3Fn);
const E5M2: (&str, Element) = ("e5m2", Element::E5m2);

fn same(a: f32, b: f32) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

#[test]
fn every_code_widens_to_the_value_that_peers_give_it() {
    let vectors = Vectors::read("codecs");
    type Row = (&'static str, &'static str, usize, fn(u8) -> f32);
    let tables: [Row; 4] = [
        ("e2m1", "torchao", 16, |code| Element::E2m1.decode(code)),
        ("e4m3fn", "torch", 256, |code| Element::E4m3Fn.decode(code)),
        ("e5m2", "torch", 256, |code| Element::E5m2.decode(code)),
        ("e8m0", "torch", 256, |code| {
            E8m0Fnu::from_bits(code).to_f32()
        }),
    ];
    for (codec, second_peer, codes, decode) in tables {
        for peer in ["ml_dtypes", second_peer] {
            let expected = vectors.get(&format!("{codec}.decode.{peer}")).f32s();
            assert_eq!(expected.len(), codes);
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
            assert!(
                same(value.to_f32(), expected.to_f32()),
                "{codec} {code:#04x} in bf16"
            );
        }
    }
}

/// NaN is left out: ml_dtypes and torch keep its sign in E4M3, CUDA's conversion and this project
/// do not.
#[test]
fn numbers_round_as_peers_round_them_wherever_they_agree() {
    let vectors = Vectors::read("codecs");
    for (codec, element) in [E2M1, E4M3, E5M2] {
        let get = |field: &str| vectors.get(&format!("{codec}.encode.{field}"));
        let (inputs, agree) = (get("input").f32s(), &get("agree").data);
        let mut compared = 0;
        for ((&x, &agree), &expected) in inputs.iter().zip(agree).zip(&get("ml_dtypes").data) {
            if agree == 1 && !x.is_nan() && !overflows_to_infinity(element, x) {
                assert_eq!(element.encode(x), expected, "{codec} of {x:e}");
                compared += 1;
            }
        }
        assert!(
            compared * 2 > inputs.len(),
            "{codec}: only {compared} compared"
        );
    }
}

/// E5M2 has an infinity, to which ml_dtypes and torch overflow; this project saturates.
fn overflows_to_infinity(element: Element, x: f32) -> bool {
    element == Element::E5m2 && x.abs() >= 61440.0
}

#[test]
fn every_bf16_rounds_as_peers_round_it() {
    let vectors = Vectors::read("codecs");
    // In E4M3 torch saturates as this project does, where ml_dtypes overflows to NaN.
    for ((codec, element), peer) in [(E2M1, "ml_dtypes"), (E4M3, "torch"), (E5M2, "ml_dtypes")] {
        let expected = &vectors.get(&format!("{codec}.encode_bf16.{peer}")).data;
        assert_eq!(expected.len(), 1 << 16);
        for (bits, &expected) in (0..=u16::MAX).zip(expected) {
            let x = bf16::from_bits(bits).to_f32();
            if !x.is_nan() && !overflows_to_infinity(element, x) {
                assert_eq!(element.encode(x), expected, "{codec} of {x:e}");
            }
        }
    }
}

#[test]
fn nan_stays_nan_in_e4m3_for_every_peer() {
    let vectors = Vectors::read("codecs");
    let inputs = vectors.get("e4m3fn.encode.input").f32s();
    let torch = &vectors.get("e4m3fn.encode.torch").data;
    let nan: Vec<_> = inputs
        .iter()
        .zip(torch)
        .filter(|(x, _)| x.is_nan())
        .collect();
    assert!(!nan.is_empty());
    for (&x, &expected) in nan {
        assert_eq!(E4m3Fn::from_f32(x).to_bits(), expected & 0x7f);
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
