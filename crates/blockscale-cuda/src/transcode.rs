//! One block format to another on the codes, as [`blockscale::transcode`] does it.

mod mxfp4;

use std::sync::Arc;

use blockscale::layout::Stack;
use blockscale::transcode::TranscodeError;
use blockscale::{Format, GlobalScale, ScaleElement};
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{
    CudaStream, DevicePtr as _, DevicePtrMut as _, DeviceSlice as _, PushKernelArg as _,
};

pub use self::mxfp4::Nvfp4Out;
use crate::abi::{FormatDesc, global_kind, scale_element};
use crate::choose::{Placement, is_regular};
use crate::encode::DeviceRowsMut;
use crate::error::check_len;
use crate::launch::{Items, grid};
use crate::operand::{DeviceRows, code_bytes, scale_bytes};
use crate::pending::{Pending, answer_words, first_bad, scale_at};
use crate::{CudaError, Device};

/// Bytes of a word of counts.
const WORD: CUdeviceptr = 8;

fn tiles(stack: Stack) -> Items {
    Items::Blocks(stack.shape.rows.div_ceil(128) * stack.shape.cols.div_ceil(128))
}

impl DeviceRowsMut<'_> {
    fn check(&self, device: &Device, format: &Format, stack: Stack) -> Result<(), CudaError> {
        device.check_context("new codes", self.codes.stream())?;
        device.check_context("new scales", self.scales.stream())?;
        check_len("new codes", code_bytes(format, stack), self.codes.len())?;
        check_len("new scales", scale_bytes(format, stack), self.scales.len())
    }
}

impl Device {
    /// NVFP4 to FP8 in blocks of 128 x 128 with powers of two as scales, in one pass and without
    /// numbers in between: what decoding to F32 and encoding by the format's rule gives.
    ///
    /// `from` is [`Format::NVFP4`] or one of its two sisters. Returns whether there is a kernel for
    /// these shapes and addresses: columns in multiples of 32, buffers on 16 bytes. If not, nothing
    /// is queued; decode and encode.
    ///
    /// # Errors
    ///
    /// [`CudaError::Len`] where a buffer is not as long as `stack` asks for,
    /// [`TranscodeError::Formats`] for another format, and the other errors of arguments.
    pub fn nvfp4_to_fp8_block_ue8m0(
        &self,
        stream: &Arc<CudaStream>,
        from: &Format,
        stack: Stack,
        rows: &DeviceRows<'_>,
        out: &mut DeviceRowsMut<'_>,
    ) -> Result<bool, CudaError> {
        let to = Format::FP8_BLOCK_UE8M0;
        if *from
            != (Format {
                global: from.global,
                ..Format::NVFP4
            })
        {
            return Err(TranscodeError::Formats { from: *from, to }.into());
        }
        self.check_context("stream", stream)?;
        rows.check(self, from, stack)?;
        out.check(self, &to, stack)?;
        if out.codes.is_empty() {
            return Ok(true);
        }
        let Stack { matrices, shape } = stack;
        let [m, r, c] = [matrices, shape.rows, shape.cols].map(|n| n as u64);
        let (codes, _codes) = rows.codes.device_ptr(stream);
        let (scales, _scales) = rows.scales.device_ptr(stream);
        let (new_codes, _new_codes) = out.codes.device_ptr_mut(stream);
        let (new_scales, _new_scales) = out.scales.device_ptr_mut(stream);
        let placement = Placement {
            shape,
            addresses: &[codes, new_codes],
            scales,
        };
        if !is_regular(&placement, from, 32) {
            return Ok(false);
        }
        let global = rows.global.pointer(stream);
        let kind = global_kind(from);
        let function = self.function("transcode_nvfp4_to_fp8_block_ue8m0")?;
        let mut launch = stream.launch_builder(&function);
        launch.arg(&m).arg(&r).arg(&c).arg(&kind);
        launch.arg(&codes).arg(&scales);
        launch.arg(&global.address).arg(&global.stride);
        launch.arg(&new_codes).arg(&new_scales);
        let items = Items::Blocks(shape.rows.div_ceil(128) * shape.cols.div_ceil(256));
        // SAFETY: the arguments are those of the kernel, in its order; all lengths are checked
        // above, and columns and addresses are what it needs.
        unsafe { launch.launch(grid(items, matrices)) }?;
        Ok(true)
    }

    /// Rounds scales up to powers of two and requantises the blocks whose scale changes:
    /// [`blockscale::transcode::round_scales_up_to_pow2`].
    ///
    /// The answer is the number of blocks that changed.
    ///
    /// # Errors
    ///
    /// [`TranscodeError::Formats`] where the step does not lead from one format to the other, and
    /// those of arguments; the answer may be [`TranscodeError::Scale`], in which case the contents
    /// of `out` are of no use.
    pub fn round_scales_up_to_pow2<'a>(
        &self,
        stream: &'a Arc<CudaStream>,
        from: &Format,
        to: &Format,
        stack: Stack,
        rows: &'a DeviceRows<'_>,
        out: &mut DeviceRowsMut<'_>,
    ) -> Result<Pending<'a, usize>, CudaError> {
        check_pow2(from, to)?;
        self.check_context("stream", stream)?;
        rows.check(self, from, stack)?;
        out.check(self, to, stack)?;
        let mut words = answer_words(stream, 1)?;
        if !out.scales.is_empty() {
            let (counts, _counts) = words.device_ptr_mut(stream);
            self.launch_pow2(stream, from, to, stack, rows, out, counts)?;
        }
        let element = from.scale;
        Ok(Pending::new(stream, words, move |words| {
            let Some(index) = first_bad(words[1]) else {
                return Ok(usize::try_from(words[0]).unwrap_or(usize::MAX));
            };
            let value = scale_at(stream, element, &rows.scales, index)?;
            Err(TranscodeError::Scale { index, value }.into())
        }))
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "those of its caller, and the counts"
    )]
    fn launch_pow2(
        &self,
        stream: &Arc<CudaStream>,
        from: &Format,
        to: &Format,
        stack: Stack,
        rows: &DeviceRows<'_>,
        out: &mut DeviceRowsMut<'_>,
        counts: CUdeviceptr,
    ) -> Result<(), CudaError> {
        let Stack { matrices, shape } = stack;
        let [m, r, c] = [matrices, shape.rows, shape.cols].map(|n| n as u64);
        let (codes, _codes) = rows.codes.device_ptr(stream);
        let (scales, _scales) = rows.scales.device_ptr(stream);
        let (new_codes, _new_codes) = out.codes.device_ptr_mut(stream);
        let (new_scales, _new_scales) = out.scales.device_ptr_mut(stream);
        let bad = counts + WORD;
        let placement = Placement {
            shape,
            addresses: &[codes, new_codes],
            scales,
        };
        let one_pass = (*from, *to) == (Format::FP8_BLOCK, Format::FP8_BLOCK_UE8M0);
        if one_pass && is_regular(&placement, from, 16) {
            let function = self.function("transcode_fp8_block_f32_to_ue8m0")?;
            let mut launch = stream.launch_builder(&function);
            launch.arg(&m).arg(&r).arg(&c).arg(&codes).arg(&scales);
            launch.arg(&new_codes).arg(&new_scales);
            launch.arg(&counts).arg(&bad);
            // SAFETY: the arguments are those of the kernel; the caller has checked all lengths,
            // columns and addresses are what it needs, `counts` has both words.
            unsafe { launch.launch(grid(tiles(stack), matrices)) }?;
            return Ok(());
        }
        // A row or a tensor without elements has a scale all the same.
        let [r, c] = [r.max(1), c.max(1)];
        let desc = FormatDesc::new(from, shape)?;
        let to_scale = scale_element(to.scale)?;
        let function = self.function("round_scales_up_any")?;
        let mut launch = stream.launch_builder(&function);
        launch.arg(&desc).arg(&to_scale).arg(&m).arg(&r).arg(&c);
        launch.arg(&scales).arg(&new_scales).arg(&counts).arg(&bad);
        let scales_of_one = rows.scales.len() / from.scale.bytes() / matrices;
        // SAFETY: as above; the planes of scales have a place for each block.
        unsafe { launch.launch(grid(Items::Threads(scales_of_one), matrices)) }?;
        if rows.codes.is_empty() {
            return Ok(());
        }

        let function = self.function("rescale_codes_any")?;
        let mut launch = stream.launch_builder(&function);
        launch.arg(&desc).arg(&m).arg(&r).arg(&c);
        launch.arg(&codes).arg(&scales).arg(&new_codes);
        let items = Items::Threads(shape.rows * shape.cols.div_ceil(8));
        // SAFETY: as above; `check_pow2` has seen to an element of 8 bits and no global scale. A
        // scale that was refused spoils codes of its block, which the answer says are of no use.
        unsafe { launch.launch(grid(items, matrices)) }?;
        Ok(())
    }
}

fn check_pow2(from: &Format, to: &Format) -> Result<(), CudaError> {
    let same = from.element == to.element && from.block == to.block;
    let one_level = from.global == GlobalScale::None && to.global == GlobalScale::None;
    let holds_pow2 = matches!(to.scale, ScaleElement::E8m0Fnu | ScaleElement::F32);
    if same && one_level && holds_pow2 && from.element.bits() == 8 {
        return Ok(());
    }
    let (from, to) = (*from, *to);
    Err(TranscodeError::Formats { from, to }.into())
}
