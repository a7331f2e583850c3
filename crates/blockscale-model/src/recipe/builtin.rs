//! The recipes that ship with the program, embedded from `recipes/`.

use super::{Recipe, RecipeError};

/// An embedded recipe.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// The name for `--recipe`.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// Every embedded recipe.
pub const BUILTIN: [Builtin; 2] = [
    Builtin {
        name: "deepseek-v4",
        text: include_str!("../../recipes/deepseek-v4.toml"),
    },
    Builtin {
        name: "deepseek-v4-bf16",
        text: include_str!("../../recipes/deepseek-v4-bf16.toml"),
    },
];

pub(super) fn names() -> String {
    BUILTIN.map(|b| format!("`{}`", b.name)).join(", ")
}

/// The embedded recipe of that name.
///
/// # Errors
/// [`RecipeError::Unknown`] lists the names there are.
pub fn builtin(name: &str) -> Result<Recipe, RecipeError> {
    let found = BUILTIN
        .iter()
        .find(|b| b.name == name)
        .ok_or_else(|| RecipeError::Unknown {
            name: name.to_owned(),
        })?;
    Recipe::parse(found.text)
}
