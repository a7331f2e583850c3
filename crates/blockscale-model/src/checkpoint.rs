//! All shards of a checkpoint together: index and headers held against each other both ways.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;

use blockscale::{Element, GlobalScale, ScaleElement};
use safetensors::Dtype;
use serde_json::Value;

use crate::catalog::{Encoding, Weight};
use crate::finding::Finding;
use crate::gguf::{GgmlType, GgufHeader};
use crate::header::{Header, TensorEntry};
use crate::index::Index;
use crate::shard_name::ShardName;

/// One shard: its name, length and header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardFile {
    /// Name inside the checkpoint's folder.
    pub name: ShardName,
    /// Length of the file in bytes.
    pub len: u64,
    /// Its header.
    pub header: Header,
}

/// A tensor as stored, before any meaning is given to its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawTensor {
    /// Name, unique in the checkpoint.
    pub name: String,
    /// Type of the stored elements.
    pub dtype: Dtype,
    /// Stored elements along each axis; empty for a scalar.
    pub shape: Vec<usize>,
    /// Its type in a GGUF file. Where that has blocks, `dtype` is U8 and the last axis of `shape`
    /// counts their bytes.
    pub ggml: Option<GgmlType>,
    /// Which of [`Checkpoint::shards`] holds it.
    pub shard: usize,
    /// Where its bytes lie in that file, counted from the file's first byte.
    pub range: Range<u64>,
}

impl RawTensor {
    /// Bytes that it takes.
    pub fn bytes(&self) -> u64 {
        self.range.end - self.range.start
    }
}

/// What was found where a checkpoint lies; input of [`Checkpoint::assemble`].
#[derive(Clone, Debug, Default)]
pub struct CheckpointFiles {
    /// The shards that were opened: those of the index that exist, or the file that was given.
    pub shards: Vec<ShardFile>,
    /// Name and content of the index, if there is one.
    pub index: Option<(String, Index)>,
    /// Content of `config.json`.
    pub config: Option<Value>,
    /// Content of `hf_quant_config.json`.
    pub hf_quant_config: Option<Value>,
    /// Other files that belong to the model (tokenizer, templates, code), relative names.
    pub other_files: Vec<String>,
    /// Files `*.safetensors` beside the shards that were not opened.
    pub unreferenced_shards: Vec<String>,
}

/// A readable checkpoint: every tensor once, with the place of its bytes.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    /// The shards, in the order in which they were given.
    pub shards: Vec<ShardFile>,
    /// The tensors, by shard and within a shard in the order of their data.
    pub tensors: Vec<RawTensor>,
    /// Content of `config.json`.
    pub config: Option<Value>,
    /// Content of `hf_quant_config.json`.
    pub hf_quant_config: Option<Value>,
    /// The header of a checkpoint that is a GGUF file: its metadata take the place of configs.
    pub gguf: Option<GgufHeader>,
    /// Other files that belong to the model, relative names.
    pub other_files: Vec<String>,
    /// Whether an index file lists the tensors.
    pub has_index: bool,
    /// Shards whose headers were not read: a weight may have a part in one of them.
    pub unread_shards: Vec<String>,
    /// Where files disagree, and what was taken.
    pub findings: Vec<Finding>,
    by_name: HashMap<String, usize>,
}

impl Checkpoint {
    pub(crate) fn new(
        shards: Vec<ShardFile>,
        tensors: Vec<RawTensor>,
        findings: Vec<Finding>,
    ) -> Self {
        let by_name = tensors
            .iter()
            .enumerate()
            .map(|(i, tensor)| (tensor.name.clone(), i));
        Self {
            by_name: by_name.collect(),
            shards,
            tensors,
            config: None,
            hf_quant_config: None,
            gguf: None,
            other_files: Vec::new(),
            has_index: false,
            unread_shards: Vec::new(),
            findings,
        }
    }

    /// The checkpoint that a GGUF file is.
    ///
    /// Tensors keep their names and come in the order of their data. There is no config:
    /// [`model_type`](Self::model_type) is the architecture that the metadata name.
    pub fn of_gguf(name: ShardName, len: u64, header: GgufHeader) -> Self {
        let mut tensors: Vec<RawTensor> = header
            .tensors
            .iter()
            .map(|tensor| {
                let (dtype, shape) = tensor.stored();
                RawTensor {
                    name: tensor.name.clone(),
                    dtype,
                    shape,
                    ggml: Some(tensor.kind),
                    shard: 0,
                    range: tensor.range.clone(),
                }
            })
            .collect();
        tensors.sort_by_key(|tensor| (tensor.range.start, tensor.range.end));
        let entries = tensors.iter().map(|tensor| TensorEntry {
            name: tensor.name.clone(),
            dtype: tensor.dtype,
            shape: tensor.shape.clone(),
            range: tensor.range.clone(),
        });
        let shard = ShardFile {
            name,
            len,
            header: Header {
                tensors: entries.collect(),
                too_wide: Vec::new(),
                metadata: BTreeMap::new(),
                data_start: header.data_start,
            },
        };
        Self {
            gguf: Some(header),
            ..Self::new(vec![shard], tensors, Vec::new())
        }
    }

    /// What kind of model it says that it is: `model_type` of the config, or the architecture that a
    /// GGUF file names.
    pub fn model_type(&self) -> Option<&str> {
        let config = self.config.as_ref();
        let stated = config.and_then(|config| config.get("model_type")?.as_str());
        stated.or_else(|| self.gguf.as_ref()?.architecture())
    }

    /// Whether nothing that an unread shard may hold would change what a weight's bytes mean.
    ///
    /// Plain numbers need no other part, and a block format without its scales is no weight at all.
    /// But FP4 under E4M3 scales may have a second-level scale (some tools leave it out), and groups of
    /// integers may have zero points: without them the numbers would look right and be wrong.
    pub fn is_settled(&self, weight: &Weight) -> bool {
        let needs_more = match weight.encoding {
            Encoding::Plain(_) | Encoding::Ggml(_) => false,
            Encoding::Block(format) => {
                format.element == Element::E2m1
                    && format.scale == ScaleElement::E4m3Fn
                    && format.global == GlobalScale::None
            }
            Encoding::Grouped(_) => true,
        };
        self.unread_shards.is_empty() || !needs_more
    }

    /// The tensor of that name.
    pub fn tensor(&self, name: &str) -> Option<&RawTensor> {
        self.by_name.get(name).map(|&i| &self.tensors[i])
    }

    /// Index of the tensor of that name in [`tensors`](Self::tensors).
    pub fn position(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Bytes of all tensors, headers not counted.
    pub fn total_bytes(&self) -> u64 {
        self.tensors
            .iter()
            .map(RawTensor::bytes)
            .fold(0, u64::saturating_add)
    }
}

/// Why the files do not make a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointError {
    /// Neither a shard nor an index was given.
    #[error("there is no shard and no index")]
    NoShards,
    /// The same shard was given twice.
    #[error("shard `{shard}` was given twice")]
    ShardTwice {
        /// The shard.
        shard: ShardName,
    },
    /// Shards of the index are not there.
    #[error(
        "`{index}` lists shards that are not there: {}; download them",
        NameList(shards)
    )]
    MissingShards {
        /// The index.
        index: String,
        /// The shards, sorted.
        shards: Vec<ShardName>,
    },
    /// A tensor of the index is in no shard.
    #[error(
        "`{index}` lists tensor `{tensor}` in `{shard}`, but no shard of the index holds it{}",
        Unread(unread)
    )]
    TensorNotThere {
        /// The index.
        index: String,
        /// The tensor.
        tensor: String,
        /// The shard that should hold it.
        shard: ShardName,
        /// Files `*.safetensors` that the index does not list: one of them may hold it.
        unread: Vec<String>,
    },
    /// Two shards hold a tensor of one name, and no index says which one counts.
    #[error(
        "tensor `{tensor}` is in `{first}` and in `{second}`, and no index says which one counts"
    )]
    TensorTwice {
        /// The tensor.
        tensor: String,
        /// A shard that holds it.
        first: ShardName,
        /// Another.
        second: ShardName,
    },
}

/// The first few of many names, for one line of text.
pub(crate) struct NameList<'a, T>(pub(crate) &'a [T]);

impl<T: fmt::Display> fmt::Display for NameList<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 3;
        for (i, name) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}`{name}`", if i == 0 { "" } else { ", " })?;
        }
        match self.0.len().saturating_sub(SHOWN) {
            0 => Ok(()),
            more => write!(f, " and {more} more"),
        }
    }
}

/// The files to look into for a tensor that is not where it should be.
struct Unread<'a>(&'a [String]);

impl fmt::Display for Unread<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [] => Ok(()),
            files => write!(f, "; not listed, and so not read: {}", NameList(files)),
        }
    }
}
