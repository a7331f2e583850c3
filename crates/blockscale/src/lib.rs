//! Codecs and block formats of low-precision weights: NVFP4, MXFP4, MXFP6, MXFP8 and FP8 with block
//! scales; integers in groups; the blocks of ggml.
//!
//! A block format stores a matrix as small codes and, for each block of them, one scale. What a
//! format is made of is a value, [`Format`], so one set of functions serves all of them; how a
//! library rounds is another, [`Scheme`](encode::Scheme).
//!
//! | to | module |
//! |----|--------|
//! | turn such bytes into numbers | [`decode`] |
//! | turn numbers into such bytes, as this crate does or as a named library does | [`encode`] |
//! | turn one format into another on the codes, saying what is lossless | [`transcode`] |
//! | say how far two rows of numbers are apart | [`stats`] |
//! | show how one number comes about | [`explain`] |
//! | widen or round one code | [`element`] |
//! | read and write integers in groups: AWQ, GPTQ, compressed-tensors, ModelOpt, MLX | [`int`] |
//! | read and write ggml's blocks, which hold scales and codes in one | [`ggml`] |
//! | bring scales and codes into the order of a runtime's kernels, and back | [`layout`] |
//! | read them there as the kernels do, which proves the order right | [`runtime`] |
//! | ask which instructions do all this here | [`arch`] |
//!
//! ```
//! use blockscale::decode::{Rows, decode_rows};
//! use blockscale::{Format, Shape, bf16};
//!
//! // Sixteen E2M1 codes, two a byte, and their E4M3 scale 0x30, which is one half.
//! let codes = [0x10, 0x32, 0x54, 0x76, 0x98, 0xba, 0xdc, 0xfe];
//! let mut out = [bf16::ZERO; 16];
//! let rows = Rows { codes: &codes, scales: &[0x30], global: 2.0 };
//! decode_rows(&Format::NVFP4, Shape::new(1, 16), rows, &mut out)?;
//! assert_eq!(out[..8], [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0].map(bf16::from_f32));
//! # Ok::<(), blockscale::LenMismatch>(())
//! ```
//!
//! # Rows
//!
//! Every function works on slices of the caller and on a *run of rows*: a whole matrix, or any part
//! of it that starts at a multiple of [`Format::block_rows`]. Rows are independent, so the result
//! does not depend on how a matrix is cut or on which thread works on which part. Two modules want
//! all of a weight, since columns or tiles lie outermost there: [`int`], which decodes any of its
//! rows, and [`layout`].
//!
//! Sizes are asked of the format: [`Format::code_bytes`] and [`Format::scale_bytes`] of a [`Shape`].
//! A slice of another length is an error, [`LenMismatch`], and nothing is written.
//!
//! # Arithmetic
//!
//! All steps are defined to the bit. Codes widen to `f32` exactly; the scales of both levels are
//! combined with one `f32` rounding, and the value is one `f32` product: `element * (scale *
//! global)`, or `element * (scale / global)` where the second level is a divisor. Output in 16 bits
//! rounds once more. Encoding divides by the same combined scale and rounds to nearest, ties to the
//! even code, saturating. Where another library does otherwise, a [`Scheme`](encode::Scheme) and its
//! [`EncodePolicy`](element::EncodePolicy) say so, and give its bytes:
//!
//! ```
//! use blockscale::encode::{Scheme, amax, encode_rows_with, global_scale_with};
//! use blockscale::{Format, Shape};
//!
//! let weight = [0.75_f32; 16];
//! let (format, scheme) = (Format::NVFP4_DIVISOR, Scheme::COMPRESSED_TENSORS_NVFP4);
//! let global = global_scale_with(&format, &scheme, amax(&weight));
//! let (mut codes, mut scales) = ([0; 8], [0; 1]);
//! let shape = Shape::new(1, 16);
//! encode_rows_with(&format, &scheme, shape, &weight, global, &mut codes, &mut scales)?;
//! assert_eq!((codes, scales, global), ([0x77; 8], [0x7e], 3584.0));
//! # Ok::<(), blockscale::LenMismatch>(())
//! ```
//!
//! # Features
//!
//! `std` (default) finds at run time which [instructions](arch::Level) the machine has; `alloc` is accepted for
//! symmetry with the rest of the workspace. Without both, the crate needs neither a heap nor an
//! operating system. The numbers are the same either way.

#![no_std]
#![deny(unsafe_code)]

extern crate no_std_compat as std;

pub mod arch;
mod bits;
pub mod decode;
pub mod element;
pub mod encode;
mod error;
pub mod explain;
pub mod format;
pub mod ggml;
pub mod int;
pub mod layout;
mod real;
pub mod runtime;
pub mod stats;
pub mod transcode;

pub use error::LenMismatch;
pub use format::{Block, Element, Format, GlobalScale, ScaleElement, Shape};
pub use half::{bf16, f16};
pub use real::Real;
