//! Checkpoints of many shards, opened shard by shard.

use std::collections::BTreeMap;

use blockscale::Format;
use blockscale_model::catalog::Catalog;
use blockscale_model::opening::{ListedFile, Opening, Progress};
use blockscale_model::view::{AsIf, Region, View, ViewError};
use blockscale_model::{Dtype, NewTensor, lay_out};

use crate::files::{Files, bytes, list, open};

/// A checkpoint as large as the largest: its shards, the header of the first, and its index, which is
/// longer than all that a first look may move.
fn large() -> (Vec<ListedFile>, Vec<u8>) {
    const SHARDS: usize = 160;
    const TENSORS: usize = 142_318;
    let tensors: Vec<NewTensor> = (0..TENSORS / SHARDS / 3)
        .flat_map(|expert| {
            let tensor = |part: &str, dtype, shape: &[usize]| NewTensor {
                name: format!("model.layers.3.mlp.experts.{expert}.down_proj.{part}"),
                dtype,
                shape: shape.to_vec(),
            };
            [
                tensor("weight", Dtype::U8, &[7168, 1536]),
                tensor("weight_scale", Dtype::F8_E4M3, &[7168, 192]),
                tensor("weight_scale_2", Dtype::F32, &[]),
            ]
        })
        .collect();
    let header = lay_out(&tensors, &BTreeMap::new()).unwrap();
    let shard = |number: usize| ListedFile {
        name: format!("model-{number:05}-of-00160.safetensors"),
        len: header.file_len,
    };
    let mut files: Vec<ListedFile> = (1..=SHARDS).map(shard).collect();
    assert!(files.iter().map(|file| file.len).sum::<u64>() > 580_000_000_000);
    for (name, len) in [
        ("model.safetensors.index.json", 13_500_000),
        ("config.json", 2),
    ] {
        files.push(ListedFile {
            name: name.to_owned(),
            len,
        });
    }
    (files, header.bytes)
}

#[test]
fn the_first_tensor_of_a_large_checkpoint_takes_less_than_three_mebibytes() {
    let (files, header) = large();
    let mut opening = Opening::in_parts(files).unwrap();
    assert!(opening.is_in_parts() && opening.so_far().is_err());
    let mut moved = 0;
    while let Some(want) = opening.wants().into_iter().next() {
        let range = want.range.start as usize..want.range.end as usize;
        moved += want.range.end - want.range.start;
        let bytes = match want.file.as_str() {
            "config.json" => &b"{}"[range],
            file => {
                assert_eq!(file, "model-00001-of-00160.safetensors");
                &header[range]
            }
        };
        opening.give(&want.file, want.range.start, bytes).unwrap();
    }
    let checkpoint = opening.so_far().unwrap();
    assert_eq!(checkpoint.unread_shards.len(), 159);
    assert!(checkpoint.findings.is_empty());
    let catalog = Catalog::of(&checkpoint);
    let weight = &catalog.weights[0];
    assert_eq!(weight.encoding.format(), Some(&Format::NVFP4));
    assert!(checkpoint.is_settled(weight));
    // All of its scales: the heat map of the whole plane.
    let region = Region {
        matrix: 0,
        rows: 0..7168,
    };
    let view = View::of(&checkpoint, weight, region, AsIf::AS_STORED).unwrap();
    let pieces = view.scale_pieces().unwrap();
    moved += pieces
        .iter()
        .map(|p| p.range.end - p.range.start)
        .sum::<u64>();
    assert!(moved < 3 << 20, "{moved} bytes");
}

/// Shards as they come from files in memory.
fn in_parts(files: &Files) -> Opening {
    let mut listed = list(files);
    let index = |file: &&mut ListedFile| file.name.ends_with(".index.json");
    // As if it were long: nothing of it is read.
    listed.iter_mut().find(index).unwrap().len = 13 << 20;
    Opening::in_parts(listed).unwrap()
}

fn give_all(opening: &mut Opening, files: &Files) {
    while let Some(want) = opening.wants().into_iter().next() {
        let bytes = bytes(files, &want.file, &want.range);
        opening.give(&want.file, want.range.start, bytes).unwrap();
    }
}

#[test]
fn all_shards_together_are_what_opening_at_once_finds() {
    let files = numbered();
    let mut opening = in_parts(&files);
    give_all(&mut opening, &files);
    let progress = |opening: &Opening| -> Vec<Progress> {
        opening
            .shards()
            .iter()
            .map(|shard| shard.progress)
            .collect()
    };
    assert_eq!(progress(&opening), [Progress::Read, Progress::Unread]);
    opening.ask("model-00002-of-00002.safetensors").unwrap();
    assert_eq!(progress(&opening), [Progress::Read, Progress::Wanted]);
    assert_eq!(opening.so_far().unwrap().unread_shards.len(), 1);
    give_all(&mut opening, &files);
    assert_eq!(progress(&opening), [Progress::Read, Progress::Read]);
    let (parts, whole) = (opening.finish().unwrap(), open(&files, 0).unwrap());
    assert_eq!((parts.tensors, parts.config), (whole.tensors, whole.config));
    assert!(parts.unread_shards.is_empty());
    let mut again = in_parts(&files);
    assert!(again.ask("other.safetensors").is_err());
    again.ask_all().unwrap();
    assert_eq!(
        again
            .wants()
            .iter()
            .filter(|want| want.file.ends_with(".safetensors"))
            .count(),
        2
    );
}

/// Weights with a part in the second shard: integers whose zero points are there, so that the first
/// alone looks complete, FP4 without its global scale, and FP8 without any.
fn numbered() -> Files {
    let tensor = |name: &str, dtype, shape: &[usize]| NewTensor {
        name: name.to_owned(),
        dtype,
        shape: shape.to_vec(),
    };
    let shards = [
        vec![
            tensor("a.weight", Dtype::U8, &[2, 16]),
            tensor("a.weight_scale", Dtype::F8_E4M3, &[2, 2]),
            tensor("b.weight", Dtype::BF16, &[2, 2]),
            tensor("d.weight_packed", Dtype::I32, &[2, 1]),
            tensor("d.weight_scale", Dtype::F16, &[2, 1]),
            tensor("d.weight_shape", Dtype::I64, &[2]),
            tensor("c.weight", Dtype::F8_E4M3, &[2, 2]),
        ],
        vec![
            tensor("a.weight_scale_2", Dtype::F32, &[]),
            tensor("c.weight_scale", Dtype::F32, &[]),
            tensor("d.weight_zero_point", Dtype::I32, &[1, 1]),
        ],
    ];
    let weights = serde_json::json!({ "num_bits": 4, "type": "int", "group_size": 8 });
    let config = serde_json::json!({
        "quantization_config": {
            "quant_method": "compressed-tensors",
            "config_groups": { "ints": { "targets": ["Linear"], "weights": weights } },
        },
    });
    let config = config.to_string().into_bytes();
    let mut files = Files::from([("config.json".to_owned(), config)]);
    let mut map = serde_json::Map::new();
    for (number, tensors) in (1..).zip(shards) {
        let name = format!("model-{number:05}-of-00002.safetensors");
        let layout = lay_out(&tensors, &BTreeMap::new()).unwrap();
        let mut file = layout.bytes.clone();
        file.resize(layout.file_len as usize, 0);
        files.insert(name.clone(), file);
        map.extend(tensors.into_iter().map(|t| (t.name, name.clone().into())));
    }
    let index = serde_json::json!({ "weight_map": map });
    files.insert(
        "model.safetensors.index.json".to_owned(),
        index.to_string().into_bytes(),
    );
    files
}

#[test]
fn a_weight_whose_scale_may_lie_in_an_unread_shard_is_not_shown() {
    let files = numbered();
    let mut opening = in_parts(&files);
    give_all(&mut opening, &files);
    let checkpoint = opening.so_far().unwrap();
    let catalog = Catalog::of(&checkpoint);
    let look = |name: &str| {
        let region = Region {
            matrix: 0,
            rows: 0..2,
        };
        let weight = catalog.weight(name).unwrap();
        View::of(&checkpoint, weight, region, AsIf::AS_STORED).map(drop)
    };
    // As if they had no zero points: numbers that look right.
    assert!(matches!(
        look("d.weight"),
        Err(ViewError::Unsettled { unread: 1, .. })
    ));
    assert_eq!(look("b.weight"), Ok(()));
    assert!(catalog.weight("a.weight").is_none() && catalog.weight("c.weight").is_none());

    opening.ask_all().unwrap();
    give_all(&mut opening, &files);
    let checkpoint = opening.so_far().unwrap();
    let catalog = Catalog::of(&checkpoint);
    for name in ["a.weight", "b.weight", "c.weight", "d.weight"] {
        let weight = catalog.weight(name).unwrap();
        assert!(checkpoint.is_settled(weight), "{name}");
    }
}
