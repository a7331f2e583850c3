//! `--max-memory` bounds resident memory whatever the size of a tensor.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;

use blockscale_model::{Dtype, NewTensor, lay_out};

use crate::process::{convert, run_watched};

/// 1 GiB of BF16.
const ROWS: usize = 512 << 10;
const COLUMNS: usize = 1 << 10;

/// A little more than the smallest that one row of 128 x 128 blocks allows.
const MAX_MEMORY: u64 = 16 << 20;

/// What program, stacks and allocator may take besides. 256 MiB are promised; so
/// few show too that buffers follow the limit, as the default one takes more.
const BESIDES: u64 = 32 << 20;

/// A checkpoint of one BF16 matrix of 1 GiB of zeros, which take no disk space.
fn write_sparse(path: &Path) {
    let tensor = NewTensor {
        name: "model.layers.0.mlp.down_proj.weight".into(),
        dtype: Dtype::BF16,
        shape: vec![ROWS, COLUMNS],
    };
    let header = lay_out(&[tensor], &BTreeMap::new()).unwrap().bytes;
    let mut file = File::create(path).unwrap();
    file.write_all(&header).unwrap();
    file.set_len((header.len() + ROWS * COLUMNS * 2) as u64)
        .unwrap();
}

/// Largest resident size of a process so far, in bytes, while it runs.
fn peak_resident(id: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib << 10)
}

#[test]
fn a_tensor_larger_than_the_limit_converts_within_it() {
    let dir = tempfile::tempdir().unwrap();
    let source = dir.path().join("model.safetensors");
    write_sparse(&source);
    let output = dir.path().join("out");
    let mut command = convert(&source, &output);
    command.args(["--to", "fp8-block", "--max-memory", &MAX_MEMORY.to_string()]);

    let mut peak = 0;
    let finished = run_watched(&mut command, |child| {
        peak = peak.max(peak_resident(child.id()).unwrap_or(0));
    });
    finished.ok();
    assert!(peak > 0, "the peak was never seen");
    assert!(peak < MAX_MEMORY + BESIDES, "{} MiB resident", peak >> 20);
}
