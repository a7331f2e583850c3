//! Kernels on data in device memory, beside a copy within it.

use std::sync::Arc;

use blockscale::encode::Scheme;
use blockscale::layout::{RowShuffle, ScaleLayout, Stack};
use blockscale::{Format, ScaleElement, Shape, bf16};
use blockscale_cuda::cudarc::driver::sys::CUevent_flags;
use blockscale_cuda::cudarc::driver::{CudaSlice, CudaStream, CudaViewMut, DeviceRepr};
use blockscale_cuda::{
    CudaError, Device, DeviceCodes, DeviceRows, DeviceRowsMut, DeviceScales, Global,
};

use super::{BenchReport, BenchRow, median};
use crate::backend::NoBackend;
use crate::random::Random;

/// A billion elements: two gigabytes of BF16, many times any cache.
const SHAPE: Shape = Shape::new(131_072, 8192);
/// Bytes of the pattern that buffers are filled with.
const PATTERN: usize = 64 << 20;
/// Runs that are timed, and launches in each.
const RUNS: usize = 25;
const LAUNCHES: usize = 4;
const COPY: &str = "copy on the device";

/// What all measurements use.
struct Bench<'a> {
    device: &'a Device,
    stream: Arc<CudaStream>,
    random: Random,
    rate: f64,
    rows: Vec<BenchRow>,
}

pub(super) fn bench(device: &Arc<Device>) -> Result<BenchReport, NoBackend> {
    let (major, minor) = device.capability();
    let mut bench = Bench {
        device,
        // Alone on the device: with other streams each launch would record events beside it.
        stream: device.context().default_stream(),
        random: Random::new(6),
        rate: f64::NAN,
        rows: Vec::new(),
    };
    bench.copy()?;
    bench.decoding()?;
    bench.encoding()?;
    bench.transcoding()?;
    bench.layouts()?;
    bench.statistics()?;
    let mut rows = bench.rows;
    rows.extend(super::host::bench(device)?);
    Ok(BenchReport {
        engine: format!("{} (sm_{major}{minor})", device.name()),
        machine: None,
        pages: None,
        rows,
    })
}

fn size(shape: Shape) -> String {
    format!("{}x{}", shape.rows, shape.cols)
}

impl Bench<'_> {
    /// The median time of `launch`.
    fn time(
        &self,
        mut launch: impl FnMut(&Arc<CudaStream>) -> Result<(), CudaError>,
    ) -> Result<f64, CudaError> {
        let stream = &self.stream;
        for _ in 0..LAUNCHES {
            launch(stream)?;
        }
        let mut seconds = Vec::with_capacity(RUNS);
        for _ in 0..RUNS {
            let begun = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
            for _ in 0..LAUNCHES {
                launch(stream)?;
            }
            let ended = stream.record_event(Some(CUevent_flags::CU_EVENT_DEFAULT))?;
            let elapsed = f64::from(begun.elapsed_ms(&ended)?) / 1e3;
            seconds.push(elapsed / LAUNCHES as f64);
        }
        Ok(median(seconds))
    }

    fn add(&mut self, operation: &str, size: String, bytes: usize, seconds: f64, bar: Option<f64>) {
        let row = BenchRow::new(operation, size, bytes, seconds);
        self.rows.push(row.beside(COPY, self.rate, bar));
    }

    /// A buffer of `len` filled with a pattern that `make` gives.
    fn filled<T: DeviceRepr + Clone>(
        &mut self,
        len: usize,
        mut make: impl FnMut(&mut Random) -> T,
    ) -> Result<CudaSlice<T>, CudaError> {
        let pattern_len = len.min(PATTERN / size_of::<T>());
        let pattern: Vec<T> = (0..pattern_len).map(|_| make(&mut self.random)).collect();
        let pattern = self.stream.clone_htod(&pattern)?;
        // SAFETY: the loop below writes all of it before anything reads it.
        let mut buffer = unsafe { self.stream.alloc::<T>(len) }?;
        for first in (0..len).step_by(pattern_len.max(1)) {
            let part = pattern_len.min(len - first);
            let mut to = buffer.slice_mut(first..first + part);
            self.stream.memcpy_dtod(&pattern.slice(0..part), &mut to)?;
        }
        Ok(buffer)
    }

    fn zeroed(&self, len: usize) -> Result<CudaSlice<u8>, CudaError> {
        Ok(self.stream.alloc_zeros(len)?)
    }

    fn copy(&mut self) -> Result<(), CudaError> {
        let len = 2 * SHAPE.rows * SHAPE.cols;
        let from = self.filled(len, |random| random.next() as u8)?;
        let mut to = self.zeroed(len)?;
        let seconds = self.time(|stream| Ok(stream.memcpy_dtod(&from, &mut to)?))?;
        let row = BenchRow::new(COPY, size(SHAPE), 2 * len, seconds);
        self.rate = row.bytes_per_second;
        self.rows.push(row);
        Ok(())
    }

    /// Codes that are no NaN.
    fn codes(&mut self, format: &Format, shape: Shape) -> Result<CudaSlice<u8>, CudaError> {
        let len = format.code_bytes(shape).unwrap_or(0);
        let bits = format.element.bits();
        self.filled(len, |random| {
            let byte = random.next() as u8;
            match (bits, byte & 0x7c) {
                (8, 0x7c) => byte ^ 0x20,
                _ => byte,
            }
        })
    }

    fn scales(&mut self, format: &Format, shape: Shape) -> Result<CudaSlice<u8>, CudaError> {
        let count = format.scale_shape(shape).len().unwrap_or(0);
        match format.scale {
            ScaleElement::F32 => {
                let scales = self.filled(count, |random| (random.unit() * 4.0 - 10.0).exp2())?;
                self.bytes_of(&scales)
            }
            ScaleElement::E8m0Fnu => self.filled(count, |random| 110 + random.below(16) as u8),
            _ => self.filled(count, |random| 0x20 + random.below(0x50) as u8),
        }
    }

    /// The same bytes as a buffer of bytes.
    fn bytes_of<T>(&self, values: &CudaSlice<T>) -> Result<CudaSlice<u8>, CudaError> {
        let len = values.num_bytes();
        // SAFETY: any value is bytes, `len` of them.
        let Some(view) = (unsafe { values.transmute::<u8>(len) }) else {
            return self.zeroed(len);
        };
        Ok(self.stream.clone_dtod(&view)?)
    }

    fn decoding(&mut self) -> Result<(), CudaError> {
        let formats = [
            (Format::NVFP4, Some(0.95)),
            (Format::MXFP4, Some(0.95)),
            (Format::MXFP8_E4M3, Some(0.95)),
            (Format::MXFP8_E5M2, Some(0.95)),
            (Format::FP8_BLOCK, Some(0.95)),
            (Format::FP8_BLOCK_UE8M0, Some(0.95)),
            (Format::MXFP6_E2M3, None),
            (Format::FP8_CHANNEL, None),
        ];
        let mut out = self.stream.alloc_zeros::<bf16>(SHAPE.rows * SHAPE.cols)?;
        let global = self.stream.clone_htod(&[0.003_f32])?;
        for (format, bar) in formats {
            let (codes, scales) = (self.codes(&format, SHAPE)?, self.scales(&format, SHAPE)?);
            let rows = DeviceRows {
                codes: codes.as_view(),
                scales: scales.as_view(),
                global: Global::Shared(global.as_view()),
            };
            let (device, stack) = (self.device, Stack::single(SHAPE));
            let seconds = self.time(|stream| {
                device.decode_rows(stream, &format, stack, &rows, &mut out.as_view_mut())
            })?;
            let bytes = codes.len() + scales.len() + out.num_bytes();
            self.add(
                &format!("{format} -> BF16"),
                size(SHAPE),
                bytes,
                seconds,
                bar,
            );
        }
        Ok(())
    }

    fn weight(&mut self, shape: Shape) -> Result<CudaSlice<bf16>, CudaError> {
        self.filled(shape.rows * shape.cols, |random| {
            bf16::from_f32(random.normal() * 0.02)
        })
    }

    fn encoding(&mut self) -> Result<(), CudaError> {
        let formats = [
            (Format::NVFP4, Some(0.90)),
            (Format::MXFP4, None),
            (Format::MXFP8_E4M3, Some(0.90)),
            (Format::FP8_BLOCK, None),
            (Format::FP8_BLOCK_UE8M0, Some(0.90)),
        ];
        let weight = self.weight(SHAPE)?;
        let global = self.stream.clone_htod(&[0.06_f32 / 2688.0])?;
        for (format, bar) in formats {
            let mut codes = self.zeroed(format.code_bytes(SHAPE).unwrap_or(0))?;
            let mut scales = self.zeroed(format.scale_bytes(SHAPE).unwrap_or(0))?;
            let bytes = weight.num_bytes() + codes.len() + scales.len();
            let mut out = DeviceRowsMut {
                codes: codes.as_view_mut(),
                scales: scales.as_view_mut(),
            };
            let (device, stack) = (self.device, Stack::single(SHAPE));
            let scheme = Scheme::from(format.default_rule());
            let (values, global) = (weight.as_view(), Global::Shared(global.as_view()));
            let seconds = self.time(|stream| {
                device.encode_rows_with(stream, &format, &scheme, stack, &values, &global, &mut out)
            })?;
            self.add(
                &format!("BF16 -> {format}"),
                size(SHAPE),
                bytes,
                seconds,
                bar,
            );
        }
        Ok(())
    }

    fn transcoding(&mut self) -> Result<(), CudaError> {
        let (device, stack) = (self.device, Stack::single(SHAPE));
        let to = Format::FP8_BLOCK_UE8M0;
        let mut codes = self.zeroed(to.code_bytes(SHAPE).unwrap_or(0))?;
        let mut scales = self.zeroed(to.scale_bytes(SHAPE).unwrap_or(0))?;
        let written = codes.len() + scales.len();
        let mut out = DeviceRowsMut {
            codes: codes.as_view_mut(),
            scales: scales.as_view_mut(),
        };
        let global = self.stream.clone_htod(&[0.003_f32])?;

        let from = Format::NVFP4;
        let old = (self.codes(&from, SHAPE)?, self.scales(&from, SHAPE)?);
        let bytes = old.0.len() + old.1.len() + written;
        let rows = DeviceRows {
            codes: old.0.as_view(),
            scales: old.1.as_view(),
            global: Global::Shared(global.as_view()),
        };
        let seconds = self.time(|stream| {
            device
                .nvfp4_to_fp8_block_ue8m0(stream, &from, stack, &rows, &mut out)
                .map(drop)
        })?;
        let name = "NVFP4 -> FP8 128x128 UE8M0, one pass";
        self.add(name, size(SHAPE), bytes, seconds, Some(0.85));

        let from = Format::FP8_BLOCK;
        let old = (self.codes(&from, SHAPE)?, self.scales(&from, SHAPE)?);
        let bytes = old.0.len() + old.1.len() + written;
        let rows = DeviceRows {
            codes: old.0.as_view(),
            scales: old.1.as_view(),
            global: Global::None,
        };
        let seconds = self.time(|stream| {
            let pending =
                device.round_scales_up_to_pow2(stream, &from, &to, stack, &rows, &mut out)?;
            drop(pending);
            Ok(())
        })?;
        let name = "FP8 128x128 F32 scales -> UE8M0, requantised";
        self.add(name, size(SHAPE), bytes, seconds, Some(0.85));

        let from = Format::MXFP4;
        let old = (self.codes(&from, SHAPE)?, self.scales(&from, SHAPE)?);
        let bytes = old.0.len() + old.1.len() + written;
        let seconds = self.time(|stream| {
            let (codes, scales) = (old.0.as_view(), old.1.as_view());
            let pending = device.mxfp4_to_fp8_block(stream, stack, &codes, &scales, &mut out)?;
            drop(pending);
            Ok(())
        })?;
        let name = "MXFP4 -> FP8 128x128 UE8M0, on the codes";
        self.add(name, size(SHAPE), bytes, seconds, None);
        Ok(())
    }

    fn layouts(&mut self) -> Result<(), CudaError> {
        let shape = Shape::new(262_144, 2048);
        let bytes = self.filled(shape.rows * shape.cols, |random| random.below(0x7f) as u8)?;
        let name = "E4M3 scales -> 128x4 tiles";
        self.scale_layout(
            name,
            ScaleLayout::Tiles128x4,
            shape,
            ScaleElement::E4m3Fn,
            &bytes,
            0.85,
        )?;

        let shape = Shape::new(262_144, 512);
        let power = |random: &mut Random| (random.below(40) as f32 - 20.0).exp2();
        let powers = self.filled(shape.rows * shape.cols, power)?;
        let bytes = self.bytes_of(&powers)?;
        let (f32s, packed) = (ScaleLayout::DeepGemmF32, ScaleLayout::DeepGemmPacked);
        let element = ScaleElement::F32;
        let name = "F32 scales -> DeepGEMM packed UE8M0";
        self.scale_layout(name, packed, shape, element, &bytes, 0.85)?;
        let name = "F32 scales -> DeepGEMM columns";
        self.scale_layout(name, f32s, shape, element, &bytes, 0.85)?;

        let shape = Shape::new(131_072, 8192);
        let codes = self.filled(shape.rows * shape.cols, |random| random.next() as u8)?;
        let layout = ScaleLayout::TrtllmLinear(RowShuffle::By32);
        self.code_layout("TensorRT-LLM row shuffle", layout, shape, &codes, 0.85)?;
        let name = "Marlin repack of E2M1";
        self.code_layout(name, ScaleLayout::MarlinNvfp4, shape, &codes, 0.6)
    }

    fn scale_layout(
        &mut self,
        name: &str,
        layout: ScaleLayout,
        shape: Shape,
        element: ScaleElement,
        bytes: &CudaSlice<u8>,
        bar: f64,
    ) -> Result<(), CudaError> {
        let (device, stack) = (self.device, Stack::single(shape));
        let mut out = self.zeroed(layout.scale_bytes(stack, element)?)?;
        let scales = DeviceScales {
            layout: ScaleLayout::Linear,
            element,
            bytes: bytes.as_view(),
        };
        let moved = bytes.len() + out.len();
        let mut out: CudaViewMut<'_, u8> = out.as_view_mut();
        let seconds = self.time(|stream| {
            let pending = device.permute_scales(stream, layout, stack, &scales, &mut out)?;
            drop(pending);
            Ok(())
        })?;
        self.add(name, size(shape), moved, seconds, Some(bar));
        Ok(())
    }

    fn code_layout(
        &mut self,
        name: &str,
        layout: ScaleLayout,
        shape: Shape,
        codes: &CudaSlice<u8>,
        bar: f64,
    ) -> Result<(), CudaError> {
        let (device, stack) = (self.device, Stack::single(shape));
        let mut out = self.zeroed(layout.code_bytes(stack)?)?;
        let linear = DeviceCodes {
            layout: ScaleLayout::Linear,
            bytes: codes.as_view(),
        };
        let moved = codes.len() + out.len();
        let mut out = out.as_view_mut();
        let seconds =
            self.time(|stream| device.permute_codes(stream, layout, stack, &linear, &mut out))?;
        self.add(name, size(shape), moved, seconds, Some(bar));
        Ok(())
    }

    fn statistics(&mut self) -> Result<(), CudaError> {
        let (device, stack) = (self.device, Stack::single(SHAPE));
        let weight = self.weight(SHAPE)?;
        let mut largest = self.stream.alloc_zeros::<f32>(1)?;
        let values = weight.as_view();
        let seconds =
            self.time(|stream| device.amax(stream, stack, &values, &mut largest.as_view_mut()))?;
        let bytes = weight.num_bytes();
        self.add("amax of BF16", size(SHAPE), bytes, seconds, None);

        let shape = Shape::new(32_768, 8192);
        let reference = self.filled(shape.rows * shape.cols, |random| random.normal())?;
        let output = self.filled(shape.rows * shape.cols, |random| random.normal())?;
        let (reference, output) = (reference.as_view(), output.as_view());
        let seconds = self.time(|stream| {
            let pending = device.error_stats(stream, shape, &reference, &output)?;
            drop(pending);
            Ok(())
        })?;
        let bytes = 8 * shape.rows * shape.cols + 104 * shape.rows;
        self.add("error sums of F32", size(shape), bytes, seconds, None);
        Ok(())
    }
}
