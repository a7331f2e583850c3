//! What is wrong with a checkpoint, as rules with stable codes.
//!
//! A [`Rule`] has a code, a name and a page; [`RULES`] are those that are built in. A [`Check`] looks
//! at a [`Subject`] (headers, catalog, configs, and the [`Evidence`] that was measured where the bytes
//! are) and adds [`Diagnosis`] after diagnosis to a list. [`Doctor`] runs all checks; more can be
//! added from outside:
//!
//! ```
//! use blockscale_model::doctor::{Diagnosis, Doctor, Rule, Subject};
//! use blockscale_model::catalog::Catalog;
//! use blockscale_model::{Checkpoint, CheckpointFiles, Severity, ShardFile, ShardName, Header};
//!
//! static NO_TENSORS: Rule = Rule {
//!     code: "MY001",
//!     name: "no-tensors",
//!     severity: Severity::Warning,
//!     page: "# MY001 no-tensors: nothing to load\n",
//! };
//! fn no_tensors(subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
//!     if subject.checkpoint.tensors.is_empty() {
//!         found.push(Diagnosis::new(&NO_TENSORS, "the checkpoint holds no tensor"));
//!     }
//! }
//!
//! let shard = ShardFile {
//!     name: ShardName::new("model.safetensors")?,
//!     len: 10,
//!     header: Header::parse(b"{}", 10)?,
//! };
//! let files = CheckpointFiles { shards: vec![shard], ..CheckpointFiles::default() };
//! let checkpoint = Checkpoint::assemble(files)?;
//! let catalog = Catalog::of(&checkpoint);
//! let found = Doctor::default()
//!     .with(&no_tensors)
//!     .examine(&Subject::new(&checkpoint, &catalog));
//! assert_eq!(found[0].to_string(), "warning[MY001]: the checkpoint holds no tensor");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checks;
mod consumers;
mod diagnosis;
mod evidence;
mod known;
mod levels;
mod measure;
mod rule;
pub mod rules;
mod subject;

pub use consumers::{Target, UnknownTarget};
pub use diagnosis::Diagnosis;
pub use evidence::{Evidence, PLACES};
pub use levels::{Level, Levels};
pub use measure::MeasuredRun;
pub use rule::Rule;
pub use rules::RULES;
pub use subject::Subject;

use crate::finding::Finding;

/// Looks at a checkpoint and says what is wrong with it.
///
/// Every function of this shape is a check.
pub trait Check: Sync {
    /// Adds what it finds.
    fn check(&self, subject: &Subject<'_>, found: &mut Vec<Diagnosis>);
}

impl<F: Fn(&Subject<'_>, &mut Vec<Diagnosis>) + Sync> Check for F {
    fn check(&self, subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
        self(subject, found);
    }
}

/// All checks to be run. The default has those of [`RULES`].
pub struct Doctor<'a> {
    checks: Vec<&'a dyn Check>,
}

impl Default for Doctor<'_> {
    fn default() -> Self {
        Self {
            checks: checks::BUILTIN.to_vec(),
        }
    }
}

impl<'a> Doctor<'a> {
    /// The same with one more check.
    pub fn with(mut self, check: &'a dyn Check) -> Self {
        self.checks.push(check);
        self
    }

    /// Runs every check; the worst comes first, else they come in the order of rules and weights.
    pub fn examine(&self, subject: &Subject<'_>) -> Vec<Diagnosis> {
        let mut found = Vec::new();
        for check in &self.checks {
            check.check(subject, &mut found);
        }
        found.sort_by_key(|d| (std::cmp::Reverse(d.severity), d.rule.code));
        found
    }
}

/// The built-in rule of that code or name.
///
/// ```
/// use blockscale_model::doctor::rule;
///
/// assert_eq!(rule("BS006").unwrap().name, "index-total-size");
/// assert_eq!(rule("index-total-size"), rule("bs006"));
/// ```
pub fn rule(word: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.is(word))
}

impl Finding {
    /// The rule that this finding is about.
    pub fn rule(&self) -> Option<&'static Rule> {
        rule(self.code)
    }
}
