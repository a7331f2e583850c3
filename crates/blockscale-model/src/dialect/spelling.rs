//! How tools name the tensors of one weight.

use blockscale::format::GlobalScale;

/// Names of the parts of a weight, as suffixes of its module.
///
/// All block scales multiply, `weight_scale_inv` included.
pub(crate) struct Spelling {
    /// Suffix of the tensor that holds the codes.
    pub(crate) codes: &'static str,
    /// Suffix of the weight's name.
    pub(crate) weight: &'static str,
    /// Suffixes of a block scale.
    pub(crate) scales: &'static [&'static str],
    /// Suffixes of a second-level scale, and how each is applied.
    pub(crate) globals: &'static [(&'static str, GlobalScale)],
    /// Suffixes of an activation scale.
    pub(crate) inputs: &'static [&'static str],
}

const GLOBALS: &[(&str, GlobalScale)] = &[
    (".weight_scale_2", GlobalScale::Multiplier),
    (".weight_global_scale", GlobalScale::Divisor),
];

const INPUTS: &[&str] = &[".input_scale", ".input_global_scale"];

/// Every spelling, the most telling suffix of codes first.
pub(crate) const SPELLINGS: &[Spelling] = &[
    // compressed-tensors
    Spelling {
        codes: ".weight_packed",
        weight: ".weight",
        scales: &[".weight_scale"],
        globals: GLOBALS,
        inputs: INPUTS,
    },
    // ModelOpt, DeepSeek, Quark, compressed-tensors FP8, MLX (`scales`)
    Spelling {
        codes: ".weight",
        weight: ".weight",
        scales: &[".weight_scale", ".weight_scale_inv", ".scale", ".scales"],
        globals: GLOBALS,
        inputs: INPUTS,
    },
    // gpt-oss as transformers has it
    Spelling {
        codes: "_blocks",
        weight: "",
        scales: &["_scales"],
        globals: &[],
        inputs: &[],
    },
    // gpt-oss as published first
    Spelling {
        codes: ".blocks",
        weight: "",
        scales: &[".scales"],
        globals: &[],
        inputs: &[],
    },
    // stacked FP8 experts of transformers
    Spelling {
        codes: "",
        weight: "",
        scales: &["_scale_inv", "_scales_inv", "_scale"],
        globals: &[],
        inputs: &[],
    },
];
