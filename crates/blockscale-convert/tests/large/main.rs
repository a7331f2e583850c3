//! Inputs of a size at which offsets, limits and buffers overflow.
//!
//! `big` is one FP8 matrix of 151 MB, 604 MB as F32, that is converted in a quarter of that. `sparse`
//! has its weight behind 5 GiB of another tensor, where 32 bits do not reach.

mod big;
mod disk;
mod formula;
mod header;
mod sparse;
