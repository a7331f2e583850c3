//! The modules that a quantisation config excludes.

use regex_lite::Regex;
use serde_json::Value;

use crate::checkpoint::Checkpoint;
use crate::deepseek_v4::to_native;
use crate::glob::Glob;

/// Patterns of `ignore`, `exclude_modules` and the like, from either config.
pub(super) struct Ignored {
    patterns: Vec<(String, Matcher)>,
    stated: bool,
}

enum Matcher {
    /// A module, or the end of one.
    Name,
    Glob(Glob),
    Regex(Regex),
}

const KEYS: [&str; 4] = [
    "ignore",
    "exclude_modules",
    "modules_to_not_convert",
    "exclude",
];

impl Ignored {
    pub(super) fn of(checkpoint: &Checkpoint) -> Self {
        let config = checkpoint.config.as_ref();
        let sections = [
            config.and_then(|c| c.get("quantization_config")),
            config.and_then(|c| c.get("compression_config")),
            checkpoint
                .hf_quant_config
                .as_ref()
                .and_then(|c| c.get("quantization")),
        ];
        let lists = sections
            .iter()
            .flatten()
            .flat_map(|section| KEYS.iter().filter_map(|key| section.get(key)?.as_array()));
        let mut stated = false;
        let mut patterns = Vec::new();
        for list in lists {
            stated = true;
            let words = list.iter().filter_map(Value::as_str);
            patterns.extend(words.map(|word| (word.to_owned(), Matcher::of(word))));
        }
        Self { patterns, stated }
    }

    /// Whether there is such a list at all.
    pub(super) fn is_stated(&self) -> bool {
        self.stated
    }

    /// The pattern that a module matches.
    pub(super) fn pattern_for(&self, module: &str) -> Option<&str> {
        let found = self
            .patterns
            .iter()
            .find(|(word, m)| m.matches(word, module));
        found.map(|(word, _)| word.as_str())
    }
}

impl Matcher {
    fn of(word: &str) -> Self {
        if let Some(regex) = word.strip_prefix("re:") {
            // compressed-tensors matches at the beginning of a name.
            return Regex::new(&format!("^(?:{regex})")).map_or(Self::Name, Self::Regex);
        }
        match Glob::new(word) {
            Ok(glob) if word.contains(['*', '?', '[']) => Self::Glob(glob),
            _ => Self::Name,
        }
    }

    fn matches(&self, word: &str, module: &str) -> bool {
        match self {
            // `lm_head` also stands for `model.lm_head`, and a module for all below it.
            Self::Name => {
                let rest = module.strip_prefix(word);
                module == word
                    || rest.is_some_and(|rest| rest.starts_with('.'))
                    || module
                        .strip_suffix(word)
                        .is_some_and(|lead| lead == "model.")
                    || is_native_twin(word, module)
            }
            Self::Glob(glob) => glob.is_match(module),
            Self::Regex(regex) => regex.is_match(module),
        }
    }
}

/// The same module of DeepSeek-V4 in two spellings.
fn is_native_twin(word: &str, module: &str) -> bool {
    let native = |module: &str| {
        let name = format!("{module}.weight");
        to_native(&name).map(|name| name.into_owned())
    };
    native(word).is_some_and(|word| native(module).as_ref() == Some(&word))
}
