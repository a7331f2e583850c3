//! What a check has found.

use std::fmt;

use serde::ser::{Serialize, SerializeStruct as _, Serializer};

use super::Rule;
use crate::finding::Severity;

/// One thing that is wrong, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// The rule that it breaks.
    pub rule: &'static Rule,
    /// How much it matters here.
    pub severity: Severity,
    /// The file it is about.
    pub file: Option<String>,
    /// The tensor it is about.
    pub tensor: Option<String>,
    /// What was seen, with numbers; a sentence that stands on its own.
    pub message: String,
    /// What consumers do with it, where more can be said than on the rule's page.
    runtime: Option<String>,
    /// What to do, where more can be said than on the rule's page.
    fix: Option<String>,
}

impl Diagnosis {
    /// A diagnosis of no file and no tensor, as severe as its rule.
    pub fn new(rule: &'static Rule, message: impl Into<String>) -> Self {
        Self {
            rule,
            severity: rule.severity,
            file: None,
            tensor: None,
            message: message.into(),
            runtime: None,
            fix: None,
        }
    }

    /// The same about a tensor.
    pub fn of_tensor(mut self, name: impl Into<String>) -> Self {
        self.tensor = Some(name.into());
        self
    }

    /// The same about a file.
    pub fn in_file(mut self, name: impl Into<String>) -> Self {
        self.file = Some(name.into());
        self
    }

    /// The same with another severity than its rule's.
    pub fn as_severe_as(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }

    /// The same with what a consumer does in place of what the page says.
    pub fn with_runtime(mut self, runtime: impl Into<String>) -> Self {
        self.runtime = Some(runtime.into());
        self
    }

    /// The same with a fix in place of the page's. `PATH` and `TENSOR` in it stand for the checkpoint
    /// and the tensor.
    pub fn with_fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// What consumers do with it.
    pub fn runtime(&self) -> Option<String> {
        self.runtime
            .clone()
            .or_else(|| self.rule.paragraph("Runtime"))
    }

    /// What to do about it in the checkpoint at `path`.
    pub fn fix(&self, path: &str) -> Option<String> {
        let fix = self.fix.clone().or_else(|| self.rule.paragraph("Fix"))?;
        let fix = match &self.tensor {
            Some(tensor) => fix.replace("TENSOR", tensor),
            None => fix,
        };
        Some(fix.replace("PATH", path))
    }
}

impl fmt::Display for Diagnosis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}[{}]: ", self.severity, self.rule.code)?;
        if let Some(tensor) = &self.tensor {
            write!(f, "`{tensor}`: ")?;
        }
        f.write_str(&self.message)
    }
}

impl Serialize for Diagnosis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_struct("Diagnosis", 8)?;
        out.serialize_field("code", self.rule.code)?;
        out.serialize_field("name", self.rule.name)?;
        out.serialize_field("severity", &self.severity)?;
        out.serialize_field("file", &self.file)?;
        out.serialize_field("tensor", &self.tensor)?;
        out.serialize_field("message", &self.message)?;
        out.serialize_field("runtime", &self.runtime())?;
        out.serialize_field("fix", &self.fix("PATH"))?;
        out.end()
    }
}
