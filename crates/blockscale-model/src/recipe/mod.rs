//! Recipes: which weight becomes what.
//!
//! A recipe is a TOML file: a version, how names are spelled, and ordered rules
//! of which the first that matches a weight decides. Unknown keys, unknown
//! words and rules that match nothing are errors, so a typing mistake cannot
//! leave a layer in the wrong format.
//!
//! ```
//! use blockscale_model::recipe::Recipe;
//!
//! let recipe = Recipe::parse(r#"
//!     version = 1
//!     name = "attention in FP8"
//!
//!     [[rule]]
//!     match = ["*.self_attn.*_proj.weight"]
//!     to = "fp8-block-ue8m0"
//!
//!     [[rule]]
//!     match = ["*"]
//!     to = "keep"
//! "#).unwrap();
//! assert_eq!(recipe.rules.len(), 2);
//! ```
//!
//! The fields of [`Recipe`] and [`Rule`] are the keys. Words after `to` are those of [`Target`],
//! after `stored` and `accept` those of [`Stored`]; `naming`, `dialect`, `scale_rule` and `scheme`
//! take the names of [`Naming`], [`Dialect`], [`ScaleRule`](blockscale::encode::ScaleRule) and
//! [`Scheme::NAMED`](blockscale::encode::Scheme::NAMED).

mod builtin;
mod encode_by;
mod error;
mod generic;
mod naming;
mod pattern;
mod rule;
mod stored;
mod target;

pub use builtin::{BUILTIN, Builtin, builtin};
pub use encode_by::{EncodeBy, ScaleRuleName, SchemeName, UnknownScaleRule, UnknownScheme};
pub use error::RecipeError;
pub use generic::generic;
pub use naming::Naming;
pub use pattern::{Pattern, PatternError};
pub use rule::{Member, Module, Rule};
pub use stored::Stored;
pub use target::{Target, UnknownTarget};

use serde::Deserialize;

use crate::catalog::Encoding;
use crate::dialect::Dialect;

/// The recipe format that this version reads.
pub const VERSION: u32 = 1;

/// An ordered list of rules.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Always [`VERSION`].
    pub version: u32,
    /// Short name, for messages and the manifest.
    pub name: String,
    /// One line for `--help` and listings.
    #[serde(default)]
    pub summary: String,
    /// How output names are spelled. Rules match names as the source has them, or,
    /// for DeepSeek-V4, native names whatever is written.
    #[serde(default)]
    pub naming: Naming,
    /// How block-scaled weights are named and described; absent: as each format
    /// usually is.
    #[serde(default)]
    pub dialect: Option<Dialect>,
    /// `model_type` values for which this recipe is meant; empty means any.
    #[serde(default)]
    pub model_types: Vec<String>,
    /// The rules; the first that matches a weight decides.
    #[serde(default, rename = "rule")]
    pub rules: Vec<Rule>,
}

impl Recipe {
    /// Reads a recipe.
    ///
    /// # Errors
    /// [`RecipeError`] names the line and column of what is not understood.
    pub fn parse(text: &str) -> Result<Self, RecipeError> {
        let recipe: Self = toml::from_str(text).map_err(|e| RecipeError::Syntax {
            recipe: "(unnamed)".to_owned(),
            reason: e.to_string().trim_end().to_owned(),
        })?;
        recipe.check()?;
        Ok(recipe)
    }

    fn check(&self) -> Result<(), RecipeError> {
        let recipe = || self.name.clone();
        if self.version != VERSION {
            return Err(RecipeError::Version {
                recipe: recipe(),
                found: self.version,
            });
        }
        if self.rules.is_empty() {
            return Err(RecipeError::NoRules { recipe: recipe() });
        }
        for (i, rule) in self.rules.iter().enumerate() {
            if let Some(key) = rule.without_modules() {
                let recipe = recipe();
                return Err(RecipeError::NeedsModules {
                    recipe,
                    rule: i + 1,
                    key,
                });
            }
            if rule.scale_rule.is_some() && rule.scheme.is_some() {
                let recipe = recipe();
                return Err(RecipeError::RuleAndScheme {
                    recipe,
                    rule: i + 1,
                });
            }
            if let Some(key) = rule.contradiction() {
                return Err(RecipeError::Contradiction {
                    recipe: recipe(),
                    rule: i + 1,
                    key,
                    to: rule.to,
                });
            }
        }
        Ok(())
    }

    /// Turns on `fuse` in every rule that offers it.
    ///
    /// # Errors
    /// [`RecipeError::NothingToFuse`] if none does.
    pub fn fuse_modules(&mut self) -> Result<(), RecipeError> {
        let mut offered = false;
        for fuse in self.rules.iter_mut().filter_map(|rule| rule.fuse.as_mut()) {
            *fuse = true;
            offered = true;
        }
        if offered {
            Ok(())
        } else {
            Err(RecipeError::NothingToFuse {
                recipe: self.name.clone(),
            })
        }
    }

    /// Sets `scale_rule` or `scheme` in every rule that writes a block format.
    ///
    /// # Errors
    /// [`RecipeError::NothingTakes`] if none does.
    pub fn encode_by(&mut self, by: EncodeBy) -> Result<(), RecipeError> {
        let key = match by {
            EncodeBy::Rule(_) => "scale_rule",
            EncodeBy::Scheme(_) => "scheme",
        };
        self.set(key, "a block format", |rule| {
            rule.to.format()?;
            (rule.scale_rule, rule.scheme) = match by {
                EncodeBy::Rule(rule) => (Some(ScaleRuleName(rule)), None),
                EncodeBy::Scheme(named) => (None, Some(SchemeName(named))),
            };
            Some(())
        })
    }

    /// Sets `group`, the columns that share a scale, in every rule that writes integers.
    ///
    /// # Errors
    /// [`RecipeError::NothingTakes`] if none does.
    pub fn group_columns(&mut self, cols: usize) -> Result<(), RecipeError> {
        self.set("group", "integers", |rule| {
            rule.to.int_bits()?;
            rule.group = Some(cols);
            Some(())
        })
    }

    /// Sets a key where `set` finds that it belongs.
    fn set(
        &mut self,
        key: &'static str,
        of: &'static str,
        set: impl Fn(&mut Rule) -> Option<()>,
    ) -> Result<(), RecipeError> {
        let taken = self.rules.iter_mut().filter_map(set).count();
        if taken > 0 {
            return Ok(());
        }
        Err(RecipeError::NothingTakes {
            recipe: self.name.clone(),
            key,
            of,
        })
    }

    /// The first rule that matches a weight of this name, encoding and shape.
    pub fn rule_for(&self, name: &str, encoding: &Encoding, shape: &[usize]) -> Option<usize> {
        let stored = Stored::of(encoding);
        self.rules.iter().position(|rule| {
            (rule.stored.is_empty() || rule.stored.contains(&stored))
                && (!rule.matrices || (shape.len() >= 2 && stored != Stored::Other))
                && rule.patterns.iter().any(|p| p.matches(name))
        })
    }
}
