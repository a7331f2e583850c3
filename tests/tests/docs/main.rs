//! The documents, kept true: tables come from the code, links lead somewhere, commands exist.
//!
//! Run with `BLOCKSCALE_BLESS=1` to write the generated tables into `docs/formats.md` again.

mod commands;
mod elements;
mod formats;
mod generated;
mod links;
mod page;
#[expect(
    dead_code,
    reason = "the tests of conformance, whose module it is, read more of it"
)]
#[path = "../conformance/policies.rs"]
mod peer_policies;
mod peers;
mod policies;
mod powers;
mod random;
mod schemes;
mod source;
mod sqnr;
#[expect(
    dead_code,
    reason = "the tests of conformance, whose module it is, read more of the vectors"
)]
#[path = "../conformance/vectors.rs"]
mod vectors;
mod worked;
