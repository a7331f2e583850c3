//! What a checkpoint of block-scaled weights means, without I/O.
//!
//! This crate never opens a file. It is given bytes (a header, an index, a config) and says what they
//! mean and which byte ranges hold what. So the same rules run on a local folder, over range requests
//! and on a file dropped into a browser tab.
//!
//! - [`Header`]: one safetensors header, checked, each error naming its tensor; [`lay_out`] writes one.
//! - [`Index`]: `model.safetensors.index.json`, with shard names that cannot leave the folder.
//! - [`Checkpoint`]: headers and index held against each other both ways; what does not fit is an
//!   error or a [`Finding`], never a silent choice.
//! - [`gguf`]: the header of a GGUF file, which is a checkpoint by itself.
//! - [`opening`]: which bytes are needed to open a checkpoint that lies elsewhere, step by step.
//! - [`view`]: which bytes hold some rows of a weight, and what they become.
//! - [`catalog`]: raw tensors put together into logical weights, each with its format.
//! - [`dialect`]: how tools name the parts of a weight and announce it.
//! - [`recipe`]: which weight becomes what, as ordered rules in TOML.
//! - [`plan`]: catalog and recipe brought down to the last output byte.
//! - [`interpret`]: what bytes may be meant as, and which of that they bear out.
//! - [`doctor`]: what is wrong with a checkpoint, as rules.
//! - [`deepseek_v4`]: names in every spelling, and the shapes that the architecture fixes.
//!
//! ```
//! use blockscale::Format;
//! use blockscale_model::catalog::Catalog;
//! use blockscale_model::{Checkpoint, CheckpointFiles, Header, ShardFile, ShardName};
//!
//! // The header of a file that holds an FP8 weight, its scales, and another without.
//! let json = br#"{"a.weight":{"dtype":"F8_E4M3","shape":[128,256],"data_offsets":[0,32768]},
//!     "a.weight_scale_inv":{"dtype":"F32","shape":[1,2],"data_offsets":[32768,32776]},
//!     "b.weight":{"dtype":"F8_E4M3","shape":[1,2],"data_offsets":[32776,32778]}}"#;
//! let len = 8 + json.len() as u64 + 32_778;
//! let (name, header) = (ShardName::new("model.safetensors")?, Header::parse(json, len)?);
//! let shards = vec![ShardFile { name, len, header }];
//! let checkpoint = Checkpoint::assemble(CheckpointFiles { shards, ..Default::default() })?;
//!
//! let catalog = Catalog::of(&checkpoint);
//! let weight = catalog.weight("a.weight").unwrap();
//! assert_eq!(weight.encoding.format(), Some(&Format::FP8_BLOCK));
//! assert_eq!(catalog.refusals[0].tensor, "b.weight"); // no scale is ever assumed
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod assemble;
pub mod catalog;
mod checkpoint;
mod comparable;
pub mod deepseek_v4;
pub mod dialect;
pub mod doctor;
mod finding;
pub mod gguf;
mod glob;
mod header;
mod header_error;
mod header_write;
mod index;
pub mod interpret;
mod json;
mod limits;
pub mod opening;
pub mod plan;
pub mod recipe;
mod shard_name;
pub mod view;

pub use checkpoint::{Checkpoint, CheckpointError, CheckpointFiles, RawTensor, ShardFile};
pub use comparable::{Comparable, comparables};
pub use finding::{Finding, Severity};
pub use header::{Header, MAX_HEADER_BYTES, PREFIX_BYTES, TensorEntry, tensor_bytes};
pub use header_error::HeaderError;
pub use header_write::{HeaderLayout, NewTensor, lay_out};
pub use index::{Index, IndexError, write_index};
pub use limits::{MAX_AXES, MAX_NAME_BYTES, MAX_TENSORS};
pub use safetensors::Dtype;
pub use shard_name::{ShardName, ShardNameError, ShardNameFault};
