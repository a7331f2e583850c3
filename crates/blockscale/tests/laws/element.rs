//! Every code, every 16-bit float, and what lies around every rounding bound.

use blockscale::element::{E2m1, E4m3Fn, E5m2, E8m0Fnu};
use blockscale::{Element, bf16, f16};

const ELEMENTS: [Element; 3] = [Element::E2m1, Element::E4m3Fn, Element::E5m2];

fn sign_bit(element: Element) -> u8 {
    1 << (element.bits() - 1)
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
    code as u8
        | if x.is_sign_negative() {
            sign_bit(element)
        } else {
            0
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
        for code in 0..sign_bit(element) {
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
            for (sign, minus) in [(1.0, 0), (-1.0, sign_bit(element))] {
                assert_eq!(
                    element.encode(sign * middle.next_down()),
                    low | minus,
                    "{middle}"
                );
                assert_eq!(element.encode(sign * middle), even | minus, "{middle}");
                assert_eq!(
                    element.encode(sign * middle.next_up()),
                    high | minus,
                    "{middle}"
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
            assert_eq!(element.encode(-x), sign_bit(element), "{element} of -{x}");
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
        assert_eq!([nan, -nan].map(|x| E2m1::from_f32(x).to_bits()), [0x7, 0x7]);
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
    assert_eq!(special(Element::E4m3Fn), [0x7f, 0xff]);
    assert_eq!(
        special(Element::E5m2),
        [0x7c, 0x7d, 0x7e, 0x7f, 0xfc, 0xfd, 0xfe, 0xff]
    );
}

#[test]
fn e2m1_ignores_the_high_half_of_its_byte() {
    for byte in 0..=u8::MAX {
        assert_eq!(E2m1::from_bits(byte), E2m1::from_bits(byte % 16));
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
fn byte_types_can_be_viewed_in_place() {
    let bytes = [0x38, 0x7e];
    let e4m3: &[E4m3Fn] = bytemuck::cast_slice(&bytes);
    assert_eq!(e4m3, [E4m3Fn::from_bits(0x38), E4m3Fn::MAX]);
    let e8m0: &[E8m0Fnu] = bytemuck::cast_slice(&bytes);
    assert_eq!(e8m0.iter().map(|s| s.to_bits()).collect::<Vec<_>>(), bytes);
}
