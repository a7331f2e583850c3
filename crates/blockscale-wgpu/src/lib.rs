//! Block-scaled weights on graphics adapters, natively (Vulkan, Metal, Direct3D 12) and in a
//! browser (WebGPU): what a viewer has to know of tensors that are too large to look at number by
//! number.
//!
//! | to | on an adapter | without one |
//! |----|---------------|-------------|
//! | decode a window to `f32` | [`Gpu::tile`] | [`cpu::tile`] |
//! | take extremes and means in the cells of any grid: heat maps, row and column profiles | [`Gpu::heat_map`] | [`cpu::heat_map`] |
//! | count numbers between edges, exponents included | [`Gpu::histogram`] | [`cpu::histogram`] |
//! | count codes, and bytes of scales | [`Gpu::code_counts`], [`Gpu::scale_code_counts`] | [`cpu::code_counts`], [`cpu::scale_code_counts`] |
//! | say how far two weights are apart, in the cells of any grid | [`Gpu::compare`] | [`cpu::compare`] |
//!
//! A weight is [`Stored`] in memory, in any block [`Format`](blockscale::Format) or as plain
//! numbers, and [`Resident`] on an adapter once it was uploaded. A [`Source`] says what is looked
//! at: its numbers, its scales, or its difference from another weight. [`Backend`] uses an adapter
//! while there is one and the processor otherwise.
//!
//! ```
//! use blockscale::decode::Rows;
//! use blockscale::{Format, Shape};
//! use blockscale_wgpu::{Backend, Measure, Options, RequestError, Source, Stored, Window};
//!
//! # pollster::block_on(async {
//! // Two rows of 32 NVFP4 elements, all codes 2 (that is, 1.0). The scales are 1, 2, 1 and 32.
//! let rows = Rows { codes: &[0x22; 32], scales: &[0x38, 0x40, 0x38, 0x60], global: 1.0 };
//! let weight = Stored::blocks(&Format::NVFP4, Shape::new(2, 32), rows)?;
//!
//! let mut backend = Backend::new(&Options::default()).await;
//! let weight = backend.load(weight).await;
//! let scales = Source::Scales(&weight);
//! let window = Window::whole(scales.shape()?);
//! let cells = Shape::new(2, 1);
//! let map = backend.heat_map(scales, &window, cells, Measure::Magnitude).await?;
//! let of_rows = map.cells.iter().map(|cell| (cell.max, cell.mean)).collect::<Vec<_>>();
//! assert_eq!(of_rows, [(2.0, 1.5), (32.0, 16.5)]);
//! # Ok::<(), RequestError>(())
//! # })?;
//! # Ok::<(), RequestError>(())
//! ```
//!
//! # Arithmetic
//!
//! WGSL leaves open which way an `f32` operation is rounded, and whether subnormals and NaN survive
//! it. So the kernels work on integers alone: they look up the values of codes and the scales of
//! both levels in tables that the core filled, and multiply, subtract, compare and add the bits of
//! numbers. Numbers, extremes and counts are the core's bits on every adapter, subnormals and signs
//! of zero included; only the payload of a NaN may differ. Sums are not in the core's order, but
//! closer than a viewer can show: [`Gpu::heat_map`] and [`Gpu::compare`] say how close, and they
//! too are the same on every adapter.
//!
//! A new adapter has to decode products that round, tie, overflow and underflow before it is used;
//! one that gets a bit wrong is refused with [`GpuError::WrongResult`]. What its own floats do with
//! subnormals is in its [`Report`].
//!
//! # Limits
//!
//! The kernels need no more than every WebGPU implementation has: no halves, no subgroups, buffers
//! of 128 MiB, 65,535 workgroups. Weights are cut into parts of [`Options::part_bytes`], between
//! rows or within a row, and results are put together again; a side of a weight may be up to
//! 2^32 - 2.
//!
//! # In a browser
//!
//! Everything is asynchronous and nothing blocks there; a request that is dropped is not finished.
//! Natively each request waits for the adapter while it is polled.

#![forbid(unsafe_code)]

mod backend;
pub mod cpu;
mod device;
mod error;
mod geometry;
mod gpu;
mod heat_map;
mod histogram;
mod kernel;
mod order;
mod resident;
mod source;
mod stored;
mod window;

pub use backend::{Backend, Loaded};
pub use error::{GpuError, RequestError};
pub use gpu::{AdapterChoice, FloatSubnormals, Gpu, Options, Report, Software};
pub use heat_map::{Cell, HeatMap, Measure};
pub use histogram::{Edges, Histogram};
pub use resident::Resident;
pub use source::{Source, Weight};
pub use stored::{Kind, Number, Stored};
pub use window::Window;
