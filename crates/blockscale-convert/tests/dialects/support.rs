//! The library as these tests call it, and small checkpoints made for a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use blockscale::bf16;
use blockscale_convert::source::LocalSource;
use blockscale_convert::{
    ConvertError, ConvertOptions, Run, VerifyOptions, VerifyReport, Weights, convert, decode,
    verify,
};
use blockscale_model::catalog::Catalog;
use blockscale_model::plan::{Plan, PlanOptions};
use blockscale_model::recipe::Recipe;
use blockscale_model::{Checkpoint, Dtype};
use safetensors::tensor::TensorView;
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A path under `tests/data` of the repository.
pub(crate) fn data(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/data")
        .join(path)
}

pub(crate) fn json(path: &str) -> Value {
    let path = data(path);
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_slice(&bytes).unwrap()
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn f32_bytes(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_le_bytes()).collect()
}

/// Little-endian BF16, rounded to nearest even.
pub(crate) fn bf16_bytes(values: &[f32]) -> Vec<u8> {
    let rounded = values.iter().map(|&v| bf16::from_f32(v));
    rounded.flat_map(bf16::to_le_bytes).collect()
}

/// A checkpoint that is open.
pub(crate) struct Opened {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) catalog: Catalog,
    source: LocalSource,
}

impl Opened {
    pub(crate) fn new(path: &Path) -> Self {
        let (checkpoint, source) =
            LocalSource::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let catalog = Catalog::of(&checkpoint);
        Self {
            checkpoint,
            catalog,
            source,
        }
    }

    pub(crate) fn weights(&self) -> Weights<'_> {
        Weights {
            checkpoint: &self.checkpoint,
            catalog: &self.catalog,
            source: &self.source,
        }
    }

    /// All values of a weight, decoded matrix by matrix.
    pub(crate) fn decode(&self, name: &str) -> Vec<f32> {
        self.try_decode(name)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    pub(crate) fn try_decode(&self, name: &str) -> Result<Vec<f32>, ConvertError> {
        let position = self.catalog.position(name);
        let weight = position.unwrap_or_else(|| panic!("no weight `{name}`"));
        let rows = self.catalog.weights[weight].matrices().shape.rows;
        self.decode_runs(weight, rows)
    }

    /// All values of a weight, decoded in runs of so many rows.
    pub(crate) fn decode_runs(&self, weight: usize, rows: usize) -> Result<Vec<f32>, ConvertError> {
        let weights = self.weights();
        let matrices = self.catalog.weights[weight].matrices();
        let mut values = Vec::new();
        for matrix in 0..matrices.count {
            for first in (0..matrices.shape.rows).step_by(rows.max(1)) {
                let run = Run {
                    weight,
                    matrix,
                    rows: first..matrices.shape.rows.min(first + rows),
                };
                let bytes = weights.read(&run)?;
                values.extend(decode(weights.weight(&run), weights.shape(&run), &bytes)?);
            }
        }
        Ok(values)
    }

    /// Stored bytes of a tensor.
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        let position = self.checkpoint.position(name);
        let tensor = position.unwrap_or_else(|| panic!("no tensor `{name}`"));
        let mut bytes = vec![0; self.checkpoint.tensors[tensor].bytes() as usize];
        self.weights().read_tensor(tensor, 0, &mut bytes).unwrap();
        bytes
    }

    /// Converts without a word and without a stop, and opens the result.
    pub(crate) fn converted(&self, recipe: &Recipe, out: &Path) -> Self {
        let options = PlanOptions::default();
        let plan = Plan::build(&self.checkpoint, &self.catalog, recipe, &options)
            .unwrap_or_else(|error| panic!("{}: {error}", recipe.name));
        let stop = AtomicBool::new(false);
        convert(
            self.weights(),
            &plan,
            out,
            &ConvertOptions::default(),
            &(),
            &stop,
        )
        .unwrap_or_else(|error| panic!("{}: {error}", recipe.name));
        Self::new(out)
    }

    pub(crate) fn verify(&self, output: &Self) -> VerifyReport {
        let stop = AtomicBool::new(false);
        let options = VerifyOptions::default();
        verify(self.weights(), output.weights(), &options, &(), &stop)
            .unwrap_or_else(|error| panic!("{error}"))
    }
}

/// A tensor to write.
pub(crate) struct NewTensor {
    pub(crate) name: String,
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    pub(crate) bytes: Vec<u8>,
}

impl NewTensor {
    pub(crate) fn new(name: &str, dtype: Dtype, shape: &[usize], bytes: Vec<u8>) -> Self {
        Self {
            name: name.to_owned(),
            dtype,
            shape: shape.to_vec(),
            bytes,
        }
    }
}

/// A folder with one shard, a config, and nothing else.
pub(crate) fn folder(config: &Value, tensors: &[NewTensor]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let views = tensors.iter().map(|t| {
        let view = TensorView::new(t.dtype, t.shape.clone(), &t.bytes).unwrap();
        (t.name.as_str(), view)
    });
    safetensors::serialize_to_file(views, None, &dir.path().join("model.safetensors")).unwrap();
    fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    dir
}

/// Numbers that are close to normally distributed, and the same on every machine.
pub(crate) fn noise(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed;
    let mut uniform = || {
        state = state
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        (state >> 40) as f32 / (1 << 24) as f32 - 0.5
    };
    let sums = (0..count).map(|_| (0..8).map(|_| uniform()).sum());
    sums.collect()
}
