//! Rows of a block format to numbers.

use std::sync::Arc;

use blockscale::Format;
use blockscale::layout::Stack;
use cudarc::driver::{
    CudaStream, CudaViewMut, DevicePtr as _, DevicePtrMut as _, DeviceSlice as _,
    PushKernelArg as _,
};

use crate::abi::{FormatDesc, global_kind};
use crate::choose::{Placement, decoder};
use crate::error::check_len;
use crate::launch::{Items, grid};
use crate::operand::{DeviceReal, DeviceRows, check_aligned, elements};
use crate::{CudaError, Device};

impl Device {
    /// Decodes a stack of matrices: [`blockscale::decode::decode_rows`] for each, with the same
    /// bits.
    ///
    /// `out` gets the matrices one after the other. The work is queued on `stream`. Any format and
    /// shape will do; those with kernels of their own, in rows of a multiple of 32, are fastest.
    ///
    /// # Errors
    ///
    /// [`CudaError::Len`] where a buffer is not as long as `stack` asks for, and the other errors of
    /// arguments; nothing is launched then.
    ///
    /// ```no_run
    /// use blockscale::layout::Stack;
    /// use blockscale::{Format, Shape, bf16};
    /// use blockscale_cuda::{Device, DeviceRows, Global};
    ///
    /// let device = Device::open(0)?;
    /// let stream = device.new_stream()?;
    /// let codes = stream.clone_htod(&[0x21_u8; 16])?; // two rows of 16
    /// let scales = stream.clone_htod(&[0x38_u8; 2])?; // 1 and 1
    /// let global = stream.clone_htod(&[0.5_f32])?;
    /// let mut out = stream.alloc_zeros::<bf16>(32)?;
    /// let rows = DeviceRows {
    ///     codes: codes.as_view(),
    ///     scales: scales.as_view(),
    ///     global: Global::Shared(global.as_view()),
    /// };
    /// let stack = Stack::single(Shape::new(2, 16));
    /// device.decode_rows(&stream, &Format::NVFP4, stack, &rows, &mut out.as_view_mut())?;
    /// assert_eq!(stream.clone_dtoh(&out)?[..2], [0.25, 0.5].map(bf16::from_f32));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode_rows<T: DeviceReal>(
        &self,
        stream: &Arc<CudaStream>,
        format: &Format,
        stack: Stack,
        rows: &DeviceRows<'_>,
        out: &mut CudaViewMut<'_, T>,
    ) -> Result<(), CudaError> {
        self.check_context("stream", stream)?;
        self.check_context("out", out.stream())?;
        rows.check(self, format, stack)?;
        check_len("out", elements(stack), out.len())?;
        if out.is_empty() {
            return Ok(());
        }
        let Stack { matrices, shape } = stack;
        let [m, r, c] = [matrices, shape.rows, shape.cols].map(|n| n as u64);
        let (codes, _codes) = rows.codes.device_ptr(stream);
        let (scales, _scales) = rows.scales.device_ptr(stream);
        let global = rows.global.pointer(stream);
        let (out, _out) = out.device_ptr_mut(stream);
        check_aligned::<T>("out", out)?;

        let placement = Placement {
            shape,
            addresses: &[codes, out],
            scales,
        };
        if let Some(name) = decoder(format, &placement) {
            let function = self.function(&format!("decode_{name}_to_{}", T::NAME))?;
            let kind = global_kind(format);
            let mut launch = stream.launch_builder(&function);
            launch.arg(&m).arg(&r).arg(&c);
            if name == "nvfp4" {
                launch.arg(&kind).arg(&codes).arg(&scales);
                launch.arg(&global.address).arg(&global.stride);
            } else {
                launch.arg(&codes).arg(&scales);
            }
            launch.arg(&out);
            let items = match name {
                "nvfp4" | "mxfp4" => Items::Threads(shape.rows * shape.cols / 32),
                _ => Items::Blocks(shape.rows.div_ceil(16) * shape.cols.div_ceil(1024)),
            };
            // SAFETY: the arguments are those of the kernel, in its order. The buffers have the
            // lengths that it reads and writes (`rows.check`, `check_len`), columns and addresses
            // are what `decoder` asks for, and the guards above make the stream wait for other
            // users of the buffers, and those wait for this launch.
            unsafe { launch.launch(grid(items, matrices)) }?;
            return Ok(());
        }
        let function = self.function(&format!("decode_any_to_{}", T::NAME))?;
        let desc = FormatDesc::new(format, shape)?;
        let mut launch = stream.launch_builder(&function);
        launch.arg(&desc).arg(&m).arg(&r).arg(&c);
        launch.arg(&codes).arg(&scales);
        launch.arg(&global.address).arg(&global.stride).arg(&out);
        let items = Items::Threads(shape.rows * shape.cols.div_ceil(8));
        // SAFETY: as above; this kernel takes any columns and addresses of codes and scales.
        unsafe { launch.launch(grid(items, matrices)) }?;
        Ok(())
    }
}
