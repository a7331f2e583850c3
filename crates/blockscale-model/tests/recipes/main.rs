//! Recipes: what they may say, and which rule decides.

mod encode_by;
mod generic;
mod text;

use blockscale::format::Format;
use blockscale_model::Dtype;
use blockscale_model::catalog::Encoding;
use blockscale_model::recipe::{Recipe, Target};

pub(crate) const BF16: Encoding = Encoding::Plain(Dtype::BF16);
pub(crate) const NVFP4: Encoding = Encoding::Block(Format::NVFP4);
pub(crate) const MATRIX: [usize; 2] = [256, 256];

/// What the rule that decides makes of a weight.
pub(crate) fn target(recipe: &Recipe, name: &str, encoding: Encoding, shape: &[usize]) -> Target {
    let rule = recipe.rule_for(name, &encoding, shape).unwrap();
    recipe.rules[rule].to
}
