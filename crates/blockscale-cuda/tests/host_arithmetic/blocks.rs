//! Whole matrices of every kind of format, ragged ones too, and every scheme.

use blockscale::decode::{Rows, decode_rows};
use blockscale::element::{EncodePolicy, NanCode, Overflow, Ties, ZeroSign};
use blockscale::encode::{
    ErrorMeasure, GlobalRule, Intermediate, Quotient, ScaleOrder, ScaleRule, Scheme, ZeroScale,
    amax, encode_rows_with, global_scale_with,
};
use blockscale::format::Packing;
use blockscale::{Block, Format, GlobalScale, Real, ScaleElement, Shape, bf16, f16};

use crate::inputs::{Random, number, specials};
use crate::shim::{assert_same, run, shim};

const NAMED: [Format; 16] = [
    Format::NVFP4,
    Format::NVFP4_DIVISOR,
    Format::NVFP4_ONE_LEVEL,
    Format::MXFP4,
    Format::MXFP6_E2M3,
    Format::MXFP6_E3M2,
    Format::MXFP6_E2M3.packed(Packing::Bytes),
    Format::MXFP4.packed(Packing::Bytes),
    Format::MXFP8_E4M3,
    Format::MXFP8_E5M2,
    Format::FP8_BLOCK,
    Format::FP8_BLOCK_UE8M0,
    Format::FP8_TOKEN,
    Format::FP8_CHANNEL,
    Format::FP8_TENSOR,
    Format {
        scale: ScaleElement::Bf16,
        element: blockscale::Element::E4m3Fnuz,
        ..Format::FP8_BLOCK
    },
];

const SHAPES: [Shape; 4] = [
    Shape::new(1, 1),
    Shape::new(3, 37),
    Shape::new(130, 145),
    Shape::new(2, 256),
];

fn scale_number(scale: ScaleElement) -> u64 {
    match scale {
        ScaleElement::E4m3Fn => 0,
        ScaleElement::E8m0Fnu => 1,
        ScaleElement::F32 => 2,
        ScaleElement::Bf16 => 3,
        _ => 4,
    }
}

fn format_words(format: &Format, shape: Shape) -> Vec<u64> {
    let (rows, cols) = match format.block {
        Block::Grid { rows, cols } => (rows, cols),
        Block::Row => (1, shape.cols),
        Block::Tensor => (shape.rows, shape.cols),
    };
    let packing = u64::from(format.packing == Packing::Bytes);
    let global = match format.global {
        GlobalScale::None => 0,
        GlobalScale::Multiplier => 1,
        GlobalScale::Divisor => 2,
    };
    let scale = scale_number(format.scale);
    vec![
        number(format.element),
        packing,
        scale,
        global,
        rows as u64,
        cols as u64,
    ]
}

fn float(x: f32) -> u64 {
    u64::from(x.to_bits())
}

fn scheme_words<T: Named>(format: &Format, scheme: &Scheme) -> Vec<u64> {
    let (rule, argument) = match scheme.rule {
        ScaleRule::Amax => (0, 0),
        ScaleRule::AmaxReciprocal => (1, 0),
        ScaleRule::AmaxMin1e4 => (2, 0),
        ScaleRule::Floor => (3, 0),
        ScaleRule::Ceil => (4, 0),
        ScaleRule::Rceil => (5, 0),
        ScaleRule::RceilMin1e4 => (6, 0),
        ScaleRule::Even => (7, 0),
        ScaleRule::EvenAt { mantissa_bits } => (8, u64::from(mantissa_bits)),
        ScaleRule::Nearest => (9, 0),
        ScaleRule::FourOverSix(measure) => (10, u64::from(measure == ErrorMeasure::Squared)),
        ScaleRule::MseSearch => (11, 0),
        other => panic!("{other:?} has no number yet"),
    };
    let epsilon = match format.scale {
        ScaleElement::E4m3Fn => 0.125,
        ScaleElement::Bf16 => 0.007_812_5,
        ScaleElement::F16 => 0.000_976_562_5,
        _ => f32::EPSILON,
    };
    let (zero, zero_scale) = match scheme.zero {
        ZeroScale::OfZeros(scale) => (0, scale),
        ZeroScale::OfUnderflow(scale) => (1, scale),
        ZeroScale::Epsilon => (2, epsilon),
        ZeroScale::Smallest => (3, 0.0),
        ZeroScale::Kept => (4, 0.0),
        ZeroScale::InverseOfGlobal => (5, 0.0),
    };
    let quotient = match scheme.quotient {
        Quotient::Divide => 0,
        Quotient::Reciprocal => 1,
        Quotient::ReciprocalByLevel => 2,
        Quotient::DivideNormal => 3,
        Quotient::ReciprocalNormal => 4,
    };
    let intermediate = match scheme.intermediate {
        Intermediate::F32 => 0,
        Intermediate::Scales => 1,
        Intermediate::ScalesAndQuotients => 2,
    };
    let mut words = vec![
        rule,
        argument,
        u64::from(scheme.global == GlobalRule::Reciprocal),
        u64::from(scheme.order == ScaleOrder::QuotientFirst),
        float(scheme.min_scale),
        zero,
        float(zero_scale),
        quotient,
    ];
    words.extend(policy_words(&scheme.policy));
    words.extend([intermediate, T::NUMBER]);
    words
}

fn policy_words(policy: &EncodePolicy) -> [u64; 5] {
    let ties = match policy.ties {
        Ties::Even => 0,
        Ties::TowardZero => 1,
        Ties::Away => 2,
    };
    let zero_sign = match policy.zero {
        ZeroSign::Keep => 0,
        ZeroSign::Drop => 1,
        ZeroSign::DropRounded => 2,
        ZeroSign::Negative => 3,
    };
    let (nan, code) = match policy.nan {
        NanCode::OfType => (0, 0),
        NanCode::Fixed(code) => (1, code),
        NanCode::Signed(code) => (2, code),
        NanCode::Opposite(code) => (3, code),
        NanCode::Payload => (4, 0),
    };
    let overflow = u64::from(policy.overflow == Overflow::Special);
    [ties, overflow, zero_sign, nan, u64::from(code)]
}

/// A number type with its name and number in the kernels.
trait Named: Real {
    const NAME: &'static str;
    const NUMBER: u64;
}

impl Named for f32 {
    const NAME: &'static str = "f32";
    const NUMBER: u64 = 0;
}

impl Named for bf16 {
    const NAME: &'static str = "bf16";
    const NUMBER: u64 = 1;
}

impl Named for f16 {
    const NAME: &'static str = "f16";
    const NUMBER: u64 = 2;
}

#[test]
fn every_format_decodes_to_the_bits_of_the_core() {
    let Some(shim) = shim() else { return };
    decodes_to::<f32>(shim);
    decodes_to::<bf16>(shim);
    decodes_to::<f16>(shim);
}

fn decodes_to<T: Named>(shim: &std::path::Path) {
    let mut random = Random::new(19);
    for format in NAMED {
        for shape in SHAPES {
            let globals = [1.0, 0.012_3, 3e38, -2.5, f32::NAN, f32::INFINITY];
            let global = globals[random.below(6) as usize];
            let codes: Vec<u8> = (0..format.code_bytes(shape).unwrap())
                .map(|_| random.next() as u8)
                .collect();
            let scales: Vec<u8> = (0..format.scale_bytes(shape).unwrap())
                .map(|_| random.next() as u8)
                .collect();
            let rows = Rows {
                codes: &codes,
                scales: &scales,
                global,
            };
            let mut expected = vec![T::from_f32(0.0); shape.len().unwrap()];
            decode_rows(&format, shape, rows, &mut expected).unwrap();

            let mut parameters = format_words(&format, shape);
            parameters.extend([shape.rows as u64, shape.cols as u64, float(global)]);
            let input = [&codes[..], &scales].concat();
            let found = run(shim, &format!("decode-{}", T::NAME), &parameters, &input);
            assert_same_but_two_nans(&format!("{format} {shape:?} x {global}"), &found, &expected);
        }
    }
}

/// A product of two NaN is either of them, as the compiler has it.
fn assert_same_but_two_nans<T: Real>(what: &str, found: &[u8], expected: &[T]) {
    let width = size_of::<T>();
    let found: Vec<u8> = found
        .chunks_exact(width)
        .zip(expected)
        .flat_map(|(found, expected)| {
            let is_nan = |bytes: &[u8]| bytemuck::pod_read_unaligned::<T>(bytes).to_f32().is_nan();
            let both = expected.to_f32().is_nan() && is_nan(found);
            if both {
                bytemuck::bytes_of(expected).to_vec()
            } else {
                found.to_vec()
            }
        })
        .collect();
    assert_same(what, &found, bytemuck::cast_slice(expected));
}

#[test]
fn every_scheme_and_rule_gives_the_scales_and_codes_of_the_core() {
    let Some(shim) = shim() else { return };
    encodes_from::<f32>(shim);
    encodes_from::<bf16>(shim);
    encodes_from::<f16>(shim);
}

fn encodes_from<T: Named>(shim: &std::path::Path) {
    let named = NAMED.iter().flat_map(|format| {
        let fitting = Scheme::NAMED.iter().filter(|named| named.fits(format));
        fitting.map(|named| (*format, named.scheme))
    });
    let defaults = NAMED
        .iter()
        .map(|format| (*format, format.default_rule().into()));
    let rules = [
        Format::NVFP4,
        Format::MXFP4,
        Format::MXFP8_E4M3,
        Format::FP8_BLOCK,
        Format::MXFP6_E3M2,
    ];
    let rules = rules
        .iter()
        .flat_map(|format| ScaleRule::ALL.iter().map(|rule| (*format, (*rule).into())));
    for (at, (format, scheme)) in named.chain(defaults).chain(rules).enumerate() {
        let shape = SHAPES[1 + at % 3];
        for kind in 0..3 {
            let values = values_of::<T>(kind, shape.len().unwrap(), at as u64);
            encodes_one(
                shim,
                &format,
                &scheme,
                shape,
                &values,
                &format!("values {kind}"),
            );
        }
    }
}

/// Weights, weights among numbers of every sort, and rows of zeros and tiny numbers.
fn values_of<T: Real>(kind: u64, count: usize, seed: u64) -> Vec<T> {
    let mut random = Random::new(seed * 3 + kind + 1);
    let specials = specials();
    let one = |random: &mut Random| match kind {
        0 => random.weight(),
        1 if random.below(9) == 0 => specials[random.below(specials.len() as u64) as usize],
        1 => (random.below(64) as f32 - 32.0) * 0.125,
        _ if random.below(3) == 0 => random.weight() * 1e-37,
        _ => 0.0,
    };
    (0..count).map(|_| T::from_f32(one(&mut random))).collect()
}

fn encodes_one<T: Named>(
    shim: &std::path::Path,
    format: &Format,
    scheme: &Scheme,
    shape: Shape,
    values: &[T],
    what: &str,
) {
    let global = global_scale_with(format, scheme, T::from_f32(amax(values)));
    let mut codes = vec![0; format.code_bytes(shape).unwrap()];
    let mut scales = vec![0; format.scale_bytes(shape).unwrap()];
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

    let mut parameters = format_words(format, shape);
    parameters.extend(scheme_words::<T>(format, scheme));
    parameters.extend([shape.rows as u64, shape.cols as u64, float(f32::NAN)]);
    let found = run(
        shim,
        &format!("encode-{}", T::NAME),
        &parameters,
        bytemuck::cast_slice(values),
    );
    let what = format!("{format} {scheme:?} from {} {shape:?}, {what}", T::NAME);
    let (found_global, rest) = found.split_at(4);
    let (found_scales, found_codes) = rest.split_at(scales.len());
    assert_same(
        &format!("global scale: {what}"),
        found_global,
        &global.to_le_bytes(),
    );
    assert_same(&format!("scales: {what}"), found_scales, &scales);
    assert_same(&format!("codes: {what}"), found_codes, &codes);
}
