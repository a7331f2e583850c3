//! What checks look at.

use std::borrow::Cow;
use std::collections::HashMap;

use super::Evidence;
use crate::Checkpoint;
use crate::catalog::{Catalog, PartRole, QuantConfig, Weight};
use crate::deepseek_v4::{ConfigError, DeepSeekV4, to_native};

/// A checkpoint, what its tensors mean, and what was measured of them.
#[derive(Clone, Debug)]
pub struct Subject<'a> {
    /// The tensors.
    pub checkpoint: &'a Checkpoint,
    /// The weights.
    pub catalog: &'a Catalog,
    /// What its configs say of quantisation.
    pub quantisation: QuantConfig,
    /// The dimensions that its config states, where it is a DeepSeek-V4.
    pub architecture: Option<Result<DeepSeekV4, ConfigError>>,
    evidence: Vec<Option<Evidence>>,
    reference: HashMap<String, Vec<f32>>,
}

impl<'a> Subject<'a> {
    /// A checkpoint of which nothing was measured.
    pub fn new(checkpoint: &'a Checkpoint, catalog: &'a Catalog) -> Self {
        let config = checkpoint.config.as_ref();
        let is_v4 = checkpoint.model_type() == Some("deepseek_v4");
        Self {
            checkpoint,
            catalog,
            quantisation: QuantConfig::of(checkpoint),
            architecture: config.filter(|_| is_v4).map(DeepSeekV4::from_config),
            evidence: vec![None; catalog.weights.len()],
            reference: HashMap::new(),
        }
    }

    /// The same with what was measured, by weight.
    pub fn with_evidence(mut self, evidence: Vec<Option<Evidence>>) -> Self {
        self.evidence = evidence;
        self
    }

    /// The same with another checkpoint that holds the right values, and what was measured of it.
    pub fn with_reference(mut self, catalog: &Catalog, evidence: &[Option<Evidence>]) -> Self {
        let sketches = catalog.weights.iter().zip(evidence);
        self.reference = sketches
            .filter_map(|(weight, evidence)| {
                let sketch = &evidence.as_ref()?.sketch;
                Some((common_name(&weight.name).into_owned(), sketch.clone()))
            })
            .collect();
        self
    }

    /// Every weight with what was measured of it.
    pub fn weights(&self) -> impl Iterator<Item = (&'a Weight, Option<&Evidence>)> {
        let evidence = self.evidence.iter().map(Option::as_ref);
        self.catalog.weights.iter().zip(evidence)
    }

    /// What was measured of the weight of that name.
    pub fn evidence(&self, name: &str) -> Option<&Evidence> {
        self.evidence.get(self.catalog.position(name)?)?.as_ref()
    }

    /// The weights of which something was measured.
    pub fn measured(&self) -> impl Iterator<Item = (&'a Weight, &Evidence)> {
        self.weights().filter_map(|(weight, e)| Some((weight, e?)))
    }

    /// Part of a row of the right weight of that name, chosen as
    /// [`Evidence::sketch`] is.
    pub fn reference_sketch(&self, name: &str) -> Option<&[f32]> {
        Some(self.reference.get(common_name(name).as_ref())?.as_slice())
    }

    /// Whether there are right values to compare with.
    pub fn has_reference(&self) -> bool {
        !self.reference.is_empty()
    }

    /// The file that holds the codes of a weight.
    pub fn file_of(&self, weight: &Weight) -> &'a str {
        let raw = &self.checkpoint.tensors[weight.codes()];
        self.checkpoint.shards[raw.shard].name.as_str()
    }

    /// Name and file of the part of a weight in that role.
    pub fn part(&self, weight: &Weight, role: PartRole) -> Option<(&'a str, &'a str)> {
        let raw = &self.checkpoint.tensors[weight.part(role)?];
        let file = self.checkpoint.shards[raw.shard].name.as_str();
        Some((&raw.name, file))
    }
}

/// A name that checkpoints in different spellings share.
pub(super) fn common_name(name: &str) -> Cow<'_, str> {
    to_native(name).unwrap_or(Cow::Borrowed(name))
}
