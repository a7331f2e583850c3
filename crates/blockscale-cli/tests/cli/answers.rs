//! Help, messages and exit codes, word for word.

use std::collections::BTreeMap;
use std::fs;

use blockscale_model::{Dtype, NewTensor, lay_out};

use crate::process::{blockscale, convert, run, sample};

#[test]
fn help_and_messages_read_as_recorded() {
    trycmd::TestCases::new()
        .env("COLUMNS", "100")
        .case("tests/cli/snapshots/*.trycmd");
}

#[test]
fn an_output_folder_that_is_taken_is_a_usage_error() {
    let dir = tempfile::tempdir().unwrap();
    let source = sample(dir.path(), 1);

    let in_place = run(&mut convert(&source, &source));
    assert_eq!(in_place.code, Some(2));
    assert!(
        in_place
            .stderr
            .contains("nothing is ever converted in place"),
        "{}",
        in_place.stderr
    );

    let taken = dir.path().join("taken");
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("notes.txt"), "mine").unwrap();
    let refused = run(&mut convert(&source, &taken));
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("--resume"), "{}", refused.stderr);

    let nothing = run(convert(&source, &taken).arg("--resume"));
    assert_eq!(nothing.code, Some(2));
    assert!(
        nothing.stderr.contains("nothing to resume"),
        "{}",
        nothing.stderr
    );
    assert_eq!(fs::read_dir(&taken).unwrap().count(), 1);
}

#[test]
fn numbers_below_the_bound_exit_with_one() {
    let dir = tempfile::tempdir().unwrap();
    let source = sample(dir.path(), 1);
    let output = dir.path().join("out");

    let failed = run(convert(&source, &output).args(["--min-sqnr", "60"]));
    assert_eq!(failed.code, Some(1), "{}", failed.stderr);
    assert!(
        failed.stderr.contains("layers.0.attn.wo_a.weight"),
        "{}",
        failed.stderr
    );
    assert!(failed.stderr.contains("below 60 dB"), "{}", failed.stderr);
    assert!(!output.join("config.json").exists());
    assert!(!output.join("blockscale-manifest.json").exists());
}

#[test]
fn a_folder_without_a_checkpoint_is_bad_input() {
    let dir = tempfile::tempdir().unwrap();
    for command in [vec!["inspect"], vec!["convert", "--dry-run"]] {
        let empty = run(blockscale().args(command).arg(dir.path()));
        assert_eq!(empty.code, Some(3), "{}", empty.stderr);
        assert!(
            empty.stderr.contains("no checkpoint in"),
            "{}",
            empty.stderr
        );
    }
}

#[test]
fn a_quantised_weight_without_its_scale_is_a_finding_and_no_source() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("model.safetensors");
    let tensor = NewTensor {
        name: "model.layers.0.mlp.up_proj.weight".into(),
        dtype: Dtype::F8_E4M3,
        shape: vec![128, 128],
    };
    let header = lay_out(&[tensor], &BTreeMap::new()).unwrap().bytes;
    fs::write(&source, [header, vec![0x38; 128 * 128]].concat()).unwrap();

    let listed = run(blockscale().arg("inspect").arg(&source));
    assert_eq!(listed.code, Some(1), "{}", listed.stderr);
    assert!(listed.stdout.contains("refused: "), "{}", listed.stdout);

    let output = dir.path().join("out");
    let refused = run(convert(&source, &output).args(["--to", "bf16"]));
    assert_eq!(refused.code, Some(3));
    assert!(
        refused.stderr.contains("model.layers.0.mlp.up_proj.weight"),
        "{}",
        refused.stderr
    );
    assert!(!output.exists());
}

#[test]
fn every_shell_has_a_completion_script() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(blockscale().args(["completions", shell])).ok().stdout;
        assert!(script.contains("max-memory"), "{shell}: {script}");
    }
}
