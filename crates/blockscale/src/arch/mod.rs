//! The loops over elements, by instruction set, with the same file names for each.
//!
//! Lengths were checked by the public function that calls in here.

pub(crate) mod scalar;
