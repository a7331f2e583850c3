//! Rules that the public functions keep, one module for each module of the crate.
//!
//! Small domains are exhausted; the rest is held, on random formats, shapes and bytes, against the
//! slowest correct code.

mod common;
mod decode;
mod element;
mod encode;
mod format;
mod scale;
mod stats;
mod transcode;
