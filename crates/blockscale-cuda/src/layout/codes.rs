//! Codes into a layout and out of it.

use std::sync::Arc;

use blockscale::Shape;
use blockscale::layout::{LayoutError, ScaleLayout, Stack, marlin};
use cudarc::driver::{
    CudaStream, CudaView, CudaViewMut, DevicePtr as _, DevicePtrMut as _, DeviceSlice as _,
    PushKernelArg as _,
};

use super::{DeviceCodes, Way, check_vectors, order};
use crate::error::check_len;
use crate::launch::{Items, grid};
use crate::operand::elements;
use crate::{CudaError, Device};

/// The same for rows of codes, which Mega MoE moves in one of its two layouts.
fn code_order(layout: ScaleLayout) -> Result<u32, CudaError> {
    match layout {
        ScaleLayout::MegaMoeL1 => Ok(5),
        ScaleLayout::MegaMoeL2 => Ok(0),
        other => order(other),
    }
}

impl Device {
    /// Puts codes of a checkpoint into `layout`: [`blockscale::layout::permute_codes`].
    ///
    /// `stack.shape.cols` counts bytes of a row.
    ///
    /// # Errors
    ///
    /// Those of the core, in a [`CudaError::Layout`], and those of arguments.
    pub fn permute_codes(
        &self,
        stream: &Arc<CudaStream>,
        layout: ScaleLayout,
        stack: Stack,
        codes: &DeviceCodes<'_>,
        out: &mut CudaViewMut<'_, u8>,
    ) -> Result<(), CudaError> {
        if codes.layout != ScaleLayout::Linear {
            let (found, asked) = (codes.layout, layout);
            return Err(LayoutError::AlreadyApplied { found, asked }.into());
        }
        self.move_codes(stream, layout, stack, codes, out, Way::Into)
    }

    /// Takes codes out of their layout: [`blockscale::layout::unpermute_codes`].
    ///
    /// # Errors
    ///
    /// Those of the core, in a [`CudaError::Layout`], and those of arguments.
    pub fn unpermute_codes(
        &self,
        stream: &Arc<CudaStream>,
        stack: Stack,
        codes: &DeviceCodes<'_>,
        out: &mut CudaViewMut<'_, u8>,
    ) -> Result<(), CudaError> {
        self.move_codes(stream, codes.layout, stack, codes, out, Way::OutOf)
    }

    fn move_codes(
        &self,
        stream: &Arc<CudaStream>,
        layout: ScaleLayout,
        stack: Stack,
        codes: &DeviceCodes<'_>,
        out: &mut CudaViewMut<'_, u8>,
        way: Way,
    ) -> Result<(), CudaError> {
        self.check_context("stream", stream)?;
        self.check_context("codes", codes.bytes.stream())?;
        self.check_context("out", out.stream())?;
        let laid_out = layout.code_bytes(stack)?;
        let (from, to) = (codes.bytes.len(), out.len());
        let (found_linear, found) = match way {
            Way::Into => (from, to),
            Way::OutOf => (to, from),
        };
        check_len("codes", elements(stack), found_linear)?;
        check_len("laid out codes", Some(laid_out), found)?;
        if found_linear == 0 {
            stream.memset_zeros(out)?;
            return Ok(());
        }
        let order = code_order(layout)?;
        if let ScaleLayout::MarlinNvfp4 | ScaleLayout::MarlinMxfp4 = layout {
            return self.move_marlin_codes(stream, layout, stack, &codes.bytes, out, way);
        }
        if order == 0 {
            stream.memcpy_dtod(&codes.bytes, out)?;
            return Ok(());
        }
        let Stack { matrices, shape } = stack;
        let [m, r, c] = [matrices, shape.rows, shape.cols].map(|n| n as u64);
        let (from, _from) = codes.bytes.device_ptr(stream);
        let (to, _to) = out.device_ptr_mut(stream);
        let vectors = shape.cols.is_multiple_of(16) && [from, to].iter().all(|a| a % 16 == 0);
        let bytes = shape.rows * shape.cols;
        let (suffix, items) = match vectors {
            true => ("", Items::Threads(bytes.div_ceil(64))),
            false => ("_bytes", Items::Threads(bytes)),
        };
        let function = self.function(&format!("{}permute_rows{suffix}", way.prefix()))?;
        let mut launch = stream.launch_builder(&function);
        launch.arg(&m).arg(&r).arg(&c).arg(&order);
        launch.arg(&from).arg(&to);
        // SAFETY: the arguments are those of the kernel; both sides have all rows of the stack, and
        // whole vectors where it moves those.
        unsafe { launch.launch(grid(items, matrices)) }?;
        Ok(())
    }

    fn move_marlin_codes(
        &self,
        stream: &Arc<CudaStream>,
        layout: ScaleLayout,
        stack: Stack,
        codes: &CudaView<'_, u8>,
        out: &mut CudaViewMut<'_, u8>,
        way: Way,
    ) -> Result<(), CudaError> {
        let Stack { matrices, shape } = stack;
        let padded = shape
            .cols
            .checked_mul(2)
            .and_then(|cols| marlin::padded_shape(Shape::new(shape.rows, cols)))
            .ok_or(LayoutError::TooLarge { layout })?;
        let (from, _from) = codes.device_ptr(stream);
        let (to, _to) = out.device_ptr_mut(stream);
        let (name, laid_out) = match way {
            Way::Into => ("repack_marlin_codes", to),
            Way::OutOf => ("unpack_marlin_codes", from),
        };
        check_vectors(laid_out, 16)?;
        let [m, r, c] = [matrices, shape.rows, shape.cols].map(|n| n as u64);
        let [pr, pc] = [padded.rows, padded.cols].map(|n| n as u64);
        let function = self.function(name)?;
        let mut launch = stream.launch_builder(&function);
        launch.arg(&m).arg(&r).arg(&c).arg(&pr).arg(&pc);
        launch.arg(&from).arg(&to);
        let items = match way {
            Way::Into => Items::Blocks(padded.rows / 64 * padded.cols.div_ceil(256)),
            Way::OutOf => Items::Threads(shape.rows * shape.cols),
        };
        // SAFETY: the arguments are those of the kernel; the laid out side has `padded` codes for
        // each matrix, as `code_bytes` says, and begins on 16 bytes.
        unsafe { launch.launch(grid(items, matrices)) }?;
        Ok(())
    }
}
