//! Damaged samples: found, repaired, and the same as before.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::process::{blockscale, convert, run};

/// A sample of one layer, with a fault or without, at `dir/name`.
fn sample(dir: &Path, name: &str, fault: Option<&str>, dialect: &str) -> PathBuf {
    let path = dir.join(name);
    let mut command = blockscale();
    command.args(["sample", "--layers", "1", "--dialect", dialect]);
    command
        .args(fault.map(|fault| format!("--fault={fault}")))
        .arg(&path);
    run(&mut command).ok();
    path
}

fn two(word: &str, a: &Path, b: &Path) -> Command {
    let mut command = blockscale();
    command.arg(word).args([a, b]);
    command
}

#[test]
fn a_repaired_sample_is_the_same_as_the_right_one() {
    let dir = tempfile::tempdir().unwrap();
    let right = sample(dir.path(), "right", None, "hf");
    let faults = [
        "scales-tiled",
        "scales-tiled-twice",
        "nibbles-swapped",
        "twos-complement",
    ];
    for fault in faults {
        let damaged = sample(dir.path(), fault, Some(fault), "hf");
        let different = run(two("diff", &right, &damaged).arg("--numbers"));
        assert_eq!(different.code, Some(1));
        assert!(different.stdout.contains("wq_b"), "{}", different.stdout);

        let out = dir.path().join(format!("{fault}-repaired"));
        // Rows may have been moved with the scales: only a reference tells.
        let mut repair = convert(&damaged, &out);
        let repaired = run(repair.arg("--repair").arg("--reference").arg(&right)).ok();
        assert!(
            repaired.stderr.contains("1 weight repaired"),
            "{}",
            repaired.stderr
        );
        assert!(
            repaired.stderr.contains("every weight is as stored"),
            "{}",
            repaired.stderr
        );
        let same = run(two("diff", &right, &out).arg("--numbers")).ok();
        assert!(same.stdout.contains("the same"), "{}", same.stdout);
    }
}

#[test]
fn without_a_reference_only_what_bytes_tell_is_repaired() {
    let dir = tempfile::tempdir().unwrap();
    let right = sample(dir.path(), "right", None, "hf");
    let twice = sample(dir.path(), "twice", Some("scales-tiled-twice"), "hf");
    let out = dir.path().join("out");
    run(convert(&twice, &out).arg("--repair")).ok();
    run(two("diff", &right, &out).arg("--numbers")).ok();

    let tiled = sample(dir.path(), "tiled", Some("scales-tiled"), "hf");
    let out = dir.path().join("still-tiled");
    let repair = run(convert(&tiled, &out).arg("--repair"));
    assert_eq!(repair.code, Some(1), "{}", repair.stderr);
    assert!(
        repair.stderr.contains("give a reference"),
        "{}",
        repair.stderr
    );
}

#[test]
fn scales_that_the_config_calls_powers_of_two_become_such() {
    let dir = tempfile::tempdir().unwrap();
    let source = sample(dir.path(), "source", None, "hf");
    let fp8 = dir.path().join("fp8");
    run(convert(&source, &fp8).args(["--to", "fp8-block"])).ok();
    let path = fp8.join("config.json");
    let mut config: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    config["quantization_config"]["scale_fmt"] = "ue8m0".into();
    fs::write(&path, config.to_string()).unwrap();

    let out = dir.path().join("out");
    run(convert(&fp8, &out).arg("--repair")).ok();
    let listed = run(blockscale().arg("inspect").arg(&out)).ok().stdout;
    assert!(listed.contains("FP8 128x128 UE8M0"), "{listed}");
    run(two("diff", &fp8, &out).args(["--numbers", "--min-sqnr", "24"])).ok();
}

#[test]
fn a_right_sample_has_nothing_to_repair() {
    let dir = tempfile::tempdir().unwrap();
    let right = sample(dir.path(), "right", None, "hf");
    let out = dir.path().join("out");
    let repair = run(convert(&right, &out).arg("--repair")).ok();
    assert!(
        repair.stderr.contains("nothing to repair"),
        "{}",
        repair.stderr
    );
    run(&mut two("diff", &right, &out)).ok();
}

#[test]
fn a_reference_in_another_spelling_names_the_interpretation() {
    let dir = tempfile::tempdir().unwrap();
    let native = sample(dir.path(), "native", None, "native");
    let damaged = sample(dir.path(), "halves", Some("nibbles-in-halves"), "hf");
    let mut doctor = blockscale();
    doctor
        .arg("doctor")
        .arg(&damaged)
        .arg("--reference")
        .arg(&native);
    let found = run(&mut doctor);
    assert_eq!(found.code, Some(1));
    for part in [
        "BS063",
        "nibbles in halves of a block",
        "--repair --reference",
    ] {
        assert!(found.stdout.contains(part), "{part}: {}", found.stdout);
    }
}

#[test]
fn differences_are_listed_with_a_histogram_and_as_json() {
    let dir = tempfile::tempdir().unwrap();
    let right = sample(dir.path(), "right", None, "hf");
    let damaged = sample(dir.path(), "damaged", Some("twos-complement"), "hf");
    let found = run(two("diff", &right, &damaged).args(["--top", "1"]));
    assert_eq!(found.code, Some(1));
    for part in [
        "differences by size",
        "2^-",
        "█",
        "different: ",
        "1 different",
    ] {
        assert!(found.stdout.contains(part), "{part}: {}", found.stdout);
    }
    let json = run(two("diff", &right, &damaged).arg("--json"));
    assert_eq!(json.code, Some(1));
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["weights"].as_array().unwrap().len(), 1);
    assert!(json["weights"][0]["sqnr_db"].as_f64().unwrap() < 10.0);
}
