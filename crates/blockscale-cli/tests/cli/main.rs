//! The command line as a person uses it: the binary in a process of its own.

mod answers;
mod devices;
mod doctor;
mod faults;
mod interruption;
mod memory;
mod output;
mod process;
mod real_model;
mod recipes;
mod repair;
mod terminal;
mod view;
