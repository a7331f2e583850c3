//! Checkpoints that broke real readers: what is read, what is refused, and what the message names.
//!
//! The files and their stories are in `tests/data` of the repository.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use blockscale_convert::source::{LocalSource, OpenError, Source};
use blockscale_model::{Checkpoint, Dtype, Severity};
use safetensors::SafeTensors;

const FIRST: &str = "model-00001-of-00002.safetensors";
const SECOND: &str = "model-00002-of-00002.safetensors";

fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data")
        .join(path)
}

fn case(path: &str) -> PathBuf {
    data("cases").join(path)
}

fn open(path: &str) -> (Checkpoint, LocalSource) {
    LocalSource::open(&case(path)).unwrap_or_else(|error| panic!("{path}: {}", chain(&error)))
}

fn refusal(path: &str) -> OpenError {
    match LocalSource::open(&case(path)) {
        Ok(_) => panic!("{path} was read"),
        Err(error) => error,
    }
}

/// The error and its causes, as a command prints them.
fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

fn bytes_of(checkpoint: &Checkpoint, source: &LocalSource, name: &str) -> Vec<u8> {
    let tensor = checkpoint
        .tensor(name)
        .unwrap_or_else(|| panic!("no tensor `{name}`"));
    let mut bytes = vec![0; tensor.bytes() as usize];
    source
        .read_exact_at(tensor.shard, tensor.range.start, &mut bytes)
        .unwrap();
    bytes
}

fn floats_of(checkpoint: &Checkpoint, source: &LocalSource, name: &str) -> Vec<f32> {
    let bytes = bytes_of(checkpoint, source, name);
    bytes
        .as_chunks()
        .0
        .iter()
        .map(|&chunk| f32::from_le_bytes(chunk))
        .collect()
}

#[test]
fn index_decides_and_each_disagreement_is_reported() {
    let cases: [(&str, &str, &[&str]); 4] = [
        (
            "unlisted",
            "index-omits-tensor",
            &["`mtp.0.weight`", SECOND],
        ),
        ("duplicate", "tensor-in-two-shards", &["`a`", FIRST, SECOND]),
        ("wrong-total", "index-total-size", &["999", "16"]),
        ("stray-file", "shard-not-read", &["`model.safetensors`"]),
    ];
    for (folder, code, names) in cases {
        let (checkpoint, source) = open(&format!("C17/{folder}"));
        assert_eq!(floats_of(&checkpoint, &source, "a"), [1.0, 2.0], "{folder}");
        assert_eq!(floats_of(&checkpoint, &source, "b"), [3.0, 4.0], "{folder}");

        let [finding] = checkpoint.findings.as_slice() else {
            panic!("{folder}: {:?}", checkpoint.findings);
        };
        assert_eq!(
            (finding.severity, finding.code),
            (Severity::Warning, code),
            "{folder}"
        );
        for name in names {
            assert!(
                finding.message.contains(name),
                "{folder}: {} lacks {name}",
                finding.message
            );
        }
    }
}

#[test]
fn tensor_that_the_index_omits_is_read() {
    let (checkpoint, source) = open("C17/unlisted");
    assert_eq!(floats_of(&checkpoint, &source, "mtp.0.weight"), [3.0, 4.0]);
}

#[test]
fn what_the_index_promises_must_be_there() {
    let cases: [(&str, &[&str]); 4] = [
        ("missing-shard", &[SECOND]),
        ("tensor-not-there", &["`b`", SECOND]),
        // The index does not list the second shard at all: a file that nothing vouches for.
        ("wrong-shard", &["`b`", FIRST, SECOND]),
        ("no-index", &["00001-of-00002"]),
    ];
    for (folder, names) in cases {
        let text = chain(&refusal(&format!("C17/{folder}")));
        for name in names {
            assert!(text.contains(name), "{folder}: {text} lacks {name}");
        }
    }
}

#[test]
fn part_that_is_asked_for_by_name_is_read_with_a_warning() {
    let (checkpoint, source) = open("C17/no-index/model-00001-of-00002.safetensors");
    assert_eq!(floats_of(&checkpoint, &source, "a"), [1.0, 2.0]);
    assert_eq!(checkpoint.findings[0].code, "part-without-index");
}

#[test]
fn unusual_headers_are_read() {
    type Tensor = (&'static str, Dtype, &'static [usize], &'static [u8]);
    const ONE: [u8; 4] = 1f32.to_le_bytes();
    const ONE_MINUS_TWO: [u8; 8] = [0, 0, 0x80, 0x3f, 0, 0, 0, 0xc0];
    let cases: [(&str, &[Tensor]); 10] = [
        ("empty-object", &[]),
        ("metadata-only", &[]),
        (
            "zero-size-tensor",
            &[
                ("a", Dtype::U8, &[1], &[1]),
                ("e", Dtype::F32, &[0, 4], &[]),
                ("b", Dtype::U8, &[1], &[2]),
            ],
        ),
        (
            "only-zero-size",
            &[("scaled_fp8", Dtype::F8_E4M3, &[0], &[])],
        ),
        ("scalar", &[("s", Dtype::F32, &[], &ONE)]),
        (
            "unordered-keys",
            &[
                ("a", Dtype::F32, &[1], &ONE),
                ("z", Dtype::U8, &[2], &[7, 8]),
            ],
        ),
        (
            "odd-header-length",
            &[("w", Dtype::F32, &[2], &ONE_MINUS_TWO)],
        ),
        (
            "odd-offset",
            &[
                ("a", Dtype::U8, &[3], &[1, 2, 3]),
                ("w", Dtype::F32, &[2], &ONE_MINUS_TWO),
            ],
        ),
        ("extra-field", &[("a", Dtype::U8, &[1], &[1])]),
        (
            "unicode-name",
            &[
                ("слой.0.вес", Dtype::U8, &[1], &[1]),
                ("a\0b", Dtype::U8, &[1], &[2]),
            ],
        ),
    ];
    for (file, tensors) in cases {
        let (checkpoint, source) = open(&format!("C18/{file}.safetensors"));
        let found: Vec<_> = checkpoint
            .tensors
            .iter()
            .map(|tensor| {
                let bytes = bytes_of(&checkpoint, &source, &tensor.name);
                (
                    tensor.name.as_str(),
                    tensor.dtype,
                    tensor.shape.as_slice(),
                    bytes,
                )
            })
            .collect();
        let expected: Vec<_> = tensors
            .iter()
            .map(|&(name, dtype, shape, bytes)| (name, dtype, shape, bytes.to_vec()))
            .collect();
        assert_eq!(found, expected, "{file}");
        assert_eq!(checkpoint.findings, [], "{file}");
    }
}

#[test]
fn data_may_start_at_an_odd_offset() {
    let (checkpoint, _) = open("C18/odd-header-length.safetensors");
    assert_eq!(checkpoint.shards[0].header.data_start % 4, 1);
}

/// Compares names, dtypes, shapes and bytes with the crate's own reader; returns how many tensors
/// were compared.
fn compare_with_crate(path: &Path) -> usize {
    let (checkpoint, source) = LocalSource::open(path).unwrap();
    for (id, shard) in checkpoint.shards.iter().enumerate() {
        let file = if path.is_dir() {
            path.join(shard.name.as_str())
        } else {
            path.to_owned()
        };
        let file = fs::read(file).unwrap();
        let theirs = SafeTensors::deserialize(&file).unwrap();
        let ours = checkpoint
            .tensors
            .iter()
            .filter(|tensor| tensor.shard == id);
        assert_eq!(ours.clone().count(), theirs.len(), "{}", path.display());
        for tensor in ours {
            let their = theirs.tensor(&tensor.name).unwrap();
            assert_eq!(
                (tensor.dtype, tensor.shape.as_slice()),
                (their.dtype(), their.shape())
            );
            assert_eq!(bytes_of(&checkpoint, &source, &tensor.name), their.data());
        }
    }
    checkpoint.tensors.len()
}

#[test]
fn crate_safetensors_reads_unusual_headers_the_same() {
    let files = fs::read_dir(data("cases/C18")).unwrap();
    let compared: usize = files
        .map(|file| compare_with_crate(&file.unwrap().path()))
        .sum();
    assert_eq!(compared, 13);
}

#[test]
fn checkpoints_of_other_tools_are_read() {
    let cases: [(&str, usize, &[&str]); 5] = [
        ("dsv4-official", 162, &[]),
        ("dsv4-nvfp4", 82, &["index-total-size"]),
        ("modelopt-nvfp4-dsv4", 112, &[]),
        ("modelopt-nvfp4-llama", 33, &[]),
        ("modelopt-fp8-llama", 26, &[]),
    ];
    for (folder, tensors, findings) in cases {
        let path = data(&format!("checkpoints/{folder}"));
        assert_eq!(compare_with_crate(&path), tensors, "{folder}");
        let (checkpoint, _) = LocalSource::open(&path).unwrap();
        let codes: Vec<_> = checkpoint
            .findings
            .iter()
            .map(|finding| finding.code)
            .collect();
        assert_eq!(codes, findings, "{folder}");
        assert!(checkpoint.config.is_some(), "{folder}");
        assert_eq!(
            checkpoint.hf_quant_config.is_some(),
            folder != "dsv4-official",
            "{folder}"
        );
    }
}

#[test]
fn broken_files_are_refused_with_the_reason() {
    let cases: [(&str, &[&str]); 22] = [
        (
            "metadata-number",
            &["metadata value is not a string", "`step`"],
        ),
        ("hole", &["unused bytes between tensors", "`a`", "`b`"]),
        ("overlap", &["ranges overlap", "`k`", "`v`"]),
        ("reversed-offsets", &["end before begin", "`a`"]),
        ("shape-vs-bytes", &["128 bytes for 16384 elements", "`a`"]),
        ("shape-overflow", &["size overflows", "`a`"]),
        ("duplicate-key", &["name occurs twice", "`a`"]),
        ("duplicate-key-same-range", &["name occurs twice", "`a`"]),
        ("trailing-bytes", &["1 byte after the last tensor"]),
        ("truncated-data", &["file ends early: 9 of 16 data bytes"]),
        ("truncated-header", &["file ends inside the header"]),
        ("header-too-long", &["header length above the limit"]),
        ("header-length-huge", &["header length above the limit"]),
        ("seven-bytes", &["shorter than 8 bytes"]),
        ("empty-file", &["shorter than 8 bytes"]),
        ("lfs-pointer", &["a Git LFS pointer, not the data"]),
        ("unknown-dtype", &["unknown dtype", "`a`", "F8_E9M9"]),
        ("unknown-dtype-bad-range", &["unknown dtype", "`a`"]),
        ("negative-dim", &["bad shape", "`a`", "[-1]"]),
        ("bad-utf8", &["header is not UTF-8"]),
        ("not-json", &["header is not JSON"]),
        ("json-array", &["header is not an object"]),
    ];
    assert_eq!(fs::read_dir(case("C19")).unwrap().count(), cases.len());
    for (file, parts) in cases {
        let path = format!("C19/{file}.safetensors");
        let text = chain(&refusal(&path));
        assert!(text.contains(&path), "{text} does not name the file");
        for part in parts {
            assert!(text.contains(part), "{file}: {text} lacks {part}");
        }
    }
}

#[test]
fn shard_names_that_leave_the_folder_are_refused() {
    for (folder, name) in [
        ("parent", "../outside.safetensors"),
        ("absolute", "/elsewhere/outside.safetensors"),
        ("drive", r"C:\elsewhere\outside.safetensors"),
        ("backslash-parent", r"..\outside.safetensors"),
        ("sneaky", "sub/../../outside.safetensors"),
    ] {
        let error = refusal(&format!("C20/{folder}"));
        assert!(
            matches!(error, OpenError::Index { .. }),
            "{folder}: {error:?}"
        );
        let text = chain(&error);
        assert!(text.contains(name), "{folder}: {text} lacks {name}");
        assert!(
            text.contains("`a`"),
            "{folder}: {text} does not name the tensor"
        );
    }
}

#[test]
fn shard_in_a_folder_below_is_read() {
    let (checkpoint, source) = open("C20/nested-ok");
    assert_eq!(floats_of(&checkpoint, &source, "a"), [1.0, 2.0]);
    assert_eq!(checkpoint.findings, []);
}
