//! A small checkpoint with the names and the structure of DeepSeek-V4-Pro.
//!
//! Every linear layer is NVFP4 as ModelOpt writes it: `weight` (two codes a byte), `weight_scale`
//! (E4M3, one a 16 columns), `weight_scale_2` and `input_scale` (F32 scalars). Names, dtypes and
//! counts are those of the large model; only dimensions, experts a layer and vocabulary are small. The
//! numbers are Gaussian, with loud channels and one heavy row a matrix, and follow from a seed alone:
//! the same options give the same bytes on every machine.
//!
//! What makes real checkpoints difficult is there on purpose: several shards, scales that lie in another
//! shard than their weight, halves of a compressor with different global scales, an indexer with its own
//! compressor, two spellings of all names.

mod documents;
mod fault;
mod files;
mod model;
pub(crate) mod random;
mod shards;
mod tensors;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use blockscale::LenMismatch;
use blockscale_model::{HeaderError, ShardNameError};

use fault::Damage;
use files::Folder;

pub use fault::{FAULTS, Fault, fault};

/// Spelling of the tensor names and of `config.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SampleDialect {
    /// Hugging Face module names, norms in F32: a ModelOpt export.
    #[default]
    Hf,
    /// Names of the DeepSeek releases, norms in BF16.
    Native,
}

/// What to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleOptions {
    /// Spelling of the names.
    pub dialect: SampleDialect,
    /// Layers of the main model, beside one layer for multi-token prediction.
    pub layers: usize,
    /// Seed of all numbers.
    pub seed: u64,
    /// What is to be wrong with it.
    pub fault: Option<&'static Fault>,
}

impl Default for SampleOptions {
    /// Hugging Face names and the 61 layers of DeepSeek-V4-Pro.
    fn default() -> Self {
        Self {
            dialect: SampleDialect::default(),
            layers: 61,
            seed: 0,
            fault: None,
        }
    }
}

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleReport {
    /// Tensors, scales among them.
    pub tensors: usize,
    /// Weights in NVFP4.
    pub quantized: usize,
    /// Bytes of tensors, headers not counted.
    pub tensor_bytes: u64,
    /// Names of the shards.
    pub shards: Vec<String>,
}

/// Why a sample could not be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SampleError {
    /// A number of layers that no reader would take.
    #[error("a sample has 1 to {max} layers, not {found}")]
    Layers {
        /// Largest number of layers.
        max: usize,
        /// Number asked for.
        found: usize,
    },
    /// The folder holds something that is not part of this sample.
    #[error("`{}` holds `{found}`, which is not part of this sample; choose an empty folder", dir.display())]
    NotEmpty {
        /// The folder.
        dir: PathBuf,
        /// The first such entry by name.
        found: String,
    },
    /// An operation on a file failed.
    #[error("cannot {operation} `{}`", path.display())]
    Io {
        /// What was being done.
        operation: &'static str,
        /// To which file or folder.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The sample has nothing that the fault could damage.
    #[error("a sample of {layers} layers has nothing that `{fault}` damages; give it more layers")]
    NothingToDamage {
        /// The fault.
        fault: &'static str,
        /// Layers of the sample.
        layers: usize,
    },
    /// A shard cannot be laid out.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// A shard cannot be named.
    #[error(transparent)]
    ShardName(#[from] ShardNameError),
    /// A tensor and its buffers do not fit together.
    #[error(transparent)]
    Encode(#[from] LenMismatch),
}

/// Largest number of layers; a configuration with more is refused by the reader.
const MAX_LAYERS: usize = 4096;

/// Writes a sample checkpoint to `dir`, which is created if need be.
///
/// A folder that holds the files of an earlier sample with as many shards is written over. Each file
/// appears under its name when it is complete, `config.json` and the index last. About 40 MB with 61
/// layers; a shard at a time is held in memory.
///
/// # Errors
/// [`SampleError`] if the folder holds anything else, and if writing fails.
///
/// # Examples
/// ```
/// use blockscale_convert::sample::{SampleOptions, write_sample};
///
/// let dir = tempfile::tempdir()?;
/// let options = SampleOptions { layers: 1, ..SampleOptions::default() };
/// let report = write_sample(dir.path(), &options)?;
/// assert!(dir.path().join(&report.shards[0]).exists());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_sample(dir: &Path, options: &SampleOptions) -> Result<SampleReport, SampleError> {
    if !(1..=MAX_LAYERS).contains(&options.layers) {
        return Err(SampleError::Layers {
            max: MAX_LAYERS,
            found: options.layers,
        });
    }
    let arch = model::small_pro(options.layers);
    let plan = shards::Plan::new(&arch)?;
    let mut documents = documents::all(&arch, options.dialect);
    let mut damage = Damage::of(options);
    damage.documents(&mut documents);

    let document_names = documents.iter().map(|document| document.name);
    let names = plan
        .shard_names()
        .chain(document_names)
        .chain([documents::INDEX]);
    let folder = Folder::prepare(dir, names)?;
    let written = plan.write(&folder, options, &mut damage)?;
    for document in &documents {
        folder.write(document.name, |file| file.write_all(&document.bytes))?;
    }
    let index = damage.index(written.index());
    folder.write(documents::INDEX, |file| file.write_all(&index))?;
    damage.folder(dir)?;
    damage.done()?;
    Ok(written.report())
}
