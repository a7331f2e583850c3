//! A CUDA device: each operation uploads, runs and downloads.

mod typed;

use std::sync::Arc;

use blockscale::encode::Scheme;
use blockscale::layout::{ScaleLayout, Stack};
use blockscale::stats::ErrorStats;
use blockscale::{Format, Shape, bf16, f16};
use blockscale_cuda::cudarc::driver::CudaStream;
use blockscale_cuda::{CudaError, Device, DeviceCodes, DeviceRowsMut, DeviceScales, Nvfp4Out};

use super::{Encoded, Engine, Failure, Outcome, Plane, Rows, Transcoded};
use crate::engine::cpu::linear_bytes;
use crate::numbers::{Kind, Numbers, with_numbers};

/// One device and a stream on it.
pub(crate) struct Cuda {
    device: Arc<Device>,
    stream: Arc<CudaStream>,
}

impl From<CudaError> for Failure {
    fn from(error: CudaError) -> Self {
        match error {
            CudaError::NotOnDevice { what } => Self::Left(what),
            CudaError::Len(_) | CudaError::Layout(_) | CudaError::Transcode(_) => {
                Self::Refused(error.to_string())
            }
            error => Self::Failed(error.to_string()),
        }
    }
}

impl Cuda {
    pub(crate) fn new(device: Arc<Device>) -> Result<Self, CudaError> {
        let stream = device.new_stream()?;
        Ok(Self { device, stream })
    }
}

impl Engine for Cuda {
    fn name(&self) -> String {
        let (major, minor) = self.device.capability();
        format!("{} (sm_{major}{minor})", self.device.name())
    }

    fn decode(&self, format: &Format, stack: Stack, rows: &Rows, to: Kind) -> Outcome<Numbers> {
        Ok(match to {
            Kind::Bf16 => Numbers::Bf16(self.decoded(format, stack, rows, bf16::NEG_ONE)?),
            Kind::F16 => Numbers::F16(self.decoded(format, stack, rows, f16::NEG_ONE)?),
            Kind::F32 => Numbers::F32(self.decoded(format, stack, rows, -1.25)?),
        })
    }

    fn amax(&self, stack: Stack, values: &Numbers) -> Outcome<Vec<f32>> {
        with_numbers!(values, values => self.largest(stack, values))
    }

    fn globals(
        &self,
        format: &Format,
        scheme: &Scheme,
        of: Kind,
        amax: &[f32],
    ) -> Outcome<Vec<f32>> {
        match of {
            Kind::Bf16 => self.scales_of_tensors::<bf16>(format, scheme, amax),
            Kind::F16 => self.scales_of_tensors::<f16>(format, scheme, amax),
            Kind::F32 => self.scales_of_tensors::<f32>(format, scheme, amax),
        }
    }

    fn encode(
        &self,
        format: &Format,
        scheme: &Scheme,
        stack: Stack,
        values: &Numbers,
        globals: &[f32],
    ) -> Outcome<Encoded> {
        with_numbers!(values, values => self.encode_all(format, scheme, stack, values, globals))
    }

    fn encode_codes(
        &self,
        format: &Format,
        scheme: &Scheme,
        stack: Stack,
        values: &Numbers,
        scales: &[u8],
        globals: &[f32],
    ) -> Outcome<Vec<u8>> {
        with_numbers!(values, values => {
            self.codes_under(format, scheme, stack, values, scales, globals)
        })
    }

    fn nvfp4_to_fp8_block(&self, from: &Format, stack: Stack, rows: &Rows) -> Outcome<Encoded> {
        let rows = self.rows(rows)?;
        let (mut codes, mut scales) = self.out(&Format::FP8_BLOCK_UE8M0, stack)?;
        let mut out = DeviceRowsMut {
            codes: codes.as_view_mut(),
            scales: scales.as_view_mut(),
        };
        let (device, stream) = (&self.device, &self.stream);
        let rows = rows.rows(from, stack);
        if !device.nvfp4_to_fp8_block_ue8m0(stream, from, stack, &rows, &mut out)? {
            return Err(Failure::Left("ragged rows in one pass".to_owned()));
        }
        self.encoded(&codes, &scales)
    }

    fn round_scales_up(
        &self,
        from: &Format,
        to: &Format,
        stack: Stack,
        rows: &Rows,
    ) -> Outcome<Transcoded> {
        let rows = self.rows(rows)?;
        let (mut codes, mut scales) = self.out(to, stack)?;
        let mut out = DeviceRowsMut {
            codes: codes.as_view_mut(),
            scales: scales.as_view_mut(),
        };
        let rows = rows.rows(from, stack);
        let (device, stream) = (&self.device, &self.stream);
        let changed = device
            .round_scales_up_to_pow2(stream, from, to, stack, &rows, &mut out)?
            .wait()?;
        Ok(Transcoded {
            encoded: self.encoded(&codes, &scales)?,
            global: None,
            counts: vec![changed],
        })
    }

    fn mxfp4_to_nvfp4(&self, stack: Stack, rows: &Rows) -> Outcome<Transcoded> {
        let rows = self.rows(rows)?;
        let (mut codes, mut scales) = self.out(&Format::NVFP4, stack)?;
        let mut global = self.up(&[f32::NAN])?;
        let mut out = Nvfp4Out {
            codes: codes.as_view_mut(),
            scales: scales.as_view_mut(),
            global: global.as_view_mut(),
        };
        let (from, from_scales) = (rows.codes.as_view(), rows.scales.as_view());
        let blocks = self
            .device
            .mxfp4_to_nvfp4(&self.stream, stack, &from, &from_scales, &mut out)?
            .wait()?;
        Ok(Transcoded {
            encoded: self.encoded(&codes, &scales)?,
            global: self.down(&global)?.first().copied(),
            counts: vec![blocks.lossless, blocks.reencoded, blocks.nan],
        })
    }

    fn mxfp4_to_fp8_block(&self, stack: Stack, rows: &Rows) -> Outcome<Transcoded> {
        let rows = self.rows(rows)?;
        let (mut codes, mut scales) = self.out(&Format::FP8_BLOCK_UE8M0, stack)?;
        let mut out = DeviceRowsMut {
            codes: codes.as_view_mut(),
            scales: scales.as_view_mut(),
        };
        let (from, from_scales) = (rows.codes.as_view(), rows.scales.as_view());
        let blocks = self
            .device
            .mxfp4_to_fp8_block(&self.stream, stack, &from, &from_scales, &mut out)?
            .wait()?;
        Ok(Transcoded {
            encoded: self.encoded(&codes, &scales)?,
            global: None,
            counts: vec![blocks.lossless, blocks.rounded, blocks.nan],
        })
    }

    fn permute_scales(
        &self,
        layout: ScaleLayout,
        stack: Stack,
        scales: Plane<'_>,
    ) -> Outcome<Vec<u8>> {
        let mut out = self.poisoned(layout.scale_bytes(stack, scales.element)?)?;
        let bytes = self.up(scales.bytes)?;
        let from = DeviceScales {
            layout: scales.layout,
            element: scales.element,
            bytes: bytes.as_view(),
        };
        self.device
            .permute_scales(&self.stream, layout, stack, &from, &mut out.as_view_mut())?
            .wait()?;
        self.down(&out)
    }

    fn unpermute_scales(&self, stack: Stack, scales: Plane<'_>) -> Outcome<Vec<u8>> {
        let linear = scales.layout.linear_shape(stack.shape);
        let mut out = self.poisoned(linear_bytes(stack, linear, scales.element))?;
        let bytes = self.up(scales.bytes)?;
        let from = DeviceScales {
            layout: scales.layout,
            element: scales.element,
            bytes: bytes.as_view(),
        };
        self.device
            .unpermute_scales(&self.stream, stack, &from, &mut out.as_view_mut())?
            .wait()?;
        self.down(&out)
    }

    fn permute_codes(&self, layout: ScaleLayout, stack: Stack, codes: &[u8]) -> Outcome<Vec<u8>> {
        let mut out = self.poisoned(layout.code_bytes(stack)?)?;
        let bytes = self.up(codes)?;
        let from = DeviceCodes {
            layout: ScaleLayout::Linear,
            bytes: bytes.as_view(),
        };
        let to = &mut out.as_view_mut();
        self.device
            .permute_codes(&self.stream, layout, stack, &from, to)?;
        self.down(&out)
    }

    fn unpermute_codes(&self, layout: ScaleLayout, stack: Stack, codes: &[u8]) -> Outcome<Vec<u8>> {
        let mut out = self.poisoned(stack.matrices * stack.shape.rows * stack.shape.cols)?;
        let bytes = self.up(codes)?;
        let from = DeviceCodes {
            layout,
            bytes: bytes.as_view(),
        };
        let to = &mut out.as_view_mut();
        self.device
            .unpermute_codes(&self.stream, stack, &from, to)?;
        self.down(&out)
    }

    fn error_stats(
        &self,
        shape: Shape,
        reference: &[f32],
        output: &[f32],
    ) -> Outcome<Vec<ErrorStats>> {
        let (reference, output) = (self.up(reference)?, self.up(output)?);
        let (reference, output) = (reference.as_view(), output.as_view());
        let pending = self
            .device
            .error_stats(&self.stream, shape, &reference, &output)?;
        Ok(pending.wait()?)
    }

    fn histogram_codes(&self, format: &Format, stack: Stack, codes: &[u8]) -> Outcome<Vec<u64>> {
        let codes = self.up(codes)?;
        let mut bins = self.zeros::<u64>(1 << format.element.bits())?;
        let (from, to) = (codes.as_view(), &mut bins.as_view_mut());
        self.device
            .histogram_codes(&self.stream, format, stack, &from, to)?;
        self.down(&bins)
    }

    fn histogram_exponents(&self, values: &Numbers) -> Outcome<Vec<u64>> {
        with_numbers!(values, values => self.exponents(values))
    }

    fn widen(&self, values: &Numbers) -> Outcome<Vec<f32>> {
        match values {
            Numbers::Bf16(values) => self.widened(values),
            Numbers::F16(values) => self.widened(values),
            Numbers::F32(values) => Ok(values.clone()),
        }
    }

    fn narrow(&self, values: &[f32], to: Kind) -> Outcome<Numbers> {
        Ok(match to {
            Kind::Bf16 => Numbers::Bf16(self.narrowed(values, bf16::NEG_ONE)?),
            Kind::F16 => Numbers::F16(self.narrowed(values, f16::NEG_ONE)?),
            Kind::F32 => Numbers::F32(values.to_vec()),
        })
    }
}
