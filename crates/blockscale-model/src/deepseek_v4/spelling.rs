//! Native names written in the spellings of the tools.

use super::names::{NativeName, parse};
use super::table::Part;

/// The spellings that tools write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spelling {
    /// The releases: `layers.0.attn.wq_a.weight`.
    Native,
    /// transformers by default: native modules under `model.`, but Hugging Face's
    /// embedding, final norm and hyper-connection head.
    HalfNative,
    /// transformers with its own names; experts are two stacked tensors.
    Hf,
    /// The same with one tensor an expert, as llm-compressor writes it.
    HfPerExpert,
    /// ModelOpt's export, whose norms lost their prefix.
    Modelopt,
}

impl NativeName {
    /// The name in `spelling`, with one tensor an expert in every one of them.
    ///
    /// ```
    /// use blockscale_model::deepseek_v4::{Spelling, parse};
    ///
    /// let norm = parse("layers.2.attn.kv_norm.weight").unwrap();
    /// assert_eq!(norm.spelled(Spelling::HalfNative), "model.layers.2.attn.norm.weight");
    /// assert_eq!(norm.spelled(Spelling::HfPerExpert), "model.layers.2.self_attn.kv_norm.weight");
    /// assert_eq!(norm.spelled(Spelling::Modelopt), "model.layers.2.self_attn.norm.weight");
    /// ```
    pub fn spelled(&self, spelling: Spelling) -> String {
        match spelling {
            Spelling::Native => self.to_string(),
            Spelling::Hf | Spelling::HfPerExpert => self.to_hf(),
            Spelling::HalfNative => self.half_native(),
            Spelling::Modelopt => self.modelopt(),
        }
    }

    fn half_native(&self) -> String {
        match self.part {
            Part::Head => self.to_string(),
            Part::Embed | Part::HcHeadFn | Part::HcHeadBase | Part::HcHeadScale => self.to_hf(),
            Part::KvNorm => format!("model.{}attn.norm.weight", self.layer),
            _ => format!("model.{self}"),
        }
    }

    fn modelopt(&self) -> String {
        match self.part {
            Part::KvNorm | Part::CompressorNorm | Part::IndexerNorm => {
                self.to_hf().replace(".kv_norm.", ".norm.")
            }
            _ => self.to_hf(),
        }
    }
}

/// A native name in `spelling`; what is no native name stays as it is.
pub(crate) fn spell(native: &str, spelling: Spelling) -> String {
    parse(native).map_or_else(|| native.to_owned(), |name| name.spelled(spelling))
}
