//! Samples with one thing wrong, for every rule one that finds it.

mod architecture;
mod config;
mod files;
mod globals;
mod layouts;
mod numbers;
mod readings;
mod recode;
mod scales;

use std::collections::BTreeMap;
use std::path::Path;

use super::documents::Document;
use super::tensors::Tensor;
use super::{SampleError, SampleOptions};

/// One thing that can be wrong with a sample.
///
/// Two faults are equal if they have the same name.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// What it is called.
    pub name: &'static str,
    /// Code of the rule that finds it.
    pub rule: &'static str,
    how: &'static [How],
}

impl PartialEq for Fault {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Fault {}

/// What is changed. A function returns whether it found what it changes.
#[derive(Clone, Copy, Debug)]
enum How {
    /// Tensors of one shard.
    Tensors(fn(&mut Vec<Tensor>) -> bool),
    /// Tensors of one shard and the metadata of its header.
    Shard(fn(&mut Vec<Tensor>, &mut Metadata) -> bool),
    /// Documents beside the shards.
    Documents(fn(&mut Vec<Document>) -> bool),
    /// The index.
    Index(fn(&mut serde_json::Value) -> bool),
    /// The folder, when everything is written.
    Folder(fn(&Path) -> std::io::Result<()>),
}

/// The metadata of a shard's header.
type Metadata = BTreeMap<String, String>;

/// Every fault, by the code of its rule.
pub static FAULTS: &[&[Fault]] = &[
    files::FAULTS,
    scales::FAULTS,
    globals::FAULTS,
    numbers::FAULTS,
    layouts::FAULTS,
    readings::FAULTS,
    architecture::FAULTS,
    config::FAULTS,
];

/// The fault of that name.
///
/// ```
/// use blockscale_convert::sample::fault;
///
/// assert_eq!(fault("scale-ones").unwrap().rule, "BS021");
/// assert_eq!(fault("none-such"), None);
/// ```
pub fn fault(name: &str) -> Option<&'static Fault> {
    FAULTS
        .iter()
        .flat_map(|family| family.iter())
        .find(|fault| fault.name == name)
}

/// A fault while it is being made.
pub(super) struct Damage {
    fault: Option<&'static Fault>,
    layers: usize,
    hit: bool,
}

impl Damage {
    pub(super) fn of(options: &SampleOptions) -> Self {
        Self {
            fault: options.fault,
            layers: options.layers,
            hit: false,
        }
    }

    fn how(&self) -> impl Iterator<Item = &'static How> + use<> {
        self.fault.map_or(&[][..], |fault| fault.how).iter()
    }

    /// Damages the tensors of one shard; returns what its metadata have to say.
    pub(super) fn shard(&mut self, tensors: &mut Vec<Tensor>) -> Metadata {
        let mut metadata = Metadata::new();
        for how in self.how() {
            self.hit |= match how {
                How::Tensors(change) => change(tensors),
                How::Shard(change) => change(tensors, &mut metadata),
                _ => false,
            };
        }
        metadata
    }

    pub(super) fn documents(&mut self, documents: &mut Vec<Document>) {
        for how in self.how() {
            if let How::Documents(change) = how {
                self.hit |= change(documents);
            }
        }
    }

    pub(super) fn index(&mut self, bytes: Vec<u8>) -> Vec<u8> {
        let mut bytes = bytes;
        for how in self.how() {
            if let How::Index(change) = how
                && let Ok(mut index) = serde_json::from_slice(&bytes)
            {
                self.hit |= change(&mut index);
                bytes = format!("{index:#}\n").into_bytes();
            }
        }
        bytes
    }

    pub(super) fn folder(&mut self, dir: &Path) -> Result<(), SampleError> {
        for how in self.how() {
            if let How::Folder(change) = how {
                change(dir).map_err(|source| SampleError::Io {
                    operation: "damage",
                    path: dir.to_owned(),
                    source,
                })?;
                self.hit = true;
            }
        }
        Ok(())
    }

    /// Checks that there was something to damage.
    pub(super) fn done(&self) -> Result<(), SampleError> {
        match self.fault {
            Some(fault) if !self.hit => Err(SampleError::NothingToDamage {
                fault: fault.name,
                layers: self.layers,
            }),
            _ => Ok(()),
        }
    }
}
