//! Checkpoints that tools wrote, and trained weights.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use blockscale_model::plan::PlanOptions;
use blockscale_model::recipe::{Target, generic};

use crate::opened::{Opened, above_info, data, findings};

/// What is true of checkpoints that tools wrote: the folder, and each code above a note.
const TRUE_FACTS: [(&str, &str); 2] = [
    // llm-compressor does not give the halves of an expert one global scale.
    ("ct-nvfp4-dsv4", "BS031"),
    // The index was written before the scalars were added.
    ("dsv4-nvfp4", "BS006"),
];

#[test]
fn checkpoints_of_tools_have_only_what_is_true_of_them() {
    let mut seen = Vec::new();
    for entry in std::fs::read_dir(data("checkpoints")).unwrap() {
        let path = entry.unwrap().path();
        if !path.is_dir() {
            continue;
        }
        let folder = path.file_name().unwrap().to_str().unwrap().to_owned();
        for line in above_info(&findings(&path, None)) {
            let fact = TRUE_FACTS
                .iter()
                .find(|(known, code)| *known == folder && line.contains(code));
            let fact = fact.unwrap_or_else(|| panic!("{folder}: {line}"));
            seen.push(*fact);
        }
    }
    for fact in TRUE_FACTS {
        assert!(seen.contains(&fact), "{fact:?} is no longer found");
    }
}

/// The cases from the field, each with what the doctor has to say.
const CASES: [(&str, &[&str]); 14] = [
    ("C03", &["BS040"]),
    ("C04", &["BS028"]),
    ("C08/no-scale", &["BS011"]),
    ("C08/two-scales", &["BS012"]),
    ("C08/orphan-scale", &["BS013"]),
    ("C17/missing-shard", &["BS002"]),
    ("C17/tensor-not-there", &["BS002"]),
    ("C17/wrong-shard", &["BS002"]),
    ("C17/duplicate", &["BS004"]),
    ("C17/unlisted", &["BS005"]),
    ("C17/wrong-total", &["BS006"]),
    ("C17/stray-file", &["BS007"]),
    ("C17/no-index", &["BS008"]),
    ("C19/overlap.safetensors", &["BS001"]),
];

#[test]
fn cases_from_the_field_are_found() {
    for (case, codes) in CASES {
        let found = findings(&data("cases").join(case), None);
        for code in codes {
            assert!(
                found.iter().any(|d| d.rule.code == *code),
                "{case}: {found:?}"
            );
        }
    }
}

#[test]
fn every_broken_file_is_refused_under_one_code() {
    for entry in std::fs::read_dir(data("cases/C19")).unwrap() {
        let path = entry.unwrap().path();
        let codes: Vec<&str> = findings(&path, None).iter().map(|d| d.rule.code).collect();
        assert_eq!(codes, ["BS001"], "{}", path.display());
    }
}

#[test]
fn places_of_nan_codes_are_named() {
    let found = findings(&data("cases/C03"), None);
    let nan = found.iter().find(|d| d.rule.code == "BS040").unwrap();
    assert!(nan.message.contains("2 of 256 codes"), "{nan}");
    assert!(nan.message.contains("(7, 15), (15, 15)"), "{nan}");
}

fn minilm() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-data/minilm");
    if path.join("model.safetensors").is_file() {
        return Some(path);
    }
    let text =
        "skipped: MiniLM is not under target/test-data/minilm; `cargo xtask test` fetches it\n";
    let _ = std::io::stderr().write_all(text.as_bytes());
    None
}

#[test]
fn trained_weights_in_every_format_have_notes_at_most() {
    let Some(path) = minilm() else { return };
    let source = Opened::new(&path);
    let targets = [
        Target::Nvfp4,
        Target::Mxfp4,
        Target::Mxfp8,
        Target::Fp8Block,
        Target::Fp8BlockUe8m0,
        Target::Fp8Channel,
        Target::Fp8Tensor,
        Target::Bf16,
    ];
    for target in targets {
        let out = tempfile::tempdir().unwrap();
        let recipe = generic(target, Vec::new(), Vec::new());
        source.convert(&recipe, &PlanOptions::default(), out.path());
        let found = findings(out.path(), Some(&path));
        assert_eq!(above_info(&found), [""; 0], "{}", recipe.name);
    }
}
