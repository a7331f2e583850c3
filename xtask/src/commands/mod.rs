//! One module a command.

pub(crate) mod demo;
pub(crate) mod deny;
pub(crate) mod fuzz;
pub(crate) mod stress;
pub(crate) mod test;
