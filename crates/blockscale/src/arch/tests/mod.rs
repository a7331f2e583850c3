//! Every operation on every level that this machine has, held to the definition bit for bit.

mod body;
mod convert;
mod decode;
mod encode;
mod layout;
mod levels;
mod stats;
mod transcode;
