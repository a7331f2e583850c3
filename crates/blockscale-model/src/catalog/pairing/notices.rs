//! What is unusual about a checkpoint's weights as a whole.

use super::Pairing;
use crate::finding::{Finding, Severity};

impl Pairing<'_> {
    /// Findings that belong to no tensor's own dtype or scale.
    pub(super) fn notices(&self) -> Vec<Finding> {
        let mut findings: Vec<Finding> = self.activation_multipliers().collect();
        findings.extend(self.not_confirmed());
        findings
    }

    /// AWQ variants of ModelOpt multiply activations, for which the weights were divided.
    fn activation_multipliers(&self) -> impl Iterator<Item = Finding> {
        let tensors = self.checkpoint.tensors.iter();
        tensors.filter_map(|raw| {
            let module = raw.name.strip_suffix(".pre_quant_scale")?;
            Some(Finding {
                severity: Severity::Warning,
                code: "activation-multiplier",
                file: Some(self.checkpoint.shards[raw.shard].name.as_str().to_owned()),
                tensor: Some(raw.name.clone()),
                message: format!(
                    "`{}` multiplies the activations of `{module}.weight`; it is kept beside it, \
                     and a runtime that does not apply it computes something else",
                    raw.name
                ),
            })
        })
    }

    /// A dialect that the config announces and no tensor follows. Refusals say more.
    fn not_confirmed(&self) -> Option<Finding> {
        let dialect = self.announced?;
        let telling = |name: &str| dialect.telling().iter().any(|end| name.ends_with(end));
        let mut tensors = self.checkpoint.tensors.iter();
        if !self.refusals.is_empty() || tensors.any(|raw| telling(&raw.name)) {
            return None;
        }
        let endings: Vec<String> = dialect.telling().iter().map(|e| format!("`{e}`")).collect();
        Some(Finding {
            severity: Severity::Warning,
            code: "dialect-not-confirmed",
            file: Some("config.json".to_owned()),
            tensor: None,
            message: format!(
                "the config announces {dialect}, but no tensor has a name that ends in {}; weights \
                 are read as their own names and dtypes say",
                endings.join(" or ")
            ),
        })
    }
}
