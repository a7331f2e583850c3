//! The kernels' arithmetic, compiled for the host, against the Rust core: every code, every rounding case, every scheme.
//!
//! The `.cuh` files are C++ as well as CUDA, and a small program, `kernels/cuda/host_shim.cpp`, makes arrays with them. Without
//! a C++ compiler the tests say so and pass.

mod blocks;
mod elements;
mod inputs;
mod places;
mod quick;
mod shim;
