//! What chooses scales and codes, as recipes and the command line name it.

use std::fmt;
use std::str::FromStr;

use blockscale::Format;
use blockscale::encode::{NamedScheme, ScaleRule, Scheme};
use serde::{Deserialize, Deserializer, de};

/// What chooses scales and codes where a weight is encoded afresh.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EncodeBy {
    /// A scale rule; all else as [`Scheme::DEFAULT`] has it.
    Rule(ScaleRule),
    /// The way of a library.
    Scheme(&'static NamedScheme),
}

impl EncodeBy {
    /// The scheme by which `format` is written.
    pub fn scheme(&self, format: &Format) -> Scheme {
        match self {
            Self::Rule(rule) => (*rule).into(),
            Self::Scheme(named) => named.scheme_for(format),
        }
    }

    /// Whether `format` can be written so.
    pub fn fits(&self, format: &Format) -> bool {
        match self {
            Self::Rule(rule) => rule.fits(format),
            Self::Scheme(named) => named.fits(format),
        }
    }

    /// The names of the same kind, a rule's or a scheme's, that fit `format`.
    pub(crate) fn names_for(&self, format: &Format) -> Vec<String> {
        match self {
            Self::Rule(_) => {
                let rules = ScaleRule::ALL.iter().filter(|rule| rule.fits(format));
                rules.map(ToString::to_string).collect()
            }
            Self::Scheme(_) => {
                let schemes = Scheme::NAMED.iter().filter(|named| named.fits(format));
                schemes.map(|named| named.name.to_owned()).collect()
            }
        }
    }
}

/// `scale rule rceil`, `scheme torchao-nvfp4`.
impl fmt::Display for EncodeBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(rule) => write!(f, "scale rule {rule}"),
            Self::Scheme(named) => write!(f, "scheme {}", named.name),
        }
    }
}

/// A scale rule by its name. `power-of-two` is another name of `rceil-min1e4`.
///
/// ```
/// use blockscale::encode::ScaleRule;
/// use blockscale_model::recipe::ScaleRuleName;
///
/// let name: ScaleRuleName = "floor".parse()?;
/// assert_eq!(name.0, ScaleRule::Floor);
/// # Ok::<(), blockscale_model::recipe::UnknownScaleRule>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScaleRuleName(pub ScaleRule);

/// A word that names no scale rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no scale rule; there are {names}", names = rule_names())]
pub struct UnknownScaleRule(pub String);

fn rule_names() -> String {
    let names: Vec<String> = ScaleRule::ALL.iter().map(ToString::to_string).collect();
    names.join(", ")
}

impl FromStr for ScaleRuleName {
    type Err = UnknownScaleRule;

    fn from_str(text: &str) -> Result<Self, UnknownScaleRule> {
        let rule = match text {
            "power-of-two" => Some(ScaleRule::RceilMin1e4),
            name => ScaleRule::from_name(name),
        };
        rule.map(Self)
            .ok_or_else(|| UnknownScaleRule(text.to_owned()))
    }
}

/// A scheme by its name.
///
/// ```
/// use blockscale::encode::Scheme;
/// use blockscale_model::recipe::SchemeName;
///
/// let name: SchemeName = "modelopt-nvfp4".parse()?;
/// assert_eq!(name.0.scheme, Scheme::MODELOPT_NVFP4);
/// # Ok::<(), blockscale_model::recipe::UnknownScheme>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SchemeName(pub &'static NamedScheme);

/// A word that names no scheme.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no scheme; there are {names}", names = scheme_names())]
pub struct UnknownScheme(pub String);

fn scheme_names() -> String {
    let names: Vec<&str> = Scheme::NAMED.iter().map(|named| named.name).collect();
    names.join(", ")
}

impl FromStr for SchemeName {
    type Err = UnknownScheme;

    fn from_str(text: &str) -> Result<Self, UnknownScheme> {
        Scheme::from_name(text)
            .map(Self)
            .ok_or_else(|| UnknownScheme(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for ScaleRuleName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for SchemeName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
