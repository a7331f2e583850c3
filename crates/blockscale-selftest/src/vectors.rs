//! What other implementations computed, inside this crate, so that a binary can be checked on any
//! machine.

use std::collections::BTreeMap;

use blockscale::Shape;
use blockscale::layout::Stack;
pub(crate) use safetensors::Dtype;
use safetensors::{SafeTensorError, SafeTensors};

use crate::numbers::Numbers;

/// Deflated safetensors: those of `tests/data/conformance` with scales of blocks, each tensor by
/// `file/case.peer.field`. A test of this crate holds it to those files, and writes it anew where
/// `BLOCKSCALE_BLESS` is set.
static ARCHIVE: &[u8] = include_bytes!("../data/conformance.z");

/// The vectors inside the program cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("the embedded vectors cannot be read: {0}; build the program anew")]
pub struct ArchiveError(String);

impl From<SafeTensorError> for ArchiveError {
    fn from(error: SafeTensorError) -> Self {
        Self(error.to_string())
    }
}

/// One tensor.
pub(crate) struct Tensor {
    pub(crate) dtype: Dtype,
    pub(crate) shape: Vec<usize>,
    pub(crate) data: Vec<u8>,
}

/// All of them, by name.
pub(crate) struct Vectors(BTreeMap<String, Tensor>);

/// The archive's safetensors.
pub(crate) fn inflated() -> Result<Vec<u8>, ArchiveError> {
    miniz_oxide::inflate::decompress_to_vec(ARCHIVE)
        .map_err(|error| ArchiveError(error.to_string()))
}

impl Vectors {
    pub(crate) fn embedded() -> Result<Self, ArchiveError> {
        let bytes = inflated()?;
        let file = SafeTensors::deserialize(&bytes)?;
        let owned = |(name, view): (String, safetensors::tensor::TensorView<'_>)| {
            let tensor = Tensor {
                dtype: view.dtype(),
                shape: view.shape().to_vec(),
                data: view.data().to_vec(),
            };
            (name, tensor)
        };
        Ok(Self(file.tensors().into_iter().map(owned).collect()))
    }

    pub(crate) fn find(&self, file: &str, name: &str) -> Option<&Tensor> {
        self.0.get(&format!("{file}/{name}"))
    }

    pub(crate) fn get(&self, file: &str, name: &str) -> Result<&Tensor, ArchiveError> {
        self.find(file, name)
            .ok_or_else(|| ArchiveError(format!("no `{name}` of `{file}`")))
    }

    /// Cases of which `peer` has a `field`.
    pub(crate) fn cases(&self, file: &str, peer: &str, field: &str) -> Vec<String> {
        let (start, end) = (format!("{file}/"), format!(".{peer}.{field}"));
        let case = |name: &String| {
            let name = name.strip_prefix(&start)?.strip_suffix(&end)?;
            Some(name.to_owned())
        };
        self.0.keys().filter_map(case).collect()
    }
}

impl Tensor {
    /// As a stack of matrices.
    pub(crate) fn stack(&self) -> Result<Stack, ArchiveError> {
        match self.shape[..] {
            [rows, cols] => Ok(Stack::single(Shape::new(rows, cols))),
            [matrices, rows, cols] => Ok(Stack::new(matrices, Shape::new(rows, cols))),
            _ => Err(ArchiveError(format!("no stack: {:?}", self.shape))),
        }
    }

    pub(crate) fn numbers(&self) -> Result<Numbers, ArchiveError> {
        fn numbers<T: bytemuck::AnyBitPattern>(bytes: &[u8]) -> Vec<T> {
            let numbers = bytes.chunks_exact(size_of::<T>());
            numbers.map(bytemuck::pod_read_unaligned).collect()
        }
        let bytes = &self.data;
        Ok(match self.dtype {
            Dtype::F32 => Numbers::F32(numbers(bytes)),
            Dtype::BF16 => Numbers::Bf16(numbers(bytes)),
            Dtype::F16 => Numbers::F16(numbers(bytes)),
            other => return Err(ArchiveError(format!("{other:?} are no numbers"))),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use safetensors::tensor::TensorView;

    use super::*;

    /// Files of which the archive is made.
    const FILES: [&str; 10] = [
        "inputs",
        "nvfp4_modelopt",
        "nvfp4_compressed_tensors",
        "nvfp4_torchao",
        "mxfp4",
        "mxfp6",
        "mxfp8",
        "fp8_block",
        "fp8_block_ue8m0",
        "fp8_tensor_channel",
    ];

    /// Where the sources of the workspace are at hand; a packaged crate has the archive alone.
    fn sources() -> Option<Vec<(String, Vec<u8>)>> {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = here.join("../../tests/data/conformance");
        let read = |file: &&str| {
            let bytes = std::fs::read(folder.join(format!("{file}.safetensors"))).ok()?;
            Some((file.to_string(), bytes))
        };
        FILES.iter().map(read).collect()
    }

    #[test]
    fn the_archive_holds_the_conformance_files_as_they_are() {
        let Some(files) = sources() else {
            eprintln!("skipped: no tests/data/conformance beside this crate");
            return;
        };
        let files: Vec<_> = files
            .iter()
            .map(|(name, bytes)| (name, SafeTensors::deserialize(bytes).unwrap()))
            .collect();
        let mut all: BTreeMap<String, TensorView<'_>> = BTreeMap::new();
        for (file, tensors) in &files {
            for (name, view) in tensors.tensors() {
                all.insert(format!("{file}/{name}"), view);
            }
        }
        if std::env::var_os("BLOCKSCALE_BLESS").is_some() {
            let merged = safetensors::serialize(&all, None).unwrap();
            let deflated = miniz_oxide::deflate::compress_to_vec(&merged, 9);
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/conformance.z");
            std::fs::write(path, deflated).unwrap();
            return;
        }
        let archive = Vectors::embedded().unwrap();
        assert!(
            archive.0.keys().eq(all.keys()),
            "other vectors in tests/data/conformance; run this test with BLOCKSCALE_BLESS=1"
        );
        for (name, tensor) in &archive.0 {
            let view = &all[name];
            assert_eq!(
                (tensor.dtype, &tensor.shape[..]),
                (view.dtype(), view.shape()),
                "{name}"
            );
            assert!(
                tensor.data == view.data(),
                "{name}: other bytes; run with BLOCKSCALE_BLESS=1"
            );
        }
    }
}
