//! Schemes that compute in the type of the weight.

use blockscale::encode::{
    Intermediate, Scheme, encode_codes_with, encode_rows_with, global_scale_with,
};
use blockscale::{Element, Format, ScaleElement, Shape, bf16, f16};
use proptest::prelude::*;

use crate::common::any_values;

/// 1.01 in BF16 over 448 lies between two numbers of BF16, and so does what is divided by it.
#[test]
fn intermediate_results_are_rounded_to_the_type_of_the_weight() {
    let values = [1.01_f32, 0.7, 0.33, 0.1234].map(bf16::from_f32);
    let in_f32 = |x: bf16| x.to_f32();
    let encode = |intermediate| {
        let scheme = Scheme {
            intermediate,
            ..Scheme::DEFAULT
        };
        let (mut codes, mut scales) = ([0; 4], [0; 4]);
        let shape = Shape::new(1, 4);
        let format = &Format::FP8_CHANNEL;
        encode_rows_with(
            format,
            &scheme,
            shape,
            &values,
            1.0,
            &mut codes,
            &mut scales,
        )
        .unwrap();
        (codes, f32::from_le_bytes(scales))
    };
    let code = |x: f32| Element::E4m3Fn.encode(x);
    let exact = in_f32(values[0]) / 448.0;
    let rounded = bf16::from_f32(exact).to_f32();
    assert_ne!(exact, rounded);
    assert_eq!(
        encode(Intermediate::F32),
        (values.map(|x| code(in_f32(x) / exact)), exact)
    );
    assert_eq!(
        encode(Intermediate::Scales),
        (values.map(|x| code(in_f32(x) / rounded)), rounded)
    );
    let quotient = |x| code(bf16::from_f32(in_f32(x) / rounded).to_f32());
    assert_eq!(
        encode(Intermediate::ScalesAndQuotients),
        (values.map(quotient), rounded)
    );
}

/// A quotient next to the middle between two codes can become that middle in BF16, and then goes to
/// the even code.
#[test]
fn a_quotient_rounded_twice_can_give_another_code() {
    let scale = bf16::from_f32(0.013);
    let format = Format {
        scale: ScaleElement::Bf16,
        ..Format::FP8_CHANNEL
    };
    let values: Vec<bf16> = (0x3c00..0x4000).map(bf16::from_bits).collect();
    let shape = Shape::new(1, values.len());
    let codes = |intermediate| {
        let scheme = Scheme {
            intermediate,
            ..Scheme::DEFAULT
        };
        let (scales, mut codes) = (scale.to_le_bytes(), vec![0; values.len()]);
        encode_codes_with(&format, &scheme, shape, &values, &scales, 1.0, &mut codes).unwrap();
        codes
    };
    let (once, twice) = (
        codes(Intermediate::Scales),
        codes(Intermediate::ScalesAndQuotients),
    );
    let differing = once.iter().zip(&twice).filter(|(a, b)| a != b).count();
    assert!(differing > 0, "{differing}");
    assert!(once.iter().zip(&twice).all(|(a, b)| a.abs_diff(*b) <= 1));
}

proptest! {
    #[test]
    fn nothing_is_rounded_on_the_way_of_a_weight_in_f32(
        (format, shape, values) in any_values(),
    ) {
        let bytes = |intermediate| {
            let scheme = Scheme { intermediate, ..Scheme::COMPRESSED_TENSORS_NVFP4 };
            let mut codes = vec![0xaa; format.code_bytes(shape).unwrap()];
            let mut scales = vec![0xaa; format.scale_bytes(shape).unwrap()];
            let (codes_of, scales_of) = (&mut codes[..], &mut scales[..]);
            encode_rows_with(&format, &scheme, shape, &values, 0.5, codes_of, scales_of).unwrap();
            (codes, scales)
        };
        let plain = bytes(Intermediate::F32);
        prop_assert_eq!(&bytes(Intermediate::Scales), &plain);
        prop_assert_eq!(&bytes(Intermediate::ScalesAndQuotients), &plain);
    }
}

/// The reciprocal of the largest magnitude is rounded, then its product with the range.
#[test]
fn the_global_scale_of_compressed_tensors_has_the_precision_of_the_weight() {
    let (format, scheme) = (Format::NVFP4_DIVISOR, Scheme::COMPRESSED_TENSORS_NVFP4);
    let amax = bf16::from_f32(3.3);
    let reciprocal = bf16::from_f32(1.0 / amax.to_f32()).to_f32();
    let expected = bf16::from_f32(2688.0 * reciprocal).to_f32();
    assert_eq!(global_scale_with(&format, &scheme, amax), expected);
    let wide = global_scale_with(&format, &scheme, amax.to_f32());
    assert_ne!(wide, expected);
    // In F16 the largest is in reach: where the divisor overflows, there is none.
    let amax = f16::from_f32(0.03);
    assert_eq!(global_scale_with(&format, &scheme, amax), 1.0);
}
