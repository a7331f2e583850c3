//! Stored bytes as numbers in device memory.

use std::sync::Arc;

use blockscale::format::{Format, GlobalScale, Shape};
use blockscale::layout::Stack;
use blockscale::{bf16, f16};
use blockscale_cuda::cudarc::driver::{CudaSlice, CudaView};
use blockscale_cuda::{CudaError, DeviceRows, Global, Slot};
use blockscale_model::Dtype;
use blockscale_model::catalog::{Encoding, Weight};

use super::Part;
use crate::memory::{Buffer, Buffers};

impl Part<'_> {
    pub(super) fn stack(&self) -> Stack {
        Stack::single(Shape::new(self.rows, self.cols))
    }

    pub(super) fn elements(&self) -> usize {
        self.rows * self.cols
    }
}

/// Stored bytes, in device memory.
pub(super) enum Stored {
    F32(CudaSlice<f32>),
    Bf16(CudaSlice<bf16>),
    F16(CudaSlice<f16>),
    Block(Format, BlockRows),
}

/// Rows of a block format.
pub(super) struct BlockRows {
    pub(super) codes: CudaSlice<u8>,
    pub(super) scales: CudaSlice<u8>,
    pub(super) global: CudaSlice<f32>,
}

impl BlockRows {
    pub(super) fn upload(
        slot: &mut Slot,
        codes: &[u8],
        scales: &[u8],
        global: f32,
    ) -> Result<Self, CudaError> {
        Ok(Self {
            codes: slot.upload(codes)?,
            scales: slot.upload(scales)?,
            global: slot.upload(&global.to_le_bytes())?,
        })
    }

    pub(super) fn rows(&self, format: &Format) -> DeviceRows<'_> {
        DeviceRows {
            codes: self.codes.as_view(),
            scales: self.scales.as_view(),
            global: global_of(format, &self.global),
        }
    }
}

pub(super) fn global_of<'a>(format: &Format, global: &'a CudaSlice<f32>) -> Global<'a> {
    match format.global {
        GlobalScale::None => Global::None,
        _ => Global::Shared(global.as_view()),
    }
}

impl Stored {
    pub(super) fn upload(
        slot: &mut Slot,
        weight: &Weight,
        part: &Part<'_>,
    ) -> Result<Self, CudaError> {
        Ok(match weight.encoding {
            Encoding::Plain(Dtype::F32) => Self::F32(slot.upload(part.codes)?),
            Encoding::Plain(Dtype::BF16) => Self::Bf16(slot.upload(part.codes)?),
            Encoding::Plain(Dtype::F16) => Self::F16(slot.upload(part.codes)?),
            Encoding::Block(format) => {
                let (codes, scales) = (part.codes, part.scales);
                let rows = BlockRows::upload(slot, codes, scales, part.global)?;
                Self::Block(format, rows)
            }
            other => {
                return Err(CudaError::NotOnDevice {
                    what: other.to_string(),
                });
            }
        })
    }

    /// Rows of a block format, which some steps need.
    pub(super) fn block_rows(&self) -> Result<(&Format, &BlockRows), CudaError> {
        match self {
            Self::Block(format, rows) => Ok((format, rows)),
            _ => Err(CudaError::NotOnDevice {
                what: "plain numbers in a step on codes".to_owned(),
            }),
        }
    }

    /// The numbers in F32, exactly.
    pub(super) fn widened(&self, slot: &Slot, stack: Stack) -> Result<CudaSlice<f32>, CudaError> {
        let (device, stream) = (slot.device(), slot.stream());
        let mut values = slot.alloc::<f32>(stack.shape.rows * stack.shape.cols)?;
        let mut out = values.as_view_mut();
        match self {
            Self::F32(plain) => stream.memcpy_dtod(plain, &mut out)?,
            Self::Bf16(plain) => device.widen(stream, &plain.as_view(), &mut out)?,
            Self::F16(plain) => device.widen(stream, &plain.as_view(), &mut out)?,
            Self::Block(format, rows) => {
                device.decode_rows(stream, format, stack, &rows.rows(format), &mut out)?;
            }
        }
        Ok(values)
    }
}

/// The largest finite magnitude of stored numbers.
pub(super) fn largest(slot: &mut Slot, weight: &Weight, part: &Part<'_>) -> Result<f32, CudaError> {
    let stack = part.stack();
    let stored = Stored::upload(slot, weight, part)?;
    let mut found = slot.alloc::<f32>(1)?;
    let mut out = found.as_view_mut();
    let (device, stream) = (Arc::clone(slot.device()), Arc::clone(slot.stream()));
    match &stored {
        Stored::F32(values) => device.amax(&stream, stack, &values.as_view(), &mut out)?,
        Stored::Bf16(values) => device.amax(&stream, stack, &values.as_view(), &mut out)?,
        Stored::F16(values) => device.amax(&stream, stack, &values.as_view(), &mut out)?,
        Stored::Block(..) => {
            let values = stored.widened(slot, stack)?;
            device.amax(&stream, stack, &values.as_view(), &mut out)?;
        }
    }
    let mut bytes = [0; 4];
    slot.download(&found.as_view(), &mut bytes)?;
    Ok(f32::from_le_bytes(bytes))
}

/// Downloads numbers or bytes.
pub(super) fn fetch<T: bytemuck::Pod>(
    slot: &mut Slot,
    buffers: &Buffers,
    from: &CudaView<'_, T>,
) -> Result<Buffer, CudaError> {
    let mut bytes = buffers.get(from.len() * size_of::<T>());
    slot.download(from, &mut bytes)?;
    Ok(bytes)
}
