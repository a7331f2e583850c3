//! The table of schemes: in what each differs from the default.

use blockscale::encode::{Scheme, ZeroScale, encode_rows_with};
use blockscale::{Format, Shape};

use crate::page::{self, number};
use crate::{policies, source};

macro_rules! schemes {
    ($($name:ident: $format:expr),* $(,)?) => {
        [$((stringify!($name), Scheme::$name, $format)),*]
    };
}

/// Every named scheme, with a format that it is for.
pub(crate) const SCHEMES: [(&str, Scheme, Format); 23] = schemes![
    DEFAULT: Format::NVFP4,
    MODELOPT_NVFP4: Format::NVFP4,
    COMPRESSED_TENSORS_NVFP4: Format::NVFP4_DIVISOR,
    TORCHAO_NVFP4: Format::NVFP4,
    FOUR_OVER_SIX: Format::NVFP4,
    MODELOPT_FOUR_OVER_SIX: Format::NVFP4,
    TORCHAO_MX_FLOOR: Format::MXFP4,
    TORCHAO_MX_CEIL: Format::MXFP4,
    TORCHAO_MX_EVEN: Format::MXFP4,
    TORCHAO_MX_RCEIL: Format::MXFP4,
    COMPRESSED_TENSORS_MXFP4: Format::MXFP4,
    COMPRESSED_TENSORS_MXFP6: Format::MXFP6_E2M3,
    COMPRESSED_TENSORS_MXFP8: Format::MXFP8_E4M3,
    MODELOPT_MXFP4: Format::MXFP4,
    MODELOPT_MXFP8: Format::MXFP8_E4M3,
    DEEPGEMM_FP4: Format::MXFP4,
    TILEKERNELS_FP4: Format::MXFP4,
    GGML_MXFP4: Format::MXFP4,
    DEEPGEMM_FP8: Format::FP8_BLOCK,
    DEEPGEMM_FP8_UE8M0: Format::FP8_BLOCK_UE8M0,
    COMPRESSED_TENSORS_FP8: Format::FP8_BLOCK,
    MODELOPT_FP8: Format::FP8_BLOCK,
    TORCHAO_FP8: Format::FP8_CHANNEL,
];

pub(crate) fn table() -> String {
    let docs = source::constants("encode/scheme.rs");
    let head = [
        "`Scheme::`",
        "in recipes",
        "writes",
        "differs from `DEFAULT` in",
        "scale of a block of zeros",
    ];
    let row = |(name, scheme, format): (&str, Scheme, Format)| {
        let doc = docs.iter().find(|constant| constant.name == name).unwrap();
        let differences = differences(&scheme);
        [
            format!("`{name}`"),
            format!("`{}`", recipe_name(name)),
            doc.doc.trim_end_matches('.').to_owned(),
            differences.join(", "),
            scale_of_zeros(&scheme, &format),
        ]
    };
    let mut rows = SCHEMES.map(row);
    // Its own words would say nothing that the other rows do not.
    rows[0][2] =
        "what this project writes unless told otherwise, each format by its own rule".to_owned();
    rows[0][3] = String::new();
    page::table(head, &rows)
}

/// The name that recipes give a constant.
fn recipe_name(constant: &str) -> String {
    constant.to_lowercase().replace('_', "-")
}

/// The fields that are not those of the default, as Rust has them.
fn differences(scheme: &Scheme) -> Vec<String> {
    let Scheme {
        rule,
        global,
        order,
        min_scale,
        zero,
        quotient,
        intermediate,
        policy: _,
    } = Scheme::DEFAULT;
    let mut found = Vec::new();
    let mut note = |differs: bool, text: String| {
        if differs {
            found.push(format!("`{text}`"));
        }
    };
    note(scheme.rule != rule, format!("rule: {:?}", scheme.rule));
    note(
        scheme.global != global,
        format!("global: {:?}", scheme.global),
    );
    note(scheme.order != order, format!("order: {:?}", scheme.order));
    note(
        scheme.min_scale != min_scale,
        format!("min_scale: {}", number(scheme.min_scale)),
    );
    note(scheme.zero != zero, format!("zero: {:?}", scheme.zero));
    note(
        scheme.quotient != quotient,
        format!("quotient: {:?}", scheme.quotient),
    );
    note(
        scheme.intermediate != intermediate,
        format!("intermediate: {:?}", scheme.intermediate),
    );
    let of_policy = policies::differences(&scheme.policy).into_iter();
    found.extend(of_policy.map(|difference| format!("`policy.{difference}`")));
    found
}

/// Its value, and its byte where it is one.
fn scale_of_zeros(scheme: &Scheme, format: &Format) -> String {
    if scheme.zero == ZeroScale::InverseOfGlobal {
        return "1 / global, mostly `7E`".to_owned();
    }
    // One block of any format, or a part of one.
    let shape = Shape::new(1, 16);
    let mut codes = vec![0; format.code_bytes(shape).unwrap()];
    let mut scales = vec![0; format.scale_bytes(shape).unwrap()];
    let zeros = [0.0_f32; 16];
    encode_rows_with(format, scheme, shape, &zeros, 1.0, &mut codes, &mut scales).unwrap();
    let value = number(format.scale.decode(&scales));
    match scales[..] {
        [byte] => format!("{value}, `{byte:02X}`"),
        _ => value,
    }
}

#[test]
fn every_scheme_has_a_row() {
    let names: Vec<_> = SCHEMES.iter().map(|(name, ..)| *name).collect();
    assert_eq!(names, source::names("encode/scheme.rs"));
}

#[test]
fn every_scheme_has_a_name_and_fits_its_format() {
    let named: Vec<_> = Scheme::NAMED.iter().map(|named| named.name).collect();
    let names: Vec<_> = SCHEMES.iter().map(|(name, ..)| recipe_name(name)).collect();
    assert_eq!(named, names);
    for (named, (name, scheme, format)) in Scheme::NAMED.iter().zip(SCHEMES) {
        assert_eq!(named.scheme, scheme, "{name}");
        assert!(named.fits(&format), "{name}");
    }
}
