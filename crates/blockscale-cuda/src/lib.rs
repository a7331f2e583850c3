//! Block formats of low-precision weights on NVIDIA GPUs: the operations of [`blockscale`] on device
//! memory, with the same bits.
//!
//! | to | |
//! |----|--|
//! | turn codes into numbers | [`Device::decode_rows`] |
//! | turn numbers into codes | [`Device::amax`], [`Device::global_scales`], [`Device::encode_rows_with`] |
//! | turn one format into another | [`Device::nvfp4_to_fp8_block_ue8m0`], [`Device::mxfp4_to_nvfp4`], [`Device::mxfp4_to_fp8_block`], [`Device::round_scales_up_to_pow2`] |
//! | bring scales and codes into a runtime's order, and back | [`Device::permute_scales`], [`Device::permute_codes`], [`Device::unpermute_scales`], [`Device::unpermute_codes`] |
//! | count and compare | [`Device::histogram_codes`], [`Device::histogram_exponents`], [`Device::error_stats`] |
//! | change the width of plain numbers | [`Device::widen`], [`Device::narrow`] |
//! | work from this machine's memory to this machine's memory, on all devices | [`Pool`], [`PageLocked`] |
//!
//! Buffers are cudarc's: slices and views of the caller, on a stream of the caller. An operation
//! checks lengths, contexts and alignment, queues its kernels and returns; with cudarc's events the
//! stream waits for what other streams still do with the buffers. Where a kernel may find something
//! wrong with its input, the operation returns a [`Pending`], which tells once it is waited for.
//!
//! ```no_run
//! use blockscale::layout::Stack;
//! use blockscale::{Format, Shape, bf16};
//! use blockscale_cuda::{Device, DeviceRows, Global};
//!
//! // One MXFP4 weight of 128 x 256, in an engine's own stream.
//! let device = Device::open(0)?;
//! let stream = device.new_stream()?;
//! let (codes, scales) = (stream.alloc_zeros(128 * 128)?, stream.alloc_zeros(128 * 8)?);
//! let mut weight = stream.alloc_zeros::<bf16>(128 * 256)?;
//! let rows = DeviceRows {
//!     codes: codes.as_view(),
//!     scales: scales.as_view(),
//!     global: Global::None,
//! };
//! let stack = Stack::single(Shape::new(128, 256));
//! device.decode_rows(&stream, &Format::MXFP4, stack, &rows, &mut weight.as_view_mut())?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Machines without a GPU
//!
//! The driver is loaded when the first [`Device`] is asked for, and its absence is
//! [`CudaError::NoDriver`]: this crate builds and its programs run where there is no CUDA. The
//! kernels are one image inside the crate, machine code for compute capability 8.0, 9.0a, 10.0 and
//! 12.0, and PTX for what comes after; nothing is compiled at run time but for devices newer than
//! these.
//!
//! # Unsafe code
//!
//! Kernels are launched on raw pointers. Each launch says why its arguments are what the kernel
//! reads and writes; the table that both sides go by is `kernels/cuda/README.md`.

mod abi;
mod choose;
mod decode;
mod device;
mod encode;
mod error;
mod launch;
mod layout;
mod numbers;
mod operand;
mod page_locked;
mod pending;
mod pool;
mod ring;
mod stats;
mod transcode;

pub use cudarc;

pub use device::Device;
pub use encode::DeviceRowsMut;
pub use error::CudaError;
pub use layout::{DeviceCodes, DeviceScales};
pub use numbers::Narrow;
pub use operand::{DeviceReal, DeviceRows, Global};
pub use page_locked::PageLocked;
pub use pending::Pending;
pub use pool::{Pool, PoolOptions, Slot, Ticket};
pub use stats::PendingErrors;
pub use transcode::Nvfp4Out;
