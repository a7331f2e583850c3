//! Rules of reading GGUF headers, on files built here and on one from another tool.

mod build;
mod field;
mod header;
mod laws;
mod tensors;
mod types;
mod values;
