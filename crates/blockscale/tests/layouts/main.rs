//! Rules of the scale layouts, and a model of the kernels that read them to hold them against.

mod codes;
mod common;
mod k_grouped;
mod marlin;
mod mistakes;
mod refusals;
mod rows;
mod runtime;
mod scales;
mod transform_sf;
mod weights;
