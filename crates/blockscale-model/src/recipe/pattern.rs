//! Name patterns of recipes and of `--include` and `--exclude`.

use regex_lite::Regex;
use serde::{Deserialize, Deserializer, de};

use crate::glob::Glob;

/// A glob over tensor names, or a regular expression after `re:`.
///
/// In a glob `*` stands for any characters, dots included, as in the exclude
/// lists that ModelOpt writes; `?` for one; `{a,b}` for either. A regular
/// expression has to match the whole name.
///
/// ```
/// use blockscale_model::recipe::Pattern;
///
/// let glob: Pattern = "layers.*.attn.{wq_a,wkv}.weight".parse().unwrap();
/// assert!(glob.matches("layers.3.attn.wkv.weight"));
/// assert!(!glob.matches("layers.3.attn.compressor.wkv.weight"));
///
/// let regex: Pattern = r"re:layers\.[0-3]\..*".parse().unwrap();
/// assert!(regex.matches("layers.3.attn_norm.weight"));
/// assert!(!regex.matches("layers.30.attn_norm.weight"));
/// ```
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    matcher: Matcher,
}

#[derive(Clone, Debug)]
enum Matcher {
    Glob(Glob),
    Regex(Regex),
}

/// A pattern that is no glob or no regular expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("pattern `{pattern}`: {reason}")]
pub struct PatternError {
    /// The pattern.
    pub pattern: String,
    /// What is wrong with it.
    pub reason: String,
}

impl Pattern {
    /// Whether the pattern matches the whole of `name`.
    pub fn matches(&self, name: &str) -> bool {
        match &self.matcher {
            Matcher::Glob(glob) => glob.is_match(name),
            Matcher::Regex(regex) => regex.is_match(name),
        }
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl std::str::FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let error = |reason: String| PatternError {
            pattern: text.to_owned(),
            reason,
        };
        let matcher = match text.strip_prefix("re:") {
            Some(regex) => Matcher::Regex(
                Regex::new(&format!("^(?:{regex})$")).map_err(|e| error(e.to_string()))?,
            ),
            None => Matcher::Glob(Glob::new(text).map_err(|e| error(e.to_string()))?),
        };
        Ok(Self {
            text: text.to_owned(),
            matcher,
        })
    }
}

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
