//! Where a local checkpoint may lie, what is read beside its shards, and what links may do.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use blockscale_convert::source::{LocalSource, OpenError, Source, SourceError};
use blockscale_model::{CheckpointError, Dtype, NewTensor, ShardName, lay_out, write_index};
use tempfile::TempDir;

/// Writes a file with one U8 tensor.
fn write_shard(path: &Path, tensor: &str, data: &[u8]) {
    let tensor = NewTensor {
        name: tensor.into(),
        dtype: Dtype::U8,
        shape: vec![data.len()],
    };
    let layout = lay_out(&[tensor], &BTreeMap::new()).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, [layout.bytes.as_slice(), data].concat()).unwrap();
}

fn write_index_of(path: &Path, weight_map: &[(&str, &str)], total_size: u64) {
    let weight_map = weight_map
        .iter()
        .map(|&(tensor, shard)| (tensor.to_owned(), ShardName::new(shard).unwrap()))
        .collect();
    fs::write(path, write_index(&weight_map, total_size)).unwrap();
}

fn read(path: &Path, tensor: &str) -> Vec<u8> {
    let (checkpoint, source) = LocalSource::open(path).unwrap();
    let tensor = checkpoint.tensor(tensor).unwrap();
    let mut bytes = vec![0; tensor.bytes() as usize];
    source
        .read_exact_at(tensor.shard, tensor.range.start, &mut bytes)
        .unwrap();
    bytes
}

#[test]
fn folder_file_and_index_all_stand_for_the_checkpoint() {
    let dir = TempDir::new().unwrap();
    let index = dir.path().join("model.safetensors.index.json");
    write_shard(
        &dir.path().join("model-00001-of-00002.safetensors"),
        "a",
        &[1, 2],
    );
    write_shard(
        &dir.path().join("model-00002-of-00002.safetensors"),
        "b",
        &[3],
    );
    let files = [
        "model-00001-of-00002.safetensors",
        "model-00002-of-00002.safetensors",
    ];
    write_index_of(&index, &[("a", files[0]), ("b", files[1])], 3);

    for path in [dir.path(), &index] {
        assert_eq!(read(path, "a"), [1, 2]);
        assert_eq!(read(path, "b"), [3]);
        let (checkpoint, _) = LocalSource::open(path).unwrap();
        assert_eq!(checkpoint.findings, []);
        assert_eq!(checkpoint.total_bytes(), 3);
    }
    let (alone, _) = LocalSource::open(&dir.path().join(files[1])).unwrap();
    assert_eq!(alone.tensors.len(), 1);
}

#[test]
fn index_under_another_name_is_found() {
    let dir = TempDir::new().unwrap();
    write_shard(&dir.path().join("part.safetensors"), "a", &[7]);
    write_index_of(
        &dir.path().join("x.safetensors.index.json"),
        &[("a", "part.safetensors")],
        1,
    );
    assert_eq!(read(dir.path(), "a"), [7]);
}

#[test]
fn folder_without_a_checkpoint_says_what_was_looked_for() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("notes.txt"), "none").unwrap();
    let error = LocalSource::open(dir.path()).unwrap_err();
    assert!(matches!(error, OpenError::NothingThere { .. }), "{error:?}");
    assert!(error.to_string().contains("model.safetensors.index.json"));
}

#[test]
fn nothing_is_chosen_among_several_files() {
    let dir = TempDir::new().unwrap();
    write_shard(&dir.path().join("one.safetensors"), "a", &[1]);
    write_shard(&dir.path().join("two.safetensors"), "a", &[2]);
    match LocalSource::open(dir.path()).unwrap_err() {
        OpenError::Several { names, .. } => {
            assert_eq!(names, ["one.safetensors", "two.safetensors"]);
        }
        error => panic!("{error:?}"),
    }
    assert_eq!(read(&dir.path().join("two.safetensors"), "a"), [2]);
}

#[test]
fn all_missing_shards_are_named_together() {
    let dir = TempDir::new().unwrap();
    let index = dir.path().join("model.safetensors.index.json");
    write_index_of(&index, &[("a", "1.safetensors"), ("b", "2.safetensors")], 2);
    match LocalSource::open(dir.path()).unwrap_err() {
        OpenError::Checkpoint {
            source: CheckpointError::MissingShards { shards, .. },
            ..
        } => {
            assert_eq!(
                shards.iter().map(ShardName::as_str).collect::<Vec<_>>(),
                ["1.safetensors", "2.safetensors"]
            );
        }
        error => panic!("{error:?}"),
    }
}

#[test]
fn configs_are_parsed_and_other_files_listed() {
    let dir = TempDir::new().unwrap();
    write_shard(&dir.path().join("model.safetensors"), "a", &[1]);
    write_shard(&dir.path().join("adapter/other.safetensors"), "a", &[2]);
    fs::create_dir(dir.path().join(".git")).unwrap();
    fs::create_dir(dir.path().join("encoding")).unwrap();
    for (name, text) in [
        ("config.json", r#"{"model_type": "deepseek_v4"}"#),
        ("hf_quant_config.json", "{}"),
        ("tokenizer.json", "{\"a\": 1}"),
        ("encoding/chat.py", "pass"),
        ("pytorch_model.bin", "old"),
        (".git/HEAD", "ref"),
    ] {
        fs::write(dir.path().join(name), text).unwrap();
    }

    let (checkpoint, source) = LocalSource::open(dir.path()).unwrap();
    assert_eq!(checkpoint.config.unwrap()["model_type"], "deepseek_v4");
    assert!(checkpoint.hf_quant_config.is_some());
    assert_eq!(
        checkpoint.other_files,
        ["encoding/chat.py", "tokenizer.json"]
    );
    let codes: Vec<_> = checkpoint
        .findings
        .iter()
        .map(|f| (f.code, f.file.as_deref()))
        .collect();
    assert_eq!(
        codes,
        [
            ("shard-not-read", Some("adapter/other.safetensors")),
            ("file-not-copied", Some("pytorch_model.bin")),
        ]
    );

    assert_eq!(source.read_other("tokenizer.json").unwrap(), b"{\"a\": 1}");
    assert_eq!(source.read_other("hf_quant_config.json").unwrap(), b"{}");
    for name in [".git/HEAD", "../model.safetensors", "pytorch_model.bin"] {
        let error = source.read_other(name).unwrap_err();
        assert!(
            matches!(error, SourceError::NoSuchFile { .. }),
            "{name}: {error:?}"
        );
    }
}

#[test]
fn single_file_takes_the_config_beside_it_and_nothing_else() {
    let dir = TempDir::new().unwrap();
    write_shard(&dir.path().join("one.safetensors"), "a", &[1]);
    write_shard(&dir.path().join("two.safetensors"), "a", &[2]);
    fs::write(dir.path().join("config.json"), "{}").unwrap();
    fs::write(dir.path().join("tokenizer.json"), "{}").unwrap();
    let (checkpoint, _) = LocalSource::open(&dir.path().join("one.safetensors")).unwrap();
    assert!(checkpoint.config.is_some());
    assert_eq!(checkpoint.other_files, [""; 0]);
    assert_eq!(checkpoint.findings, []);
}

#[test]
fn broken_config_is_refused_by_name() {
    let dir = TempDir::new().unwrap();
    write_shard(&dir.path().join("model.safetensors"), "a", &[1]);
    fs::write(dir.path().join("config.json"), "{").unwrap();
    let error = LocalSource::open(dir.path()).unwrap_err();
    assert!(matches!(error, OpenError::Json { .. }), "{error:?}");
    assert!(error.to_string().contains("config.json"));
}

#[test]
fn file_shortened_while_it_is_read_is_an_error() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("model.safetensors");
    write_shard(&path, "a", &[9; 100]);
    let (checkpoint, source) = LocalSource::open(&path).unwrap();
    let range = checkpoint.tensors[0].range.clone();
    fs::File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(range.start + 40)
        .unwrap();

    let error = source
        .read_exact_at(0, range.start, &mut [0; 100])
        .unwrap_err();
    match &error {
        SourceError::Shortened { end, expected, .. } => {
            assert_eq!((*end, *expected), (range.start + 40, range.end));
        }
        _ => panic!("{error:?}"),
    }
    assert!(error.to_string().contains("model.safetensors"));
    source.read_exact_at(0, range.start, &mut [0; 40]).unwrap();
}

#[test]
fn shard_number_out_of_range_is_an_error() {
    let dir = TempDir::new().unwrap();
    write_shard(&dir.path().join("model.safetensors"), "a", &[1]);
    let (_, source) = LocalSource::open(dir.path()).unwrap();
    let error = source.read_exact_at(1, 0, &mut [0]).unwrap_err();
    assert!(
        matches!(error, SourceError::NoSuchShard { shard: 1, count: 1 }),
        "{error:?}"
    );
}

#[test]
fn identity_changes_with_the_header() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("model.safetensors");
    let identity = |tensor: &str| {
        write_shard(&path, tensor, &[1]);
        LocalSource::open(&path).unwrap().1.identities()[0].clone()
    };
    let (first, second, again) = (identity("a"), identity("b"), identity("a"));
    assert_eq!(
        (first.name.as_str(), first.len),
        ("model.safetensors", second.len)
    );
    assert_ne!(first.header_blake3, second.header_blake3);
    assert_eq!(first.header_blake3, again.header_blake3);
    assert!(first.modified_ns <= second.modified_ns && first.modified_ns.is_some());
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    /// A cached repository: one blob, and a snapshot that links to it.
    fn write_cache(repository: &Path, revision: &str, data: &[u8]) {
        let blob = repository.join("blobs").join(format!("{revision}-blob"));
        write_shard(&blob, "a", data);
        let snapshot = repository.join("snapshots").join(revision);
        fs::create_dir_all(&snapshot).unwrap();
        let target = format!("../../blobs/{revision}-blob");
        symlink(target, snapshot.join("model.safetensors")).unwrap();
    }

    fn write_main(repository: &Path, revision: &str) {
        fs::create_dir_all(repository.join("refs")).unwrap();
        fs::write(repository.join("refs/main"), revision).unwrap();
    }

    #[test]
    fn cached_repository_stands_for_its_main_snapshot() {
        let dir = TempDir::new().unwrap();
        let repository = dir.path().join("models--org--name");
        write_cache(&repository, "0123", &[1]);
        write_cache(&repository, "4567", &[2]);
        write_main(&repository, "4567\n");
        assert_eq!(read(&repository, "a"), [2]);
        assert_eq!(read(&repository.join("snapshots/0123"), "a"), [1]);
        assert_eq!(
            read(&repository.join("snapshots/0123/model.safetensors"), "a"),
            [1]
        );
    }

    #[test]
    fn cached_repository_without_main_needs_a_single_snapshot() {
        let dir = TempDir::new().unwrap();
        write_cache(dir.path(), "0123", &[1]);
        assert_eq!(read(dir.path(), "a"), [1]);

        write_cache(dir.path(), "4567", &[2]);
        write_main(dir.path(), "../../elsewhere");
        match LocalSource::open(dir.path()).unwrap_err() {
            OpenError::NoRevision { snapshots, .. } => assert_eq!(snapshots, ["0123", "4567"]),
            error => panic!("{error:?}"),
        }
    }

    #[test]
    fn link_out_of_a_plain_folder_is_refused() {
        let dir = TempDir::new().unwrap();
        let (inside, outside) = (
            dir.path().join("model"),
            dir.path().join("secret.safetensors"),
        );
        write_shard(&outside, "a", &[1]);
        fs::create_dir(&inside).unwrap();
        symlink(&outside, inside.join("model.safetensors")).unwrap();
        let error = LocalSource::open(&inside).unwrap_err();
        assert!(matches!(error, OpenError::LinkLeaves { .. }), "{error:?}");
        assert!(error.to_string().contains("model.safetensors"));
    }

    #[test]
    fn link_of_a_file_beside_the_shards_is_held_to_the_same_rule() {
        let dir = TempDir::new().unwrap();
        let (inside, outside) = (dir.path().join("model"), dir.path().join("secret.txt"));
        write_shard(&inside.join("model.safetensors"), "a", &[1]);
        fs::write(&outside, "secret").unwrap();
        symlink(&outside, inside.join("tokenizer.json")).unwrap();
        let error = LocalSource::open(&inside).unwrap_err();
        assert!(matches!(error, OpenError::LinkLeaves { .. }), "{error:?}");
    }

    #[test]
    fn folder_that_only_looks_like_a_snapshot_gains_nothing() {
        let dir = TempDir::new().unwrap();
        let outside = dir.path().join("outside");
        write_shard(&outside.join("secret"), "a", &[1]);
        let snapshot = dir.path().join("repository/snapshots/0123");
        fs::create_dir_all(&snapshot).unwrap();
        symlink(&outside, dir.path().join("repository/blobs")).unwrap();
        symlink("../../blobs/secret", snapshot.join("model.safetensors")).unwrap();
        let error = LocalSource::open(&snapshot).unwrap_err();
        assert!(matches!(error, OpenError::LinkLeaves { .. }), "{error:?}");
    }

    #[test]
    fn link_inside_the_folder_is_followed() {
        let dir = TempDir::new().unwrap();
        write_shard(&dir.path().join("data/weights"), "a", &[5]);
        symlink("data/weights", dir.path().join("model.safetensors")).unwrap();
        assert_eq!(read(dir.path(), "a"), [5]);
    }

    #[test]
    fn pipe_is_refused_and_not_waited_for() {
        let dir = TempDir::new().unwrap();
        let pipe = dir.path().join("pipe.safetensors");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .unwrap()
                .success()
        );
        let error = LocalSource::open(&pipe).unwrap_err();
        assert!(
            matches!(error, OpenError::Read(SourceError::NotRegular { .. })),
            "{error:?}"
        );
    }
}
