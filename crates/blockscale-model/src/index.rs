//! `model.safetensors.index.json`: which shard holds which tensor.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::json::{Members, excerpt};
use crate::limits::{MAX_NAME_BYTES, MAX_TENSORS};
use crate::shard_name::{ShardName, ShardNameError};

/// A parsed `*.safetensors.index.json`.
///
/// ```
/// use blockscale_model::Index;
///
/// let json = br#"{"metadata": {"total_size": 8}, "weight_map": {"a": "model-00001-of-00001.safetensors"}}"#;
/// let index = Index::parse(json)?;
/// assert_eq!(index.total_size, Some(8));
/// assert_eq!(index.weight_map[0].1.as_str(), "model-00001-of-00001.safetensors");
/// # Ok::<(), blockscale_model::IndexError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Index {
    /// Bytes of all tensors, headers not counted; `None` where absent or not a whole number.
    pub total_size: Option<u64>,
    /// Tensor and shard, in file order; each tensor once.
    pub weight_map: Vec<(String, ShardName)>,
    /// The file's `metadata`, `total_size` included; empty where absent.
    pub metadata: Map<String, Value>,
}

impl Index {
    /// Parses the file's bytes.
    ///
    /// # Errors
    /// [`IndexError`] if the bytes are not such an index, a tensor is listed twice, or a shard's name
    /// could lead out of the folder.
    pub fn parse(json: &[u8]) -> Result<Self, IndexError> {
        let file: Members<&RawValue> = serde_json::from_slice(json).map_err(IndexError::NotJson)?;
        if let Some(name) = file.repeated() {
            return Err(IndexError::DuplicateName {
                name: name.to_owned(),
            });
        }
        let metadata = match file.get("metadata") {
            Some(raw) => serde_json::from_str::<Option<Map<String, Value>>>(raw.get())
                .map_err(|_| IndexError::BadMetadata {
                    found: excerpt(raw.get()),
                })?
                .unwrap_or_default(),
            None => Map::new(),
        };
        let raw = file.get("weight_map").ok_or(IndexError::NoWeightMap)?;
        let listed: Members<&RawValue> =
            serde_json::from_str(raw.get()).map_err(|_| IndexError::NoWeightMap)?;
        if listed.too_many {
            return Err(IndexError::TooManyTensors { limit: MAX_TENSORS });
        }
        if let Some(name) = listed.repeated() {
            return Err(IndexError::DuplicateName {
                name: name.to_owned(),
            });
        }
        let weight_map = listed
            .list
            .into_iter()
            .map(|(tensor, raw)| shard_of(&tensor, raw).map(|shard| (tensor, shard)))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            total_size: metadata.get("total_size").and_then(whole),
            weight_map,
            metadata,
        })
    }
}

fn shard_of(tensor: &str, raw: &RawValue) -> Result<ShardName, IndexError> {
    if tensor.len() > MAX_NAME_BYTES {
        return Err(IndexError::NameTooLong {
            tensor: excerpt(tensor),
            limit: MAX_NAME_BYTES,
            found: tensor.len(),
        });
    }
    let name: String = serde_json::from_str(raw.get()).map_err(|_| IndexError::ShardNotText {
        tensor: tensor.to_owned(),
        found: excerpt(raw.get()),
    })?;
    ShardName::new(&name).map_err(|source| IndexError::ShardName {
        tensor: tensor.to_owned(),
        source,
    })
}

/// A whole number, also in the spelling `1e9` or `16.0` that some writers produce.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let float = value.as_f64()?;
        // Above 2^53 a float no longer names one whole number.
        let exact = float.fract() == 0.0 && (0.0..=9_007_199_254_740_992.0).contains(&float);
        exact.then_some(float as u64)
    })
}

/// Writes an index as Hugging Face libraries do: `total_size` is the bytes of all tensors without
/// headers, tensors are sorted by name.
///
/// ```
/// use std::collections::BTreeMap;
/// use blockscale_model::{Index, ShardName, write_index};
///
/// let shard = ShardName::new("model-00001-of-00001.safetensors")?;
/// let bytes = write_index(&BTreeMap::from([("a".to_owned(), shard)]), 8);
/// assert_eq!(Index::parse(&bytes)?.total_size, Some(8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_index(weight_map: &BTreeMap<String, ShardName>, total_size: u64) -> Vec<u8> {
    let index = json!({ "metadata": { "total_size": total_size }, "weight_map": weight_map });
    format!("{index:#}\n").into_bytes()
}

/// Why an index is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// Not a JSON object.
    #[error("the index is not a JSON object")]
    NotJson(#[source] serde_json::Error),
    /// No `weight_map`, or one that is not an object.
    #[error("the index has no `weight_map` object of tensor names and shard names")]
    NoWeightMap,
    /// `metadata` is not an object.
    #[error("`metadata` of the index is not an object: {found}")]
    BadMetadata {
        /// The value's JSON, cut to a readable length.
        found: String,
    },
    /// A name occurs twice in the index or in its `weight_map`.
    #[error("name occurs twice in the index: `{name}`")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// More tensors than [`MAX_TENSORS`](crate::MAX_TENSORS).
    #[error("the index lists more than {limit} tensors")]
    TooManyTensors {
        /// The most tensors accepted.
        limit: usize,
    },
    /// A name above [`MAX_NAME_BYTES`](crate::MAX_NAME_BYTES).
    #[error("tensor `{tensor}`: its name has {found} bytes, at most {limit} are read")]
    NameTooLong {
        /// The start of the name.
        tensor: String,
        /// The longest name accepted, in bytes.
        limit: usize,
        /// Its length in bytes.
        found: usize,
    },
    /// A shard's name is not a string.
    #[error("tensor `{tensor}`: its shard is not a string: {found}")]
    ShardNotText {
        /// The tensor.
        tensor: String,
        /// The value's JSON, cut to a readable length.
        found: String,
    },
    /// A shard's name could lead out of the folder.
    #[error("tensor `{tensor}`: its shard is refused")]
    ShardName {
        /// The tensor.
        tensor: String,
        /// The name and the rule it breaks.
        source: ShardNameError,
    },
}
