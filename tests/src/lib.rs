//! What the tests of this package share: where their data lies, and how it is read.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
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

/// A file of vectors that remembers which of its tensors were looked at, so that a test can find
/// those that no test compares.
#[derive(Debug)]
pub struct Vectors {
    file: String,
    tensors: BTreeMap<String, Tensor>,
}

/// Names of tensors that were looked at, by file, in all of this process.
static LOOKED_AT: Mutex<BTreeMap<String, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

impl Vectors {
    /// Reads a safetensors file under `tests/data`.
    ///
    /// # Panics
    ///
    /// Where the file cannot be read: it ships with the tests.
    pub fn read(relative: &str) -> Self {
        Self {
            file: relative.to_owned(),
            tensors: read_tensors(relative),
        }
    }

    /// A tensor, which counts as looked at from now on.
    ///
    /// # Panics
    ///
    /// Where there is none of the name.
    pub fn get(&self, name: &str) -> &Tensor {
        self.find(name)
            .unwrap_or_else(|| panic!("no vector `{name}` in `{}`", self.file))
    }

    /// [`get`](Self::get) of one that need not be there.
    pub fn find(&self, name: &str) -> Option<&Tensor> {
        let tensor = self.tensors.get(name)?;
        let mut looked_at = LOOKED_AT.lock().unwrap_or_else(PoisonError::into_inner);
        let names = looked_at.entry(self.file.clone()).or_default();
        names.insert(name.to_owned());
        Some(tensor)
    }

    /// The names of all tensors, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tensors.keys().map(String::as_str)
    }

    /// The names of tensors that nothing in this process has looked at.
    pub fn not_looked_at(&self) -> Vec<&str> {
        let looked_at = LOOKED_AT.lock().unwrap_or_else(PoisonError::into_inner);
        let names = looked_at.get(&self.file);
        self.names()
            .filter(|&name| names.is_none_or(|names| !names.contains(name)))
            .collect()
    }
}

/// Says why a test does nothing here, past the test runner's capture of output.
pub fn skip(reason: &str) {
    // A closed stderr is no reason to fail.
    let _ = writeln!(io::stderr(), "skipped: {reason}");
}
