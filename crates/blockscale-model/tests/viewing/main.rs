//! Checkpoints opened and looked at by byte ranges alone, as a viewer does.

mod files;
mod opening;
mod parts;
mod views;
