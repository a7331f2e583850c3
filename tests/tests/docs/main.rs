//! The documents, kept true: tables come from the code, links lead somewhere, commands exist.
//!
//! Run with `BLOCKSCALE_BLESS=1` to write the generated tables into `docs/formats.md` again.

mod commands;
mod elements;
mod formats;
mod generated;
mod links;
mod page;
mod peers;
mod schemes;
mod source;
#[expect(
    dead_code,
    reason = "the tests of conformance, whose module it is, read more of the vectors"
)]
#[path = "../conformance/vectors.rs"]
mod vectors;
