//! Encoding policies, against what each says in words.

use blockscale::element::{EncodePolicy, NanCode, Overflow, Ties, ZeroSign};
use blockscale::{Element, bf16};

use crate::common::ELEMENTS;

const DEFAULT: EncodePolicy = EncodePolicy::DEFAULT;

fn all_policies() -> impl Iterator<Item = EncodePolicy> {
    let ties = [Ties::Even, Ties::TowardZero, Ties::Away];
    let overflow = [Overflow::Saturate, Overflow::Special];
    let zeros = [
        ZeroSign::Keep,
        ZeroSign::Drop,
        ZeroSign::DropRounded,
        ZeroSign::Negative,
    ];
    ties.into_iter().flat_map(move |ties| {
        overflow.into_iter().flat_map(move |overflow| {
            zeros.into_iter().map(move |zero| EncodePolicy {
                ties,
                overflow,
                zero,
                ..DEFAULT
            })
        })
    })
}

/// Magnitudes of the finite codes, ascending.
fn magnitudes(element: Element) -> Vec<f32> {
    let codes = 0..1 << (element.bits() - 1);
    codes
        .map(|code| element.decode(code))
        .take_while(|value| value.is_finite())
        .collect()
}

#[test]
fn the_default_policy_is_the_plain_conversion() {
    for element in ELEMENTS {
        let middles = magnitudes(element)
            .windows(2)
            .map(|pair| (pair[0] + pair[1]) / 2.0)
            .collect::<Vec<_>>();
        let bf16s = (0..=u16::MAX).map(|bits| bf16::from_bits(bits).to_f32());
        let around = middles.iter().flat_map(|&x| {
            [
                x.next_down(),
                x,
                x.next_up(),
                -x.next_down(),
                -x,
                -x.next_up(),
            ]
        });
        for x in bf16s.chain(around) {
            assert_eq!(
                element.encode_with(x, &DEFAULT),
                element.encode(x),
                "{element} of {x:e}"
            );
        }
    }
}

#[test]
fn ties_go_where_the_policy_sends_them_and_nothing_else_moves() {
    for element in ELEMENTS {
        for ties in [Ties::Even, Ties::TowardZero, Ties::Away] {
            let policy = EncodePolicy { ties, ..DEFAULT };
            let magnitude = |x: f32| element.decode(element.encode_with(x, &policy));
            for pair in magnitudes(element).windows(2) {
                let (low, high) = (pair[0], pair[1]);
                let middle = (low + high) / 2.0;
                let expected = match ties {
                    Ties::Even => element.decode(element.encode(middle)),
                    Ties::TowardZero => low,
                    Ties::Away => high,
                };
                for sign in [1.0, -1.0] {
                    assert_eq!(magnitude(sign * low), sign * low);
                    assert_eq!(magnitude(sign * middle.next_down()), sign * low);
                    assert_eq!(
                        magnitude(sign * middle),
                        sign * expected,
                        "{element} {ties:?}"
                    );
                    assert_eq!(magnitude(sign * middle.next_up()), sign * high);
                }
            }
        }
    }
}

#[test]
fn overflow_starts_past_half_a_step_above_the_largest() {
    let strict = |ties| EncodePolicy {
        ties,
        overflow: Overflow::Special,
        ..DEFAULT
    };
    let cases = [
        (Element::E4m3Fn, 464.0, 0x7e, 0x7f, [false, false, true]),
        (Element::E4m3Fnuz, 248.0, 0x7f, 0x80, [true, false, true]),
        (Element::E5m2, 61440.0, 0x7b, 0x7c, [true, false, true]),
    ];
    for (element, bound, largest, special, at_bound) in cases {
        let negative = |code: u8| code | 0x80;
        let ties = [Ties::Even, Ties::TowardZero, Ties::Away];
        for (ties, overflows) in ties.into_iter().zip(at_bound) {
            let code = |x: f32| element.encode_with(x, &strict(ties));
            assert_eq!(code(f32::next_down(bound)), largest, "{element}");
            assert_eq!(
                code(bound),
                if overflows { special } else { largest },
                "{element}"
            );
            for x in [bound.next_up(), f32::MAX, f32::INFINITY] {
                assert_eq!(code(x), special, "{element} of {x}");
                assert_eq!(code(-x), negative(special), "{element} of -{x}");
            }
        }
    }
}

#[test]
fn types_without_infinity_and_nan_saturate_under_any_policy() {
    for element in [Element::E2m1, Element::E2m3, Element::E3m2] {
        let largest = element.encode(f32::INFINITY);
        for policy in all_policies() {
            for x in [f32::MAX, f32::INFINITY] {
                assert_eq!(element.encode_with(x, &policy), largest, "{element}");
            }
        }
    }
}

#[test]
fn the_sign_of_zero_is_kept_dropped_or_set() {
    let tiny = f32::from_bits(1);
    let inputs = [0.0, -0.0, tiny, -tiny];
    for element in ELEMENTS.into_iter().filter(|&e| e != Element::E4m3Fnuz) {
        let minus = 1 << (element.bits() - 1);
        for (zero, expected) in [
            (ZeroSign::Keep, [0, minus, 0, minus]),
            (ZeroSign::Drop, [0, 0, 0, minus]),
            (ZeroSign::DropRounded, [0, 0, 0, 0]),
            (ZeroSign::Negative, [minus, minus, 0, minus]),
        ] {
            let policy = EncodePolicy { zero, ..DEFAULT };
            let codes = inputs.map(|x| element.encode_with(x, &policy));
            assert_eq!(codes, expected, "{element} {zero:?}");
        }
    }
}

#[test]
fn a_type_with_one_zero_has_it_under_any_policy() {
    for policy in all_policies() {
        for x in [0.0, -0.0, f32::from_bits(1), -f32::from_bits(1)] {
            assert_eq!(Element::E4m3Fnuz.encode_with(x, &policy), 0, "{policy:?}");
        }
    }
}

#[test]
fn nan_becomes_the_code_that_the_policy_names() {
    let code =
        |element: Element, nan, x: f32| element.encode_with(x, &EncodePolicy { nan, ..DEFAULT });
    let both = |element, nan| [f32::NAN, -f32::NAN].map(|x| code(element, nan, x));
    assert_eq!(both(Element::E2m1, NanCode::OfType), [0x7, 0x7]);
    assert_eq!(both(Element::E2m1, NanCode::Fixed(0)), [0, 0]);
    assert_eq!(both(Element::E2m1, NanCode::Signed(0x7)), [0x7, 0xf]);
    assert_eq!(both(Element::E2m1, NanCode::Opposite(0)), [0x8, 0]);
    assert_eq!(both(Element::E2m3, NanCode::Fixed(0xff)), [0x3f, 0x3f]);
    assert_eq!(both(Element::E4m3Fn, NanCode::Signed(0x7f)), [0x7f, 0xff]);
    assert_eq!(both(Element::E4m3Fnuz, NanCode::Fixed(0)), [0x80, 0x80]);
    assert_eq!(both(Element::E5m2, NanCode::Signed(0xfe)), [0x7e, 0xfe]);
}

/// Exponent 255 has other low bits than 0 after the bias of a type is taken away.
#[test]
fn the_payload_of_nan_is_rounded_as_a_fraction_is() {
    let policy = EncodePolicy {
        nan: NanCode::Payload,
        ..DEFAULT
    };
    let code = |element: Element, bits| element.encode_with(f32::from_bits(bits), &policy);
    assert_eq!(code(Element::E2m1, 0x7fc0_0000), 0x3);
    assert_eq!(code(Element::E2m1, 0xffc0_0000), 0xb);
    assert_eq!(code(Element::E2m1, 0x7f80_0001), 0x2);
    // Just above half of a step, half of it to the even code, and a carry out of the fraction.
    assert_eq!(code(Element::E2m1, 0x7fa0_0001), 0x3);
    assert_eq!(code(Element::E2m1, 0x7fa0_0000), 0x2);
    assert_eq!(code(Element::E2m1, 0x7fff_ffff), 0x4);
    assert_eq!(code(Element::E2m3, 0x7fc0_0000), 0x0c);
    assert_eq!(code(Element::E3m2, 0xffc0_0000), 0x2e);
    for element in ELEMENTS {
        for x in [0.0, -1.5, f32::MAX, f32::NEG_INFINITY] {
            assert_eq!(
                element.encode_with(x, &policy),
                element.encode(x),
                "{element}"
            );
        }
    }
}
