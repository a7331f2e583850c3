//! The kernels for every format: largest magnitudes of blocks, their scales, and codes under them.

use std::sync::Arc;

use blockscale::encode::{ScaleRule, Scheme};
use blockscale::layout::Stack;
use blockscale::{Format, Shape};
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaStream, PushKernelArg as _};

use crate::abi::{FormatDesc, SchemeDesc, searches};
use crate::launch::{Items, grid};
use crate::operand::{DeviceReal, GlobalPointer};
use crate::{CudaError, Device};

/// Format, scheme and shape of an encoding, as kernels take them.
pub(super) struct Job<'a> {
    device: &'a Device,
    stream: &'a Arc<CudaStream>,
    format: FormatDesc,
    scheme: SchemeDesc,
    stack: Stack,
    sizes: [u64; 3],
}

// The callers have checked the lengths of all buffers, which lie in the device's context, and hold
// the guards of their addresses.
impl<'a> Job<'a> {
    pub(super) fn new<T: DeviceReal>(
        device: &'a Device,
        stream: &'a Arc<CudaStream>,
        format: &Format,
        scheme: &Scheme,
        stack: Stack,
    ) -> Result<Self, CudaError> {
        let Stack { matrices, shape } = stack;
        Ok(Self {
            device,
            stream,
            format: FormatDesc::new(format, shape)?,
            scheme: SchemeDesc::new::<T>(format, scheme)?,
            stack,
            sizes: [matrices, shape.rows, shape.cols].map(|n| n as u64),
        })
    }

    /// Scales of rows or tensors without elements, which count as blocks of one zero. No rule has
    /// anything to search in them.
    pub(super) fn of_nothing<T: DeviceReal>(
        device: &'a Device,
        stream: &'a Arc<CudaStream>,
        format: &Format,
        scheme: &Scheme,
        stack: Stack,
    ) -> Result<Self, CudaError> {
        let rule = match scheme.rule {
            rule if searches(rule) => ScaleRule::Amax,
            rule => rule,
        };
        let Shape { rows, cols } = stack.shape;
        let one_each = Stack::new(stack.matrices, Shape::new(rows.max(1), cols.max(1)));
        let scheme = Scheme { rule, ..*scheme };
        Self::new::<T>(device, stream, format, &scheme, one_each)
    }

    pub(super) fn amax_of_blocks<T: DeviceReal>(
        &self,
        values: CUdeviceptr,
        amax: CUdeviceptr,
    ) -> Result<(), CudaError> {
        let name = format!("amax_blocks_any_{}", T::NAME);
        let function = self.device.function(&name)?;
        let mut launch = self.stream.launch_builder(&function);
        launch.arg(&self.format);
        self.sizes.iter().for_each(|size| {
            launch.arg(size);
        });
        launch.arg(&values).arg(&amax);
        let shape = self.stack.shape;
        let items = Items::Threads(shape.rows * shape.cols.div_ceil(64));
        // SAFETY: the arguments are those of the kernel; `amax` has a zeroed word for each block.
        unsafe { launch.launch(grid(items, self.stack.matrices)) }?;
        Ok(())
    }

    pub(super) fn scales(
        &self,
        amax: CUdeviceptr,
        global: &GlobalPointer<'_>,
        scales: CUdeviceptr,
        scales_of_one: usize,
    ) -> Result<(), CudaError> {
        let function = self.device.function("scales_from_amax_any")?;
        let mut launch = self.stream.launch_builder(&function);
        launch.arg(&self.format).arg(&self.scheme);
        self.sizes.iter().for_each(|size| {
            launch.arg(size);
        });
        launch.arg(&amax).arg(&global.address).arg(&global.stride);
        launch.arg(&scales);
        let items = Items::Threads(scales_of_one);
        // SAFETY: the arguments are those of the kernel; both buffers have a place for each block.
        unsafe { launch.launch(grid(items, self.stack.matrices)) }?;
        Ok(())
    }

    pub(super) fn search<T: DeviceReal>(
        &self,
        values: CUdeviceptr,
        amax: CUdeviceptr,
        global: &GlobalPointer<'_>,
        scales: CUdeviceptr,
        scales_of_one: usize,
    ) -> Result<(), CudaError> {
        let name = format!("scales_by_search_any_{}", T::NAME);
        let function = self.device.function(&name)?;
        let mut launch = self.stream.launch_builder(&function);
        launch.arg(&self.format).arg(&self.scheme);
        self.sizes.iter().for_each(|size| {
            launch.arg(size);
        });
        launch.arg(&values).arg(&amax);
        launch.arg(&global.address).arg(&global.stride).arg(&scales);
        let items = Items::Warps(scales_of_one);
        // SAFETY: as for `scales`, and `values` has all numbers of the stack.
        unsafe { launch.launch(grid(items, self.stack.matrices)) }?;
        Ok(())
    }

    pub(super) fn codes<T: DeviceReal>(
        &self,
        values: CUdeviceptr,
        scales: CUdeviceptr,
        global: &GlobalPointer<'_>,
        codes: CUdeviceptr,
    ) -> Result<(), CudaError> {
        let name = format!("encode_codes_any_{}", T::NAME);
        let function = self.device.function(&name)?;
        let mut launch = self.stream.launch_builder(&function);
        launch.arg(&self.format).arg(&self.scheme);
        self.sizes.iter().for_each(|size| {
            launch.arg(size);
        });
        launch.arg(&values).arg(&scales);
        launch.arg(&global.address).arg(&global.stride).arg(&codes);
        let shape = self.stack.shape;
        let items = Items::Threads(shape.rows * shape.cols.div_ceil(8));
        // SAFETY: the arguments are those of the kernel, which takes any shape; the buffers have
        // the lengths of the stack.
        unsafe { launch.launch(grid(items, self.stack.matrices)) }?;
        Ok(())
    }
}
