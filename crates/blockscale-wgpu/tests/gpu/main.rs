//! The adapter held to the core: the same bits, whatever the format, the shape and the cut.
//!
//! Without an adapter each test says so and passes; Mesa's `lvp` driver is one that every machine
//! can have.

mod arithmetic;
mod cases;
mod common;
mod counting;
mod decoding;
mod losing;
mod reducing;
