//! Files that do not fit together.

use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::super::documents::INDEX;
use super::super::tensors::Tensor;
use super::recode::{part, renamed};
use super::{Fault, How};
use crate::manifest::MANIFEST;
use blockscale_model::deepseek_v4::{Layer, NativeName, Part};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "shard-cut",
        rule: "BS001",
        how: &[How::Folder(cut_last_shard)],
    },
    Fault {
        name: "shard-absent",
        rule: "BS002",
        how: &[How::Folder(|dir| fs::remove_file(last_shard(dir)?))],
    },
    Fault {
        name: "index-wrong-shard",
        rule: "BS003",
        how: &[How::Index(list_elsewhere)],
    },
    Fault {
        name: "tensor-twice",
        rule: "BS004",
        how: &[How::Tensors(second_norm)],
    },
    Fault {
        name: "index-omits-scales",
        rule: "BS005",
        how: &[How::Index(omit_scales)],
    },
    Fault {
        name: "index-size",
        rule: "BS006",
        how: &[How::Index(|index| {
            index["metadata"]["total_size"] = json!(1);
            true
        })],
    },
    Fault {
        name: "shard-beside",
        rule: "BS007",
        how: &[How::Folder(|dir| {
            fs::copy(last_shard(dir)?, dir.join("old.safetensors")).map(drop)
        })],
    },
    Fault {
        name: "index-absent",
        rule: "BS008",
        how: &[How::Folder(|dir| fs::remove_file(dir.join(INDEX)))],
    },
    Fault {
        name: "index-twice",
        rule: "BS009",
        how: &[How::Folder(|dir| {
            fs::copy(dir.join(INDEX), dir.join("old.safetensors.index.json")).map(drop)
        })],
    },
    Fault {
        name: "manifest-of-other-files",
        rule: "BS010",
        how: &[How::Folder(|dir| {
            fs::write(dir.join(MANIFEST), r#"{ "files": [] }"#)
        })],
    },
];

fn last_shard(dir: &Path) -> io::Result<PathBuf> {
    let mut shards = Vec::new();
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.extension().is_some_and(|end| end == "safetensors") {
            shards.push(path);
        }
    }
    shards
        .into_iter()
        .max()
        .ok_or_else(|| io::ErrorKind::NotFound.into())
}

fn cut_last_shard(dir: &Path) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(last_shard(dir)?)?;
    file.set_len(file.metadata()?.len() - 1)
}

fn list_elsewhere(index: &mut Value) -> bool {
    let Some(map) = index["weight_map"].as_object_mut() else {
        return false;
    };
    let Some(last) = map.values().filter_map(Value::as_str).max() else {
        return false;
    };
    let last = json!(last);
    let other = map.values_mut().find(|shard| **shard != last);
    other.map(|shard| *shard = last).is_some()
}

fn omit_scales(index: &mut Value) -> bool {
    let Some(map) = index["weight_map"].as_object_mut() else {
        return false;
    };
    let before = map.len();
    map.retain(|name, _| !name.ends_with(".weight_scale"));
    map.len() < before
}

/// The final norm, which the last shard holds, in the shard of the first layer too.
fn second_norm(tensors: &mut Vec<Tensor>) -> bool {
    let first = tensors.iter().find(|t| t.weight == part(Part::AttnNorm));
    let Some(first) = first else {
        return false;
    };
    let norm = NativeName {
        layer: Layer::Top,
        expert: 0,
        part: Part::Norm,
    };
    let name = match first.entry.name.starts_with("model.") {
        true => norm.to_hf(),
        false => norm.to_string(),
    };
    let copy = renamed(first, name);
    tensors.push(copy);
    true
}
