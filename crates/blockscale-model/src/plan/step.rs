//! The way from a stored format to another, chosen so that what can be exact is.

use blockscale::encode::ScaleRule;
use blockscale::format::{Block, Element, Format, GlobalScale, ScaleElement};
use safetensors::Dtype;

use crate::catalog::Encoding;
use crate::recipe::ScaleRuleName;

/// What is done to the numbers of a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Bytes as they are.
    Copy,
    /// To plain numbers, each rounded once.
    Decode(Dtype),
    /// To a block format with scales chosen afresh.
    Encode {
        /// The format.
        to: Format,
        /// How block scales are chosen.
        rule: ScaleRule,
    },
    /// FP8 scales rounded up to powers of two; only codes whose scale changes are
    /// rounded again.
    RoundScalesUp {
        /// The format, with the same element and block.
        to: Format,
    },
    /// FP8 scales to F32 of the same value, codes as they are.
    WidenScales {
        /// The format, with the same element and block.
        to: Format,
    },
    /// One FP8 tensor scale repeated over a block grid, codes as they are.
    SpreadScale {
        /// The format, with the same element.
        to: Format,
    },
    /// MXFP4 to NVFP4 or to FP8 in square UE8M0 blocks on the codes themselves,
    /// exact for every block whose exponent fits.
    CastMxfp4 {
        /// The format.
        to: Format,
    },
    /// NVFP4 with its global scale stated the other way, codes and block scales as
    /// they are: the reciprocal where a multiplier becomes a divisor or the
    /// reverse, 1 where there was none.
    RestateGlobal {
        /// The format, equal but for the global scale.
        to: Format,
    },
}

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
    match (to.element, to.global, from) {
        // 17 to 19 dB, and 15.8 where columns of outliers meet scales that never clip.
        (Element::E2m1, GlobalScale::None, _) => 14.0,
        (Element::E2m1, _, _) => 19.0,
        // Values that lie on another grid fall on few points between two codes,
        // and their errors do not average out. What holds always is that E4M3
        // is off by 1/16 at most, which is 24.08 dB.
        _ if from.is_scaled() => 24.0,
        _ => 30.0,
    }
}

/// SQNR bound of 16-bit floats. BF16 has 8 significant bits: 55 dB.
const HALF_BOUND_DB: f64 = 50.0;

/// SQNR bound of a reciprocal global scale: one rounding of f32 is 144 dB.
const RECIPROCAL_BOUND_DB: f64 = 120.0;

/// Chooses the step to plain numbers of `dtype`. `None` if `from` holds no numbers.
pub(super) fn to_plain(from: &Encoding, dtype: Dtype) -> Option<Step> {
    match from {
        Encoding::Plain(found) if *found == dtype => Some(Step::Copy),
        _ => from.is_number().then_some(Step::Decode(dtype)),
    }
}

/// Chooses the step to the block format `to`. `None` if `from` holds no numbers.
pub(super) fn to_blocks(from: &Encoding, to: Format, rule: Option<ScaleRuleName>) -> Option<Step> {
    let rule = match rule {
        None => to.default_rule(),
        Some(ScaleRuleName::Amax) => ScaleRule::Amax,
        Some(ScaleRuleName::PowerOfTwo) => ScaleRule::RceilMin1e4,
    };
    match from {
        Encoding::Block(from) => Some(between_blocks(from, to, rule)),
        _ => from.is_number().then_some(Step::Encode { to, rule }),
    }
}

fn between_blocks(from: &Format, to: Format, rule: ScaleRule) -> Step {
    let any_scale = rule == ScaleRule::Amax;
    let exponents = from.scale == ScaleElement::E8m0Fnu;
    if *from == to && (any_scale || exponents) {
        return Step::Copy;
    }
    let restated = Format {
        global: to.global,
        ..*from
    };
    if restated == to && from.global != to.global && to.global != GlobalScale::None {
        return Step::RestateGlobal { to };
    }
    let castable = (Format {
        global: Format::NVFP4.global,
        ..to
    }) == Format::NVFP4
        || to == Format::FP8_BLOCK_UE8M0;
    if *from == Format::MXFP4 && castable {
        return Step::CastMxfp4 { to };
    }
    if from.element != to.element || from.element == Element::E2m1 {
        return Step::Encode { to, rule };
    }
    let same_block = from.block == to.block;
    match (from.block, to.scale) {
        (_, ScaleElement::F32) if same_block && (exponents || any_scale) => {
            Step::WidenScales { to }
        }
        (_, ScaleElement::F32 | ScaleElement::E8m0Fnu) if same_block && !any_scale => {
            Step::RoundScalesUp { to }
        }
        (Block::Tensor, ScaleElement::F32) if any_scale && from.scale == ScaleElement::F32 => {
            Step::SpreadScale { to }
        }
        _ => Step::Encode { to, rule },
    }
}

impl Step {
    /// The encoding that the step leaves, given the one it meets.
    pub fn result(&self, from: &Encoding) -> Encoding {
        match *self {
            Self::Copy => *from,
            Self::Decode(dtype) => Encoding::Plain(dtype),
            Self::Encode { to, .. }
            | Self::RoundScalesUp { to }
            | Self::WidenScales { to }
            | Self::SpreadScale { to }
            | Self::CastMxfp4 { to }
            | Self::RestateGlobal { to } => Encoding::Block(to),
        }
    }

    /// What the numbers must satisfy afterwards.
    pub(super) fn expectation(&self, from: &Encoding) -> Expectation {
        match self {
            Self::Copy | Self::WidenScales { .. } | Self::SpreadScale { .. } => Expectation::Exact,
            Self::RestateGlobal { .. } => Expectation::AtLeastDb(RECIPROCAL_BOUND_DB),
            Self::Decode(_)
            | Self::Encode { .. }
            | Self::RoundScalesUp { .. }
            | Self::CastMxfp4 { .. } => Expectation::between(from, &self.result(from)),
        }
    }
}

impl Expectation {
    /// What a weight stored as `to` must satisfy that was made from one stored as `from`.
    pub fn between(from: &Encoding, to: &Encoding) -> Self {
        match (from, to) {
            (_, Encoding::Block(format)) => Self::AtLeastDb(bound_db(from, format)),
            (_, Encoding::Plain(Dtype::F32)) => Self::Exact,
            (Encoding::Plain(a), Encoding::Plain(b)) if a == b => Self::Exact,
            _ => Self::AtLeastDb(HALF_BOUND_DB),
        }
    }
}
