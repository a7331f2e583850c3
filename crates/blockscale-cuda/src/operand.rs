//! What operations take: rows of a block format and numbers, in device memory.

use blockscale::layout::Stack;
use blockscale::{Format, GlobalScale, Real, bf16, f16};
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaStream, CudaView, DevicePtr as _, DeviceSlice, SyncOnDrop};

use crate::error::check_len;
use crate::{CudaError, Device};

/// A number type that kernels read and write: `f32`, [`bf16`] or [`struct@f16`].
pub trait DeviceReal: Real {
    /// What the kernels' names call it.
    const NAME: &'static str;
    /// What schemes for the kernels call it.
    const NUMBER: u8;
}

impl DeviceReal for f32 {
    const NAME: &'static str = "f32";
    const NUMBER: u8 = 0;
}

impl DeviceReal for bf16 {
    const NAME: &'static str = "bf16";
    const NUMBER: u8 = 1;
}

impl DeviceReal for f16 {
    const NAME: &'static str = "f16";
    const NUMBER: u8 = 2;
}

/// The scale of the tensor for each matrix of a stack, in device memory, so that one that a kernel
/// has just computed needs no way over the host.
///
/// Applied as [`Format::global`] says; not read where that is `None`.
#[derive(Debug)]
pub enum Global<'a> {
    /// There is none.
    None,
    /// One for all matrices.
    Shared(CudaView<'a, f32>),
    /// One for each matrix, in their order.
    Each(CudaView<'a, f32>),
}

/// Rows of a block format: the core's [`Rows`](blockscale::decode::Rows) for a stack of matrices.
#[derive(Debug)]
pub struct DeviceRows<'a> {
    /// Codes of all matrices, [`Format::code_bytes`] for each.
    pub codes: CudaView<'a, u8>,
    /// Scales of all matrices, [`Format::scale_bytes`] for each, little-endian.
    pub scales: CudaView<'a, u8>,
    /// The second level.
    pub global: Global<'a>,
}

impl DeviceRows<'_> {
    pub(crate) fn check(
        &self,
        device: &Device,
        format: &Format,
        stack: Stack,
    ) -> Result<(), CudaError> {
        device.check_context("codes", self.codes.stream())?;
        device.check_context("scales", self.scales.stream())?;
        check_len("codes", code_bytes(format, stack), self.codes.len())?;
        check_len("scales", scale_bytes(format, stack), self.scales.len())?;
        self.global.check(device, format, stack.matrices)
    }
}

impl Global<'_> {
    pub(crate) fn check(
        &self,
        device: &Device,
        format: &Format,
        matrices: usize,
    ) -> Result<(), CudaError> {
        if format.global == GlobalScale::None {
            return Ok(());
        }
        match self {
            Self::None => Err(CudaError::MissingGlobal { format: *format }),
            Self::Shared(one) => {
                device.check_context("global", one.stream())?;
                check_len("global", Some(1), one.len())
            }
            Self::Each(each) => {
                device.check_context("global", each.stream())?;
                check_len("global", Some(matrices), each.len())
            }
        }
    }

    /// The pointer, the stride from one matrix's to the next, and what to keep until the launch.
    pub(crate) fn pointer<'a>(&'a self, stream: &'a CudaStream) -> GlobalPointer<'a> {
        let (view, stride) = match self {
            Self::None => (None, 0),
            Self::Shared(one) => (Some(one), 0),
            Self::Each(each) => (Some(each), 1),
        };
        let (address, guard) = match view.map(|view| view.device_ptr(stream)) {
            Some((address, guard)) => (address, Some(guard)),
            None => (0, None),
        };
        GlobalPointer {
            address,
            stride,
            _guard: guard,
        }
    }
}

/// [`Global`] as a kernel takes it.
pub(crate) struct GlobalPointer<'a> {
    pub(crate) address: CUdeviceptr,
    pub(crate) stride: u64,
    _guard: Option<SyncOnDrop<'a>>,
}

/// Elements of a stack, `None` where that overflows.
pub(crate) fn elements(stack: Stack) -> Option<usize> {
    stack.shape.len()?.checked_mul(stack.matrices)
}

pub(crate) fn code_bytes(format: &Format, stack: Stack) -> Option<usize> {
    format.code_bytes(stack.shape)?.checked_mul(stack.matrices)
}

pub(crate) fn scale_bytes(format: &Format, stack: Stack) -> Option<usize> {
    format.scale_bytes(stack.shape)?.checked_mul(stack.matrices)
}

/// Numbers that begin where one of their type may.
pub(crate) fn check_aligned<T>(what: &'static str, address: CUdeviceptr) -> Result<(), CudaError> {
    if address.is_multiple_of(align_of::<T>() as u64) {
        return Ok(());
    }
    Err(CudaError::Misaligned {
        what,
        needed: align_of::<T>(),
    })
}
