//! Rules that the public functions keep, one module for each module of the crate.
//!
//! Small domains are exhausted; the rest is held, on random formats, shapes and bytes, against the
//! slowest correct code.

mod carry;
mod common;
mod counts;
mod crates;
mod decode;
mod element;
mod encode;
mod format;
mod ggml;
mod grid;
mod int;
mod int_trips;
mod intermediate;
mod mxfp4;
mod names;
mod policy;
mod rule;
mod scale;
mod scheme;
mod stats;
mod transcode;
