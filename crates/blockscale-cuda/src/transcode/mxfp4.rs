//! MXFP4 to NVFP4 and to FP8, its codes kept where they can be.

use std::sync::Arc;

use blockscale::Format;
use blockscale::layout::Stack;
use blockscale::transcode::{Mxfp4ToFp8, Nvfp4Blocks};
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{
    CudaStream, CudaView, CudaViewMut, DevicePtr as _, DevicePtrMut as _, DeviceSlice as _,
    PushKernelArg as _,
};

use super::tiles;
use crate::encode::DeviceRowsMut;
use crate::error::check_len;
use crate::launch::{Items, grid};
use crate::operand::{code_bytes, scale_bytes};
use crate::pending::{Pending, answer_words};
use crate::{CudaError, Device};

/// What [`Device::mxfp4_to_nvfp4`] writes.
#[derive(Debug)]
pub struct Nvfp4Out<'a> {
    /// Codes, as many as before.
    pub codes: CudaViewMut<'a, u8>,
    /// E4M3 scales, one for 16 columns.
    pub scales: CudaViewMut<'a, u8>,
    /// The scale of the tensor, one number, which multiplies.
    pub global: CudaViewMut<'a, f32>,
}

impl Device {
    /// MXFP4 to NVFP4 on the codes: [`blockscale::transcode::Mxfp4ToNvfp4`] of one tensor, from its
    /// own scales.
    ///
    /// # Errors
    ///
    /// [`CudaError::Len`] where a buffer is not as long as the shape of `stack` asks for, and the
    /// other errors of arguments. All matrices of the stack share the scale of the tensor.
    pub fn mxfp4_to_nvfp4(
        &self,
        stream: &Arc<CudaStream>,
        stack: Stack,
        codes: &CudaView<'_, u8>,
        scales: &CudaView<'_, u8>,
        out: &mut Nvfp4Out<'_>,
    ) -> Result<Pending<'static, Nvfp4Blocks>, CudaError> {
        let mut largest = stream.alloc_zeros::<u32>(1)?;
        let mut largest = largest.as_view_mut();
        self.largest_exponent(stream, scales, &mut largest)?;
        self.mxfp4_to_nvfp4_under(stream, stack, codes, scales, &largest.as_view(), out)
    }

    /// The largest UE8M0 code of a plane of scales but that of NaN, 0 where there is none: what
    /// [`blockscale::transcode::Mxfp4ToNvfp4::of_scales`] goes by.
    ///
    /// # Errors
    ///
    /// [`CudaError::Len`] where `out` is not one number, and the other errors of arguments.
    pub fn largest_exponent(
        &self,
        stream: &Arc<CudaStream>,
        scales: &CudaView<'_, u8>,
        out: &mut CudaViewMut<'_, u32>,
    ) -> Result<(), CudaError> {
        self.check_context("stream", stream)?;
        self.check_context("scales", scales.stream())?;
        check_len("out", Some(1), out.len())?;
        stream.memset_zeros(out)?;
        if scales.is_empty() {
            return Ok(());
        }
        let length = scales.len();
        let count = length as u64;
        let (scales, _scales) = scales.device_ptr(stream);
        let (out, _out) = out.device_ptr_mut(stream);
        let function = self.function("largest_exponent_ue8m0")?;
        let mut launch = stream.launch_builder(&function);
        launch.arg(&count).arg(&scales).arg(&out);
        let items = Items::Blocks(length.div_ceil(4096));
        // SAFETY: the arguments are those of the kernel; `out` is one word, zeroed above.
        unsafe { launch.launch(grid(items, 1)) }?;
        Ok(())
    }

    /// [`mxfp4_to_nvfp4`](Self::mxfp4_to_nvfp4) of a part of a tensor, given the largest code of
    /// all its scales.
    ///
    /// # Errors
    ///
    /// Those of [`mxfp4_to_nvfp4`](Self::mxfp4_to_nvfp4).
    pub fn mxfp4_to_nvfp4_under(
        &self,
        stream: &Arc<CudaStream>,
        stack: Stack,
        codes: &CudaView<'_, u8>,
        scales: &CudaView<'_, u8>,
        largest: &CudaView<'_, u32>,
        out: &mut Nvfp4Out<'_>,
    ) -> Result<Pending<'static, Nvfp4Blocks>, CudaError> {
        self.check_context("stream", stream)?;
        self.check_context("codes", codes.stream())?;
        self.check_context("new codes", out.codes.stream())?;
        let (from, to) = (Format::MXFP4, Format::NVFP4);
        check_len("codes", code_bytes(&from, stack), codes.len())?;
        check_len("scales", scale_bytes(&from, stack), scales.len())?;
        check_len("largest", Some(1), largest.len())?;
        check_len("new codes", code_bytes(&to, stack), out.codes.len())?;
        check_len("new scales", scale_bytes(&to, stack), out.scales.len())?;
        check_len("global", Some(1), out.global.len())?;
        let mut words = answer_words(stream, 3)?;
        let rows = stack.matrices * stack.shape.rows;
        if rows > 0 && stack.shape.cols > 0 {
            let [r, c] = [rows, stack.shape.cols].map(|n| n as u64);
            let (counts, _counts) = words.device_ptr_mut(stream);
            let (codes, _codes) = codes.device_ptr(stream);
            let (scales, _scales) = scales.device_ptr(stream);
            let (largest, _largest) = largest.device_ptr(stream);
            let (new_codes, _new_codes) = out.codes.device_ptr_mut(stream);
            let (new_scales, _new_scales) = out.scales.device_ptr_mut(stream);
            let (global, _global) = out.global.device_ptr_mut(stream);
            let nowhere: CUdeviceptr = 0;
            let function = self.function("transcode_mxfp4_to_nvfp4")?;
            let mut launch = stream.launch_builder(&function);
            launch
                .arg(&r)
                .arg(&c)
                .arg(&codes)
                .arg(&scales)
                .arg(&largest);
            launch.arg(&new_codes).arg(&new_scales).arg(&global);
            launch.arg(&counts).arg(&nowhere);
            let items = Items::Blocks((rows * stack.shape.cols.div_ceil(32)).div_ceil(2048));
            // SAFETY: the arguments are those of the kernel; all lengths are checked above, and it
            // takes no flags where their pointer is null.
            unsafe { launch.launch(grid(items, 1)) }?;
        }
        Ok(Pending::new(stream, words, |words| {
            let count = |at: usize| usize::try_from(words[at]).unwrap_or(usize::MAX);
            Ok(Nvfp4Blocks {
                lossless: count(0),
                reencoded: count(1),
                nan: count(2),
            })
        }))
    }

    /// MXFP4 to FP8 in blocks of 128 x 128: [`blockscale::transcode::mxfp4_to_fp8_block`] for each
    /// matrix.
    ///
    /// # Errors
    ///
    /// [`CudaError::Len`] where a buffer is not as long as `stack` asks for, and the other errors of
    /// arguments.
    pub fn mxfp4_to_fp8_block(
        &self,
        stream: &Arc<CudaStream>,
        stack: Stack,
        codes: &CudaView<'_, u8>,
        scales: &CudaView<'_, u8>,
        out: &mut DeviceRowsMut<'_>,
    ) -> Result<Pending<'static, Mxfp4ToFp8>, CudaError> {
        self.check_context("stream", stream)?;
        self.check_context("codes", codes.stream())?;
        let from = Format::MXFP4;
        check_len("codes", code_bytes(&from, stack), codes.len())?;
        check_len("scales", scale_bytes(&from, stack), scales.len())?;
        out.check(self, &Format::FP8_BLOCK_UE8M0, stack)?;
        let mut words = answer_words(stream, 3)?;
        if !out.codes.is_empty() {
            let Stack { matrices, shape } = stack;
            let [m, r, c] = [matrices, shape.rows, shape.cols].map(|n| n as u64);
            let (counts, _counts) = words.device_ptr_mut(stream);
            let (codes, _codes) = codes.device_ptr(stream);
            let (scales, _scales) = scales.device_ptr(stream);
            let (new_codes, _new_codes) = out.codes.device_ptr_mut(stream);
            let (new_scales, _new_scales) = out.scales.device_ptr_mut(stream);
            let nowhere: CUdeviceptr = 0;
            let function = self.function("transcode_mxfp4_to_fp8_block_ue8m0")?;
            let mut launch = stream.launch_builder(&function);
            launch.arg(&m).arg(&r).arg(&c).arg(&codes).arg(&scales);
            launch.arg(&new_codes).arg(&new_scales);
            launch.arg(&counts).arg(&nowhere);
            // SAFETY: the arguments are those of the kernel; all lengths are checked above, and it
            // takes no flags where their pointer is null.
            unsafe { launch.launch(grid(tiles(stack), matrices)) }?;
        }
        Ok(Pending::new(stream, words, |words| {
            let count = |at: usize| usize::try_from(words[at]).unwrap_or(usize::MAX);
            Ok(Mxfp4ToFp8 {
                lossless: count(0),
                rounded: count(1),
                nan: count(2),
            })
        }))
    }
}
