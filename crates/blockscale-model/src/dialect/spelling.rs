//! How tools name the tensors of one weight.

use blockscale::format::GlobalScale;

use super::Dialect;

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

/// Suffix of codes in torchao's flattened tensors, whose stem is `M._weight` for `M.weight`.
const TORCHAO_CODES: &str = "_qdata";

impl Spelling {
    /// Whether these are the tensors of a torchao subclass.
    pub(crate) fn is_torchao(&self) -> bool {
        self.codes == TORCHAO_CODES
    }

    /// The name of the weight, from what the names of its tensors begin with.
    pub(crate) fn weight_name(&self, stem: &str) -> String {
        if !self.is_torchao() {
            return format!("{stem}{}", self.weight);
        }
        match stem.rsplit_once("._") {
            Some((module, parameter)) => format!("{module}.{parameter}"),
            None => stem.strip_prefix('_').unwrap_or(stem).to_owned(),
        }
    }
}

impl Dialect {
    /// Endings of names, one of which every checkpoint of this dialect has.
    pub(crate) fn telling(self) -> &'static [&'static str] {
        match self {
            Self::Modelopt | Self::Quark => &[".weight_scale"],
            Self::CompressedTensors => &[".weight_packed", ".weight_scale"],
            Self::Deepseek => &[
                ".weight_scale_inv",
                ".weight_scale",
                ".scale",
                "_scale_inv",
                "_scales_inv",
            ],
            Self::GptOss => &["_blocks", ".blocks"],
            Self::Torchao => &[TORCHAO_CODES],
            Self::Mlx => &[".scales"],
            Self::Awq | Self::Gptq => &[".qweight"],
            Self::Gguf => &[],
        }
    }
}

const GLOBALS: &[(&str, GlobalScale)] = &[
    (".weight_scale_2", GlobalScale::Multiplier),
    (".weight_global_scale", GlobalScale::Divisor),
];

const INPUTS: &[&str] = &[".input_scale", ".input_global_scale"];

/// Every spelling, the most telling suffix of codes first.
pub(crate) const SPELLINGS: &[Spelling] = &[
    Spelling {
        codes: TORCHAO_CODES,
        weight: "",
        scales: &["_scale"],
        globals: &[("_per_tensor_scale", GlobalScale::Multiplier)],
        inputs: &["_act_per_tensor_scale"],
    },
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
