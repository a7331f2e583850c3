//! Files: the repository's data, and what folders hold.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

/// A path under `tests/data` of the repository.
pub(crate) fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data")
        .join(path)
}

pub(crate) fn json(path: &Path) -> Value {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap()
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Every file of a folder with its content.
pub(crate) fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).unwrap();
    entries
        .map(|entry| {
            let entry = entry.unwrap();
            let name = entry.file_name().to_string_lossy().into_owned();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

/// Names of the files of a folder, sorted.
pub(crate) fn names(dir: &Path) -> Vec<String> {
    contents(dir).into_keys().collect()
}

/// Fails where two folders do not hold the same files, byte for byte.
pub(crate) fn assert_same(a: &Path, b: &Path) {
    let (a, b) = (contents(a), contents(b));
    assert_eq!(
        a.keys().collect::<Vec<_>>(),
        b.keys().collect::<Vec<_>>(),
        "other files"
    );
    let differing: Vec<_> = a
        .iter()
        .filter(|(name, bytes)| &b[*name] != *bytes)
        .collect();
    let names: Vec<_> = differing.iter().map(|(name, _)| name).collect();
    assert!(differing.is_empty(), "{names:?} differ");
}

/// Copies the files of a folder.
pub(crate) fn copy(from: &Path, to: &Path) {
    for (name, bytes) in contents(from) {
        fs::write(to.join(name), bytes).unwrap();
    }
}
