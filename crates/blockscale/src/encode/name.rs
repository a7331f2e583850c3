//! Rules and schemes under names, as recipes and command lines have them.

use std::fmt;

use super::{ErrorMeasure, ScaleRule, Scheme};
use crate::{Block, Element, Format, ScaleElement};

/// One list of rules and names makes both the list and the names, so that neither lacks one.
macro_rules! rule_names {
    ($([$($rule:tt)*] => $name:literal,)*) => {
        impl ScaleRule {
            /// Every rule; of [`EvenAt`](Self::EvenAt) the one that a library uses.
            pub const ALL: &[Self] = &[$(Self::$($rule)*,)* Self::EvenAt { mantissa_bits: 1 }];

            /// The name, without the number that [`EvenAt`](Self::EvenAt) ends in.
            const fn word(self) -> &'static str {
                match self {
                    $(Self::$($rule)* => $name,)*
                    Self::EvenAt { .. } => EVEN_AT,
                }
            }
        }
    };
}

const EVEN_AT: &str = "even-at-";

/// Fraction bits that [`ScaleRule::EvenAt`] may have.
const MOST_BITS: u8 = 22;

rule_names! {
    [Amax] => "amax",
    [AmaxReciprocal] => "amax-reciprocal",
    [AmaxMin1e4] => "amax-min1e4",
    [Floor] => "floor",
    [Ceil] => "ceil",
    [Rceil] => "rceil",
    [RceilMin1e4] => "rceil-min1e4",
    [Even] => "even",
    [Nearest] => "nearest",
    [FourOverSix(ErrorMeasure::Squared)] => "four-over-six",
    [FourOverSix(ErrorMeasure::Absolute)] => "four-over-six-absolute",
    [MseSearch] => "mse-search",
}

impl ScaleRule {
    /// The rule that prints as `name`.
    ///
    /// ```
    /// use blockscale::encode::ScaleRule;
    ///
    /// assert_eq!(ScaleRule::from_name("mse-search"), Some(ScaleRule::MseSearch));
    /// let even = ScaleRule::EvenAt { mantissa_bits: 3 };
    /// assert_eq!(ScaleRule::from_name("even-at-3"), Some(even));
    /// assert_eq!(even.to_string(), "even-at-3");
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(bits) = name.strip_prefix(EVEN_AT) {
            // `+3` and `03` are numbers, but not what the rule prints as.
            let as_printed = bits == "0" || !bits.starts_with(['0', '+']);
            let mantissa_bits = bits.parse().ok().filter(|&bits| bits <= MOST_BITS)?;
            return as_printed.then_some(Self::EvenAt { mantissa_bits });
        }
        let mut rules = Self::ALL.iter().copied();
        rules.find(|rule| rule.word() == name)
    }

    /// Whether every scale that it gives is a power of two, whatever the scale type.
    pub const fn is_power_of_two(self) -> bool {
        match self {
            Self::Amax
            | Self::AmaxReciprocal
            | Self::AmaxMin1e4
            | Self::FourOverSix(_)
            | Self::MseSearch => false,
            Self::Floor
            | Self::Ceil
            | Self::Rceil
            | Self::RceilMin1e4
            | Self::Even
            | Self::EvenAt { .. }
            | Self::Nearest => true,
        }
    }

    /// Whether the rule does for a format what it says.
    ///
    /// A choice between scales under which the largest element is a 6 or a 4 is about E2M1 and
    /// scales that can be 1.5 times another; a search over all of a tensor is not done.
    ///
    /// ```
    /// use blockscale::Format;
    /// use blockscale::encode::ScaleRule;
    ///
    /// let rule = ScaleRule::from_name("four-over-six").unwrap();
    /// assert!(rule.fits(&Format::NVFP4) && !rule.fits(&Format::MXFP4));
    /// ```
    pub const fn fits(self, format: &Format) -> bool {
        match self {
            Self::FourOverSix(_) => {
                matches!(format.element, Element::E2m1)
                    && !matches!(format.scale, ScaleElement::E8m0Fnu)
            }
            Self::MseSearch => !matches!(format.block, Block::Tensor),
            _ => true,
        }
    }
}

/// `rceil`, `four-over-six`: the name in recipes.
impl fmt::Display for ScaleRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EvenAt { mantissa_bits } => write!(f, "{EVEN_AT}{mantissa_bits}"),
            rule => f.pad(rule.word()),
        }
    }
}

/// A scheme under the name that recipes and command lines give it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedScheme {
    /// Its name: that of the constant in small letters, with hyphens.
    pub name: &'static str,
    /// The scheme itself.
    pub scheme: Scheme,
    /// The formats that its library writes so, F32 standing for every float type of scales. Empty:
    /// every format.
    formats: &'static [Format],
}

impl NamedScheme {
    /// Whether the scheme's library writes this format.
    ///
    /// ```
    /// use blockscale::Format;
    /// use blockscale::encode::Scheme;
    ///
    /// let named = Scheme::from_name("compressed-tensors-nvfp4").unwrap();
    /// assert_eq!(named.scheme, Scheme::COMPRESSED_TENSORS_NVFP4);
    /// assert!(named.fits(&Format::NVFP4_DIVISOR) && !named.fits(&Format::NVFP4));
    /// ```
    pub fn fits(&self, format: &Format) -> bool {
        let scale = match format.scale {
            ScaleElement::Bf16 | ScaleElement::F16 => ScaleElement::F32,
            scale => scale,
        };
        let alike = Format { scale, ..*format };
        self.formats.is_empty() || self.formats.contains(&alike)
    }

    /// The scheme for a format that it [fits](Self::fits): itself, or for [`Scheme::DEFAULT`] the
    /// [rule of the format](Format::default_rule).
    pub fn scheme_for(&self, format: &Format) -> Scheme {
        if self.formats.is_empty() {
            format.default_rule().into()
        } else {
            self.scheme
        }
    }
}

const fn named(name: &'static str, scheme: Scheme, formats: &'static [Format]) -> NamedScheme {
    NamedScheme {
        name,
        scheme,
        formats,
    }
}

const NVFP4: &[Format] = &[Format::NVFP4];
const MXFP4: &[Format] = &[Format::MXFP4];
const MX: &[Format] = &[
    Format::MXFP4,
    Format::MXFP6_E2M3,
    Format::MXFP6_E3M2,
    Format::MXFP8_E4M3,
    Format::MXFP8_E5M2,
];
const FP8: &[Format] = &[Format::FP8_BLOCK, Format::FP8_CHANNEL, Format::FP8_TENSOR];
const TORCHAO_FP8: &[Format] = &[
    Format::FP8_CHANNEL,
    Format::FP8_TENSOR,
    Format {
        element: Element::E5m2,
        ..Format::FP8_CHANNEL
    },
    Format {
        element: Element::E5m2,
        ..Format::FP8_TENSOR
    },
];

impl Scheme {
    /// Every constant of this type under its name.
    pub const NAMED: &[NamedScheme] = &[
        named("default", Self::DEFAULT, &[]),
        named("modelopt-nvfp4", Self::MODELOPT_NVFP4, NVFP4),
        named(
            "compressed-tensors-nvfp4",
            Self::COMPRESSED_TENSORS_NVFP4,
            &[Format::NVFP4_DIVISOR],
        ),
        named(
            "torchao-nvfp4",
            Self::TORCHAO_NVFP4,
            &[Format::NVFP4, Format::NVFP4_ONE_LEVEL],
        ),
        named(
            "four-over-six",
            Self::FOUR_OVER_SIX,
            &[Format::NVFP4, Format::NVFP4_DIVISOR],
        ),
        named(
            "modelopt-four-over-six",
            Self::MODELOPT_FOUR_OVER_SIX,
            NVFP4,
        ),
        named("torchao-mx-floor", Self::TORCHAO_MX_FLOOR, MX),
        named("torchao-mx-ceil", Self::TORCHAO_MX_CEIL, MX),
        named("torchao-mx-even", Self::TORCHAO_MX_EVEN, MX),
        named("torchao-mx-rceil", Self::TORCHAO_MX_RCEIL, MX),
        named(
            "compressed-tensors-mxfp4",
            Self::COMPRESSED_TENSORS_MXFP4,
            MXFP4,
        ),
        named(
            "compressed-tensors-mxfp6",
            Self::COMPRESSED_TENSORS_MXFP6,
            &[Format::MXFP6_E2M3],
        ),
        named(
            "compressed-tensors-mxfp8",
            Self::COMPRESSED_TENSORS_MXFP8,
            &[Format::MXFP8_E4M3],
        ),
        named("modelopt-mxfp4", Self::MODELOPT_MXFP4, MXFP4),
        named(
            "modelopt-mxfp8",
            Self::MODELOPT_MXFP8,
            &[Format::MXFP8_E4M3],
        ),
        named("deepgemm-fp4", Self::DEEPGEMM_FP4, MXFP4),
        named("tilekernels-fp4", Self::TILEKERNELS_FP4, MXFP4),
        named("ggml-mxfp4", Self::GGML_MXFP4, MXFP4),
        named(
            "deepgemm-fp8",
            Self::DEEPGEMM_FP8,
            &[Format::FP8_BLOCK, Format::FP8_TOKEN],
        ),
        named(
            "deepgemm-fp8-ue8m0",
            Self::DEEPGEMM_FP8_UE8M0,
            &[Format::FP8_BLOCK_UE8M0, Format::FP8_TOKEN_UE8M0],
        ),
        named("compressed-tensors-fp8", Self::COMPRESSED_TENSORS_FP8, FP8),
        named("modelopt-fp8", Self::MODELOPT_FP8, FP8),
        named("torchao-fp8", Self::TORCHAO_FP8, TORCHAO_FP8),
    ];

    /// The scheme of that name.
    ///
    /// ```
    /// use blockscale::encode::Scheme;
    ///
    /// let named = Scheme::from_name("torchao-mx-rceil").unwrap();
    /// assert_eq!(named.scheme, Scheme::TORCHAO_MX_RCEIL);
    /// assert_eq!(Scheme::from_name("TORCHAO_MX_RCEIL"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<&'static NamedScheme> {
        Self::NAMED.iter().find(|named| named.name == name)
    }
}
