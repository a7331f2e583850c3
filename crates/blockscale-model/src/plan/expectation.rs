//! What the numbers of an output weight must satisfy.

use blockscale::format::{Element, Format, GlobalScale, ScaleElement};
use blockscale::int::IntFormat;
use safetensors::Dtype;

use crate::catalog::Encoding;

/// What the numbers of an output weight must satisfy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Expectation {
    /// Equal to the source's.
    Exact,
    /// SQNR of at least so many dB, and no NaN or infinity lost.
    AtLeastDb(f64),
}

/// SQNR below which a weight of ordinary distribution has met a wrong scale,
/// layout or nibble order, not just rounding.
///
/// NVFP4 reaches 20.4 dB on gaussian weights and FP8 31.5; a wrong scale layout
/// gives about 9 dB, a wrong nibble order less than 0.
fn bound_db(from: &Encoding, to: &Format) -> f64 {
    match (to.element, to.global) {
        // 17 to 19 dB, and 15.8 where columns of outliers meet scales that never clip.
        (Element::E2m1, GlobalScale::None) => return 14.0,
        (Element::E2m1, _) => return 19.0,
        _ => {}
    }
    let two_bits = matches!(to.element, Element::E5m2 | Element::E3m2);
    let small_blocks = to.scale == ScaleElement::E8m0Fnu && to.block == Format::MXFP8_E4M3.block;
    match from.is_scaled() {
        // Values that lie on another grid fall on few points between two codes,
        // and their errors do not average out. What holds always is that three
        // fraction bits are off by 1/16 at most, which is 24.08 dB, and two by 1/8.
        true if two_bits => 18.0,
        true => 24.0,
        // 25.2 to 25.5 dB.
        false if two_bits => 23.0,
        // 29.85 dB of heavy tails under the rule "floor", which clips.
        false if small_blocks => 28.0,
        false => 30.0,
    }
}

/// SQNR bound of integers in groups.
///
/// The error is a share of the largest magnitude of a group, so it depends on how
/// far that stands out: gaussian weights in groups of 128 columns reach 19 dB in
/// 4 bits, those of a Student t distribution 14.8, and 11.9 with columns of
/// outliers. Every code off by one, as under zero points that are read less 1,
/// gives 9 dB or less. One bit more is
/// 6 dB more, less the outliers of a long row that has one scale.
fn int_bound_db(to: &IntFormat) -> f64 {
    let (four_bits, further_bit) = if (1..=WIDE_GROUP).contains(&to.group_cols) {
        (10.0, 6.0)
    } else {
        (6.0, 4.5)
    };
    four_bits + further_bit * (f64::from(to.bits) - 4.0)
}

/// The most columns that usually share a scale.
const WIDE_GROUP: usize = 128;

/// SQNR bound of 16-bit floats. BF16 has 8 significant bits: 55 dB.
const HALF_BOUND_DB: f64 = 50.0;

/// SQNR bound of a reciprocal global scale: one rounding of f32 is 144 dB.
pub(super) const RECIPROCAL_BOUND_DB: f64 = 120.0;

impl Expectation {
    /// What a weight stored as `to` must satisfy that was made from one stored as `from`.
    pub fn between(from: &Encoding, to: &Encoding) -> Self {
        match (from, to) {
            (_, Encoding::Block(format)) => Self::AtLeastDb(bound_db(from, format)),
            (_, Encoding::Grouped(format)) => Self::AtLeastDb(int_bound_db(format)),
            (_, Encoding::Plain(Dtype::F32)) => Self::Exact,
            (Encoding::Plain(a), Encoding::Plain(b)) if a == b => Self::Exact,
            _ => Self::AtLeastDb(HALF_BOUND_DB),
        }
    }
}
