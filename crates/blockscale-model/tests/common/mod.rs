//! Checkpoints made of headers alone.

use std::collections::BTreeMap;

use blockscale_model::{
    Checkpoint, CheckpointFiles, Dtype, Header, NewTensor, ShardFile, ShardName, lay_out,
};
use serde_json::Value;

pub(crate) fn tensor(name: &str, dtype: Dtype, shape: &[usize]) -> NewTensor {
    NewTensor {
        name: name.to_owned(),
        dtype,
        shape: shape.to_vec(),
    }
}

/// The four tensors of an NVFP4 weight as ModelOpt writes it; `shape` in elements.
pub(crate) fn nvfp4(module: &str, shape: [usize; 2]) -> [NewTensor; 4] {
    let [rows, cols] = shape;
    let part =
        |suffix: &str, dtype, shape: &[usize]| tensor(&format!("{module}.{suffix}"), dtype, shape);
    [
        part("weight", Dtype::U8, &[rows, cols / 2]),
        part("weight_scale", Dtype::F8_E4M3, &[rows, cols / 16]),
        part("weight_scale_2", Dtype::F32, &[]),
        part("input_scale", Dtype::F32, &[]),
    ]
}

/// A checkpoint with one shard for each list of tensors; `Value::Null` for no config.
pub(crate) fn checkpoint(config: Value, shards: &[&[NewTensor]]) -> Checkpoint {
    let headers = shards.iter().map(|tensors| {
        let layout = lay_out(tensors, &BTreeMap::new()).unwrap();
        let header = Header::parse(&layout.bytes[8..], layout.file_len).unwrap();
        (header, layout.file_len)
    });
    assemble(config, headers.collect())
}

/// A checkpoint from the JSON of its headers.
fn from_headers(config: &str, headers: &[&str]) -> Checkpoint {
    let headers = headers.iter().map(|json| {
        let entries: Value = serde_json::from_str(json).unwrap();
        let data = entries.as_object().unwrap().values();
        let data = data
            .filter_map(|entry| entry["data_offsets"][1].as_u64())
            .max();
        let len = 8 + json.len() as u64 + data.unwrap_or(0);
        (Header::parse(json.as_bytes(), len).unwrap(), len)
    });
    assemble(serde_json::from_str(config).unwrap(), headers.collect())
}

/// A checkpoint of headers and the lengths of their files.
pub(crate) fn assemble(config: Value, headers: Vec<(Header, u64)>) -> Checkpoint {
    let count = headers.len();
    let shards = headers.into_iter().enumerate().map(|(i, (header, len))| {
        let name = match count {
            1 => "model.safetensors".to_owned(),
            _ => format!("model-{:05}-of-{count:05}.safetensors", i + 1),
        };
        let name = ShardName::new(&name).unwrap();
        ShardFile { name, len, header }
    });
    Checkpoint::assemble(CheckpointFiles {
        shards: shards.collect(),
        config: Some(config).filter(|c| !c.is_null()),
        ..CheckpointFiles::default()
    })
    .unwrap()
}

/// Checkpoints that other tools wrote; see the README beside the files.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Field {
    Dsv4Official,
    Dsv4Nvfp4,
    ModeloptNvfp4Dsv4,
    ModeloptFp8Llama,
}

impl Field {
    pub(crate) fn checkpoint(self) -> Checkpoint {
        match self {
            Self::Dsv4Official => from_headers(
                include_str!("../data/headers/dsv4-official.config.json"),
                &[
                    include_str!("../data/headers/dsv4-official-1.json"),
                    include_str!("../data/headers/dsv4-official-2.json"),
                ],
            ),
            Self::Dsv4Nvfp4 => from_headers(
                include_str!("../data/headers/dsv4-nvfp4.config.json"),
                &[include_str!("../data/headers/dsv4-nvfp4.json")],
            ),
            Self::ModeloptNvfp4Dsv4 => from_headers(
                include_str!("../data/headers/modelopt-nvfp4-dsv4.config.json"),
                &[include_str!("../data/headers/modelopt-nvfp4-dsv4.json")],
            ),
            Self::ModeloptFp8Llama => from_headers(
                include_str!("../data/headers/modelopt-fp8-llama.config.json"),
                &[include_str!("../data/headers/modelopt-fp8-llama.json")],
            ),
        }
    }
}
