//! Checkpoints that other tools wrote, read as each runtime would.

use std::path::Path;

use blockscale::runtime::Runtime;

use crate::checkpoint::Opened;

/// Operands that each of the four runtimes reads of a checkpoint; of those not named here, none.
const READ: [(&str, [usize; 4]); 6] = [
    ("dsv4-nvfp4", [9, 9, 6, 6]),
    ("dsv4-official", [25, 25, 0, 0]),
    // Scales in F32 that are no powers of two do not pack.
    ("hf-fp8-dsv3", [16, 0, 0, 0]),
    ("modelopt-nvfp4-dsv4", [0, 0, 18, 19]),
    ("modelopt-nvfp4-llama", [0, 0, 7, 7]),
    // Single weights: FP8 in a block and under one scale, which is one block; NVFP4 of two levels.
    ("torchao", [2, 0, 0, 1]),
];

const RUNTIMES: [Runtime; 4] = [
    Runtime::DeepGemmSm90,
    Runtime::DeepGemmSm100,
    Runtime::TrtllmMoe,
    Runtime::Cutlass,
];

#[test]
fn every_checkpoint_from_the_field_is_read_by_every_runtime_that_takes_its_format() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/checkpoints");
    let entries = std::fs::read_dir(&folder)
        .unwrap()
        .map(|e| e.unwrap().path());
    let mut folders: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    let mut found = Vec::new();
    for path in folders {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let opened = Opened::new(&path);
        let read = RUNTIMES.map(|runtime| {
            let report = opened.check(runtime);
            let differs = report.weights.iter().find(|w| w.difference.is_some());
            assert_eq!(differs, None, "{name} for {runtime}");
            assert_eq!(report.passed(), !report.weights.is_empty());
            report.weights.len()
        });
        if read != [0; 4] {
            found.push((name, read));
        }
    }
    let expected = READ.map(|(name, read)| (name.to_owned(), read));
    assert_eq!(found, expected);
}
