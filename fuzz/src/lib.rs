//! Hostile input: one body for each thing that reads bytes from elsewhere.
//!
//! A [`Target`] takes any bytes and must come back: no panic, no overflow, no allocation that the input does
//! not justify, and where something was accepted, the laws that hold for it. The same bodies are driven by
//! libFuzzer (`cargo xtask fuzz`) and by the ordinary tests of this package, which replay the
//! [`seeds`] and every input that was ever a finding, and try [mutations](Mutator) of them.

mod input;
mod mutate;
pub mod seeds;
mod targets;

pub use mutate::Mutator;
pub use targets::{Reads, TARGETS, Target, named};
