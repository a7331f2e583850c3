//! Checkpoints in the memory of runtimes: what passes, what is skipped, and what is found.

mod checkpoint;
mod converted;
mod field;
mod joined;
mod limits;
mod skipped;
mod stacks;
