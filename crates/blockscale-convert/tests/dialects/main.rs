//! What other tools write, read and converted: every dialect, against the tools' own numbers.

mod cases;
mod checkpoints;
mod conversions;
mod gguf;
mod integers;
mod support;
