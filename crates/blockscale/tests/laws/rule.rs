//! Scale rules against exact arithmetic in `f64`, and against published tables.

use blockscale::encode::{ErrorMeasure, ScaleRule, choose_scales, encode_rows, tensor_scale};
use blockscale::{Block, Element, Format, ScaleElement, Shape};
use proptest::prelude::*;

use crate::common::ELEMENTS;

/// A format of one UE8M0 scale for all.
fn format(element: Element) -> Format {
    Format {
        element,
        block: Block::Tensor,
        ..Format::MXFP4
    }
}

fn exponent(element: Element, rule: ScaleRule, amax: f32) -> i32 {
    let mut scales = [0];
    choose_scales(
        &format(element),
        rule,
        Shape::new(1, 1),
        &[amax],
        1.0,
        &mut scales,
    )
    .unwrap();
    i32::from(scales[0]) - 127
}

/// `floor(log2 x)`, for which no rounding of a logarithm will do.
fn floor_log2(x: f64) -> i32 {
    (x.to_bits() >> 52) as i32 - 1023
}

fn ceil_log2(x: f64) -> i32 {
    floor_log2(x) + i32::from(x.to_bits() << 12 != 0)
}

/// The rule in words, in `f64`, whose range leaves `f32`'s edges inside.
fn expected(element: Element, rule: ScaleRule, amax: f32) -> i32 {
    let (x, max) = (f64::from(amax), f64::from(element.max_finite()));
    let emax = floor_log2(max);
    let even = |mantissa_bits: i32| {
        let half = 2_f64.powi(floor_log2(x) - mantissa_bits - 1);
        floor_log2(x + half) - emax
    };
    match rule {
        ScaleRule::Floor => floor_log2(x) - emax,
        ScaleRule::Ceil => ceil_log2(x) - emax,
        // The quotient is rounded to f32 first.
        ScaleRule::Rceil => ceil_log2(f64::from(amax / element.max_finite())),
        ScaleRule::Even => even(element.mantissa_bits() as i32),
        ScaleRule::EvenAt { mantissa_bits } => even(i32::from(mantissa_bits)),
        ScaleRule::Nearest => {
            let quotient = f64::from(amax / element.max_finite());
            let power = floor_log2(quotient);
            let part = quotient / 2_f64.powi(power);
            power + i32::from(part * part > 2.0)
        }
        _ => unreachable!("not a rule of exponents"),
    }
}

const EXPONENT_RULES: [ScaleRule; 6] = [
    ScaleRule::Floor,
    ScaleRule::Ceil,
    ScaleRule::Rceil,
    ScaleRule::Even,
    ScaleRule::EvenAt { mantissa_bits: 1 },
    ScaleRule::Nearest,
];

proptest! {
    #[test]
    fn rules_of_exponents_are_exact_at_every_normal_number(bits in 0x0080_0000_u32..0x7f80_0000) {
        let amax = f32::from_bits(bits);
        for element in ELEMENTS {
            for rule in EXPONENT_RULES {
                let expected = expected(element, rule, amax).clamp(-127, 127);
                prop_assert_eq!(exponent(element, rule, amax), expected, "{} {:?}", element, rule);
            }
        }
    }
}

#[test]
fn rules_of_exponents_are_exact_around_every_power_of_two() {
    for code in 1..255_u32 {
        let power = f32::from_bits(code << 23);
        let steps = [1.0, 1.5, 1.75, 1.9375, core::f32::consts::SQRT_2];
        for x in steps
            .map(|step| power * step)
            .into_iter()
            .filter(|x| x.is_finite())
        {
            for amax in [x.next_down(), x, x.next_up()] {
                let is_normal = amax >= f32::MIN_POSITIVE && amax.is_finite();
                for element in ELEMENTS.into_iter().filter(|_| is_normal) {
                    for rule in EXPONENT_RULES {
                        let expected = expected(element, rule, amax).clamp(-127, 127);
                        let found = exponent(element, rule, amax);
                        assert_eq!(found, expected, "{element} {rule:?} {amax:e}");
                    }
                }
            }
        }
    }
}

#[test]
fn the_published_table_of_e2m1_is_reproduced() {
    let amax = [
        1.0, 1.5, 1.74, 1.75, 2.0, 3.0, 3.4, 3.5, 4.0, 6.0, 6.1, 7.0, 8.0,
    ];
    let rows = [
        (
            ScaleRule::Floor,
            [
                125, 125, 125, 125, 126, 126, 126, 126, 127, 127, 127, 127, 128,
            ],
        ),
        (
            ScaleRule::Rceil,
            [
                125, 125, 126, 126, 126, 126, 127, 127, 127, 127, 128, 128, 128,
            ],
        ),
        (
            ScaleRule::Even,
            [
                125, 125, 125, 126, 126, 126, 126, 127, 127, 127, 127, 128, 128,
            ],
        ),
        (
            ScaleRule::Nearest,
            [
                124, 125, 125, 125, 125, 126, 126, 126, 126, 127, 127, 127, 127,
            ],
        ),
    ];
    for (rule, expected) in rows {
        let found = amax.map(|amax| exponent(Element::E2m1, rule, amax) + 127);
        assert_eq!(found, expected, "{rule:?}");
    }
}

#[test]
fn even_of_e4m3_steps_at_fifteen_sixteenths_or_at_three_quarters() {
    let at_one = ScaleRule::EvenAt { mantissa_bits: 1 };
    let exponent = |rule, amax| exponent(Element::E4m3Fn, rule, amax) + 8;
    assert_eq!(
        [1.8, 1.93, 1.9375].map(|x| exponent(ScaleRule::Even, x)),
        [0, 0, 1]
    );
    assert_eq!([1.74, 1.75, 1.8].map(|x| exponent(at_one, x)), [0, 1, 1]);
}

#[test]
fn zeros_and_subnormals_get_the_smallest_power_of_two() {
    for element in ELEMENTS {
        for rule in EXPONENT_RULES {
            for amax in [0.0, f32::from_bits(1)] {
                assert_eq!(exponent(element, rule, amax), -127, "{element} {rule:?}");
            }
        }
    }
}

#[test]
fn dividing_and_multiplying_by_the_reciprocal_differ_by_an_ulp_for_half_of_all_amax() {
    let scale = |rule, amax| tensor_scale(&Format::FP8_TENSOR, rule, amax);
    let mut differing = 0;
    for step in 0..4096 {
        let amax = f32::from_bits(1.0_f32.to_bits() + step * 2048 + step);
        let (divided, multiplied) = (
            scale(ScaleRule::Amax, amax),
            scale(ScaleRule::AmaxReciprocal, amax),
        );
        let apart = divided.to_bits().abs_diff(multiplied.to_bits());
        assert!(apart <= 1, "{amax}");
        differing += apart;
        // As powers of two they agree.
        let pow2 = |scale: f32| blockscale::element::E8m0Fnu::from_f32_ceil(scale);
        assert_eq!(pow2(divided), pow2(multiplied), "{amax}");
    }
    assert!((1500..2600).contains(&differing), "{differing}");
}

#[test]
fn the_floor_of_1e_4_holds_for_f32_scales_too() {
    let scale = |amax| tensor_scale(&Format::FP8_TENSOR, ScaleRule::AmaxMin1e4, amax);
    assert_eq!(
        [0.0, 1e-5, 1e-4, 448.0].map(scale),
        [1e-4 / 448.0, 1e-4 / 448.0, 1e-4 / 448.0, 1.0]
    );
}

/// Squared error of a block of E2M1 under a scale, by trying every code.
fn squared_error(values: &[f32], scale: f32) -> f64 {
    let error = |&x: &f32| {
        let of_code = |code| {
            let value = Element::E2m1.decode(code) * scale;
            (f64::from(value) - f64::from(x)).powi(2)
        };
        (0..16).map(of_code).fold(f64::INFINITY, f64::min)
    };
    values.iter().map(error).sum()
}

#[test]
fn four_over_six_takes_the_larger_scale_only_where_it_errs_less() {
    let rule = ScaleRule::FourOverSix(ErrorMeasure::Squared);
    let choose = |values: &[f32; 16]| {
        let (mut codes, mut scales) = ([0; 8], [0]);
        let format = Format::NVFP4_ONE_LEVEL;
        encode_rows(
            &format,
            rule,
            Shape::new(1, 16),
            values,
            1.0,
            &mut codes,
            &mut scales,
        )
        .unwrap();
        (ScaleElement::E4m3Fn.decode(&scales), codes[0] & 0x7)
    };
    // 6 and 3 are on the grid under 1; 4 and 3 under 1 x 1.5 x 4 / 6.
    let mut on_grid = [3.0; 16];
    on_grid[0] = 6.0;
    assert_eq!(choose(&on_grid), (1.0, 7));
    let mut better_with_four = [4.5; 16];
    better_with_four[0] = 6.0;
    assert_eq!(choose(&better_with_four), (1.5, 6));
    assert_eq!(choose(&[0.0; 16]), (1.0, 0));
}

proptest! {
    #[test]
    fn a_search_never_errs_more_than_the_rule_it_starts_from(
        values in prop::collection::vec(-8.0_f32..8.0, 16),
        is_pow2 in any::<bool>(),
    ) {
        let (format, start) = if is_pow2 {
            (Format { block: Block::Row, ..Format::MXFP4 }, ScaleRule::Rceil)
        } else {
            (Format::NVFP4_ONE_LEVEL, ScaleRule::Amax)
        };
        let scale = |rule| {
            let mut scales = [0];
            choose_scales(&format, rule, Shape::new(1, 16), &values, 1.0, &mut scales).unwrap();
            format.scale.decode(&scales)
        };
        let error = |rule| squared_error(&values, scale(rule));
        prop_assert!(error(ScaleRule::MseSearch) <= error(start) * (1.0 + 1e-12));
        let four_over_six = ScaleRule::FourOverSix(ErrorMeasure::Squared);
        prop_assert!(error(four_over_six) <= error(ScaleRule::Amax) * (1.0 + 1e-12));

        // Of the scales that it may choose from, none is better.
        let best = if is_pow2 {
            let rceil = scale(ScaleRule::Rceil);
            [1.0, 0.5, 0.25].map(|part| squared_error(&values, rceil * part)).into_iter().fold(f64::INFINITY, f64::min)
        } else {
            let amax = values.iter().fold(0.0_f32, |a, x| a.max(x.abs()));
            let (low, high) = (amax / 12.0, amax / 4.0);
            let codes = (1..0x7f).map(|code| format.scale.decode(&[code]));
            codes.filter(|&s| s >= low && s <= high).map(|s| squared_error(&values, s)).fold(f64::INFINITY, f64::min)
        };
        prop_assert!(error(ScaleRule::MseSearch) <= best * (1.0 + 1e-12));
    }
}
