//! The kernels that move scales.

use std::sync::Arc;

use blockscale::layout::{LayoutError, ScaleLayout, Stack, marlin};
use blockscale::{ScaleElement, Shape};
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaStream, LaunchConfig, PushKernelArg as _};

use super::{Way, check_vectors, order};
use crate::launch::{Items, grid};
use crate::{CudaError, Device};

/// A move of scales: what kernels of layouts have in common.
pub(super) struct Move<'a> {
    pub(super) device: &'a Device,
    pub(super) stream: &'a Arc<CudaStream>,
    pub(super) layout: ScaleLayout,
    pub(super) element: ScaleElement,
    pub(super) stack: Stack,
    pub(super) way: Way,
    pub(super) from: CUdeviceptr,
    pub(super) to: CUdeviceptr,
    pub(super) first_bad: CUdeviceptr,
}

// The caller has checked the lengths of both sides, which lie in the device's context.
impl Move<'_> {
    pub(super) fn launch(&self) -> Result<(), CudaError> {
        match self.layout {
            ScaleLayout::Tiles8x4 => self.tiles_8x4(),
            ScaleLayout::DeepGemmF32 => self.columns_of_f32(),
            ScaleLayout::DeepGemmPacked
            | ScaleLayout::DeepGemmPackedBlocks
            | ScaleLayout::MegaMoeL1
            | ScaleLayout::MegaMoeL2 => self.words(),
            ScaleLayout::MarlinNvfp4 | ScaleLayout::MarlinMxfp4 => self.marlin(),
            _ => self.tiles_128x4(),
        }
    }

    fn laid_out(&self) -> CUdeviceptr {
        match self.way {
            Way::Into => self.to,
            Way::OutOf => self.from,
        }
    }

    fn sizes(&self) -> [u64; 3] {
        let Stack { matrices, shape } = self.stack;
        [matrices, shape.rows, shape.cols].map(|n| n as u64)
    }

    fn grid(&self, items: Items) -> LaunchConfig {
        grid(items, self.stack.matrices)
    }

    fn tiles_128x4(&self) -> Result<(), CudaError> {
        let order = order(self.layout)?;
        check_vectors(self.laid_out(), 16)?;
        let name = format!("{}permute_tiles_128x4", self.way.prefix());
        let function = self.device.function(&name)?;
        let [m, r, c] = self.sizes();
        let mut launch = self.stream.launch_builder(&function);
        launch.arg(&m).arg(&r).arg(&c).arg(&order);
        launch.arg(&self.from).arg(&self.to);
        let Shape { rows, cols } = self.stack.shape;
        let items = Items::Blocks(rows.div_ceil(128) * cols.div_ceil(128));
        // SAFETY: the arguments are those of the kernel; one side has the scales of the stack, the
        // other its tiles, and begins on 16 bytes.
        unsafe { launch.launch(self.grid(items)) }?;
        Ok(())
    }

    fn tiles_8x4(&self) -> Result<(), CudaError> {
        check_vectors(self.laid_out(), 4)?;
        let name = format!("{}permute_tiles_8x4", self.way.prefix());
        let function = self.device.function(&name)?;
        let [m, r, c] = self.sizes();
        let mut launch = self.stream.launch_builder(&function);
        launch.arg(&m).arg(&r).arg(&c);
        launch.arg(&self.from).arg(&self.to);
        let Shape { rows, cols } = self.stack.shape;
        let items = Items::Threads(rows.div_ceil(8) * cols.div_ceil(4) * 8);
        // SAFETY: as for `tiles_128x4`, on 4 bytes.
        unsafe { launch.launch(self.grid(items)) }?;
        Ok(())
    }

    fn columns_of_f32(&self) -> Result<(), CudaError> {
        check_vectors(self.from, 4)?;
        check_vectors(self.to, 4)?;
        let name = match self.way {
            Way::Into => "pack_deepgemm_f32",
            Way::OutOf => "unpack_deepgemm_f32",
        };
        let function = self.device.function(name)?;
        let [m, r, c] = self.sizes();
        let mut launch = self.stream.launch_builder(&function);
        launch.arg(&m).arg(&r).arg(&c);
        launch.arg(&self.from).arg(&self.to);
        let Shape { rows, cols } = self.stack.shape;
        let items = Items::Blocks(rows.div_ceil(128) * cols.div_ceil(64));
        // SAFETY: the arguments are those of the kernel; both sides are of F32 (`holds`), aligned,
        // and as long as it reads and writes.
        unsafe { launch.launch(self.grid(items)) }?;
        Ok(())
    }

    fn words(&self) -> Result<(), CudaError> {
        let order = order(self.layout)?;
        check_vectors(self.laid_out(), 4)?;
        let is_f32 = self.element == ScaleElement::F32;
        if is_f32 {
            check_vectors(self.from, 4)?;
            check_vectors(self.to, 4)?;
        }
        let rows_per_scale: u64 = match self.layout {
            ScaleLayout::DeepGemmPackedBlocks => 128,
            _ => 1,
        };
        let name = match (self.way, is_f32) {
            (Way::Into, true) => "pack_deepgemm_ue8m0_from_f32",
            (Way::Into, false) => "pack_deepgemm_ue8m0_from_ue8m0",
            (Way::OutOf, true) => "unpack_deepgemm_ue8m0_to_f32",
            (Way::OutOf, false) => "unpack_deepgemm_ue8m0_to_ue8m0",
        };
        let function = self.device.function(name)?;
        let [m, r, c] = self.sizes();
        let mut launch = self.stream.launch_builder(&function);
        launch.arg(&m).arg(&r).arg(&c);
        launch.arg(&rows_per_scale).arg(&order);
        launch.arg(&self.from).arg(&self.to);
        if self.way == Way::OutOf || is_f32 {
            launch.arg(&self.first_bad);
        }
        let Shape { rows, cols } = self.stack.shape;
        let items = match self.way {
            Way::Into => Items::Blocks(rows.div_ceil(128) * cols.div_ceil(128)),
            Way::OutOf => Items::Threads(rows * cols.div_ceil(4)),
        };
        // SAFETY: the arguments are those of the kernel, which takes `first_bad` but where UE8M0 is
        // packed; words and F32 are aligned, and both sides as long as it reads and writes.
        unsafe { launch.launch(self.grid(items)) }?;
        Ok(())
    }

    fn marlin(&self) -> Result<(), CudaError> {
        let (group, coding) = match self.layout {
            ScaleLayout::MarlinMxfp4 => (32, 0_u32),
            _ => (16, 1),
        };
        let layout = self.layout;
        let Shape { rows, cols } = self.stack.shape;
        let padded = cols
            .checked_mul(group)
            .and_then(|cols| marlin::padded_shape(Shape::new(rows, cols)))
            .ok_or(LayoutError::TooLarge { layout })?;
        let [pr, pc] = [padded.rows, padded.cols / group].map(|n| n as u64);
        let name = format!("{}permute_marlin_scales", self.way.prefix());
        let function = self.device.function(&name)?;
        let [m, r, c] = self.sizes();
        let mut launch = self.stream.launch_builder(&function);
        launch.arg(&m).arg(&r).arg(&c).arg(&pr).arg(&pc);
        launch.arg(&coding).arg(&self.from).arg(&self.to);
        launch.arg(&self.first_bad);
        let items = Items::Threads(match self.way {
            Way::Into => padded.rows * (padded.cols / group),
            Way::OutOf => rows * cols,
        });
        // SAFETY: the arguments are those of the kernel; the laid out side has `padded` scales for
        // each matrix, as `scale_bytes` says.
        unsafe { launch.launch(self.grid(items)) }?;
        Ok(())
    }
}
