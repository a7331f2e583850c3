//! One part of a run through its step, on a device.

use std::sync::Arc;

use blockscale::encode::{self, Scheme};
use blockscale::format::{Block, Format, ScaleElement, Shape};
use blockscale::transcode;
use blockscale::{bf16, f16};
use blockscale_cuda::cudarc::driver::{CudaSlice, CudaView};
use blockscale_cuda::{CudaError, DeviceReal, DeviceRows, DeviceRowsMut, Nvfp4Out, Slot};
use blockscale_model::Dtype;
use blockscale_model::plan::Step;

use super::numbers::{BlockRows, Stored, fetch, global_of};
use super::{Part, check, plain};
use crate::backend::Task;
use crate::memory::{Buffer, Buffers};
use crate::transform::{CastBlocks, Planes, TensorScales, Transformed};
use crate::weights::has_global;

/// What a step made, in device memory and in this one.
struct Made {
    planes: Planes,
    /// The output decoded again.
    values: CudaSlice<f32>,
    blocks: Option<CastBlocks>,
}

/// A part of a run, on its way.
struct Work<'a> {
    slot: &'a mut Slot,
    part: &'a Part<'a>,
    stored: &'a Stored,
    /// The source as F32.
    values: &'a CudaSlice<f32>,
    tensor: TensorScales,
    buffers: &'a Buffers,
}

pub(super) fn apply(
    slot: &mut Slot,
    task: &Task,
    part: &Part<'_>,
    tensor: TensorScales,
) -> Result<Transformed, CudaError> {
    let stack = part.stack();
    let stored = Stored::upload(slot, &task.weight, part)?;
    let values = stored.widened(slot, stack)?;
    let mut work = Work {
        slot,
        part,
        stored: &stored,
        values: &values,
        tensor,
        buffers: &task.buffers,
    };
    let made = match task.step {
        Step::Copy => work.kept(&task.step.result(&task.weight.encoding).format().copied()),
        Step::RestateGlobal { to } => work.kept(&Some(to)),
        Step::Decode(dtype) => work.decoded(dtype),
        Step::Encode { to, by } => work.encoded(&to, &by.scheme(&to), plain(&task.weight)),
        Step::RoundScalesUp { to } => work.with_scales_rounded(&to),
        Step::WidenScales { to } => work.with_scales_widened(&to),
        Step::SpreadScale { to } => work.with_scale_spread(&to),
        Step::CastMxfp4 { to } => work.cast(&to),
        // It has no kernels.
        Step::EncodeInt { .. } => Err(CudaError::NotOnDevice {
            what: "integers in groups".to_owned(),
        }),
    }?;
    let (stats, nans) = check::compare(work.slot, stack, &values, &made.values)?;
    Ok(Transformed {
        planes: made.planes,
        stats,
        nans,
        blocks: made.blocks,
    })
}

impl Work<'_> {
    /// Bytes as they are; the global scale may be stated the other way.
    fn kept(&mut self, to: &Option<Format>) -> Result<Made, CudaError> {
        let planes = (self.part.codes.to_vec(), self.part.scales.to_vec()).into();
        let values = match (to, self.stored) {
            (Some(to), Stored::Block(_, rows)) => {
                let global = self.upload_global()?;
                let rows = DeviceRows {
                    codes: rows.codes.as_view(),
                    scales: rows.scales.as_view(),
                    global: global_of(to, &global),
                };
                self.decode(to, &rows)?
            }
            _ => self.stored.widened(self.slot, self.part.stack())?,
        };
        Ok(made(planes, values))
    }

    fn upload_global(&mut self) -> Result<CudaSlice<f32>, CudaError> {
        self.slot.upload(&self.tensor.global.to_le_bytes())
    }

    fn decode(&self, format: &Format, rows: &DeviceRows<'_>) -> Result<CudaSlice<f32>, CudaError> {
        let mut values = self.slot.alloc::<f32>(self.part.elements())?;
        let (device, stream) = (self.slot.device(), self.slot.stream());
        let out = &mut values.as_view_mut();
        device.decode_rows(stream, format, self.part.stack(), rows, out)?;
        Ok(values)
    }

    /// To plain numbers.
    fn decoded(&mut self, dtype: Dtype) -> Result<Made, CudaError> {
        let (device, stream) = (
            Arc::clone(self.slot.device()),
            Arc::clone(self.slot.stream()),
        );
        let len = self.part.elements();
        let mut values = self.slot.alloc::<f32>(len)?;
        let from = self.values.as_view();
        let codes = match dtype {
            Dtype::BF16 => {
                let mut out = self.slot.alloc::<bf16>(len)?;
                device.narrow(&stream, &from, &mut out.as_view_mut())?;
                device.widen(&stream, &out.as_view(), &mut values.as_view_mut())?;
                fetch(self.slot, self.buffers, &out.as_view())?
            }
            Dtype::F16 => {
                let mut out = self.slot.alloc::<f16>(len)?;
                device.narrow(&stream, &from, &mut out.as_view_mut())?;
                device.widen(&stream, &out.as_view(), &mut values.as_view_mut())?;
                fetch(self.slot, self.buffers, &out.as_view())?
            }
            _ => {
                stream.memcpy_dtod(&from, &mut values)?;
                fetch(self.slot, self.buffers, &values.as_view())?
            }
        };
        Ok(made((codes, Buffer::default()).into(), values))
    }

    /// To a block format with scales chosen afresh.
    fn encoded(
        &mut self,
        to: &Format,
        scheme: &Scheme,
        from: Option<Dtype>,
    ) -> Result<Made, CudaError> {
        match (self.stored, from) {
            (Stored::Bf16(values), Some(_)) => self.encoded_from(to, scheme, &values.as_view()),
            (Stored::F16(values), Some(_)) => self.encoded_from(to, scheme, &values.as_view()),
            _ => self.encoded_from(to, scheme, &self.values.as_view()),
        }
    }

    fn encoded_from<T: DeviceReal>(
        &mut self,
        to: &Format,
        scheme: &Scheme,
        values: &CudaView<'_, T>,
    ) -> Result<Made, CudaError> {
        let stack = self.part.stack();
        let (device, stream) = (
            Arc::clone(self.slot.device()),
            Arc::clone(self.slot.stream()),
        );
        let (mut codes, mut scales) = self.planes_of(to)?;
        let global = self.upload_global()?;
        if to.block == Block::Tensor {
            let mut scale = vec![0; to.scale.bytes()];
            let (one, largest) = (Shape::new(1, 1), [T::from_f32(self.tensor.amax)]);
            let global = self.tensor.global;
            encode::choose_scales_with(to, scheme, one, &largest, global, &mut scale)?;
            scales = self.slot.upload(&scale)?;
            device.encode_codes_with(
                &stream,
                to,
                scheme,
                stack,
                values,
                &scales.as_view(),
                &global_of(to, &self.upload_global()?),
                &mut codes.as_view_mut(),
            )?;
        } else {
            let mut out = DeviceRowsMut {
                codes: codes.as_view_mut(),
                scales: scales.as_view_mut(),
            };
            let global = global_of(to, &global);
            device.encode_rows_with(&stream, to, scheme, stack, values, &global, &mut out)?;
        }
        self.made_of(to, codes, scales, global, None)
    }

    fn planes_of(&self, to: &Format) -> Result<(CudaSlice<u8>, CudaSlice<u8>), CudaError> {
        let shape = self.part.stack().shape;
        let size = |bytes: Option<usize>| bytes.unwrap_or(usize::MAX);
        Ok((
            self.slot.alloc(size(to.code_bytes(shape)))?,
            self.slot.alloc(size(to.scale_bytes(shape)))?,
        ))
    }

    /// Fetches planes that a kernel made, and decodes them again.
    fn made_of(
        &mut self,
        to: &Format,
        codes: CudaSlice<u8>,
        scales: CudaSlice<u8>,
        global: CudaSlice<f32>,
        blocks: Option<CastBlocks>,
    ) -> Result<Made, CudaError> {
        let rows = BlockRows {
            codes,
            scales,
            global,
        };
        let values = self.decode(to, &rows.rows(to))?;
        let codes = fetch(self.slot, self.buffers, &rows.codes.as_view())?;
        let scales = fetch(self.slot, self.buffers, &rows.scales.as_view())?;
        Ok(Made {
            planes: (codes, scales).into(),
            values,
            blocks,
        })
    }

    fn with_scales_rounded(&mut self, to: &Format) -> Result<Made, CudaError> {
        let (mut codes, mut scales) = self.planes_of(to)?;
        let (from, rows) = self.stored.block_rows()?;
        let (device, stream) = (self.slot.device(), self.slot.stream());
        let mut out = DeviceRowsMut {
            codes: codes.as_view_mut(),
            scales: scales.as_view_mut(),
        };
        let (stack, rows) = (self.part.stack(), rows.rows(from));
        device
            .round_scales_up_to_pow2(stream, from, to, stack, &rows, &mut out)?
            .wait()?;
        let global = self.upload_global()?;
        self.made_of(to, codes, scales, global, None)
    }

    fn with_scales_widened(&mut self, to: &Format) -> Result<Made, CudaError> {
        let from = self.stored.block_rows()?.0.scale;
        let count = self.part.scales.len() / from.bytes();
        let mut scales = vec![0; count * ScaleElement::F32.bytes()];
        transcode::widen_scales(from, self.part.scales, &mut scales)?;
        self.with_new_scales(to, scales)
    }

    fn with_scale_spread(&mut self, to: &Format) -> Result<Made, CudaError> {
        let shape = self.part.stack().shape;
        let mut scales = vec![0; to.scale_bytes(shape).unwrap_or(usize::MAX)];
        transcode::spread_tensor_scale(to, shape, self.part.scales, &mut scales)?;
        self.with_new_scales(to, scales)
    }

    /// The same codes under scales that this processor has restated.
    fn with_new_scales(&mut self, to: &Format, scales: Vec<u8>) -> Result<Made, CudaError> {
        let on_device = self.slot.upload::<u8>(&scales)?;
        let global = self.upload_global()?;
        let rows = DeviceRows {
            codes: self.stored.block_rows()?.1.codes.as_view(),
            scales: on_device.as_view(),
            global: global_of(to, &global),
        };
        let values = self.decode(to, &rows)?;
        Ok(made((self.part.codes.to_vec(), scales).into(), values))
    }

    fn cast(&mut self, to: &Format) -> Result<Made, CudaError> {
        let (mut codes, mut scales) = self.planes_of(to)?;
        let (device, stream) = (
            Arc::clone(self.slot.device()),
            Arc::clone(self.slot.stream()),
        );
        let stack = self.part.stack();
        let (_, rows) = self.stored.block_rows()?;
        let (old_codes, old_scales) = (rows.codes.as_view(), rows.scales.as_view());
        let blocks = if has_global(to) {
            let largest = largest_code(self.tensor.cast.global());
            let largest = self.slot.upload::<u32>(&largest.to_le_bytes())?;
            // The way of the whole weight gives the scale of the tensor; this is the same number.
            let mut global = self.slot.alloc::<f32>(1)?;
            let mut out = Nvfp4Out {
                codes: codes.as_view_mut(),
                scales: scales.as_view_mut(),
                global: global.as_view_mut(),
            };
            let largest = largest.as_view();
            let blocks = device
                .mxfp4_to_nvfp4_under(&stream, stack, &old_codes, &old_scales, &largest, &mut out)?
                .wait()?;
            CastBlocks {
                lossless: (blocks.lossless + blocks.nan) as u64,
                rounded: blocks.reencoded as u64,
            }
        } else {
            let mut out = DeviceRowsMut {
                codes: codes.as_view_mut(),
                scales: scales.as_view_mut(),
            };
            let blocks = device
                .mxfp4_to_fp8_block(&stream, stack, &old_codes, &old_scales, &mut out)?
                .wait()?;
            if blocks.nan > 0 {
                // The kernel does not count which of these lose something beside.
                return Err(CudaError::NotOnDevice {
                    what: "counts of blocks with NaN scales".to_owned(),
                });
            }
            CastBlocks {
                lossless: blocks.lossless as u64,
                rounded: blocks.rounded as u64,
            }
        };
        let global = self.upload_global()?;
        self.made_of(to, codes, scales, global, Some(blocks))
    }
}

fn made(planes: Planes, values: CudaSlice<f32>) -> Made {
    Made {
        planes,
        values,
        blocks: None,
    }
}

/// The UE8M0 code of which `global` is `2^(code - 127 - 8)`. Where no block has a scale, the global
/// scale is 1; the code that this gives then treats blocks without one alike.
fn largest_code(global: f32) -> u32 {
    let bits = global.to_bits();
    match bits >> 23 {
        // A subnormal, 2^(bit - 149).
        0 => bits.checked_ilog2().unwrap_or(0).saturating_sub(14),
        exponent => exponent + 8,
    }
}

#[cfg(test)]
mod tests {
    use blockscale::transcode::Mxfp4ToNvfp4;

    use super::*;

    #[test]
    fn the_largest_code_is_told_by_the_global_scale() {
        for code in 1..255 {
            let way = Mxfp4ToNvfp4::of_scales(&[code]);
            assert_eq!(largest_code(way.global()), u32::from(code));
        }
    }
}
