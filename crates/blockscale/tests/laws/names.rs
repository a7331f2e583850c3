//! Rules and schemes by their names.

use blockscale::encode::{ScaleRule, Scheme, tensor_scale};
use blockscale::{Format, GlobalScale, ScaleElement};

#[test]
fn every_rule_is_read_by_the_name_that_it_prints() {
    for (i, &rule) in ScaleRule::ALL.iter().enumerate() {
        let name = rule.to_string();
        assert_eq!(ScaleRule::from_name(&name), Some(rule), "{name}");
        assert!(!ScaleRule::ALL[..i].contains(&rule), "{name}");
    }
    for bits in 0..=22 {
        let rule = ScaleRule::EvenAt {
            mantissa_bits: bits,
        };
        assert_eq!(ScaleRule::from_name(&rule.to_string()), Some(rule));
    }
}

#[test]
fn words_that_are_no_rule_are_none() {
    for word in [
        "",
        "Amax",
        "mean",
        "even-at-",
        "even-at-23",
        "even-at-01",
        "even-at-+1",
        "even-at-x",
    ] {
        assert_eq!(ScaleRule::from_name(word), None, "{word}");
    }
}

#[test]
fn rules_of_powers_of_two_give_them_under_f32_scales() {
    for &rule in ScaleRule::ALL {
        let scales = [0.3_f32, 1.0, 5.0, 7.0, 1000.0].map(|amax| {
            let bits = tensor_scale(&Format::FP8_TENSOR, rule, amax).to_bits();
            bits & 0x7f_ffff
        });
        let all = scales.iter().all(|&fraction| fraction == 0);
        assert_eq!(all, rule.is_power_of_two(), "{rule}");
    }
}

#[test]
fn every_format_has_schemes_that_fit_and_schemes_that_do_not() {
    for format in [
        Format::NVFP4,
        Format::NVFP4_DIVISOR,
        Format::MXFP4,
        Format::MXFP8_E4M3,
        Format::FP8_BLOCK,
        Format::FP8_BLOCK_UE8M0,
        Format::FP8_CHANNEL,
        Format::FP8_TENSOR,
    ] {
        let fitting = Scheme::NAMED.iter().filter(|named| named.fits(&format));
        let count = fitting.count();
        assert!((2..Scheme::NAMED.len()).contains(&count), "{format}");
        let divides = format.global == GlobalScale::Divisor;
        let named = Scheme::from_name("compressed-tensors-nvfp4").unwrap();
        assert_eq!(named.fits(&format), divides, "{format}");
    }
}

#[test]
fn float_types_of_scales_do_not_matter_to_a_scheme() {
    let named = Scheme::from_name("compressed-tensors-fp8").unwrap();
    for scale in [ScaleElement::F32, ScaleElement::Bf16, ScaleElement::F16] {
        assert!(named.fits(&Format {
            scale,
            ..Format::FP8_CHANNEL
        }));
    }
    assert!(!named.fits(&Format::FP8_BLOCK_UE8M0));
}

#[test]
fn default_scheme_follows_the_rule_of_each_format() {
    let named = Scheme::from_name("default").unwrap();
    for format in [Format::NVFP4, Format::MXFP4, Format::FP8_BLOCK_UE8M0] {
        let scheme = named.scheme_for(&format);
        assert_eq!(scheme, Scheme::from(format.default_rule()), "{format}");
    }
}
