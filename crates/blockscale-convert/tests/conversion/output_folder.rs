//! What happens to the folders: the output's is checked first, the source's is never touched.

use std::fs;
use std::path::Path;

use blockscale_convert::{
    ConvertError, ConvertOptions, Existing, MANIFEST, Manifest, refuse_in_place,
};
use blockscale_model::recipe::{Target, builtin};

use crate::checkpoint::{NewTensor, write_sharded, write_single};
use crate::files::{assert_same, contents, copy, data, json, names};
use crate::run::{Opened, converted, to};

fn existing(existing: Existing) -> ConvertOptions {
    ConvertOptions {
        existing,
        ..ConvertOptions::default()
    }
}

fn convert_llama(out: &Path, choice: Existing) -> Result<Manifest, ConvertError> {
    let source = Opened::new(&data("checkpoints/modelopt-nvfp4-llama"));
    source.convert(&source.plan(&to(Target::Bf16)), out, &existing(choice))
}

#[test]
fn folder_that_holds_something_is_refused_untouched() {
    let out = tempfile::tempdir().unwrap();
    fs::write(out.path().join("notes.txt"), "mine").unwrap();
    let error = convert_llama(out.path(), Existing::Refuse).unwrap_err();
    assert!(matches!(error, ConvertError::NotEmpty { .. }), "{error}");
    assert_eq!(names(out.path()), ["notes.txt"]);
}

#[test]
fn overwrite_replaces_the_checkpoint_and_leaves_other_files() {
    let fresh = tempfile::tempdir().unwrap();
    convert_llama(fresh.path(), Existing::Refuse).unwrap();

    let out = tempfile::tempdir().unwrap();
    let shards = [
        vec![NewTensor::noise("old.weight", &[4, 4])],
        vec![NewTensor::noise("older.weight", &[4, 4])],
    ];
    write_sharded(out.path(), &shards);
    fs::write(out.path().join(".model.safetensors.partial"), "begun").unwrap();
    fs::write(out.path().join("notes.txt"), "mine").unwrap();
    convert_llama(out.path(), Existing::Overwrite).unwrap();
    assert_eq!(
        fs::read_to_string(out.path().join("notes.txt")).unwrap(),
        "mine"
    );
    fs::remove_file(out.path().join("notes.txt")).unwrap();
    assert_same(fresh.path(), out.path());
}

#[test]
fn source_folder_is_refused_as_output_by_every_path_to_it() {
    let dir = tempfile::tempdir().unwrap();
    write_single(dir.path(), &[NewTensor::noise("a.weight", &[4, 4])]);
    let file = dir.path().join("model.safetensors");
    let around = dir.path().join("..").join(dir.path().file_name().unwrap());
    for source in [dir.path(), &file] {
        for out in [dir.path(), &around] {
            let error = refuse_in_place(source, out).unwrap_err();
            assert!(matches!(error, ConvertError::InPlace { .. }), "{error}");
        }
        refuse_in_place(source, &dir.path().join("out")).unwrap();
    }
    // The parent of a bare file name is the current folder.
    let bare = Path::new("Cargo.toml");
    let here = std::env::current_dir().unwrap();
    assert!(bare.is_file(), "tests run in the folder of their crate");
    let error = refuse_in_place(bare, &here).unwrap_err();
    assert!(matches!(error, ConvertError::InPlace { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn snapshot_that_a_cache_stands_for_is_refused_as_output() {
    use std::os::unix::fs::symlink;

    let cache = tempfile::tempdir().unwrap();
    let root = cache.path().join("models--org--name");
    let [blobs, snapshot, other] =
        ["blobs", "snapshots/0123", "snapshots/4567"].map(|folder| root.join(folder));
    for folder in [&blobs, &snapshot, &other, &root.join("refs")] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(root.join("refs/main"), "0123").unwrap();
    write_single(&blobs, &[NewTensor::noise("a.weight", &[4, 4])]);
    fs::rename(blobs.join("model.safetensors"), blobs.join("abc")).unwrap();
    let shard = snapshot.join("model.safetensors");
    symlink("../../blobs/abc", &shard).unwrap();
    assert_eq!(Opened::new(&root).tensor_names(), ["a.weight"]);

    for source in [&root, &snapshot, &shard] {
        for out in [&snapshot, &blobs] {
            let error = refuse_in_place(source, out).unwrap_err();
            assert!(matches!(error, ConvertError::InPlace { .. }), "{error}");
        }
        // Another revision, and a folder that is not there yet.
        refuse_in_place(source, &other).unwrap();
        refuse_in_place(source, &snapshot.join("out")).unwrap();
    }
    let error = refuse_in_place(&root, &root).unwrap_err();
    assert!(matches!(error, ConvertError::InPlace { .. }), "{error}");
}

#[cfg(unix)]
#[test]
fn link_to_the_source_folder_is_refused_as_output() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("source");
    fs::create_dir(&source).unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&source, &link).unwrap();
    let error = refuse_in_place(&source, &link).unwrap_err();
    assert!(matches!(error, ConvertError::InPlace { .. }), "{error}");
}

#[test]
fn source_files_are_never_touched() {
    for folder in ["dsv4-official", "modelopt-nvfp4-dsv4"] {
        let source = tempfile::tempdir().unwrap();
        copy(&data(&format!("checkpoints/{folder}")), source.path());
        let before = contents(source.path());
        let out = tempfile::tempdir().unwrap();
        converted(source.path(), &builtin("deepseek-v4").unwrap(), out.path());
        assert_eq!(contents(source.path()), before, "{folder}");
    }
}

#[test]
fn manifest_hashes_every_other_file() {
    let source = tempfile::tempdir().unwrap();
    copy(&data("checkpoints/dsv4-official"), source.path());
    fs::write(source.path().join("tokenizer.json"), "{}").unwrap();
    let out = tempfile::tempdir().unwrap();
    let (manifest, _) = converted(
        source.path(),
        &builtin("deepseek-v4-bf16").unwrap(),
        out.path(),
    );
    let mut files = contents(out.path());
    let written = files.remove(MANIFEST).unwrap();
    let written: serde_json::Value = serde_json::from_slice(&written).unwrap();
    assert_eq!(written, serde_json::to_value(&manifest).unwrap());
    assert!(files.contains_key("tokenizer.json"));
    for file in &manifest.files {
        let bytes = files
            .remove(&file.name)
            .unwrap_or_else(|| panic!("no `{}`", file.name));
        assert_eq!(bytes.len() as u64, file.len, "{}", file.name);
        assert_eq!(
            blake3::hash(&bytes).to_hex().as_str(),
            file.blake3,
            "{}",
            file.name
        );
    }
    assert_eq!(
        files.keys().collect::<Vec<_>>(),
        [""; 0],
        "files that no hash vouches for"
    );
}

#[test]
fn manifest_of_an_earlier_conversion_is_not_copied() {
    let first = tempfile::tempdir().unwrap();
    convert_llama(first.path(), Existing::Refuse).unwrap();
    let second = tempfile::tempdir().unwrap();
    let (manifest, _) = converted(first.path(), &to(Target::Nvfp4), second.path());
    assert_eq!(json(&second.path().join(MANIFEST))["recipe"], "to nvfp4");
    let listed: Vec<_> = manifest.files.iter().map(|f| f.name.as_str()).collect();
    assert!(!listed.contains(&MANIFEST), "{listed:?}");
}
