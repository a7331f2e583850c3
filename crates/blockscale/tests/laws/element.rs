//! Every code, every 16-bit float, and what lies around every rounding bound.

use blockscale::element::{E2m1, E2m3, E3m2, E4m3Fn, E4m3Fnuz, E5m2, E8m0Fnu};
use blockscale::{Element, bf16, f16};

use crate::common::ELEMENTS;

fn sign_bit(element: Element) -> u8 {
    1 << (element.bits() - 1)
}

/// The code of a magnitude with the sign bit set, where the type has a negative of it.
fn negative(element: Element, magnitude: u8) -> u8 {
    if element == Element::E4m3Fnuz && magnitude == 0 {
        return 0;
    }
    magnitude | sign_bit(element)
}

/// Magnitudes of the finite codes, in code order, which is ascending.
fn magnitudes(element: Element) -> Vec<f32> {
    (0..sign_bit(element))
        .map(|code| element.decode(code))
        .take_while(|v| v.is_finite())
        .collect()
}

/// The slowest correct rounding: look at every code.
fn nearest(element: Element, magnitudes: &[f32], x: f32) -> u8 {
    // Far above the largest value, `f64` could not tell the distances apart.
    let magnitude = f64::from(x.abs().min(2.0 * element.max_finite()));
    let distance = |&(_, &value): &(usize, &f32)| (f64::from(value) - magnitude).abs();
    let ascending = magnitudes.iter().enumerate();
    let (code, _) = ascending
        .min_by(|a, b| {
            distance(a)
                .total_cmp(&distance(b))
                .then((a.0 % 2).cmp(&(b.0 % 2)))
        })
        .unwrap();
    if x.is_sign_negative() {
        negative(element, code as u8)
    } else {
        code as u8
    }
}

fn assert_nearest(element: Element, inputs: impl IntoIterator<Item = f32>) {
    let magnitudes = magnitudes(element);
    for x in inputs {
        if !x.is_nan() {
            let expected = nearest(element, &magnitudes, x);
            assert_eq!(
                element.encode(x),
                expected,
                "{element} of {x:e} ({:#010x})",
                x.to_bits()
            );
        }
    }
}

#[test]
fn e2m1_has_the_eight_magnitudes_of_its_table() {
    assert_eq!(
        magnitudes(Element::E2m1),
        [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
    );
}

#[test]
fn e2m3_values_are_eighths_then_quarters_then_halves() {
    let expected = (0..16)
        .map(|i| i as f32 / 8.0)
        .chain((8..16).map(|i| i as f32 / 4.0))
        .chain((8..16).map(|i| i as f32 / 2.0));
    assert_eq!(magnitudes(Element::E2m3), expected.collect::<Vec<_>>());
}

#[test]
fn e3m2_values_follow_from_exponent_and_fraction() {
    let expected = (0..32_i32).map(|code| match (code >> 2, code % 4) {
        (0, fraction) => fraction as f32 / 16.0,
        (exponent, fraction) => (4 + fraction) as f32 * 2_f32.powi(exponent - 5),
    });
    let magnitudes = magnitudes(Element::E3m2);
    assert_eq!(magnitudes, expected.collect::<Vec<_>>());
    assert_eq!((magnitudes[1], magnitudes[31]), (0.0625, 28.0));
}

#[test]
fn e4m3fnuz_is_half_of_e4m3fn() {
    for code in 0..=u8::MAX {
        let fnuz = E4m3Fnuz::from_bits(code).to_f32();
        let finite_only = E4m3Fn::from_bits(code);
        let shared = E4m3Fnuz::from_e4m3fn_bits(finite_only);
        match code {
            0x7f => assert_eq!((fnuz, shared), (240.0, None)),
            0xff => assert_eq!((fnuz, shared), (-240.0, None)),
            0x80 => assert!(fnuz.is_nan() && shared == Some(E4m3Fnuz::from_bits(0))),
            _ => {
                assert_eq!(fnuz, finite_only.to_f32() / 2.0, "{code:#04x}");
                assert_eq!(shared.map(E4m3Fnuz::to_bits), Some(code));
            }
        }
    }
}

#[test]
fn e4m3_values_follow_from_exponent_and_fraction() {
    for (code, &value) in magnitudes(Element::E4m3Fn).iter().enumerate() {
        let (exponent, fraction) = (code as i32 >> 3, (code % 8) as f64);
        let expected = match exponent {
            0 => fraction * 2_f64.powi(-9),
            _ => (8.0 + fraction) * 2_f64.powi(exponent - 10),
        };
        assert_eq!(f64::from(value), expected, "code {code:#04x}");
    }
    assert_eq!(magnitudes(Element::E4m3Fn).len(), 0x7f);
}

#[test]
fn e5m2_is_the_high_byte_of_a_half() {
    for code in 0..=u8::MAX {
        let (value, half) = (
            E5m2::from_bits(code).to_f32(),
            f16::from_bits(u16::from(code) << 8),
        );
        assert_eq!(value.is_nan(), half.is_nan(), "code {code:#04x}");
        assert_eq!(value.is_sign_negative(), code > 0x7f, "code {code:#04x}");
        assert!(value.is_nan() || value == half.to_f32(), "code {code:#04x}");
    }
}

#[test]
fn every_finite_code_survives_a_round_trip() {
    for element in ELEMENTS {
        let codes = (0..=u8::MAX).take(1 << element.bits());
        for code in codes.filter(|&code| element.decode(code).is_finite()) {
            assert_eq!(
                element.encode(element.decode(code)),
                code,
                "{element} {code:#04x}"
            );
        }
    }
}

#[test]
fn the_upper_half_of_the_codes_is_the_negatives() {
    for element in ELEMENTS {
        for code in (0..sign_bit(element)).filter(|&code| negative(element, code) != code) {
            let (positive, negative) = (
                element.decode(code),
                element.decode(code | sign_bit(element)),
            );
            let mirrored = (-positive).to_bits() == negative.to_bits();
            assert!(mirrored, "{element} {code:#04x}: {positive} and {negative}");
        }
    }
}

#[test]
fn every_bf16_rounds_to_the_nearest_code() {
    for element in ELEMENTS {
        assert_nearest(
            element,
            (0..=u16::MAX).map(|bits| bf16::from_bits(bits).to_f32()),
        );
    }
}

#[test]
fn every_f16_rounds_to_the_nearest_code() {
    for element in ELEMENTS {
        assert_nearest(
            element,
            (0..=u16::MAX).map(|bits| f16::from_bits(bits).to_f32()),
        );
    }
}

#[test]
fn ties_go_to_the_even_code_and_their_neighbours_to_the_nearer_one() {
    for element in ELEMENTS {
        let magnitudes = magnitudes(element);
        for (code, pair) in magnitudes.windows(2).enumerate() {
            let (low, high) = (code as u8, code as u8 + 1);
            let middle = (pair[0] + pair[1]) / 2.0;
            let even = if low % 2 == 0 { low } else { high };
            for (x, code) in [
                (middle.next_down(), low),
                (middle, even),
                (middle.next_up(), high),
            ] {
                assert_eq!(element.encode(x), code, "{element} of {x}");
                assert_eq!(
                    element.encode(-x),
                    negative(element, code),
                    "{element} of -{x}"
                );
            }
        }
    }
}

#[test]
fn magnitudes_above_the_largest_saturate() {
    for element in ELEMENTS {
        let largest = element.encode(element.max_finite());
        for x in [element.max_finite().next_up(), 1e9, f32::MAX, f32::INFINITY] {
            assert_eq!(element.encode(x), largest, "{element} of {x}");
            assert_eq!(
                element.encode(-x),
                largest | sign_bit(element),
                "{element} of -{x}"
            );
        }
    }
}

#[test]
fn zero_and_what_rounds_to_it_keep_their_sign() {
    for element in ELEMENTS {
        for x in [
            0.0,
            f32::from_bits(1),
            f32::MIN_POSITIVE,
            element.decode(1) / 2.0,
        ] {
            assert_eq!(element.encode(x), 0, "{element} of {x}");
            assert_eq!(
                element.encode(-x),
                negative(element, 0),
                "{element} of -{x}"
            );
        }
    }
}

#[test]
fn nan_becomes_the_code_that_each_type_documents() {
    for nan in [
        f32::NAN,
        f32::from_bits(0x7f80_0001),
        f32::from_bits(0x7fff_ffff),
    ] {
        assert_eq!([nan, -nan].map(|x| E2m1::from_f32(x).to_bits()), [0x7; 2]);
        assert_eq!([nan, -nan].map(|x| E2m3::from_f32(x).to_bits()), [0x1f; 2]);
        assert_eq!([nan, -nan].map(|x| E3m2::from_f32(x).to_bits()), [0x1f; 2]);
        assert_eq!([nan, -nan].map(E4m3Fnuz::from_f32), [E4m3Fnuz::NAN; 2]);
        assert_eq!(
            [nan, -nan].map(|x| E4m3Fn::from_f32(x).to_bits()),
            [0x7f, 0x7f]
        );
        assert_eq!(
            [nan, -nan].map(|x| E5m2::from_f32(x).to_bits()),
            [0x7f, 0xff]
        );
    }
}

#[test]
fn only_the_documented_codes_are_not_finite() {
    let special = |element: Element| -> Vec<u8> {
        (0..=u8::MAX)
            .filter(|&code| !element.decode(code).is_finite())
            .collect()
    };
    assert_eq!(special(Element::E2m1), []);
    assert_eq!(special(Element::E2m3), []);
    assert_eq!(special(Element::E3m2), []);
    assert_eq!(special(Element::E4m3Fnuz), [0x80]);
    assert_eq!(special(Element::E4m3Fn), [0x7f, 0xff]);
    assert_eq!(
        special(Element::E5m2),
        [0x7c, 0x7d, 0x7e, 0x7f, 0xfc, 0xfd, 0xfe, 0xff]
    );
}

#[test]
fn small_codes_ignore_the_high_bits_of_their_byte() {
    for byte in 0..=u8::MAX {
        assert_eq!(E2m1::from_bits(byte), E2m1::from_bits(byte % 16));
        assert_eq!(E2m3::from_bits(byte), E2m3::from_bits(byte % 64));
        assert_eq!(E3m2::from_bits(byte), E3m2::from_bits(byte % 64));
    }
}

#[test]
fn e8m0_is_two_to_the_code_less_127() {
    for code in 0..u8::MAX {
        let value = E8m0Fnu::from_bits(code).to_f32();
        assert_eq!(
            f64::from(value),
            2_f64.powi(i32::from(code) - 127),
            "code {code}"
        );
        assert_eq!(
            E8m0Fnu::from_f32_exact(value),
            Some(E8m0Fnu::from_bits(code))
        );
    }
    assert!(E8m0Fnu::NAN.to_f32().is_nan());
}

#[test]
fn e8m0_ceiling_is_the_smallest_power_that_is_not_below() {
    for code in 0..E8m0Fnu::MAX.to_bits() {
        let (power, above) = (E8m0Fnu::from_bits(code), E8m0Fnu::from_bits(code + 1));
        let (value, next) = (power.to_f32(), above.to_f32());
        assert_eq!(E8m0Fnu::from_f32_ceil(value), power);
        assert_eq!(E8m0Fnu::from_f32_ceil(value.next_up()), above);
        assert_eq!(E8m0Fnu::from_f32_ceil(next.next_down()), above);
        assert_eq!(E8m0Fnu::from_f32_exact(value.next_up()), None);
        assert_eq!(E8m0Fnu::from_f32_exact(next.next_down()), None);
    }
}

#[test]
fn e8m0_ceiling_stays_in_range() {
    let ceil = |x| E8m0Fnu::from_f32_ceil(x);
    for small in [
        0.0,
        -0.0,
        -1.0,
        f32::MIN,
        f32::from_bits(1),
        2_f32.powi(-128),
    ] {
        assert_eq!(ceil(small), E8m0Fnu::MIN_POSITIVE, "{small}");
        assert_eq!(E8m0Fnu::from_f32_exact(small), None, "{small}");
    }
    assert_eq!(ceil(f32::MAX), E8m0Fnu::MAX);
    assert_eq!(ceil(2_f32.powi(127).next_up()), E8m0Fnu::MAX);
    for special in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
        assert_eq!(ceil(special), E8m0Fnu::NAN, "{special}");
        assert_eq!(E8m0Fnu::from_f32_exact(special), None, "{special}");
    }
}

#[test]
fn e8m0_nearest_steps_half_way_between_powers() {
    for code in 1..E8m0Fnu::MAX.to_bits() {
        let (power, above) = (E8m0Fnu::from_bits(code), E8m0Fnu::from_bits(code + 1));
        let middle = power.to_f32() * 1.5;
        assert_eq!(E8m0Fnu::from_f32_nearest(power.to_f32()), power);
        assert_eq!(E8m0Fnu::from_f32_nearest(middle.next_down()), power);
        assert_eq!(E8m0Fnu::from_f32_nearest(middle), above);
    }
    let smallest = E8m0Fnu::MIN_POSITIVE.to_f32();
    assert_eq!(E8m0Fnu::from_f32_nearest(smallest), E8m0Fnu::MIN_POSITIVE);
    assert_eq!(E8m0Fnu::from_f32_nearest(smallest.next_up()).to_bits(), 1);
    let largest = 1.5 * 2_f32.powi(127);
    assert_eq!(E8m0Fnu::from_f32_nearest(largest.next_down()), E8m0Fnu::MAX);
    for special in [largest, f32::MAX, f32::INFINITY, f32::NAN] {
        assert_eq!(E8m0Fnu::from_f32_nearest(special), E8m0Fnu::NAN);
    }
    for small in [0.0, -1.0, f32::from_bits(1)] {
        assert_eq!(E8m0Fnu::from_f32_nearest(small), E8m0Fnu::MIN_POSITIVE);
    }
}

#[test]
fn byte_types_can_be_viewed_in_place() {
    let bytes = [0x38, 0x7e];
    let e4m3: &[E4m3Fn] = bytemuck::cast_slice(&bytes);
    assert_eq!(e4m3, [E4m3Fn::from_bits(0x38), E4m3Fn::MAX]);
    let e8m0: &[E8m0Fnu] = bytemuck::cast_slice(&bytes);
    assert_eq!(e8m0.iter().map(|s| s.to_bits()).collect::<Vec<_>>(), bytes);
}
