//! Schemes: what each field does, and the scales that libraries store for a block of zeros.

use blockscale::element::{EncodePolicy, Ties};
use blockscale::encode::{
    GlobalRule, Quotient, ScaleRule, Scheme, ZeroScale, encode_codes, encode_codes_with,
    encode_rows, encode_rows_with, global_scale, global_scale_with,
};
use blockscale::{Element, Format, ScaleElement, Shape};
use proptest::prelude::*;

use crate::common::{any_rule, any_values};

fn encode(format: &Format, scheme: &Scheme, values: &[f32], global: f32) -> (Vec<u8>, Vec<u8>) {
    let shape = Shape::new(1, values.len());
    let mut codes = vec![0xaa; format.code_bytes(shape).unwrap()];
    let mut scales = vec![0xaa; format.scale_bytes(shape).unwrap()];
    encode_rows_with(
        format,
        scheme,
        shape,
        values,
        global,
        &mut codes,
        &mut scales,
    )
    .unwrap();
    (codes, scales)
}

proptest! {
    #[test]
    fn a_rule_is_the_scheme_that_differs_in_the_rule_alone(
        (format, shape, values) in any_values(),
        rule in any_rule(),
    ) {
        let bytes = || (
            vec![0xaa; format.code_bytes(shape).unwrap()],
            vec![0xaa; format.scale_bytes(shape).unwrap()],
        );
        let (mut codes, mut scales) = bytes();
        encode_rows(&format, rule, shape, &values, 0.5, &mut codes, &mut scales).unwrap();
        let scheme = Scheme { rule, ..Scheme::default() };
        let (mut with_codes, mut with_scales) = bytes();
        encode_rows_with(&format, &scheme, shape, &values, 0.5, &mut with_codes, &mut with_scales)
            .unwrap();
        prop_assert_eq!((codes, scales), (with_codes, with_scales));
    }

    /// Ties aside there is nothing that the policy changes, so the slow path is the fast one.
    #[test]
    fn loops_for_policies_give_what_the_plain_loops_give(
        (format, shape, values) in any_values(),
    ) {
        let mut scales = vec![0; format.scale_bytes(shape).unwrap()];
        for (index, scale) in scales.chunks_exact_mut(format.scale.bytes()).enumerate() {
            // Powers of two in any of the scale types.
            let bytes: &[u8] = match (format.scale.bytes(), format.scale.name()) {
                (_, "E4M3") => &[0x38],
                (1, _) => &[126],
                (2, "BF16") => &[0x00, 0x3f],
                (2, _) => &[0x00, 0x38],
                _ => &[0, 0, 0x80, 0x3e],
            };
            scale.copy_from_slice(bytes);
            scale[0] = scale[0].wrapping_add((index % 3) as u8);
        }
        let mut plain = vec![0xaa; format.code_bytes(shape).unwrap()];
        encode_codes(&format, shape, &values, &scales, 0.5, &mut plain).unwrap();
        let scheme = Scheme {
            policy: EncodePolicy { ties: Ties::Away, ..EncodePolicy::DEFAULT },
            ..Scheme::DEFAULT
        };
        let mut under_policy = vec![0xaa; plain.len()];
        encode_codes_with(&format, &scheme, shape, &values, &scales, 0.5, &mut under_policy).unwrap();
        // A tie needs a quotient with few bits; random numbers over random scales have none but
        // the zeros.
        let no_ties = values.iter().all(|x| *x == 0.0 || x.to_bits() & 0xfff != 0);
        prop_assert!(!no_ties || plain == under_policy);
    }
}

#[test]
fn a_block_of_zeros_has_a_scale_of_its_own_in_each_library() {
    let mut values = [0.0_f32; 32];
    for (i, value) in values.iter_mut().take(16).enumerate().skip(1) {
        *value = i as f32 / 10.0 * if i % 2 == 0 { -1.0 } else { 1.0 };
    }
    let data = [
        0x10, 0x2a, 0x4b, 0x5c, 0x6d, 0x6e, 0x7e, 0x7f, 0, 0, 0, 0, 0, 0, 0, 0,
    ];
    for (format, scheme, scales, global) in [
        (Format::NVFP4, Scheme::DEFAULT, [0x7e, 0x38], 0x3a12_4925),
        (
            Format::NVFP4,
            Scheme::MODELOPT_NVFP4,
            [0x7e, 0x38],
            0x3a12_4925,
        ),
        (
            Format::NVFP4,
            Scheme::TORCHAO_NVFP4,
            [0x7e, 0x08],
            0x3a12_4925,
        ),
        (
            Format::NVFP4_DIVISOR,
            Scheme::COMPRESSED_TENSORS_NVFP4,
            [0x7e, 0x20],
            0x44e0_0000,
        ),
        (
            Format::NVFP4_ONE_LEVEL,
            Scheme::TORCHAO_NVFP4,
            [0x28, 0x08],
            0x3f80_0000,
        ),
    ] {
        let found = global_scale_with(&format, &scheme, 1.5);
        assert_eq!(found.to_bits(), global, "{format} {found}");
        let (codes, found) = encode(&format, &scheme, &values, f32::from_bits(global));
        assert_eq!(
            (&codes[..], &found[..]),
            (&data[..], &scales[..]),
            "{format}"
        );
    }
}

/// Block scales that come to 2^-11, below all that E4M3 rounds up to 2^-9.
#[test]
fn a_scale_that_vanishes_is_clamped_or_replaced() {
    let value = 6.0 * 2_f32.powi(-11);
    let scale = |format: &Format, scheme| encode(format, &scheme, &[value; 16], 1.0).1[0];
    assert_eq!(scale(&Format::NVFP4, Scheme::MODELOPT_NVFP4), 0x01);
    assert_eq!(scale(&Format::NVFP4, Scheme::TORCHAO_NVFP4), 0x08);
    assert_eq!(
        scale(&Format::NVFP4_DIVISOR, Scheme::COMPRESSED_TENSORS_NVFP4),
        0x20
    );
    // Zero in f32 already: the scale of the tensor is far too large for the block.
    let scheme = Scheme::MODELOPT_NVFP4;
    let (_, scales) = encode(&Format::NVFP4, &scheme, &[f32::from_bits(1); 16], 1e10);
    assert_eq!(scales, [0x38]);
    let scheme = Scheme {
        zero: ZeroScale::OfZeros(1.0),
        ..scheme
    };
    let (_, scales) = encode(&Format::NVFP4, &scheme, &[f32::from_bits(1); 16], 1e10);
    assert_eq!(scales, [0x01]);
}

#[test]
fn a_scale_that_vanishes_becomes_the_epsilon_of_its_type() {
    for (scale, epsilon) in [
        (ScaleElement::F32, f32::EPSILON),
        (ScaleElement::Bf16, 2_f32.powi(-7)),
        (ScaleElement::F16, 2_f32.powi(-10)),
        (ScaleElement::E4m3Fn, 2_f32.powi(-3)),
    ] {
        let format = Format {
            scale,
            ..Format::FP8_CHANNEL
        };
        let scheme = Scheme::COMPRESSED_TENSORS_FP8;
        let (codes, scales) = encode(&format, &scheme, &[0.0, -0.0], 1.0);
        assert_eq!(scale.decode(&scales), epsilon, "{scale}");
        assert_eq!(codes, [0x00, 0x80], "{scale}");
    }
}

#[test]
fn a_scale_of_zeros_and_that_of_the_tensor_come_to_one_as_far_as_they_can() {
    let scale = |format: &Format, global| {
        let scheme = Scheme::MODELOPT_FOUR_OVER_SIX;
        encode(format, &scheme, &[0.0; 16], global).1[0]
    };
    assert_eq!(scale(&Format::NVFP4, 0.25), 0x48); // 4
    assert_eq!(scale(&Format::NVFP4, 1e-4), 0x7e); // 448, the largest
    assert_eq!(scale(&Format::NVFP4, 1e6), 0x01); // 2^-9, the smallest
    assert_eq!(scale(&Format::NVFP4_DIVISOR, 4.0), 0x48);
    assert_eq!(scale(&Format::NVFP4_ONE_LEVEL, 4.0), 0x38);
    // A block of numbers is not concerned.
    let (_, scales) = encode(
        &Format::NVFP4,
        &Scheme::MODELOPT_FOUR_OVER_SIX,
        &[6.0; 16],
        0.25,
    );
    assert_eq!(scales, [0x48]);
}

/// What torch on x86 makes of a division by zero.
#[test]
fn a_scale_of_zero_that_is_kept_gives_the_codes_of_a_division_by_it() {
    let tiny = f32::from_bits(1);
    let nan = f32::NAN;
    for (element, largest) in [(Element::E4m3Fn, 0x7e), (Element::E5m2, 0x7b)] {
        let format = Format {
            element,
            ..Format::FP8_CHANNEL
        };
        // The smallest number over 448 is zero.
        let values = [tiny, -tiny, 0.0, -0.0, nan, -nan];
        let (codes, scales) = encode(&format, &Scheme::TORCHAO_FP8, &values, 1.0);
        assert_eq!(scales, [0; 4], "{element}");
        let expected = [largest, largest | 0x80, 0xff, 0xff, 0x7f, 0xff];
        assert_eq!(codes, expected, "{element}");
    }
}

/// The scale of the tensor is that of another, smaller one.
#[test]
fn a_scale_above_the_largest_saturates_and_so_do_its_codes() {
    let mut block = [6.0_f32 * 448.0; 16];
    block[0] = -6.0 * 448.0 * 4.0;
    for (format, scheme) in [
        (Format::NVFP4, Scheme::DEFAULT),
        (Format::NVFP4, Scheme::MODELOPT_NVFP4),
        (Format::NVFP4, Scheme::TORCHAO_NVFP4),
        (Format::NVFP4, Scheme::FOUR_OVER_SIX),
        (Format::NVFP4, ScaleRule::MseSearch.into()),
        (Format::NVFP4_DIVISOR, Scheme::COMPRESSED_TENSORS_NVFP4),
    ] {
        let (codes, scales) = encode(&format, &scheme, &block, 1.0);
        assert_eq!(
            (codes[0], codes[1], scales[0]),
            (0x7f, 0x77, 0x7e),
            "{format}"
        );
    }
    // The largest number, under the next power of two.
    let (codes, scales) = encode(
        &Format::MXFP8_E5M2,
        &Scheme::TORCHAO_MX_CEIL,
        &[f32::MAX; 32],
        1.0,
    );
    assert_eq!((codes[0], scales[0]), (0x78, 127 + 113));
}

#[test]
fn the_global_scale_of_four_over_six_leaves_room_for_the_larger_scale() {
    let scheme = Scheme::FOUR_OVER_SIX;
    assert_eq!(global_scale_with(&Format::NVFP4, &scheme, 1536.0), 1.0);
    assert_eq!(
        global_scale_with(&Format::NVFP4_DIVISOR, &scheme, 768.0),
        2.0
    );
    let block: [f32; 16] = std::array::from_fn(|i| if i == 0 { 1536.0 } else { 1152.0 });
    let (codes, scales) = encode(&Format::NVFP4, &scheme, &block, 1.0);
    // 1536 is 4 x 384 and 1152 is 3 x 384; under 256 x 6 the latter has no code.
    assert_eq!((codes[0], scales[0]), (0x56, 0x7c));
}

#[test]
fn global_scales_by_reciprocal_are_an_ulp_away_at_most() {
    for bits in (0x0080_0000..0x7f00_0000).step_by(1_000_003) {
        let amax = f32::from_bits(bits);
        let scheme = Scheme {
            global: GlobalRule::Reciprocal,
            ..Scheme::DEFAULT
        };
        for format in [Format::NVFP4, Format::NVFP4_DIVISOR] {
            let (divided, multiplied) = (
                global_scale(&format, amax),
                global_scale_with(&format, &scheme, amax),
            );
            let is_normal = divided > f32::MIN_POSITIVE && divided < f32::MAX && amax < 1e37;
            let apart = divided.to_bits().abs_diff(multiplied.to_bits());
            assert!(
                !is_normal || apart <= 1,
                "{format} {amax:e}: {divided:e} {multiplied:e}"
            );
        }
    }
    // Where the divisor overflows compressed-tensors gives up.
    let scheme = Scheme::COMPRESSED_TENSORS_NVFP4;
    let smallest = f32::from_bits(1);
    assert_eq!(
        global_scale_with(&Format::NVFP4_DIVISOR, &scheme, smallest),
        1.0
    );
    assert_eq!(global_scale(&Format::NVFP4_DIVISOR, smallest), f32::MAX);
}

/// torchao decodes with 2^-127 what it divided by 2^-126, or by 1.
#[test]
fn under_the_smallest_power_of_two_torchao_loses_half_or_all() {
    let values = [6.0 * 2_f32.powi(-127); 32];
    let first = |scheme| encode(&Format::MXFP4, &scheme, &values, 1.0).0[0] & 0x7;
    assert_eq!(first(ScaleRule::Floor.into()), 7);
    assert_eq!(first(Scheme::TORCHAO_MX_FLOOR), 5);
    assert_eq!(first(Scheme::TORCHAO_MX_RCEIL), 0);
}

#[test]
fn a_product_with_the_reciprocal_is_not_always_the_quotient() {
    // Numbers half-way between two codes, where an ulp decides.
    let scale = 0.7_f32;
    let value = |code: u8| Element::E4m3Fn.decode(code);
    let values: Vec<f32> = (0..0x7e)
        .map(|code| (value(code) + value(code + 1)) / 2.0 * scale)
        .collect();
    let shape = Shape::new(1, values.len());
    let codes = |quotient| {
        let scheme = Scheme {
            quotient,
            ..Scheme::DEFAULT
        };
        let mut codes = vec![0; values.len()];
        let scales = scale.to_le_bytes();
        let format = &Format::FP8_CHANNEL;
        encode_codes_with(format, &scheme, shape, &values, &scales, 1.0, &mut codes).unwrap();
        codes
    };
    let (divided, multiplied) = (codes(Quotient::Divide), codes(Quotient::Reciprocal));
    assert_ne!(divided, multiplied);
    for (divided, multiplied) in divided.iter().zip(&multiplied) {
        assert!(divided.abs_diff(*multiplied) <= 1);
    }
}
