//! Why a weight cannot be read.

use blockscale::int::IntError;
use safetensors::Dtype;

/// Why the scales of a weight cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScaleProblem {
    /// Codes without any scale.
    #[error(
        "{dtype} codes without a scale (looked for {}); without its scale the weight has no \
         value: restore the scale tensor, or export the checkpoint again",
        list(looked_for)
    )]
    Missing {
        /// Dtype of the codes.
        dtype: Dtype,
        /// Names that would have been taken.
        looked_for: Vec<String>,
    },
    /// More than one tensor claims to be the block scale.
    #[error("{} all claim to be its scale; remove the wrong ones", list(scales))]
    Contradicting {
        /// The claimants.
        scales: Vec<String>,
    },
    /// An NVFP4 weight without its second-level scale.
    #[error(
        "NVFP4 block scale `{scale}` without a global scale (looked for {})",
        list(looked_for)
    )]
    MissingGlobal {
        /// The block scale that is there.
        scale: String,
        /// Names that would have been taken.
        looked_for: Vec<String>,
    },
    /// A second-level scale beside codes whose format has none.
    #[error(
        "global scale `{global}` beside {format} codes, which have none; \
         remove it, or the block scale that makes them {format}"
    )]
    UnexpectedGlobal {
        /// The global scale.
        global: String,
        /// The format that codes and block scale spell.
        format: String,
    },
    /// A scale plane whose shape belongs to no known format of this weight.
    #[error("scale `{scale}` has shape {found:?}, expected {}", shapes(expected))]
    Shape {
        /// The scale tensor.
        scale: String,
        /// Shapes that would be right.
        expected: Vec<Vec<usize>>,
        /// Its shape.
        found: Vec<usize>,
    },
    /// A runtime's layout that the file names and the tensors do not fit.
    #[error("said to be in layout `{layout}`: {reason}; export it again in rows")]
    Layout {
        /// Name of the layout.
        layout: String,
        /// What does not fit.
        reason: String,
    },
    /// A tensor of a weight whose shape does not go with the others.
    #[error("`{tensor}` has shape {found:?}, expected {expected:?} for {format}")]
    PartShape {
        /// The tensor.
        tensor: String,
        /// The shape that would be right.
        expected: Vec<usize>,
        /// Its shape.
        found: Vec<usize>,
        /// The format that the other tensors and the config spell.
        format: String,
    },
    /// The config and the tensors contradict each other.
    #[error(
        "the config says `{key}` is {stated}, and the tensors have {found}; correct the config, or \
         export the checkpoint again"
    )]
    Disagrees {
        /// The key of the config.
        key: &'static str,
        /// What the config says.
        stated: String,
        /// What the tensors show.
        found: String,
    },
    /// Something that the tensors leave open and the config does not say.
    #[error("nothing says {what}; state {key} in the config")]
    Unsaid {
        /// What is not known.
        what: &'static str,
        /// Where it would be looked for.
        key: &'static str,
    },
    /// A form of weights that has no reader.
    #[error("{what} cannot be read; {instead}")]
    NotRead {
        /// The form.
        what: String,
        /// What to do.
        instead: &'static str,
    },
    /// Integers of a width that their layout does not have.
    #[error(transparent)]
    Integers(#[from] IntError),
    /// A scale of a dtype that this weight's format does not use.
    #[error("scale `{scale}` is {found}, expected {expected}")]
    Dtype {
        /// The scale tensor.
        scale: String,
        /// Dtypes that would be right.
        expected: &'static str,
        /// Its dtype.
        found: Dtype,
    },
}

fn list(names: &[String]) -> String {
    names
        .iter()
        .map(|n| format!("`{n}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn shapes(all: &[Vec<usize>]) -> String {
    all.iter()
        .map(|s| format!("{s:?}"))
        .collect::<Vec<_>>()
        .join(" or ")
}
