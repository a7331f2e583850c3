//! Plain numbers in another width.

use std::sync::Arc;

use blockscale::{bf16, f16};
use cudarc::driver::{
    CudaStream, CudaView, CudaViewMut, DevicePtr as _, DevicePtrMut as _, DeviceSlice as _,
    PushKernelArg as _,
};

use crate::error::check_len;
use crate::launch::{Items, grid};
use crate::operand::{DeviceReal, check_aligned};
use crate::{CudaError, Device};

/// A number type narrower than `f32`.
pub trait Narrow: DeviceReal {}

impl Narrow for bf16 {}
impl Narrow for f16 {}

impl Device {
    /// Widens numbers to F32, exactly.
    ///
    /// # Errors
    ///
    /// [`CudaError::Len`] where the two are not equally long, and the other errors of arguments.
    pub fn widen<T: Narrow>(
        &self,
        stream: &Arc<CudaStream>,
        values: &CudaView<'_, T>,
        out: &mut CudaViewMut<'_, f32>,
    ) -> Result<(), CudaError> {
        self.recast(stream, &format!("widen_{}_to_f32", T::NAME), values, out)
    }

    /// Rounds F32 once, to nearest, ties to even, as [`Real::from_f32`](blockscale::Real::from_f32)
    /// does.
    ///
    /// # Errors
    ///
    /// Those of [`widen`](Self::widen).
    pub fn narrow<T: Narrow>(
        &self,
        stream: &Arc<CudaStream>,
        values: &CudaView<'_, f32>,
        out: &mut CudaViewMut<'_, T>,
    ) -> Result<(), CudaError> {
        self.recast(stream, &format!("narrow_f32_to_{}", T::NAME), values, out)
    }

    fn recast<A, B>(
        &self,
        stream: &Arc<CudaStream>,
        name: &str,
        values: &CudaView<'_, A>,
        out: &mut CudaViewMut<'_, B>,
    ) -> Result<(), CudaError> {
        self.check_context("stream", stream)?;
        self.check_context("values", values.stream())?;
        self.check_context("out", out.stream())?;
        check_len("out", Some(values.len()), out.len())?;
        if values.is_empty() {
            return Ok(());
        }
        let count = values.len();
        let elements = count as u64;
        let (values, _values) = values.device_ptr(stream);
        check_aligned::<A>("values", values)?;
        let (out, _out) = out.device_ptr_mut(stream);
        check_aligned::<B>("out", out)?;
        let function = self.function(name)?;
        let mut launch = stream.launch_builder(&function);
        launch.arg(&elements).arg(&values).arg(&out);
        let items = Items::Blocks(count.div_ceil(4096));
        // SAFETY: the arguments are those of the kernel that `name` says; both buffers have
        // `elements` numbers and are aligned.
        unsafe { launch.launch(grid(items, 1)) }?;
        Ok(())
    }
}
