//! `doctor` and `sample --fault`: exit codes, formats, and commands that exist.

use std::path::{Path, PathBuf};

use blockscale_cli::parses;
use blockscale_model::doctor::{RULES, Target};
use serde_json::Value;

use crate::process::{Finished, blockscale, run};

const LLAMA: &str = "../../tests/data/checkpoints/modelopt-nvfp4-llama";

fn faulty(dir: &Path, fault: &str) -> PathBuf {
    let path = dir.join(fault);
    let mut command = blockscale();
    command.args(["sample", "--layers", "1", "--fault", fault]);
    run(command.arg(&path)).ok();
    path
}

fn doctor(path: &Path, options: &[&str]) -> Finished {
    run(blockscale().arg("doctor").arg(path).args(options))
}

#[test]
fn errors_exit_with_one_and_warnings_with_zero() {
    let dir = tempfile::tempdir().unwrap();
    let ones = doctor(&faulty(dir.path(), "scale-ones"), &[]);
    assert_eq!(ones.code, Some(1));
    for words in [
        "error[BS021]",
        "scale-plane-ones",
        "runtime: ",
        "fix: ",
        "1 error",
    ] {
        assert!(ones.stdout.contains(words), "{words}: {}", ones.stdout);
    }
    let size = doctor(&faulty(dir.path(), "index-size"), &[]).ok();
    assert!(size.stdout.contains("warning[BS006]"), "{}", size.stdout);
    assert!(
        doctor(Path::new(LLAMA), &[])
            .ok()
            .stdout
            .contains("nothing found")
    );
}

#[test]
fn levels_change_the_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let (ones, size) = (
        faulty(dir.path(), "scale-ones"),
        faulty(dir.path(), "index-size"),
    );
    let code = |path: &Path, options: &[&str]| doctor(path, options).code;
    assert_eq!(code(&ones, &["--allow", "BS021"]), Some(0));
    assert_eq!(code(&ones, &["--warn", "scale-plane-ones"]), Some(0));
    assert_eq!(code(&size, &["--deny", "BS006"]), Some(1));
    assert_eq!(code(&size, &["--deny", "warnings"]), Some(1));
    assert_eq!(
        code(&size, &["--deny", "warnings", "--allow", "bs006"]),
        Some(0)
    );
    assert_eq!(code(&ones, &["--allow", "BS999"]), Some(2));
}

#[test]
fn broken_files_are_found_and_a_path_that_is_not_there_is_an_error() {
    let cut = doctor(
        Path::new("../../tests/data/cases/C19/overlap.safetensors"),
        &[],
    );
    assert_eq!(cut.code, Some(1));
    assert!(cut.stdout.contains("error[BS001]"), "{}", cut.stdout);
    assert_eq!(doctor(Path::new("nowhere"), &[]).code, Some(4));
}

#[test]
fn json_has_evidence_and_what_was_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = faulty(dir.path(), "globals-unequal");
    let finished = doctor(&path, &["--json", "--full"]);
    assert_eq!(finished.code, Some(1));
    let report: Value = serde_json::from_str(&finished.stdout).unwrap();
    let found = report["findings"].as_array().unwrap();
    let own = found
        .iter()
        .find(|f| f["code"] == "BS031" && f["severity"] == "error")
        .unwrap();
    assert_eq!(own["name"], "globals-unequal");
    assert!(own["tensor"].as_str().unwrap().contains("experts"), "{own}");
    let fix = own["fix"].as_str().unwrap();
    assert!(fix.contains(path.to_str().unwrap()), "{fix}");
    assert!(report["bytes_read"].as_u64().unwrap() > 0);
    assert!(report["weights_read"].as_u64() <= report["weights"].as_u64());
}

#[test]
fn the_same_seed_gives_the_same_report() {
    let report = |seed: &str| {
        doctor(Path::new(LLAMA), &["--json", "--seed", seed])
            .ok()
            .stdout
    };
    assert_eq!(report("7"), report("7"));
}

#[test]
fn sarif_names_every_rule_that_its_results_break() {
    let dir = tempfile::tempdir().unwrap();
    let path = faulty(dir.path(), "scale-missing");
    let finished = doctor(&path, &["--sarif"]);
    assert_eq!(finished.code, Some(1));
    let log: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert!(!results.is_empty());
    for result in results {
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().unwrap()));
        assert!(!result["message"]["text"].as_str().unwrap().is_empty());
        assert!(result["properties"]["fix"].is_string(), "{result}");
    }
    let missing = results.iter().find(|r| r["ruleId"] == "BS011").unwrap();
    let file = &missing["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    assert!(file.as_str().unwrap().ends_with(".safetensors"), "{file}");
}

#[test]
fn every_rule_is_listed_and_explained() {
    let list = run(blockscale().args(["doctor", "--list"])).ok().stdout;
    for rule in RULES {
        assert!(
            list.contains(rule.code) && list.contains(rule.title()),
            "{}",
            rule.code
        );
        let page = run(blockscale().args(["doctor", "--explain", rule.code]))
            .ok()
            .stdout;
        assert_eq!(page, rule.page);
    }
    assert_eq!(
        run(blockscale().args(["doctor", "--explain", "BS999"])).code,
        Some(2)
    );
}

#[test]
fn targets_are_known_by_name_and_version() {
    for target in Target::all() {
        doctor(
            Path::new(LLAMA),
            &[
                "--target",
                &target.describe(),
                "--allow",
                "BS090",
                "--allow",
                "BS091",
            ],
        )
        .ok();
    }
    let unknown = doctor(Path::new(LLAMA), &["--target", "vllm@0"]);
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.stderr.contains("transformers@"),
        "{}",
        unknown.stderr
    );
    let refused = doctor(Path::new(LLAMA), &["--target", "transformers"]);
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stdout.contains("error[BS091]"),
        "{}",
        refused.stdout
    );
}

#[test]
fn faults_are_listed_one_a_line_and_an_unknown_one_is_refused() {
    let names = run(blockscale().args(["sample", "--list-faults"]))
        .ok()
        .stdout;
    assert!(names.lines().any(|name| name == "scale-ones"), "{names}");
    assert!(names.lines().all(|name| !name.contains(' ')), "{names}");
    let dir = tempfile::tempdir().unwrap();
    let mut command = blockscale();
    command.arg("sample").arg(dir.path().join("a"));
    assert_eq!(run(command.args(["--fault", "no-such"])).code, Some(2));
}

#[test]
fn commands_of_the_pages_and_of_consumers_are_understood() {
    let mut understood = 0;
    let pages = RULES.iter().map(|rule| rule.page.to_owned());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../blockscale-model/consumers");
    let consumers = std::fs::read_dir(folder).unwrap();
    let consumers = consumers.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap());
    for page in pages.chain(consumers) {
        let text = page.replace('\n', " ");
        for command in text.split('`').skip(1).step_by(2) {
            let command = command.replace('\'', "");
            let words: Vec<&str> = command.split_whitespace().collect();
            if words.first() == Some(&"blockscale") {
                parses(&words).unwrap_or_else(|error| panic!("`{command}`: {error}"));
                understood += 1;
            }
        }
    }
    assert!(understood > 20, "{understood}");
}
