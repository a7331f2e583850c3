//! What mutation starts from: the cases and checkpoints of the tests, and former findings.

use std::fs;
use std::path::{Path, PathBuf};

use crate::Target;

/// Longer files are not worth mutating.
const MAX_SEED: u64 = 64 << 10;

/// The repository's test data.
fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/data")
}

/// Files of the test data with one of these endings, in the order of their names.
///
/// # Panics
/// Where the test data cannot be read: they ship with the tests.
pub fn files(endings: &[&str]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut folders = vec![
        data().join("cases"),
        data().join("checkpoints"),
        data().join("gguf"),
    ];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            let is = |ending: &&str| path.to_string_lossy().ends_with(ending);
            if path.is_dir() {
                folders.push(path);
            } else if endings.iter().any(is)
                && fs::metadata(&path).is_ok_and(|m| m.len() <= MAX_SEED)
            {
                found.push((
                    path.clone(),
                    fs::read(&path).expect("test data can be read"),
                ));
            }
        }
    }
    found.sort();
    found.into_iter().map(|(_, bytes)| bytes).collect()
}

/// Inputs that were findings once, by file name.
///
/// # Panics
/// Where the test data cannot be read: they ship with the tests.
pub fn findings(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = data().join("findings").join(target.name);
    if !folder.is_dir() {
        return Vec::new();
    }
    let mut found: Vec<_> = entries(&folder)
        .into_iter()
        .map(|path| {
            let name = path
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            (name, fs::read(&path).expect("test data can be read"))
        })
        .collect();
    found.sort();
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("`{}`: {error}", folder.display()));
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect()
}
