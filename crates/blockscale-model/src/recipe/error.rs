//! Why a recipe cannot be used.

use super::{Target, VERSION, builtin};

/// Why a recipe cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RecipeError {
    /// Not TOML, or a key, word or pattern that does not exist.
    #[error("recipe `{recipe}`: {reason}")]
    Syntax {
        /// Name or path of the recipe.
        recipe: String,
        /// What the TOML reader says, with line and column.
        reason: String,
    },
    /// A format version from another time.
    #[error("recipe `{recipe}` has version {found}, this program reads version {VERSION}")]
    Version {
        /// Name of the recipe.
        recipe: String,
        /// Version it states.
        found: u32,
    },
    /// A recipe of no rules would refuse every weight.
    #[error(
        "recipe `{recipe}` has no rules; a recipe that changes nothing is one rule, match = [\"*\"], to = \"keep\""
    )]
    NoRules {
        /// Name of the recipe.
        recipe: String,
    },
    /// A key that contradicts the rule's target.
    #[error("recipe `{recipe}`, rule {rule}: `{key}` has no meaning with to = \"{to}\"")]
    Contradiction {
        /// Name of the recipe.
        recipe: String,
        /// Number of the rule, from 1.
        rule: usize,
        /// The key.
        key: &'static str,
        /// The rule's target.
        to: Target,
    },
    /// A scheme has a scale rule already.
    #[error(
        "recipe `{recipe}`, rule {rule}: `scale_rule` and `scheme` exclude each other, since a scheme has its own rule; leave one out"
    )]
    RuleAndScheme {
        /// Name of the recipe.
        recipe: String,
        /// Number of the rule, from 1.
        rule: usize,
    },
    /// A choice for which the recipe has no rule.
    #[error("no rule of recipe `{recipe}` writes {of}, which `{key}` is about")]
    NothingTakes {
        /// Name of the recipe.
        recipe: String,
        /// The key that was to be set.
        key: &'static str,
        /// What the key is about.
        of: &'static str,
    },
    /// A key that speaks of `modules` in a rule that has none.
    #[error(
        "recipe `{recipe}`, rule {rule}: `{key}` needs `modules`, the siblings that it is about"
    )]
    NeedsModules {
        /// Name of the recipe.
        recipe: String,
        /// Number of the rule, from 1.
        rule: usize,
        /// The key.
        key: &'static str,
    },
    /// No rule of the recipe can join modules.
    #[error("no rule of recipe `{recipe}` has the key `fuse`; it writes every weight on its own")]
    NothingToFuse {
        /// Name of the recipe.
        recipe: String,
    },
    /// No embedded recipe of that name.
    #[error(
        "no recipe `{name}`; there are {}, or give the path of a .toml file",
        builtin::names()
    )]
    Unknown {
        /// The name asked for.
        name: String,
    },
}
