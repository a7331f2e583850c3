//! The way from a stored format to another, chosen so that what can be exact is.

use blockscale::encode::{ScaleRule, Scheme};
use blockscale::format::{Block, Element, Format, GlobalScale, ScaleElement};
use blockscale::int::{IntFormat, IntRule};
use safetensors::Dtype;

use super::Expectation;
use super::expectation::RECIPROCAL_BOUND_DB;
use crate::catalog::Encoding;
use crate::recipe::EncodeBy;

/// What is done to the numbers of a weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Bytes as they are.
    Copy,
    /// To plain numbers, each rounded once.
    Decode(Dtype),
    /// To a block format with scales chosen afresh.
    Encode {
        /// The format.
        to: Format,
        /// How scales and codes are chosen.
        by: EncodeBy,
    },
    /// To integers in groups.
    EncodeInt {
        /// The format.
        to: IntFormat,
        /// How scales and zero points are chosen.
        rule: IntRule,
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

/// Chooses the step to plain numbers of `dtype`. `None` if `from` holds no numbers.
pub(super) fn to_plain(from: &Encoding, dtype: Dtype) -> Option<Step> {
    match from {
        Encoding::Plain(found) if *found == dtype => Some(Step::Copy),
        _ => from.is_number().then_some(Step::Decode(dtype)),
    }
}

/// Chooses the step to the block format `to`. `None` if `from` holds no numbers.
///
/// What is only moved or restated stays as it is, whatever `by` says; where scales have to be
/// chosen, they are chosen so.
pub(super) fn to_blocks(from: &Encoding, to: Format, by: Option<EncodeBy>) -> Option<Step> {
    let by = by.unwrap_or(EncodeBy::Rule(to.default_rule()));
    match from {
        Encoding::Block(from) => Some(between_blocks(from, to, by)),
        _ => from.is_number().then_some(Step::Encode { to, by }),
    }
}

/// Chooses the step to integers in groups. `None` if `from` holds no numbers.
///
/// Integers of that width and grouping stay as they are, with or without zero points.
pub(super) fn to_integers(from: &Encoding, to: IntFormat, rule: IntRule) -> Option<Step> {
    match from {
        Encoding::Grouped(found)
            if (IntFormat {
                scale: to.scale,
                ..*found
            }) == to =>
        {
            Some(Step::Copy)
        }
        _ => from.is_number().then_some(Step::EncodeInt { to, rule }),
    }
}

fn between_blocks(from: &Format, to: Format, by: EncodeBy) -> Step {
    let scheme = by.scheme(&to);
    let any_scale = !scheme.rule.is_power_of_two();
    let rounds_up = [ScaleRule::Rceil, ScaleRule::RceilMin1e4].map(Scheme::from);
    let as_usual = scheme == Scheme::from(to.default_rule());
    let exponents = from.scale == ScaleElement::E8m0Fnu;
    if *from == to && (any_scale || exponents) {
        return Step::Copy;
    }
    let restated = Format {
        global: to.global,
        ..*from
    };
    let states_one = to.global != GlobalScale::None;
    if restated == to && from.global != to.global && states_one && any_scale {
        return Step::RestateGlobal { to };
    }
    let castable = (Format {
        global: Format::NVFP4.global,
        ..to
    }) == Format::NVFP4
        || to == Format::FP8_BLOCK_UE8M0;
    if *from == Format::MXFP4 && castable && as_usual {
        return Step::CastMxfp4 { to };
    }
    if from.element != to.element || from.element == Element::E2m1 {
        return Step::Encode { to, by };
    }
    let same_block = from.block == to.block;
    match (from.block, to.scale) {
        (_, ScaleElement::F32) if same_block && (exponents || any_scale) => {
            Step::WidenScales { to }
        }
        (_, ScaleElement::F32 | ScaleElement::E8m0Fnu)
            if same_block && rounds_up.contains(&scheme) =>
        {
            Step::RoundScalesUp { to }
        }
        (Block::Tensor, ScaleElement::F32) if any_scale && from.scale == ScaleElement::F32 => {
            Step::SpreadScale { to }
        }
        _ => Step::Encode { to, by },
    }
}

impl Step {
    /// The encoding that the step leaves, given the one it meets.
    pub fn result(&self, from: &Encoding) -> Encoding {
        match *self {
            Self::Copy => *from,
            Self::Decode(dtype) => Encoding::Plain(dtype),
            Self::EncodeInt { to, .. } => Encoding::Grouped(to),
            Self::Encode { to, .. }
            | Self::RoundScalesUp { to }
            | Self::WidenScales { to }
            | Self::SpreadScale { to }
            | Self::CastMxfp4 { to }
            | Self::RestateGlobal { to } => Encoding::Block(to),
        }
    }

    /// The rule or scheme that chooses scales, where the step chooses any by a named one.
    pub fn encoded_by(&self) -> Option<String> {
        match self {
            Self::Encode { by, .. } => Some(by.to_string()),
            Self::EncodeInt { rule, .. } => Some(match rule {
                IntRule::Affine => "zero points".to_owned(),
                _ => "symmetric".to_owned(),
            }),
            _ => None,
        }
    }

    /// What the numbers must satisfy afterwards.
    pub(super) fn expectation(&self, from: &Encoding) -> Expectation {
        match self {
            Self::Copy | Self::WidenScales { .. } | Self::SpreadScale { .. } => Expectation::Exact,
            Self::RestateGlobal { .. } => Expectation::AtLeastDb(RECIPROCAL_BOUND_DB),
            Self::Decode(_)
            | Self::Encode { .. }
            | Self::EncodeInt { .. }
            | Self::RoundScalesUp { .. }
            | Self::CastMxfp4 { .. } => Expectation::between(from, &self.result(from)),
        }
    }
}
