//! What is odd about a checkpoint without making it unreadable.

use std::fmt;

use serde::Serialize;

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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// A stable name of the kind of finding, for scripts: `index-omits-tensor`.
    pub code: &'static str,
    /// The file it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The tensor it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensor: Option<String>,
    /// A sentence that names file and tensor and stands on its own.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: {}", self.severity, self.code, self.message)
    }
}
