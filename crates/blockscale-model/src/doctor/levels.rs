//! What the user makes of rules: `--allow`, `--warn`, `--deny`.

use super::Diagnosis;
use crate::finding::Severity;

/// Rules whose diagnoses are dropped or get another severity.
///
/// A rule is named by code or name; `warnings` stands for every diagnosis that is a warning. Where
/// several entries name a rule, the last one counts.
///
/// ```
/// use blockscale_model::Severity;
/// use blockscale_model::doctor::{Diagnosis, Level, Levels, RULES};
///
/// let mut levels = Levels::default();
/// levels.set("warnings", Level::Deny);
/// levels.set("BS006", Level::Allow);
/// let found: Vec<Diagnosis> = RULES.iter().map(|rule| Diagnosis::new(rule, "")).collect();
/// let left = levels.apply(found);
/// assert!(left.iter().all(|d| d.rule.code != "BS006" && d.severity != Severity::Warning));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Levels(Vec<(String, Level)>);

/// What becomes of a diagnosis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Dropped.
    Allow,
    /// A warning.
    Warn,
    /// An error.
    Deny,
}

impl Levels {
    /// Stands for every diagnosis that is a warning.
    pub const WARNINGS: &'static str = "warnings";

    /// Adds an entry for the rules that `word` names.
    pub fn set(&mut self, word: impl Into<String>, level: Level) {
        self.0.push((word.into(), level));
    }

    /// The diagnoses with these levels.
    pub fn apply(&self, found: Vec<Diagnosis>) -> Vec<Diagnosis> {
        found.into_iter().filter_map(|d| self.of(d)).collect()
    }

    fn of(&self, mut diagnosis: Diagnosis) -> Option<Diagnosis> {
        let names = |word: &str| {
            diagnosis.rule.is(word)
                || word == Self::WARNINGS && diagnosis.severity == Severity::Warning
        };
        let level = self.0.iter().rfind(|(word, _)| names(word));
        match level.map(|(_, level)| level) {
            Some(Level::Allow) => return None,
            Some(Level::Warn) => diagnosis.severity = Severity::Warning,
            Some(Level::Deny) => diagnosis.severity = Severity::Error,
            None => {}
        }
        Some(diagnosis)
    }
}
