//! Checkpoints made of choices: from tensors, and as files that are opened step by step.

use std::collections::{BTreeMap, BTreeSet};

use blockscale_model::opening::{ListedFile, Opening};
use blockscale_model::{
    Checkpoint, CheckpointFiles, Dtype, Header, NewTensor, PREFIX_BYTES, ShardFile, ShardName,
    lay_out,
};

use super::catalog::plan_everything;
use crate::input::Input;

/// Stems of names, as tools write them.
const STEMS: &[&str] = &[
    "",
    "a",
    "model.layers.0.self_attn.q_proj",
    "model.layers.0.mlp.up_proj",
    "model.layers.0.mlp.gate_proj",
    "model.layers.0.mlp.experts.gate_up_proj",
    "model.layers.0.mlp.experts.0.up_proj",
    "model.layers.0.mlp.experts.0.gate_proj",
    "layers.0.ffn.experts.0.w1",
    "layers.0.ffn.experts.0.w3",
    "layers.0.attn.wq_a",
    "layers.0.attn.wo_a",
    "layers.0.attn.compressor.wkv",
    "layers.0.attn.indexer.compressor.wkv",
    "lm_head",
    "blk.0.ffn_up",
];

/// Endings of names.
const ENDINGS: &[&str] = &[
    "",
    ".weight",
    ".weight_packed",
    ".weight_scale",
    ".weight_scale_inv",
    ".weight_scale_2",
    ".weight_global_scale",
    ".weight_shape",
    ".weight_zero_point",
    ".weight_g_idx",
    ".scale",
    ".scales",
    ".biases",
    ".bias",
    ".input_scale",
    ".qweight",
    ".qzeros",
    ".g_idx",
    "_blocks",
    "_scales",
    "_scale",
    "_bias",
];

const DTYPES: &[Dtype] = &[
    Dtype::U8,
    Dtype::I8,
    Dtype::I32,
    Dtype::I64,
    Dtype::F4,
    Dtype::F8_E4M3,
    Dtype::F8_E8M0,
    Dtype::F8_E5M2,
    Dtype::F16,
    Dtype::BF16,
    Dtype::F32,
    Dtype::F6_E2M3,
    Dtype::BOOL,
    Dtype::F64,
    Dtype::U32,
];

/// A checkpoint in one file.
///
/// # Panics
/// Where these tensors make no file: the caller knows them.
pub(super) fn checkpoint_of(tensors: &[(&str, Dtype, &[usize])]) -> Checkpoint {
    let new: Vec<NewTensor> = tensors
        .iter()
        .map(|&(name, dtype, shape)| NewTensor {
            name: name.to_owned(),
            dtype,
            shape: shape.to_vec(),
        })
        .collect();
    let shard = shard("model.safetensors", &new, &BTreeMap::new()).expect("it can be laid out");
    let files = CheckpointFiles {
        shards: vec![shard],
        ..CheckpointFiles::default()
    };
    Checkpoint::assemble(files).expect("one file is a checkpoint")
}

/// A file of these tensors, `None` where none can hold them.
pub(super) fn shard(
    name: &str,
    tensors: &[NewTensor],
    metadata: &BTreeMap<String, String>,
) -> Option<ShardFile> {
    let layout = lay_out(tensors, metadata).ok()?;
    let header = Header::parse(&layout.bytes[PREFIX_BYTES..], layout.file_len)
        .expect("what was laid out is read");
    Some(ShardFile {
        name: ShardName::new(name).expect("it stays in its folder"),
        len: layout.file_len,
        header,
    })
}

/// A few tensors whose names, dtypes and shapes make weights more often than chance would.
pub(super) fn tensors(input: &mut Input<'_>) -> Vec<NewTensor> {
    let count = input.below(14);
    let mut names = BTreeSet::new();
    let mut stem = "a";
    let mut made = Vec::new();
    for _ in 0..count {
        if input.below(3) == 0 {
            stem = input.pick(STEMS);
        }
        let name = format!("{stem}{}", input.pick(ENDINGS));
        let dims = input.below(5);
        let shape = (0..dims).map(|_| input.size()).collect();
        let dtype = input.pick(DTYPES);
        if !name.is_empty() && names.insert(name.clone()) {
            made.push(NewTensor { name, dtype, shape });
        }
    }
    made
}

/// Files of a folder, opened from afar; every step has to lead on.
pub(super) fn opening(data: &[u8]) {
    const NAMES: &[&str] = &[
        "config.json",
        "model.safetensors",
        "model.safetensors.index.json",
        "hf_quant_config.json",
        "a.safetensors",
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
        "x.gguf",
        "notes.txt",
        "../up.safetensors",
    ];
    let mut input = Input::new(data);
    let count = 1 + input.below(4);
    let files: BTreeMap<&str, (Vec<u8>, u64)> = (0..count)
        .map(|_| (input.pick(NAMES), file(&mut input)))
        .collect();
    let listed = files
        .iter()
        .map(|(&name, &(_, len))| ListedFile {
            name: name.to_owned(),
            len,
        })
        .collect();
    let Ok(mut opening) = Opening::of(listed) else {
        return;
    };
    for _ in 0..200 {
        let wants = opening.wants();
        let Some(want) = wants.first() else {
            if let Ok(checkpoint) = opening.finish() {
                plan_everything(&checkpoint);
            }
            return;
        };
        let (bytes, len) = &files[want.file.as_str()];
        assert!(
            want.range.start < want.range.end && want.range.end <= *len,
            "{want:?} of {len}"
        );
        let at = |byte: u64| usize::try_from(byte).unwrap_or(usize::MAX).min(bytes.len());
        let given = &bytes[at(want.range.start)..at(want.range.end)];
        if opening.give(&want.file, want.range.start, given).is_err() {
            return;
        }
        assert_ne!(opening.wants(), wants, "asks again for what it was given");
    }
    panic!("it never stops asking");
}

/// The bytes of a file, and the length that it is listed with.
fn file(input: &mut Input<'_>) -> (Vec<u8>, u64) {
    let bytes = match input.below(4) {
        0 => {
            let len = input.below(200);
            input.bytes(len)
        }
        1 => b"{\"weight_map\":{\"a.weight\":\"a.safetensors\",\"b\":\"model-00001-of-00002.safetensors\"}}"
            .to_vec(),
        _ => {
            let tensors = tensors(input);
            match lay_out(&tensors, &BTreeMap::new()) {
                Ok(layout) => {
                    return (layout.bytes, layout.file_len);
                }
                Err(_) => b"{}".to_vec(),
            }
        }
    };
    let len = match input.below(8) {
        0 => input.number(),
        _ => bytes.len() as u64,
    };
    (bytes, len)
}
