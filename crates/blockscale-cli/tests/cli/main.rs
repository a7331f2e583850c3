//! The command line as a person uses it: the binary in a process of its own.

mod answers;
mod interruption;
mod memory;
mod output;
mod process;
mod real_model;
mod recipes;
mod terminal;
