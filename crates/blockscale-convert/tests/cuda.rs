//! Conversions on CUDA devices, where there are any: every file has the bytes that the CPU writes.
#![cfg(feature = "cuda")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use blockscale_convert::sample::{SampleOptions, write_sample};
use blockscale_convert::source::LocalSource;
use blockscale_convert::{
    Backend, ConvertOptions, CudaDevices, Existing, NoBackend, Weights, convert,
};
use blockscale_cuda::CudaError;
use blockscale_model::catalog::Catalog;
use blockscale_model::plan::{Plan, PlanOptions};
use blockscale_model::recipe::{Recipe, builtin, generic};

/// All devices; where there are none, says so past the test runner's capture of output.
fn devices(max_memory: u64) -> Option<Backend> {
    match Backend::cuda(CudaDevices::All, max_memory) {
        Ok(backend) => Some(backend),
        Err(NoBackend::Cuda(CudaError::NoDriver | CudaError::NoDevice { .. })) => {
            // A closed stderr is no reason to fail.
            let _ = std::io::stderr().write_all(b"skipped: no CUDA device\n");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

fn converted(source: &Path, out: &Path, recipe: &Recipe, backend: Backend, max_memory: u64) {
    let (checkpoint, opened) = LocalSource::open(source).unwrap();
    let catalog = Catalog::of(&checkpoint);
    let weights = Weights {
        checkpoint: &checkpoint,
        catalog: &catalog,
        source: &opened,
    };
    let plan = Plan::build(&checkpoint, &catalog, recipe, &PlanOptions::default()).unwrap();
    let options = ConvertOptions {
        max_memory,
        existing: Existing::Refuse,
        backend,
        ..ConvertOptions::default()
    };
    convert(weights, &plan, out, &options, &(), &AtomicBool::new(false)).unwrap();
}

fn files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(dir)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, fs::read(&path).unwrap())
        })
        .collect()
}

#[test]
fn a_device_that_is_not_there_is_an_error() {
    let beyond = CudaDevices::One(usize::MAX - 1);
    let error = Backend::cuda(beyond, 1 << 30).unwrap_err();
    assert!(matches!(error, NoBackend::Cuda(_)), "{error}");
}

#[test]
fn every_file_has_the_bytes_that_the_cpu_writes() {
    let max_memory = 64 << 20;
    let Some(backend) = devices(max_memory) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let sample = dir.path().join("sample");
    let options = SampleOptions {
        layers: 3,
        ..SampleOptions::default()
    };
    write_sample(&sample, &options).unwrap();
    let to = |target: &str| generic(target.parse().unwrap(), Vec::new(), Vec::new());
    let recipes = [
        ("deepseek-v4", builtin("deepseek-v4").unwrap()),
        ("deepseek-v4-bf16", builtin("deepseek-v4-bf16").unwrap()),
        ("bf16", to("bf16")),
        ("nvfp4", to("nvfp4")),
        ("fp8-tensor", to("fp8-tensor")),
        ("mxfp8", to("mxfp8")),
    ];
    for (name, recipe) in recipes {
        let (on_cpu, on_cuda) = (dir.path().join("cpu"), dir.path().join("cuda"));
        converted(&sample, &on_cpu, &recipe, Backend::CPU, max_memory);
        converted(&sample, &on_cuda, &recipe, backend.clone(), max_memory);
        let (expected, found) = (files(&on_cpu), files(&on_cuda));
        assert!(expected.keys().eq(found.keys()), "{name}");
        for (file, bytes) in &expected {
            assert!(found[file] == *bytes, "{name}: `{file}` differs");
        }
        fs::remove_dir_all(on_cpu).unwrap();
        fs::remove_dir_all(on_cuda).unwrap();
    }
}
