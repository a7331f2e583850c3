//! Numbers to a block format: the largest magnitude, scales from it, codes under the scales.

mod job;

use std::sync::Arc;

use blockscale::encode::{ScaleRule, Scheme};
use blockscale::layout::Stack;
use blockscale::{Format, Shape};
use cudarc::driver::{
    CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr as _, DevicePtrMut as _,
    DeviceSlice as _, PushKernelArg as _,
};

use self::job::Job;
use crate::abi::{FormatDesc, SchemeDesc, global_kind, searches};
use crate::choose::{Placement, encoder};
use crate::error::check_len;
use crate::launch::{Items, grid};
use crate::operand::{DeviceReal, Global, check_aligned, code_bytes, elements, scale_bytes};
use crate::{CudaError, Device};

/// Where encoded rows go: [`DeviceRows`](crate::DeviceRows) to be written.
#[derive(Debug)]
pub struct DeviceRowsMut<'a> {
    /// Codes of all matrices, [`Format::code_bytes`] for each.
    pub codes: CudaViewMut<'a, u8>,
    /// Scales of all matrices, [`Format::scale_bytes`] for each.
    pub scales: CudaViewMut<'a, u8>,
}

impl Device {
    /// The largest finite magnitude of each matrix: [`blockscale::encode::amax`].
    ///
    /// `out` has one number for each matrix.
    ///
    /// # Errors
    ///
    /// [`CudaError::Len`] and the other errors of arguments.
    pub fn amax<T: DeviceReal>(
        &self,
        stream: &Arc<CudaStream>,
        stack: Stack,
        values: &CudaView<'_, T>,
        out: &mut CudaViewMut<'_, f32>,
    ) -> Result<(), CudaError> {
        self.check_context("stream", stream)?;
        self.check_context("values", values.stream())?;
        self.check_context("out", out.stream())?;
        check_len("values", elements(stack), values.len())?;
        check_len("out", Some(stack.matrices), out.len())?;
        if stack.matrices == 0 {
            return Ok(());
        }
        stream.memset_zeros(out)?;
        if values.is_empty() {
            return Ok(());
        }
        let of_one = values.len() / stack.matrices;
        let (matrices, count) = (stack.matrices as u64, of_one as u64);
        let (values, _values) = values.device_ptr(stream);
        check_aligned::<T>("values", values)?;
        let (out, _out) = out.device_ptr_mut(stream);
        let function = self.function(&format!("amax_{}", T::NAME))?;
        let mut launch = stream.launch_builder(&function);
        launch.arg(&matrices).arg(&count).arg(&values).arg(&out);
        let items = Items::Blocks(of_one.div_ceil(8192));
        // SAFETY: the arguments are those of the kernel. `values` has `matrices * count` numbers
        // and `out` one word a matrix, zeroed above; a magnitude's bits are an F32.
        unsafe { launch.launch(grid(items, stack.matrices)) }?;
        Ok(())
    }

    /// The scale of the tensor of each matrix from its largest magnitude:
    /// [`blockscale::encode::global_scale_with`]. `T` is the type of the weight.
    ///
    /// # Errors
    ///
    /// [`CudaError::Len`] where `amax` and `out` are not equally long, and the other errors of
    /// arguments.
    pub fn global_scales<T: DeviceReal>(
        &self,
        stream: &Arc<CudaStream>,
        format: &Format,
        scheme: &Scheme,
        amax: &CudaView<'_, f32>,
        out: &mut CudaViewMut<'_, f32>,
    ) -> Result<(), CudaError> {
        self.check_context("stream", stream)?;
        self.check_context("amax", amax.stream())?;
        self.check_context("out", out.stream())?;
        check_len("out", Some(amax.len()), out.len())?;
        if out.is_empty() {
            return Ok(());
        }
        let desc = FormatDesc::new(format, Shape::new(1, 1))?;
        let scheme = SchemeDesc::new::<T>(format, scheme)?;
        let count = out.len();
        let matrices = count as u64;
        let (amax, _amax) = amax.device_ptr(stream);
        let (out, _out) = out.device_ptr_mut(stream);
        let function = self.function("global_from_amax")?;
        let mut launch = stream.launch_builder(&function);
        launch.arg(&desc).arg(&scheme).arg(&matrices);
        launch.arg(&amax).arg(&out);
        // SAFETY: the arguments are those of the kernel; both buffers have `matrices` numbers.
        unsafe { launch.launch(grid(Items::Threads(count), 1)) }?;
        Ok(())
    }

    /// Encodes a stack of matrices by a rule: [`blockscale::encode::encode_rows`] for each.
    ///
    /// # Errors
    ///
    /// Those of [`encode_rows_with`](Self::encode_rows_with).
    #[expect(clippy::too_many_arguments, reason = "those of the core, and a stream")]
    pub fn encode_rows<T: DeviceReal>(
        &self,
        stream: &Arc<CudaStream>,
        format: &Format,
        rule: ScaleRule,
        stack: Stack,
        values: &CudaView<'_, T>,
        global: &Global<'_>,
        out: &mut DeviceRowsMut<'_>,
    ) -> Result<(), CudaError> {
        self.encode_rows_with(stream, format, &rule.into(), stack, values, global, out)
    }

    /// Encodes a stack of matrices as a scheme has it:
    /// [`blockscale::encode::encode_rows_with`] for each, with the same bytes.
    ///
    /// One pass over the numbers where the format has a kernel of its own and the scheme is its
    /// usual one, two passes and a buffer of four bytes a block otherwise.
    ///
    /// # Errors
    ///
    /// [`CudaError::Len`] where a buffer is not as long as `stack` asks for, and the other errors of
    /// arguments; [`CudaError::OutOfMemory`] where that buffer does not fit.
    ///
    /// ```no_run
    /// use blockscale::encode::Scheme;
    /// use blockscale::layout::Stack;
    /// use blockscale::{Format, Shape, bf16};
    /// use blockscale_cuda::{Device, DeviceRowsMut, Global};
    ///
    /// // amax, scale of the tensor, codes: queued one after the other, nothing waits on the host.
    /// let device = Device::open(0)?;
    /// let stream = device.new_stream()?;
    /// let stack = Stack::single(Shape::new(64, 128));
    /// let weight = stream.clone_htod(&vec![bf16::ONE; 64 * 128])?;
    /// let (mut amax, mut global) = (stream.alloc_zeros(1)?, stream.alloc_zeros(1)?);
    /// let (mut codes, mut scales) = (stream.alloc_zeros(64 * 64)?, stream.alloc_zeros(64 * 8)?);
    /// let (format, scheme) = (Format::NVFP4, Scheme::DEFAULT);
    /// device.amax(&stream, stack, &weight.as_view(), &mut amax.as_view_mut())?;
    /// let (from, to) = (amax.as_view(), &mut global.as_view_mut());
    /// device.global_scales::<bf16>(&stream, &format, &scheme, &from, to)?;
    /// let global = Global::Shared(global.as_view());
    /// let mut out = DeviceRowsMut { codes: codes.as_view_mut(), scales: scales.as_view_mut() };
    /// let weight = weight.as_view();
    /// device.encode_rows_with(&stream, &format, &scheme, stack, &weight, &global, &mut out)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::too_many_arguments, reason = "those of the core, and a stream")]
    pub fn encode_rows_with<T: DeviceReal>(
        &self,
        stream: &Arc<CudaStream>,
        format: &Format,
        scheme: &Scheme,
        stack: Stack,
        values: &CudaView<'_, T>,
        global: &Global<'_>,
        out: &mut DeviceRowsMut<'_>,
    ) -> Result<(), CudaError> {
        self.check_encode(stream, format, stack, values, global)?;
        self.check_context("codes", out.codes.stream())?;
        self.check_context("scales", out.scales.stream())?;
        check_len("codes", code_bytes(format, stack), out.codes.len())?;
        check_len("scales", scale_bytes(format, stack), out.scales.len())?;
        if values.is_empty() {
            return self.choose_scales_with(
                stream,
                format,
                scheme,
                stack,
                values,
                global,
                &mut out.scales,
            );
        }
        if self.encode_in_one_pass(stream, format, scheme, stack, values, global, out)? {
            return Ok(());
        }
        self.choose_scales_with(
            stream,
            format,
            scheme,
            stack,
            values,
            global,
            &mut out.scales,
        )?;
        let scales = out.scales.as_view();
        self.encode_codes_with(
            stream,
            format,
            scheme,
            stack,
            values,
            &scales,
            global,
            &mut out.codes,
        )
    }

    /// Whether there is a kernel for that, which then is queued.
    #[expect(clippy::too_many_arguments, reason = "those of `encode_rows_with`")]
    fn encode_in_one_pass<T: DeviceReal>(
        &self,
        stream: &Arc<CudaStream>,
        format: &Format,
        scheme: &Scheme,
        stack: Stack,
        values: &CudaView<'_, T>,
        global: &Global<'_>,
        out: &mut DeviceRowsMut<'_>,
    ) -> Result<bool, CudaError> {
        let Stack { matrices, shape } = stack;
        let (values, _values) = values.device_ptr(stream);
        let (codes, _codes) = out.codes.device_ptr_mut(stream);
        let (scales, _scales) = out.scales.device_ptr_mut(stream);
        let placement = Placement {
            shape,
            addresses: &[values, codes],
            scales,
        };
        let Some(name) = encoder(format, scheme, &placement) else {
            return Ok(false);
        };
        let [m, r, c] = [matrices, shape.rows, shape.cols].map(|n| n as u64);
        let global = global.pointer(stream);
        let kind = global_kind(format);
        let function = self.function(&format!("encode_{}_to_{name}", T::NAME))?;
        let mut launch = stream.launch_builder(&function);
        launch.arg(&m).arg(&r).arg(&c);
        if name == "nvfp4" {
            launch.arg(&kind).arg(&values);
            launch.arg(&global.address).arg(&global.stride);
        } else {
            launch.arg(&values);
        }
        launch.arg(&codes).arg(&scales);
        // 128 bytes of numbers a thread.
        let of_thread = 128 / size_of::<T>();
        let items = match name {
            "nvfp4" | "mxfp4" | "mxfp8_e4m3" => {
                Items::Threads((shape.rows * shape.cols).div_ceil(of_thread))
            }
            _ => Items::Blocks(shape.rows.div_ceil(128) * shape.cols.div_ceil(128)),
        };
        // SAFETY: the arguments are those of the kernel, in its order; the caller has checked the
        // lengths that it reads and writes, `encoder` its columns and addresses, and the guards
        // above order it with other users of the buffers.
        unsafe { launch.launch(grid(items, matrices)) }?;
        Ok(true)
    }

    /// Chooses the scale of each block: [`blockscale::encode::choose_scales_with`] for each matrix.
    ///
    /// # Errors
    ///
    /// Those of [`encode_rows_with`](Self::encode_rows_with).
    #[expect(clippy::too_many_arguments, reason = "those of the core, and a stream")]
    pub fn choose_scales_with<T: DeviceReal>(
        &self,
        stream: &Arc<CudaStream>,
        format: &Format,
        scheme: &Scheme,
        stack: Stack,
        values: &CudaView<'_, T>,
        global: &Global<'_>,
        scales: &mut CudaViewMut<'_, u8>,
    ) -> Result<(), CudaError> {
        self.check_encode(stream, format, stack, values, global)?;
        self.check_context("scales", scales.stream())?;
        check_len("scales", scale_bytes(format, stack), scales.len())?;
        if scales.is_empty() {
            return Ok(());
        }
        let is_empty = values.is_empty();
        let job = if is_empty {
            Job::of_nothing::<T>(self, stream, format, scheme, stack)?
        } else {
            Job::new::<T>(self, stream, format, scheme, stack)?
        };
        let blocks = scales.len() / format.scale.bytes();
        let mut amax: CudaSlice<u32> = stream.alloc_zeros(blocks)?;
        let (amax, _amax) = amax.device_ptr_mut(stream);
        let (values, _values) = values.device_ptr(stream);
        check_aligned::<T>("values", values)?;
        let (scales, _scales) = scales.device_ptr_mut(stream);
        let global = global.pointer(stream);
        let of_one = blocks / stack.matrices;
        if is_empty {
            return job.scales(amax, &global, scales, of_one);
        }
        job.amax_of_blocks::<T>(values, amax)?;
        if searches(scheme.rule) {
            job.search::<T>(values, amax, &global, scales, of_one)
        } else {
            job.scales(amax, &global, scales, of_one)
        }
    }

    /// Encodes under scales that are given: [`blockscale::encode::encode_codes_with`] for each
    /// matrix.
    ///
    /// # Errors
    ///
    /// Those of [`encode_rows_with`](Self::encode_rows_with).
    #[expect(clippy::too_many_arguments, reason = "those of the core, and a stream")]
    pub fn encode_codes_with<T: DeviceReal>(
        &self,
        stream: &Arc<CudaStream>,
        format: &Format,
        scheme: &Scheme,
        stack: Stack,
        values: &CudaView<'_, T>,
        scales: &CudaView<'_, u8>,
        global: &Global<'_>,
        codes: &mut CudaViewMut<'_, u8>,
    ) -> Result<(), CudaError> {
        self.check_encode(stream, format, stack, values, global)?;
        self.check_context("scales", scales.stream())?;
        self.check_context("codes", codes.stream())?;
        check_len("scales", scale_bytes(format, stack), scales.len())?;
        check_len("codes", code_bytes(format, stack), codes.len())?;
        if values.is_empty() {
            return Ok(());
        }
        let job = Job::new::<T>(self, stream, format, scheme, stack)?;
        let (values, _values) = values.device_ptr(stream);
        check_aligned::<T>("values", values)?;
        let (scales, _scales) = scales.device_ptr(stream);
        let (codes, _codes) = codes.device_ptr_mut(stream);
        job.codes::<T>(values, scales, &global.pointer(stream), codes)
    }

    fn check_encode<T: DeviceReal>(
        &self,
        stream: &Arc<CudaStream>,
        format: &Format,
        stack: Stack,
        values: &CudaView<'_, T>,
        global: &Global<'_>,
    ) -> Result<(), CudaError> {
        self.check_context("stream", stream)?;
        self.check_context("values", values.stream())?;
        check_len("values", elements(stack), values.len())?;
        global.check(self, format, stack.matrices)
    }
}
