//! `--device`: devices that are not there, and those that are.

use std::process::Command;

use crate::process::{assert_same_files, blockscale, convert, run, sample, skip};

/// A device that no machine has.
const NOWHERE: &str = "cuda:4294967295";

fn exit_code(command: &mut Command) -> (Option<i32>, String) {
    let finished = run(command);
    (finished.code, finished.stderr)
}

#[test]
fn a_device_that_is_not_there_is_exit_code_5_and_nothing_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let source = sample(&dir.path().join("sample"), 2);
    let out = dir.path().join("out");
    let mut conversion = convert(&source, &out);
    conversion.args(["--to", "bf16", "--device", NOWHERE]);
    for command in [
        &mut conversion,
        blockscale().args(["selftest", "--device", NOWHERE]),
        blockscale().args(["bench", "--device", NOWHERE]),
    ] {
        let (code, message) = exit_code(command);
        assert_eq!(code, Some(5), "{message}");
        assert!(message.contains("no CUDA d"), "{message}");
    }
    assert!(!out.exists());
}

#[test]
fn auto_writes_what_the_cpu_writes() {
    let dir = tempfile::tempdir().unwrap();
    let source = sample(&dir.path().join("sample"), 2);
    let [on_cpu, on_any] = ["cpu", "auto"].map(|device| {
        let out = dir.path().join(device);
        let to = ["--to", "nvfp4", "--device", device];
        run(convert(&source, &out).args(to)).ok();
        out
    });
    assert_same_files(&on_any, &on_cpu);
}

#[test]
fn cuda_writes_what_the_cpu_writes() {
    let dir = tempfile::tempdir().unwrap();
    let source = sample(&dir.path().join("sample"), 2);
    let cuda = dir.path().join("cuda");
    let to = ["--recipe", "deepseek-v4"];
    let found = run(convert(&source, &cuda).args(to).args(["--device", "cuda"]));
    if found.code == Some(5) {
        return skip("no CUDA device");
    }
    found.ok();
    let cpu = dir.path().join("cpu");
    run(convert(&source, &cpu).args(to)).ok();
    assert_same_files(&cuda, &cpu);
}
