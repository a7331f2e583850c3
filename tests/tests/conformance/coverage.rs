//! No vector is forgotten: each is compared by a test, or stands here with the reason.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use crate::vectors::Vectors;
use crate::{codecs, decode, encode, ggml, integers};

const FILES: [&str; 14] = [
    "codecs",
    "fp8_block",
    "fp8_block_ue8m0",
    "fp8_tensor_channel",
    "gguf",
    "inputs",
    "integers",
    "mxfp4",
    "mxfp6",
    "mxfp8",
    "nvfp4_compressed_tensors",
    "nvfp4_four_over_six",
    "nvfp4_modelopt",
    "nvfp4_torchao",
];

/// Weights that are decoded from what their peer stores, and not encoded to it: file, case, peer.
const NOT_ENCODED: [(&str, &str, &str); 4] = [
    // Random blocks, which no weight was encoded to.
    ("gguf", "random", "nvfp4"),
    // 0 / 0: every scale is NaN. Here it is 1, and the codes are zeros.
    ("nvfp4_modelopt", "allzero", "modelopt"),
    ("nvfp4_modelopt", "allzero", "modelopt_shared"),
    ("nvfp4_torchao", "allzero", "ao"),
];

/// What was encoded and compared in this process: file, case, peer.
static ENCODED: Mutex<BTreeSet<[String; 3]>> = Mutex::new(BTreeSet::new());

/// Notes that a weight is encoded as a peer does, and the bytes compared.
pub(crate) fn encoded(file: &str, case: &str, peer: &str) {
    let mut encoded = ENCODED.lock().unwrap_or_else(PoisonError::into_inner);
    encoded.insert([file, case, peer].map(str::to_owned));
}

/// Every weight that a peer stores in some format: those that have codes.
fn weights(file: &str) -> Vec<[String; 3]> {
    let vectors = Vectors::read(file);
    let weight = |name: &str| {
        let (weight, field) = name.rsplit_once('.')?;
        let (case, peer) = weight.split_once('.')?;
        let has_codes = ["packed", "weight"].contains(&field);
        has_codes.then(|| [file, case, peer].map(str::to_owned))
    };
    vectors.names().filter_map(weight).collect()
}

#[test]
fn no_vector_is_forgotten() {
    // Tests may run one a process, so all that compare are run here.
    for test in codecs::TESTS
        .iter()
        .chain(&decode::TESTS)
        .chain(encode::tests())
        .chain(&ggml::TESTS)
        .chain(&integers::TESTS)
    {
        test();
    }
    for file in FILES {
        let vectors = Vectors::read(file);
        assert_eq!(vectors.not_looked_at(), [""; 0], "{file}");
    }
    let encoded = ENCODED.lock().unwrap_or_else(PoisonError::into_inner);
    let forgotten: Vec<_> = FILES
        .into_iter()
        .flat_map(weights)
        .filter(|weight| !encoded.contains(weight))
        .collect();
    let expected = NOT_ENCODED.map(|(file, case, peer)| [file, case, peer].map(str::to_owned));
    assert_eq!(forgotten, expected);
}

#[test]
fn every_file_is_counted() {
    let folder = blockscale_tests::data("conformance");
    let names = std::fs::read_dir(folder).unwrap().filter_map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        Some(name.strip_suffix(".safetensors")?.to_owned())
    });
    let names: BTreeSet<String> = names.collect();
    assert_eq!(names, FILES.map(str::to_owned).into());
}
