//! What is odd about a checkpoint without making it unreadable.

use std::fmt;

use serde::Serialize;
use serde::ser::{SerializeMap as _, Serializer};

/// How much a [`Finding`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Info,
    /// Something disagrees; the result is defined, but look at it.
    Warning,
    /// The checkpoint is wrong.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// One thing that was noticed, and what was done about it.
///
/// `Display` gives one line: severity, code, message.
///
/// ```
/// use blockscale_model::{Finding, Severity};
///
/// let finding = Finding {
///     severity: Severity::Warning,
///     code: "index-omits-tensor",
///     file: Some("model.safetensors.index.json".to_owned()),
///     tensor: Some("a.weight".to_owned()),
///     message: "`a.weight` is not in the index".to_owned(),
/// };
/// let line = "warning[index-omits-tensor]: `a.weight` is not in the index";
/// assert_eq!(finding.to_string(), line);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// A stable name of the kind of finding, for scripts: `index-omits-tensor`.
    pub code: &'static str,
    /// The file it is about.
    pub file: Option<String>,
    /// The tensor it is about.
    pub tensor: Option<String>,
    /// A sentence that names file and tensor and stands on its own.
    pub message: String,
}

/// With the code of its [rule](Finding::rule) as `rule`.
impl Serialize for Finding {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("severity", &self.severity)?;
        map.serialize_entry("code", self.code)?;
        if let Some(rule) = self.rule() {
            map.serialize_entry("rule", rule.code)?;
        }
        if let Some(file) = &self.file {
            map.serialize_entry("file", file)?;
        }
        if let Some(tensor) = &self.tensor {
            map.serialize_entry("tensor", tensor)?;
        }
        map.serialize_entry("message", &self.message)?;
        map.end()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.severity, self.code, self.message)
    }
}
