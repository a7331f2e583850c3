//! Raw tensors put together into weights: what is paired, what is refused, what is only noticed.

#[path = "../common/mod.rs"]
mod common;

mod field;
mod pairing;
mod refusals;
mod rows;
mod tools;
