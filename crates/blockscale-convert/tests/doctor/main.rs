//! The doctor on checkpoints: every fault is found under its own code, and nothing is found in clean
//! ones.

mod clean;
mod document;
mod faults;
mod large;
mod manifest;
mod opened;
mod real;
mod targets;
