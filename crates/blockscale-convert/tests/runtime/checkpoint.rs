//! Checkpoints to check, and the check as these tests call it.

use std::collections::HashMap;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use blockscale::runtime::Runtime;
use blockscale_convert::sample::{SampleOptions, write_sample};
use blockscale_convert::source::LocalSource;
use blockscale_convert::{
    ConvertError, ConvertOptions, RuntimeOptions, RuntimeReport, Weights, convert, runtime_check,
};
use blockscale_model::catalog::Catalog;
use blockscale_model::plan::{Plan, PlanOptions};
use blockscale_model::recipe::{Recipe, builtin};
use blockscale_model::{Checkpoint, Dtype};
use safetensors::tensor::TensorView;
use tempfile::TempDir;

/// A checkpoint that is open.
pub(crate) struct Opened {
    checkpoint: Checkpoint,
    catalog: Catalog,
    source: LocalSource,
}

impl Opened {
    pub(crate) fn new(path: &Path) -> Self {
        let (checkpoint, source) = LocalSource::open(path).unwrap();
        let catalog = Catalog::of(&checkpoint);
        assert!(catalog.refusals.is_empty(), "{:?}", catalog.refusals);
        Self {
            checkpoint,
            catalog,
            source,
        }
    }

    fn weights(&self) -> Weights<'_> {
        Weights {
            checkpoint: &self.checkpoint,
            catalog: &self.catalog,
            source: &self.source,
        }
    }

    pub(crate) fn try_check(
        &self,
        runtime: Runtime,
        options: &RuntimeOptions,
    ) -> Result<RuntimeReport, ConvertError> {
        let stop = AtomicBool::new(false);
        runtime_check(self.weights(), runtime, options, &(), &stop)
    }

    pub(crate) fn check(&self, runtime: Runtime) -> RuntimeReport {
        self.try_check(runtime, &RuntimeOptions::default()).unwrap()
    }

    pub(crate) fn convert(&self, recipe: &Recipe) -> TempDir {
        let out = tempfile::tempdir().unwrap();
        let options = PlanOptions::default();
        let plan = Plan::build(&self.checkpoint, &self.catalog, recipe, &options).unwrap();
        let stop = AtomicBool::new(false);
        let options = ConvertOptions::default();
        convert(self.weights(), &plan, out.path(), &options, &(), &stop).unwrap();
        out
    }
}

/// The sample with `layers` layers, as published and as a recipe makes it.
pub(crate) fn sample(layers: usize, recipe: &str) -> (TempDir, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let options = SampleOptions {
        layers,
        ..SampleOptions::default()
    };
    write_sample(dir.path(), &options).unwrap();
    let out = Opened::new(dir.path()).convert(&builtin(recipe).unwrap());
    (dir, out)
}

pub(crate) fn options(rows: usize, max_memory: u64) -> RuntimeOptions {
    RuntimeOptions {
        rows: NonZeroUsize::new(rows).unwrap(),
        max_memory,
    }
}

/// A tensor to write.
#[derive(Clone)]
pub(crate) struct NewTensor {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl NewTensor {
    pub(crate) fn new(
        name: impl Into<String>,
        dtype: Dtype,
        shape: &[usize],
        bytes: &[u8],
    ) -> Self {
        // Bytes are repeated as often as the shape asks for.
        let len = shape.iter().product::<usize>() * dtype.bitsize() / 8;
        Self {
            name: name.into(),
            dtype,
            shape: shape.to_vec(),
            bytes: bytes.iter().copied().cycle().take(len).collect(),
        }
    }
}

/// A weight in FP8 blocks of 128 x 128 with F32 scales, `scales` in turn.
pub(crate) fn fp8_block(name: &str, shape: &[usize], scales: &[f32]) -> Vec<NewTensor> {
    let codes: Vec<u8> = (0..251).map(|i| i % 0x7f).collect();
    let scales: Vec<u8> = scales.iter().flat_map(|s| s.to_le_bytes()).collect();
    let (lead, matrix) = shape.split_at(shape.len() - 2);
    let blocks = [lead, &[matrix[0].div_ceil(128), matrix[1].div_ceil(128)]].concat();
    vec![
        NewTensor::new(format!("{name}.weight"), Dtype::F8_E4M3, shape, &codes),
        NewTensor::new(
            format!("{name}.weight_scale_inv"),
            Dtype::F32,
            &blocks,
            &scales,
        ),
    ]
}

/// A weight in NVFP4 as ModelOpt writes it.
pub(crate) fn nvfp4(name: &str, rows: usize, cols: usize, global: f32) -> Vec<NewTensor> {
    let codes: Vec<u8> = (0..=250).collect();
    let scales: Vec<u8> = (0x20..0x7f).collect();
    let global = global.to_le_bytes();
    vec![
        NewTensor::new(
            format!("{name}.weight"),
            Dtype::U8,
            &[rows, cols / 2],
            &codes,
        ),
        NewTensor::new(
            format!("{name}.weight_scale"),
            Dtype::F8_E4M3,
            &[rows, cols / 16],
            &scales,
        ),
        NewTensor::new(format!("{name}.weight_scale_2"), Dtype::F32, &[], &global),
    ]
}

/// Writes tensors to one file of a new folder, with the configuration given, and opens it.
pub(crate) fn written(
    tensors: &[NewTensor],
    config: Option<&serde_json::Value>,
) -> (TempDir, Opened) {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), tensors, None);
    if let Some(config) = config {
        fs::write(dir.path().join("config.json"), config.to_string()).unwrap();
    }
    let opened = Opened::new(dir.path());
    (dir, opened)
}

/// Writes tensors to one file of a folder.
pub(crate) fn write(dir: &Path, tensors: &[NewTensor], metadata: Option<HashMap<String, String>>) {
    let views = tensors.iter().map(|t| {
        let view = TensorView::new(t.dtype, t.shape.clone(), &t.bytes).unwrap();
        (t.name.as_str(), view)
    });
    safetensors::serialize_to_file(views, metadata, &dir.join("model.safetensors")).unwrap();
}
