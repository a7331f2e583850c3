//! What the tests of this package share: where their data lies, and how it is read.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{fs, io};

pub use safetensors::Dtype;
use safetensors::SafeTensors;

/// Path of a file or folder under `tests/data`.
pub fn data(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("data")
        .join(relative)
}

/// One tensor of a small file, with its own copy of the bytes.
#[derive(Clone, Debug)]
pub struct Tensor {
    /// Element type, as the file names it.
    pub dtype: Dtype,
    /// Sizes, outermost first; empty for a scalar.
    pub shape: Vec<usize>,
    /// The elements, row-major, little-endian.
    pub data: Vec<u8>,
}

impl Tensor {
    /// The elements of an F32 tensor.
    ///
    /// # Panics
    ///
    /// Where the tensor is of another type.
    pub fn f32s(&self) -> Vec<f32> {
        assert_eq!(self.dtype, Dtype::F32);
        self.data
            .as_chunks::<4>()
            .0
            .iter()
            .map(|&bytes| f32::from_le_bytes(bytes))
            .collect()
    }

    /// The bit patterns of a BF16 tensor.
    ///
    /// # Panics
    ///
    /// Where the tensor is of another type.
    pub fn bf16_bits(&self) -> Vec<u16> {
        assert_eq!(self.dtype, Dtype::BF16);
        self.data
            .as_chunks::<2>()
            .0
            .iter()
            .map(|&bytes| u16::from_le_bytes(bytes))
            .collect()
    }
}

/// All tensors of a safetensors file under `tests/data`, by name.
///
/// # Panics
///
/// Where the file cannot be read: it ships with the tests.
pub fn read_tensors(relative: &str) -> BTreeMap<String, Tensor> {
    let path = data(relative);
    let bytes = fs::read(&path).unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
    let file = SafeTensors::deserialize(&bytes)
        .unwrap_or_else(|error| panic!("`{}`: {error}", path.display()));
    let owned = |(name, view): (String, safetensors::tensor::TensorView<'_>)| {
        let tensor = Tensor {
            dtype: view.dtype(),
            shape: view.shape().to_vec(),
            data: view.data().to_vec(),
        };
        (name, tensor)
    };
    file.tensors().into_iter().map(owned).collect()
}

/// Says why a test does nothing here, past the test runner's capture of output.
pub fn skip(reason: &str) {
    // A closed stderr is no reason to fail.
    let _ = writeln!(io::stderr(), "skipped: {reason}");
}
