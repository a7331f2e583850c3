//! What consumers are known to do with a checkpoint, as data.
//!
//! One file a consumer and version under `consumers/`. A case lists conditions on a weight; the first
//! case of which all hold says what happens to it.

use blockscale::format::{Block, Element, Format, GlobalScale, ScaleElement};
use serde::Deserialize;

use super::rules::{TARGET_COMPUTES_WRONG, TARGET_LOADS, TARGET_REFUSES};
use super::{Check, Diagnosis, Rule, Subject};
use crate::catalog::{Encoding, Weight};
use crate::dialect::Dialect;
use crate::recipe::Pattern;

/// The files, newest version of a consumer last.
const FILES: &[(&str, &str)] = &[
    (
        "compressed-tensors",
        include_str!("../../consumers/compressed-tensors.toml"),
    ),
    ("llama.cpp", include_str!("../../consumers/llama.cpp.toml")),
    ("mlx-lm", include_str!("../../consumers/mlx-lm.toml")),
    ("sglang", include_str!("../../consumers/sglang.toml")),
    (
        "tensorrt-llm",
        include_str!("../../consumers/tensorrt-llm.toml"),
    ),
    (
        "transformers",
        include_str!("../../consumers/transformers.toml"),
    ),
    ("vllm", include_str!("../../consumers/vllm.toml")),
];

/// A consumer of checkpoints, and what it is known to do.
///
/// ```
/// use blockscale_model::doctor::Target;
///
/// assert_eq!(Target::named("transformers@5.24.0")?.version(), "5.24.0");
/// let error = Target::named("transformers@1").unwrap_err();
/// assert!(error.to_string().contains("5.24.0"), "{error}");
/// # Ok::<(), blockscale_model::doctor::UnknownTarget>(())
/// ```
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    consumer: String,
    version: String,
    /// How its cases are known.
    source: String,
    #[serde(rename = "case")]
    cases: Vec<Case>,
}

/// What happens to weights of which all conditions hold. An empty condition holds always.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// Tools that the config announces.
    #[serde(default)]
    dialects: Vec<Dialect>,
    /// Families of formats, as [`family`] names them.
    #[serde(default)]
    formats: Vec<String>,
    /// `model_type` of the config.
    #[serde(default)]
    models: Vec<String>,
    /// Names of weights.
    #[serde(default)]
    names: Vec<Pattern>,
    /// What else has to be so.
    #[serde(default)]
    when: Vec<Condition>,
    outcome: Outcome,
    /// What it does, after "CONSUMER VERSION".
    says: String,
    /// What to do instead.
    #[serde(default)]
    instead: Option<String>,
    /// How this case is known, where it is not as the others are.
    #[serde(default)]
    source: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Condition {
    /// Rows or columns are no multiple of the block.
    PartialBlock,
    /// Scales in F32 that are no powers of two.
    NotPowersOfTwo,
    /// Columns are no multiple of 64.
    #[serde(rename = "not-multiple-of-64")]
    NotMultipleOf64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    Loads,
    Refuses,
    ComputesWrong,
}

impl Outcome {
    fn rule(self) -> &'static Rule {
        match self {
            Self::Loads => &TARGET_LOADS,
            Self::Refuses => &TARGET_REFUSES,
            Self::ComputesWrong => &TARGET_COMPUTES_WRONG,
        }
    }
}

/// A word that names no consumer of which something is known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing is known of `{asked}`; there are {}", known.join(", "))]
pub struct UnknownTarget {
    /// The word.
    pub asked: String,
    /// Consumers with their versions.
    pub known: Vec<String>,
}

impl Target {
    /// The consumer that `word` names, `NAME` or `NAME@VERSION`; without a version the newest.
    ///
    /// # Errors
    /// [`UnknownTarget`] lists what there is.
    pub fn named(word: &str) -> Result<Self, UnknownTarget> {
        let (name, version) = match word.split_once('@') {
            Some((name, version)) => (name, Some(version)),
            None => (word, None),
        };
        let mut all = Self::all();
        let position = all.iter().rposition(|target| {
            target.consumer == name && version.is_none_or(|v| v == target.version)
        });
        match position {
            Some(position) => Ok(all.swap_remove(position)),
            None => Err(UnknownTarget {
                asked: word.to_owned(),
                known: all.iter().map(Self::describe).collect(),
            }),
        }
    }

    /// Every consumer of which something is known.
    pub fn all() -> Vec<Self> {
        let files = FILES.iter();
        files
            .filter_map(|(_, text)| toml::from_str(text).ok())
            .collect()
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// How what is said of it is known.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// `NAME@VERSION`.
    pub fn describe(&self) -> String {
        format!("{}@{}", self.consumer, self.version)
    }
}

impl Check for Target {
    fn check(&self, subject: &Subject<'_>, found: &mut Vec<Diagnosis>) {
        let announced = Dialect::announced(subject.checkpoint);
        let model = subject.checkpoint.model_type();
        let mut hits: Vec<Vec<&Weight>> = vec![Vec::new(); self.cases.len()];
        for weight in &subject.catalog.weights {
            let of_weight = self.cases.iter().position(|case| {
                weight.encoding.is_scaled()
                    && case.is_about(announced, model, weight)
                    && case.when.iter().all(|when| when.holds(subject, weight))
            });
            if let Some(weights) = of_weight.and_then(|case| hits.get_mut(case)) {
                weights.push(weight);
            }
        }
        for (case, weights) in self.cases.iter().zip(&hits) {
            if let Some(first) = weights.first() {
                found.push(self.diagnosis(subject, case, first, weights.len()));
            }
        }
    }
}

impl Target {
    fn diagnosis(
        &self,
        subject: &Subject<'_>,
        case: &Case,
        first: &Weight,
        count: usize,
    ) -> Diagnosis {
        let name = format!("{} {}", self.consumer, self.version);
        let weights = match count {
            1 => "1 weight".to_owned(),
            count => format!("{count} weights"),
        };
        let says = &case.says;
        let message = format!(
            "{name} {says}; {weights} in {}, this is the first",
            first.encoding
        );
        let known = case.source.as_ref().unwrap_or(&self.source);
        let diagnosis = Diagnosis::new(case.outcome.rule(), message)
            .of_tensor(&first.name)
            .in_file(subject.file_of(first))
            .with_runtime(format!("{name} {says}. Known from: {known}."));
        match &case.instead {
            Some(instead) => diagnosis.with_fix(instead),
            None => diagnosis,
        }
    }
}

impl Case {
    fn is_about(&self, announced: Option<Dialect>, model: Option<&str>, weight: &Weight) -> bool {
        let any = |list: &[String], word: Option<&str>| {
            list.is_empty() || word.is_some_and(|word| list.iter().any(|w| w == word))
        };
        let dialects = &self.dialects;
        (dialects.is_empty() || announced.is_some_and(|dialect| dialects.contains(&dialect)))
            && any(&self.models, model)
            && any(&self.formats, Some(family(&weight.encoding)))
            && (self.names.is_empty() || self.names.iter().any(|p| p.matches(&weight.name)))
    }
}

impl Condition {
    fn holds(self, subject: &Subject<'_>, weight: &Weight) -> bool {
        let shape = weight.matrices().shape;
        match self {
            Self::PartialBlock => weight.encoding.format().is_some_and(|format| {
                let Block::Grid { rows, cols } = format.block else {
                    return false;
                };
                !shape.rows.is_multiple_of(rows.max(1)) || !shape.cols.is_multiple_of(cols.max(1))
            }),
            Self::NotPowersOfTwo => {
                let evidence = subject.evidence(&weight.name);
                let blocks = evidence.and_then(|e| e.blocks.as_deref());
                blocks.is_some_and(|blocks| blocks.scales.not_power_of_two > 0)
            }
            Self::NotMultipleOf64 => !shape.cols.is_multiple_of(64),
        }
    }
}

/// The family of a weight's format, as consumers tell them apart.
fn family(encoding: &Encoding) -> &'static str {
    match encoding {
        Encoding::Plain(_) => "plain",
        Encoding::Grouped(_) => "int",
        Encoding::Ggml(_) => "ggml",
        Encoding::Block(format) => family_of(format),
    }
}

fn family_of(format: &Format) -> &'static str {
    let powers_of_two = format.scale == ScaleElement::E8m0Fnu;
    match (format.element, format.block) {
        (Element::E2m1, _) if powers_of_two => "mxfp4",
        (Element::E2m1, _) if format.global == GlobalScale::None => "nvfp4-one-level",
        (Element::E2m1, _) => "nvfp4",
        (Element::E2m3 | Element::E3m2, _) => "mxfp6",
        (_, Block::Grid { rows: 1, .. }) if powers_of_two => "mxfp8",
        (_, Block::Grid { .. }) if powers_of_two => "fp8-block-ue8m0",
        (_, Block::Grid { .. }) => "fp8-block",
        (_, Block::Row) => "fp8-channel",
        (_, Block::Tensor) => "fp8-tensor",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_understood_and_named_after_its_consumer() {
        for (name, text) in FILES {
            let target: Target = toml::from_str(text).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(target.consumer, *name);
            assert!(!target.cases.is_empty());
        }
    }

    #[test]
    fn every_family_of_the_files_exists() {
        let known = [
            "int",
            "ggml",
            "mxfp4",
            "mxfp6",
            "mxfp8",
            "nvfp4",
            "nvfp4-one-level",
            "fp8-block",
            "fp8-block-ue8m0",
            "fp8-channel",
            "fp8-tensor",
        ];
        for target in Target::all() {
            let formats = target.cases.iter().flat_map(|case| &case.formats);
            for format in formats {
                assert!(known.contains(&format.as_str()), "{format}");
            }
        }
    }

    #[test]
    fn a_key_that_is_not_known_is_refused() {
        let text = "consumer = \"a\"\nversion = \"1\"\nsource = \"b\"\n[[case]]\n\
                    outcome = \"loads\"\nsays = \"c\"\nformat = \"nvfp4\"\n";
        assert!(toml::from_str::<Target>(text).is_err());
    }

    #[test]
    fn what_is_wrong_says_what_to_do_instead() {
        for target in Target::all() {
            let wrong = target
                .cases
                .iter()
                .filter(|c| !matches!(c.outcome, Outcome::Loads));
            for case in wrong {
                assert!(case.instead.is_some(), "{}: {}", target.consumer, case.says);
            }
        }
    }
}
