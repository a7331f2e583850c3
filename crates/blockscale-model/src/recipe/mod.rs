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

mod builtin;
mod generic;
mod pattern;
mod target;

pub use builtin::{BUILTIN, Builtin, builtin};
pub use generic::generic;
pub use pattern::{Pattern, PatternError};
pub use target::Target;

use blockscale::format::{Element, ScaleElement};
use serde::{Deserialize, Serialize};

use crate::catalog::Encoding;
use crate::deepseek_v4::Spelling;
use crate::dialect::Dialect;

/// The recipe format that this version reads.
pub const VERSION: u32 = 1;

/// How output names are spelled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Naming {
    /// As the source spells them.
    #[default]
    Keep,
    /// The native names of the DeepSeek-V4 releases, whatever the source's spelling.
    DeepseekV4,
    /// DeepSeek-V4 as transformers saves it by default: native modules under `model.`.
    DeepseekV4HalfNative,
    /// DeepSeek-V4 in Hugging Face names with stacked experts, as transformers has it.
    DeepseekV4Hf,
    /// DeepSeek-V4 in Hugging Face names, one tensor an expert, as llm-compressor writes it.
    DeepseekV4HfPerExpert,
    /// DeepSeek-V4 as ModelOpt exports it.
    DeepseekV4Modelopt,
}

impl Naming {
    /// The spelling of DeepSeek-V4 names that it stands for.
    pub fn spelling(self) -> Option<Spelling> {
        match self {
            Self::Keep => None,
            Self::DeepseekV4 => Some(Spelling::Native),
            Self::DeepseekV4HalfNative => Some(Spelling::HalfNative),
            Self::DeepseekV4Hf => Some(Spelling::Hf),
            Self::DeepseekV4HfPerExpert => Some(Spelling::HfPerExpert),
            Self::DeepseekV4Modelopt => Some(Spelling::Modelopt),
        }
    }
}

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

/// What to do with the weights that match.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Globs (`*` crosses dots, `{a,b}` is either), or `re:` and a regular expression.
    #[serde(rename = "match")]
    pub patterns: Vec<Pattern>,
    /// Matches only weights stored in one of these. Empty: any.
    #[serde(default)]
    pub stored: Vec<Stored>,
    /// Matches only numbers with at least two axes.
    #[serde(default)]
    pub matrices: bool,
    /// The format to write.
    pub to: Target,
    /// A matching weight that is stored in none of these is an error. Empty: any.
    #[serde(default)]
    pub accept: Vec<Stored>,
    /// Name of the group in the summary.
    #[serde(default)]
    pub label: Option<String>,
    /// Name of the subgroup in the summary.
    #[serde(default)]
    pub part: Option<String>,
    /// How the block scale is called, as appended to the module name.
    #[serde(default)]
    pub scale_name: Option<String>,
    /// How a block scale follows from the largest magnitude of its block.
    #[serde(default)]
    pub scale_rule: Option<ScaleRuleName>,
    /// Sibling weights that a runtime joins into one module.
    #[serde(default)]
    pub modules: Vec<Module>,
    /// Writes each of `modules` as one tensor. A rule that says `false` offers it:
    /// [`Recipe::fuse_modules`] turns it on.
    #[serde(default)]
    pub fuse: Option<bool>,
    /// Makes the members of each of `modules` share one global scale (NVFP4).
    #[serde(default)]
    pub share_global: bool,
    /// Rounding is expected to change nothing; a weight that does change is reported.
    #[serde(default)]
    pub exact: bool,
    /// May match nothing.
    #[serde(default)]
    pub optional: bool,
}

/// Sibling weights that a runtime joins into one module.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Module {
    /// Name of the joined module; takes the place of the member's last name part.
    pub name: String,
    /// Last name parts of the members, in the order of their rows.
    pub rows: Vec<String>,
}

/// Ways a weight may be stored, as `stored` and `accept` name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stored {
    /// F32, BF16 or F16 numbers.
    Plain,
    /// Any NVFP4.
    Nvfp4,
    /// MXFP4.
    Mxfp4,
    /// MXFP6 of either element.
    Mxfp6,
    /// FP8 with any scale.
    Fp8,
    /// Integers in groups: AWQ, GPTQ, compressed-tensors, ModelOpt, MLX.
    Int,
    /// Blocks of ggml, from a GGUF file.
    Ggml,
    /// Integers and everything else that is copied, never converted.
    Other,
}

impl Stored {
    /// The kind of an encoding.
    pub fn of(encoding: &Encoding) -> Self {
        match encoding {
            _ if encoding.is_plain_float() => Self::Plain,
            Encoding::Plain(_) => Self::Other,
            Encoding::Block(format) => match (format.element, format.scale) {
                (Element::E4m3Fn | Element::E4m3Fnuz | Element::E5m2, _) => Self::Fp8,
                (Element::E2m3 | Element::E3m2, _) => Self::Mxfp6,
                (Element::E2m1, ScaleElement::E4m3Fn) => Self::Nvfp4,
                (Element::E2m1, ScaleElement::E8m0Fnu) => Self::Mxfp4,
                _ => Self::Other,
            },
            Encoding::Grouped(_) => Self::Int,
            Encoding::Ggml(_) => Self::Ggml,
        }
    }

    /// The word that recipes use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Nvfp4 => "nvfp4",
            Self::Mxfp4 => "mxfp4",
            Self::Mxfp6 => "mxfp6",
            Self::Fp8 => "fp8",
            Self::Int => "int",
            Self::Ggml => "ggml",
            Self::Other => "other",
        }
    }
}

/// Scale rules, as recipes name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScaleRuleName {
    /// Largest magnitude over the largest element value.
    Amax,
    /// The same, rounded up to a power of two; magnitudes below 1e-4 count as 1e-4.
    PowerOfTwo,
}

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

impl Rule {
    /// The key that needs `modules`, if the rule has it and not them.
    fn without_modules(&self) -> Option<&'static str> {
        match (self.modules.is_empty(), self.fuse, self.share_global) {
            (true, Some(_), _) => Some("fuse"),
            (true, _, true) => Some("share_global"),
            _ => None,
        }
    }

    /// The key that has no meaning with this rule's target, if there is one.
    fn contradiction(&self) -> Option<&'static str> {
        let block = self.to.format().is_some();
        if self.scale_name.is_some() && !block {
            return Some("scale_name");
        }
        if self.scale_rule.is_some() && !block {
            return Some("scale_rule");
        }
        if self.fuse.is_some() && !self.to.is_plain() {
            return Some("fuse");
        }
        if self.share_global && self.to != Target::Nvfp4 {
            return Some("share_global");
        }
        None
    }

    /// The module that the weight `name` is a member of.
    ///
    /// With module `fused` of rows `wkv` and `wgate`, `a.b.wkv.weight` is the
    /// first member of `a.b.fused.weight`.
    pub fn member(&self, name: &str) -> Option<Member<'_>> {
        let stem = crate::catalog::module_of(name);
        let suffix = &name[stem.len()..];
        let last = stem.rsplit('.').next()?;
        let parent = &stem[..stem.len() - last.len()];
        self.modules.iter().find_map(|module| {
            let place = module.rows.iter().position(|row| row == last)?;
            Some(Member {
                joined: format!("{parent}{}{suffix}", module.name),
                module,
                place,
            })
        })
    }
}

/// A weight as a member of a joined module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// Name of the joined weight.
    pub joined: String,
    /// The module.
    pub module: &'a Module,
    /// Which member it is, from 0.
    pub place: usize,
}
