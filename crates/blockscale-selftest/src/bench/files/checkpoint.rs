//! Checkpoints to be converted: many matrices of one format, each with a norm beside it.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use blockscale::encode::{encode_rows, global_scale};
use blockscale::{Format, Shape, bf16};
use serde_json::{Map, Value, json};

use crate::random::Random;

/// What the matrices hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in super::super) enum Content {
    Bf16,
    /// FP8 in blocks of 128x128, or NVFP4.
    Block(Format),
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bf16 => f.write_str("BF16"),
            Self::Block(format) => format.fmt(f),
        }
    }
}

/// How many matrices, of which shape, in how many shards.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Size {
    pub(in super::super) matrices: usize,
    pub(in super::super) shape: Shape,
    pub(in super::super) shards: usize,
}

impl Size {
    /// About so many elements in matrices like an expert's, one at least, in shards of some of them.
    pub(in super::super) fn elements(elements: u64) -> Self {
        let expert = Shape::new(2048, 7168);
        let matrices = elements as usize / (expert.rows * expert.cols);
        match matrices {
            0 => Self {
                matrices: 1,
                shape: Shape::new((elements as usize / 1024).max(1), 1024),
                shards: 1,
            },
            matrices => Self {
                matrices,
                shape: expert,
                shards: matrices.div_ceil(64),
            },
        }
    }
}

/// A tensor of a matrix: what follows its name, dtype, shape and bytes.
struct Tensor {
    suffix: &'static str,
    dtype: &'static str,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// Numbers like a weight's, in the format of the content.
fn tensors(content: Content, shape: Shape) -> Vec<Tensor> {
    let mut random = Random::new(11);
    let pattern: Vec<bf16> = (0..1 << 16)
        .map(|_| bf16::from_f32(random.normal() * 0.02))
        .collect();
    let count = shape.rows * shape.cols;
    let values: Vec<bf16> = pattern.into_iter().cycle().take(count).collect();
    let tensor = |suffix, dtype, shape: &[usize], bytes| Tensor {
        suffix,
        dtype,
        shape: shape.to_vec(),
        bytes,
    };
    let Content::Block(format) = content else {
        let bytes = bytemuck::cast_slice(&values).to_vec();
        return vec![tensor("weight", "BF16", &[shape.rows, shape.cols], bytes)];
    };
    let global = global_scale(&format, 0.06);
    let mut codes = vec![0; format.code_bytes(shape).unwrap_or_default()];
    let mut scales = vec![0; format.scale_bytes(shape).unwrap_or_default()];
    // The sizes are those of the format.
    let encoded = encode_rows(
        &format,
        format.default_rule(),
        shape,
        &values,
        global,
        &mut codes,
        &mut scales,
    );
    debug_assert!(encoded.is_ok());
    let plane = format.scale_shape(shape);
    let plane = [plane.rows, plane.cols];
    match format {
        Format::NVFP4 => vec![
            tensor("weight", "U8", &[shape.rows, shape.cols / 2], codes),
            tensor("weight_scale", "F8_E4M3", &plane, scales),
            tensor("weight_scale_2", "F32", &[], global.to_le_bytes().to_vec()),
        ],
        _ => vec![
            tensor("weight", "F8_E4M3", &[shape.rows, shape.cols], codes),
            tensor("weight_scale_inv", "F32", &plane, scales),
        ],
    }
}

/// Writes a checkpoint into a folder that it makes.
pub(in super::super) fn write(folder: &Path, content: Content, size: Size) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut tensors = tensors(content, size.shape);
    tensors.push(Tensor {
        suffix: "norm.weight",
        dtype: "BF16",
        shape: vec![size.shape.cols],
        bytes: [0x80, 0x3f].repeat(size.shape.cols),
    });
    let mut map = Map::new();
    let per_shard = size.matrices.div_ceil(size.shards);
    for shard in 0..size.shards {
        let file = format!("model-{:05}-of-{:05}.safetensors", shard + 1, size.shards);
        let matrices = shard * per_shard..size.matrices.min((shard + 1) * per_shard);
        let names = matrices.flat_map(|i| {
            let name = |tensor: &Tensor| format!("model.layers.{i}.mlp.up_proj.{}", tensor.suffix);
            tensors.iter().map(name).collect::<Vec<_>>()
        });
        let names: Vec<String> = names.collect();
        write_shard(&folder.join(&file), &names, &tensors)?;
        map.extend(names.into_iter().map(|name| (name, json!(file))));
    }
    let index = json!({ "metadata": {}, "weight_map": Value::Object(map) });
    fs::write(
        folder.join("model.safetensors.index.json"),
        index.to_string(),
    )?;
    fs::write(folder.join("config.json"), config(content).to_string())
}

fn config(content: Content) -> Value {
    match content {
        Content::Block(Format::FP8_BLOCK) => json!({
            "quantization_config": {
                "quant_method": "fp8",
                "fmt": "e4m3",
                "weight_block_size": [128, 128],
            },
        }),
        _ => json!({}),
    }
}

/// A shard of the same tensors again and again, under these names.
fn write_shard(path: &Path, names: &[String], tensors: &[Tensor]) -> io::Result<()> {
    let mut header = Map::new();
    let mut end = 0;
    for (name, tensor) in names.iter().zip(tensors.iter().cycle()) {
        let start = end;
        end += tensor.bytes.len();
        let facts = json!({
            "dtype": tensor.dtype,
            "shape": tensor.shape,
            "data_offsets": [start, end],
        });
        header.insert(name.clone(), facts);
    }
    let mut header = Value::Object(header).to_string();
    header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    file.write_all(&(header.len() as u64).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    for (_, tensor) in names.iter().zip(tensors.iter().cycle()) {
        file.write_all(&tensor.bytes)?;
    }
    file.into_inner()?.sync_all()
}
