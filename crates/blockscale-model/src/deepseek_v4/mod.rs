//! What is known about the DeepSeek-V4 architecture: its tensor names in every
//! spelling that tools write, and the shape that each tensor must have.
//!
//! Names are compared in one spelling, the *native* one of the published
//! checkpoints (`layers.3.attn.wq_a.weight`). [`to_native`] turns the other
//! spellings into it, [`to_hf`] goes to the module names of Hugging Face
//! transformers. [`DeepSeekV4`] holds the dimensions, read from `config.json`.
//!
//! DeepSeek-V4.1 is another architecture. [`detect`](DeepSeekV4::detect) tells
//! them apart and says why V4.1 is refused.

mod arch;
mod config;
mod detect;
mod names;
mod spelling;
mod table;

pub use arch::{Counts, DeepSeekV4};
pub use config::{ConfigError, released_config_keys};
pub use detect::Detection;
pub use names::{FusedExperts, Layer, NativeName, fused_experts, parse, to_hf, to_native};
pub use spelling::Spelling;
pub(crate) use spelling::spell;
pub use table::Part;
