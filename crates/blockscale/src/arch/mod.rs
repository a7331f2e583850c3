//! The loops, by instruction set, and which of them this machine runs.
//!
//! Each operation has a plain function in portable code, which defines it. Beside it stand faster ones
//! for the instructions of a [`Level`], which give the same bits. What a level has no function for, the
//! plain one does. The level is found once, when first asked for:
//!
//! ```
//! use blockscale::arch::Level;
//!
//! println!("decoding with {}", Level::in_use());
//! assert!(Level::in_use().is_available());
//! assert!(Level::available().any(|level| level == Level::Scalar));
//! ```
//!
//! With the feature `std` the processor is asked; without it, what the crate is compiled for counts.
//! Lengths were checked by the public functions that call in here.

#![expect(
    unsafe_code,
    reason = "instructions that a machine may lack, and stores without checks in the loops"
)]

mod kernels;
mod level;
#[deny(unsafe_code)]
pub(crate) mod scalar;
#[cfg(test)]
pub(crate) mod tests;

#[cfg(all(
    target_arch = "aarch64",
    target_endian = "little",
    target_feature = "neon"
))]
mod aarch64;
#[cfg(any(
    target_arch = "x86_64",
    all(
        target_arch = "aarch64",
        target_endian = "little",
        target_feature = "neon"
    ),
    all(target_arch = "wasm32", target_feature = "simd128"),
))]
mod vector;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm32;
#[cfg(target_arch = "x86_64")]
mod x86_64;

pub(crate) use kernels::{ByteKernels, Kernels};
pub use level::{Level, LevelUnavailable};
