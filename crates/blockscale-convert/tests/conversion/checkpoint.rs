//! Small checkpoints made for a test.

use std::fs;
use std::path::Path;

use blockscale::bf16;
use blockscale_model::{Dtype, ShardName, write_index};
use safetensors::tensor::TensorView;

/// A tensor to write.
#[derive(Clone)]
pub(crate) struct NewTensor {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl NewTensor {
    pub(crate) fn new(name: &str, dtype: Dtype, shape: &[usize], bytes: Vec<u8>) -> Self {
        Self {
            name: name.to_owned(),
            dtype,
            shape: shape.to_vec(),
            bytes,
        }
    }

    pub(crate) fn f32(name: &str, shape: &[usize], values: &[f32]) -> Self {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Self::new(name, Dtype::F32, shape, bytes)
    }

    pub(crate) fn bf16(name: &str, shape: &[usize], values: &[f32]) -> Self {
        Self::new(name, Dtype::BF16, shape, bf16_bytes(values))
    }

    /// Noise rounded to BF16, another for every name.
    pub(crate) fn noise(name: &str, shape: &[usize]) -> Self {
        let seed = name.bytes().fold(7, |seed: u64, byte| {
            seed.wrapping_mul(31).wrapping_add(u64::from(byte))
        });
        Self::bf16(name, shape, &noise(seed, shape.iter().product()))
    }
}

/// Little-endian BF16, rounded to nearest even.
pub(crate) fn bf16_bytes(values: &[f32]) -> Vec<u8> {
    values
        .iter()
        .flat_map(|&v| bf16::from_f32(v).to_le_bytes())
        .collect()
}

/// Numbers that are close to normally distributed, and the same on every machine.
pub(crate) fn noise(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed;
    let mut uniform = || {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    (0..count)
        .map(|_| (0..8).map(|_| uniform()).sum())
        .collect()
}

/// Writes one shard without an index.
pub(crate) fn write_single(dir: &Path, tensors: &[NewTensor]) {
    write_file(&dir.join("model.safetensors"), tensors);
}

/// Writes a shard for each list of tensors, and the index.
pub(crate) fn write_sharded(dir: &Path, shards: &[Vec<NewTensor>]) {
    let mut map = std::collections::BTreeMap::new();
    let mut total = 0;
    for (i, tensors) in shards.iter().enumerate() {
        let name = format!("model-{:05}-of-{:05}.safetensors", i + 1, shards.len());
        write_file(&dir.join(&name), tensors);
        for tensor in tensors {
            map.insert(tensor.name.clone(), ShardName::new(&name).unwrap());
            total += tensor.bytes.len() as u64;
        }
    }
    let index = write_index(&map, total);
    fs::write(dir.join("model.safetensors.index.json"), index).unwrap();
}

fn write_file(path: &Path, tensors: &[NewTensor]) {
    let views = tensors.iter().map(|t| {
        let view = TensorView::new(t.dtype, t.shape.clone(), &t.bytes).unwrap();
        (t.name.as_str(), view)
    });
    safetensors::serialize_to_file(views, None, path).unwrap();
}
