//! One rule of a recipe.

use blockscale::format::ScaleElement;
use blockscale::int::{IntFormat, IntLayout, IntRule};
use serde::Deserialize;

use super::{EncodeBy, Pattern, ScaleRuleName, SchemeName, Stored, Target};

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
    /// How a block scale follows from the largest magnitude of its block. Absent: as the
    /// [format](blockscale::Format::default_rule) has it.
    #[serde(default)]
    pub scale_rule: Option<ScaleRuleName>,
    /// The library whose bytes are written where numbers are encoded afresh.
    #[serde(default)]
    pub scheme: Option<SchemeName>,
    /// Columns that share a scale, where integers are written: a divisor of the columns, or 0 for
    /// one scale a row. Absent: 128 for `int4`, 0 for `int8`.
    #[serde(default)]
    pub group: Option<usize>,
    /// Gives every group of integers a zero point, for weights that are not symmetric about zero.
    #[serde(default)]
    pub zero_points: bool,
    /// Sibling weights that a runtime joins into one module.
    #[serde(default)]
    pub modules: Vec<Module>,
    /// Writes each of `modules` as one tensor. A rule that says `false` offers it:
    /// [`Recipe::fuse_modules`](super::Recipe::fuse_modules) turns it on.
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

impl Rule {
    /// The key that needs `modules`, if the rule has it and not them.
    pub(super) fn without_modules(&self) -> Option<&'static str> {
        match (self.modules.is_empty(), self.fuse, self.share_global) {
            (true, Some(_), _) => Some("fuse"),
            (true, _, true) => Some("share_global"),
            _ => None,
        }
    }

    /// The key that has no meaning with this rule's target, if there is one.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        let block = self.to.format().is_some();
        if self.scale_name.is_some() && !block {
            return Some("scale_name");
        }
        if self.scale_rule.is_some() && !block {
            return Some("scale_rule");
        }
        if self.scheme.is_some() && !block {
            return Some("scheme");
        }
        let integers = self.to.int_bits().is_some();
        if self.group.is_some() && !integers {
            return Some("group");
        }
        if self.zero_points && !integers {
            return Some("zero_points");
        }
        if self.fuse.is_some() && !self.to.is_plain() {
            return Some("fuse");
        }
        if self.share_global && self.to != Target::Nvfp4 {
            return Some("share_global");
        }
        None
    }

    /// What chooses scales and codes, if the rule says.
    pub fn encode_by(&self) -> Option<EncodeBy> {
        let by_scheme = self.scheme.map(|SchemeName(named)| EncodeBy::Scheme(named));
        by_scheme.or(self
            .scale_rule
            .map(|ScaleRuleName(rule)| EncodeBy::Rule(rule)))
    }

    /// The integers that the rule writes, with scales of that type, and how they are chosen; `None`
    /// if it writes none.
    pub fn integers(&self, scale: ScaleElement) -> Option<(IntFormat, IntRule)> {
        let bits = self.to.int_bits()?;
        let format = IntFormat {
            bits,
            group_cols: self.group.unwrap_or(if bits == 4 { 128 } else { 0 }),
            scale,
            layout: IntLayout::CompressedTensors,
        };
        let rule = if self.zero_points {
            IntRule::Affine
        } else {
            IntRule::SymmetricFull
        };
        Some((format, rule))
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
