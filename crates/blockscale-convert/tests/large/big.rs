use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::atomic::AtomicBool;

use blockscale_convert::source::LocalSource;
use blockscale_convert::{ConvertOptions, Weights, convert, peak_memory};
use blockscale_model::Dtype;
use blockscale_model::catalog::Catalog;
use blockscale_model::plan::{Plan, PlanOptions};
use blockscale_model::recipe::{Target, generic};
use rayon::prelude::*;

use crate::disk::roomy_folder;
use crate::formula::{BLOCKS, SIDE, bf16_row, codes, scale};
use crate::header::write_header;

const NAME: &str = "lin.weight";

/// Little more than the smallest that goes: eight bands of 128 rows, each as codes, F32, BF16, and F32
/// again for the comparison.
const MAX_MEMORY: u64 = 136 << 20;

/// What program, stacks and allocator may take besides.
const BESIDES: u64 = 32 << 20;

fn write_big(folder: &Path) -> io::Result<()> {
    let (codes_len, scales_len) = ((SIDE * SIDE) as u64, (BLOCKS * BLOCKS * 4) as u64);
    let mut file = BufWriter::new(File::create(folder.join("model.safetensors"))?);
    let tensors = [
        (NAME, "F8_E4M3", "[12288,12288]", codes_len),
        ("lin.weight_scale_inv", "F32", "[96,96]", scales_len),
    ];
    write_header(&mut file, &tensors)?;
    for row in 0..SIDE {
        file.write_all(&codes(row).collect::<Vec<_>>())?;
    }
    for block in 0..BLOCKS * BLOCKS {
        let scale = scale(block / BLOCKS, block % BLOCKS);
        file.write_all(&scale.to_le_bytes())?;
    }
    file.flush()?;
    let config = r#"{"quantization_config": {"quant_method": "fp8", "fmt": "e4m3",
        "activation_scheme": "dynamic", "weight_block_size": [128, 128]}}"#;
    fs::write(folder.join("config.json"), config)
}

#[test]
fn a_matrix_of_151_million_numbers_converts_within_the_limit_to_what_the_formula_says() {
    let Some(folder) = roomy_folder() else { return };
    let (input, output) = (folder.path().join("in"), folder.path().join("out"));
    fs::create_dir(&input).unwrap();
    write_big(&input).unwrap();
    let (checkpoint, source) = LocalSource::open(&input).unwrap();
    let catalog = Catalog::of(&checkpoint);
    let weights = Weights {
        checkpoint: &checkpoint,
        catalog: &catalog,
        source: &source,
    };
    let recipe = generic(Target::Bf16, Vec::new(), Vec::new());
    let plan = Plan::build(&checkpoint, &catalog, &recipe, &PlanOptions::default()).unwrap();
    let peak = peak_memory(weights, &plan, MAX_MEMORY).unwrap();
    assert!(peak <= MAX_MEMORY, "{peak}");

    let options = ConvertOptions {
        max_memory: MAX_MEMORY,
        ..ConvertOptions::default()
    };
    let stop = AtomicBool::new(false);
    let manifest = convert(weights, &plan, &output, &options, &(), &stop).unwrap();
    let weight = &manifest.weights[0];
    assert_eq!(weight.tensor, NAME);
    if let Some(resident) = peak_resident() {
        assert!(resident < MAX_MEMORY + BESIDES, "{resident}");
    }
    assert_is_the_formula(&output);
}

/// Every row, byte for byte.
fn assert_is_the_formula(output: &Path) {
    let (checkpoint, source) = LocalSource::open(output).unwrap();
    let catalog = Catalog::of(&checkpoint);
    let weights = Weights {
        checkpoint: &checkpoint,
        catalog: &catalog,
        source: &source,
    };
    let tensor = checkpoint.position(NAME).unwrap();
    let found = &checkpoint.tensors[tensor];
    assert_eq!(
        (found.dtype, &found.shape[..]),
        (Dtype::BF16, &[SIDE; 2][..])
    );
    assert_eq!(
        checkpoint.tensors.len(),
        1,
        "scales have no place beside BF16"
    );
    (0..SIDE).into_par_iter().for_each(|row| {
        let expected = bf16_row(row);
        let mut found = vec![0; expected.len()];
        let offset = (row * expected.len()) as u64;
        weights.read_tensor(tensor, offset, &mut found).unwrap();
        assert!(found == expected, "row {row}");
    });
}

/// Largest resident size of this process so far in bytes, where the system says.
fn peak_resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let mut lines = status.lines();
    let line = lines.find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib << 10)
}
