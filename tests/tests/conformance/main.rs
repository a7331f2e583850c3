//! Numbers that other implementations computed, bit for bit.
//!
//! `data/conformance/README.md` says which implementation wrote what. Where a peer departs from the
//! arithmetic of this project, the test says how, and compares what remains.

mod codecs;
mod coverage;
mod decode;
mod encode;
mod field;
mod ggml;
mod integers;
mod policies;
mod vectors;
