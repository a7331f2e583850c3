//! Scalar codecs, under the policy of each peer.

use blockscale::bf16;
use blockscale::element::E8m0Fnu;

use crate::policies::{CODECS, Codec, ML_DTYPES};
use crate::vectors::Vectors;

pub(crate) const TESTS: [fn(); 6] = [
    every_code_widens_to_the_value_that_peers_give_it,
    every_number_rounds_as_each_peer_rounds_it_under_its_policy,
    every_bf16_rounds_as_each_peer_rounds_it_under_its_policy,
    the_default_policy_is_that_of_all_peers_wherever_they_agree,
    e8m0_rounds_up_as_deepgemm_does,
    e8m0_rounds_to_nearest_as_ml_dtypes_and_torch_do,
];

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
                let code = element.encode_with(x, policy);
                let bits = x.to_bits();
                assert_eq!(code, expected, "{name} of {x:e}, {bits:#x}, by {peer}");
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

/// DeepGEMM keeps to codes 1 to 254, drops signs, and makes infinity and NaN finite.
#[test]
fn e8m0_rounds_up_as_deepgemm_does() {
    let vectors = Vectors::read("codecs");
    let inputs = vectors.get("e8m0.encode.input").f32s();
    let expected = &vectors.get("e8m0.encode.deepgemm_ceil").data;
    assert_eq!(inputs.len(), expected.len());
    for (&x, &expected) in inputs.iter().zip(expected) {
        // NaN is not the smaller of the two.
        let code = E8m0Fnu::from_f32_ceil(x.abs().min(f32::MAX)).to_bits();
        assert_eq!(code.clamp(1, 254), expected, "{x:e}");
    }
}

/// Zero and negative numbers are NaN in ml_dtypes; torch drops the sign.
#[test]
fn e8m0_rounds_to_nearest_as_ml_dtypes_and_torch_do() {
    let vectors = Vectors::read("codecs");
    let inputs = vectors.get("e8m0.encode.input").f32s();
    let ml_dtypes = &vectors.get("e8m0.encode.ml_dtypes").data;
    let torch = &vectors.get("e8m0.encode.torch").data;
    let agree = &vectors.get("e8m0.encode.agree").data;
    let peers = ml_dtypes.iter().zip(torch).zip(agree);
    for (&x, ((&ml_dtypes, &torch), &agree)) in inputs.iter().zip(peers) {
        let nearest = |x| E8m0Fnu::from_f32_nearest(x).to_bits();
        let positive = if x > 0.0 { nearest(x) } else { 0xff };
        assert_eq!(positive, ml_dtypes, "{x:e} by ml_dtypes");
        assert_eq!(nearest(x.abs()), torch, "{x:e} by torch");
        assert_eq!(positive == nearest(x.abs()), agree == 1, "{x:e}");
    }
}
