//! Marlin's number format of scales, and its padding.

use blockscale::Shape;
use blockscale::element::E4m3Fn;
use blockscale::layout::marlin::{
    Activation, e4m3_from_s0e5m3, multiply_scales, padded_shape, s0e5m3_from_e4m3, scale_factor,
};

#[test]
fn every_scale_from_2_to_the_minus_6_survives_and_smaller_ones_become_zero() {
    for code in 0..=255 {
        let expected = match code {
            0..8 => Some(0),
            8..0x7f => Some(code),
            _ => None,
        };
        assert_eq!(
            s0e5m3_from_e4m3(code).map(e4m3_from_s0e5m3),
            expected,
            "{code:#04x}"
        );
    }
}

/// Eight bits without a sign: exponent bias 15 and three mantissa bits, 2^7 times the scale.
#[test]
fn a_stored_byte_is_worth_128_times_the_scale() {
    for code in 8..0x7f {
        let byte = s0e5m3_from_e4m3(code).unwrap();
        let (exponent, mantissa) = (i32::from(byte >> 3), f32::from(byte & 7));
        let value = 2_f32.powi(exponent - 15) * (1.0 + mantissa / 8.0);
        assert_eq!(value, 128.0 * E4m3Fn::from_bits(code).to_f32());
    }
}

#[test]
fn multiplying_by_the_factor_is_exact_and_reaches_the_top_octave() {
    for largest in 1..0x7f {
        let factor = scale_factor(Activation::Bf16, &[largest, 0x7f]);
        let value = |code| E4m3Fn::from_bits(code).to_f32();
        assert!(factor >= 1.0 && value(largest) * factor <= 448.0);
        assert!(value(largest) * factor * 2.0 > 448.0);
        assert_eq!(scale_factor(Activation::F16, &[largest]), 1.0);
        for code in 0..=largest {
            let mut scales = [code];
            multiply_scales(factor, &mut scales);
            assert_eq!(value(scales[0]), value(code) * factor);
        }
    }
    assert_eq!(scale_factor(Activation::Bf16, &[0, 0]), 1.0);
}

#[test]
fn padding_takes_the_smaller_area() {
    let padded = |rows, cols| padded_shape(Shape::new(rows, cols)).unwrap();
    assert_eq!(padded(64, 128), Shape::new(64, 128));
    assert_eq!(padded(128, 64), Shape::new(128, 64));
    assert_eq!(padded(100, 128), Shape::new(128, 128));
    assert_eq!(padded(65, 64), Shape::new(128, 64));
    assert_eq!(padded(1, 65), Shape::new(64, 128));
    assert_eq!(padded(64, 64), Shape::new(64, 128)); // a tie
    assert_eq!(padded(0, 0), Shape::new(0, 0));
    assert_eq!(padded_shape(Shape::new(usize::MAX, 1)), None);
}
