//! Conversions from end to end: files in, files out, every number decoded and compared.

mod baked_experts;
mod cases;
mod casts;
mod checkpoint;
mod disturbed;
mod encoding;
mod files;
mod full_disk;
mod gate_up;
mod layouts;
mod memory;
mod numbers;
mod output_folder;
mod packed_integers;
mod real_checkpoints;
mod resume;
mod run;
mod schemes;
mod shapes;
mod spellings;
mod verification;
mod zero_blocks;
