//! Tensors of a torchao subclass as its safetensors support flattens them.
//!
//! The tensors of `M.weight` are called `M._weight_qdata`, `M._weight_scale` and so on. The file's
//! metadata describe it under its own name, as JSON: the subclass, its attributes, its tensors.
//!
//! Source: `flatten_tensor_state_dict` of torchao 0.18.

use std::collections::HashMap;

use blockscale::format::Element;
use serde_json::Value;

use super::int_config::six_bit_name;
use crate::checkpoint::Checkpoint;

/// Subclasses that are block formats.
const READ: [&str; 3] = ["NVFP4Tensor", "MXTensor", "Float8Tensor"];

/// What the metadata say of one weight.
#[derive(Clone, Debug, Default)]
pub(super) struct Described {
    /// The subclass, where it is none that is read.
    pub(super) unread: Option<String>,
    /// The 6-bit element of an MX tensor.
    pub(super) six_bit: Option<Element>,
    /// Whether its scales lie in tiles of 128 x 4.
    pub(super) tiled: bool,
    /// Rows and columns that a scale covers.
    pub(super) block: Option<[usize; 2]>,
}

impl Described {
    /// The block of several rows that a scale covers, if it is less than all of the weight.
    pub(super) fn grid(&self, weight: &[usize]) -> Option<[usize; 2]> {
        let &[.., rows, cols] = weight else {
            return None;
        };
        self.block
            .filter(|block| block[0] > 1 && (block[0] < rows || block[1] < cols))
    }
}

/// The weights of a checkpoint that torchao's metadata describe, by name.
pub(super) fn described(checkpoint: &Checkpoint) -> HashMap<String, Described> {
    let shards = checkpoint.shards.iter();
    let entries = shards.flat_map(|shard| &shard.header.metadata);
    entries
        .filter_map(|(name, text)| Some((name.clone(), read(text)?)))
        .collect()
}

fn read(text: &str) -> Option<Described> {
    let value: Value = serde_json::from_str(text).ok()?;
    let kind = value.get("_type")?.as_str()?;
    value.get("_tensor_data_names")?;
    let data = value.get("_data")?;
    let size = |i: usize| usize::try_from(data.get("block_size")?.get(i)?.as_u64()?).ok();
    Some(Described {
        unread: (!READ.contains(&kind)).then(|| kind.to_owned()),
        six_bit: data
            .get("elem_dtype")
            .and_then(Value::as_str)
            .and_then(six_bit_name),
        tiled: data.get("is_swizzled_scales").and_then(Value::as_bool) == Some(true),
        block: size(0).zip(size(1)).map(|(rows, cols)| [rows, cols]),
    })
}
