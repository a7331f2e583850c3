//! What goes to stdout: JSON, and nothing that a pipe cannot use.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::process::{blockscale, convert, run, run_into, sample, verify};

const LLAMA: &str = "../../tests/data/checkpoints/modelopt-nvfp4-llama";

/// One of each kind: text, JSON, a script, and help.
const ANSWERS: [&[&str]; 4] = [
    &["inspect", LLAMA],
    &["inspect", LLAMA, "--json"],
    &["completions", "zsh"],
    &["convert", "--help"],
];

fn sum(list: &Value, key: &str) -> u64 {
    list.as_array()
        .unwrap()
        .iter()
        .map(|item| item[key].as_u64().unwrap())
        .sum()
}

#[test]
fn inspect_json_lists_every_tensor_of_every_weight_once() {
    let listing = run(blockscale().args(["inspect", LLAMA, "--json"])).json();
    assert_eq!(listing["model_type"], "llama");
    let weights = listing["weights"].as_array().unwrap();
    let parts = weights
        .iter()
        .flat_map(|weight| weight["parts"].as_array().unwrap());
    let mut ranges: Vec<_> = parts
        .map(|part| [0, 1].map(|end| part["range"][end].as_u64().unwrap()))
        .collect();
    ranges.sort_unstable();
    assert_eq!(listing["tensors"], ranges.len());
    assert!(
        ranges.windows(2).all(|pair| pair[0][1] == pair[1][0]),
        "{ranges:?}"
    );
    assert_eq!(
        listing["tensor_bytes"],
        ranges.iter().map(|[start, end]| end - start).sum::<u64>()
    );
    assert_eq!(listing["shards"][0]["bytes"], ranges.last().unwrap()[1]);
}

#[test]
fn inspect_tensor_json_counts_every_element() {
    let name = "model.layers.0.self_attn.q_proj.weight";
    let view = run(blockscale().args(["inspect", LLAMA, "--json", "--tensor", name])).json();
    assert_eq!(view["shape"], serde_json::json!([128, 256]));
    let numbers = &view["numbers"];
    let octaves = view["elements_by_exponent"].as_array().unwrap();
    let nonzero: u64 = octaves
        .iter()
        .map(|octave| octave[1].as_u64().unwrap())
        .sum();
    assert_eq!(nonzero + numbers["zeros"].as_u64().unwrap(), 128 * 256);
    assert_eq!(numbers["elements"], 128 * 256);
}

#[test]
fn a_dry_run_announces_what_the_conversion_then_writes() {
    let dir = tempfile::tempdir().unwrap();
    let source = sample(dir.path(), 4);
    let output = dir.path().join("out");
    let options = ["--shard-size", "512KiB", "--max-memory", "8MiB", "--json"];

    let plan = run(convert(&source, &output).args(options).arg("--dry-run")).json();
    assert!(!output.exists());
    assert!(plan["peak_buffer_bytes"].as_u64().unwrap() <= 8 << 20);
    assert!(plan["peak_buffer_bytes"].as_u64().unwrap() > 0);
    let shards = plan["shards"].as_array().unwrap();
    assert!(shards.len() > 1);
    assert_eq!(plan["output_bytes"], sum(&plan["shards"], "bytes"));

    let manifest = run(convert(&source, &output).args(options)).json();
    for shard in shards {
        let len = fs::metadata(output.join(shard["name"].as_str().unwrap()))
            .unwrap()
            .len();
        assert_eq!(shard["bytes"], len, "{shard}");
    }
    assert_eq!(manifest["summary"], plan["summary"]);

    let written = run(blockscale().args(["inspect", "--json"]).arg(&output)).json();
    let planned = plan["weights"].as_array().unwrap().iter();
    let tensors: usize = planned
        .map(|weight| weight["tensors"].as_array().unwrap().len())
        .sum();
    assert_eq!(written["tensors"], tensors);

    let report = run(verify(&source, &output).arg("--json")).json();
    assert_eq!(report["failures"], serde_json::json!([]));
}

#[test]
fn a_dry_run_needs_no_output_folder() {
    let plan = run(blockscale().args(["convert", LLAMA, "--to", "bf16", "--dry-run"])).ok();
    assert!(
        plan.stdout.contains("nothing is written"),
        "{}",
        plan.stdout
    );
}

#[test]
fn pipes_get_no_escape_codes_and_no_progress() {
    let dir = tempfile::tempdir().unwrap();
    let output = dir.path().join("out");
    let listed = run(blockscale().args(["inspect", LLAMA])).ok();
    let converted = run(convert(Path::new(LLAMA), &output).args(["--to", "bf16"])).ok();
    let failed = run(&mut convert(Path::new(LLAMA), &output));
    for finished in [&listed, &converted, &failed] {
        let text = [finished.stdout.as_str(), &finished.stderr].concat();
        assert!(!text.is_empty() && !text.contains('\x1b'), "{text:?}");
    }
    assert_eq!(converted.stderr, "");
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    for args in ANSWERS {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let left = run_into(blockscale().args(args), writer, Stdio::piped(), |_| ());
        assert_eq!(left.code, Some(0), "{args:?}: {}", left.stderr);
        assert_eq!(left.stderr, "", "{args:?}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_under_stdout_exits_with_four() {
    for args in ANSWERS {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let failed = run_into(blockscale().args(args), full, Stdio::piped(), |_| ());
        assert_eq!(failed.code, Some(4), "{args:?}");
        assert!(
            failed.stderr.contains("cannot write to standard output"),
            "{}",
            failed.stderr
        );
    }
}

#[test]
#[cfg(target_os = "linux")]
fn an_error_that_cannot_be_printed_still_has_its_exit_code() {
    for (args, code) in [(["inspect", "nowhere"], 4), (["inspect", "--nonsense"], 2)] {
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let failed = run_into(blockscale().args(args), Stdio::piped(), full, |_| ());
        assert_eq!(failed.code, Some(code), "{args:?}");
    }
}
