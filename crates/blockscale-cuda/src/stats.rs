//! Statistics of numbers and codes on the device.

use std::sync::Arc;

use blockscale::layout::Stack;
use blockscale::stats::ErrorStats;
use blockscale::{Format, Shape};
use bytemuck::{Pod, Zeroable};
use cudarc::driver::{
    CudaSlice, CudaStream, CudaView, CudaViewMut, DevicePtr as _, DevicePtrMut as _,
    DeviceSlice as _, PushKernelArg as _,
};

use crate::error::check_len;
use crate::launch::{Items, grid};
use crate::operand::{DeviceReal, check_aligned, code_bytes};
use crate::{CudaError, Device};

/// Error sums of one row, as a kernel writes them: the fields of [`ErrorStats`] in their order.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct ErrorRow {
    count: u64,
    finite: u64,
    sum_ref_sq: f64,
    sum_out_sq: f64,
    sum_err_sq: f64,
    sum_dot: f64,
    max_abs_err: f64,
    differing: u64,
    ref_nan: u64,
    ref_inf: u64,
    out_nan: u64,
    out_inf: u64,
    special_mismatch: u64,
}

const _: () = assert!(size_of::<ErrorRow>() == ERROR_ROW_BYTES);

/// Bytes of the error sums of a row.
const ERROR_ROW_BYTES: usize = 104;

impl From<ErrorRow> for ErrorStats {
    fn from(row: ErrorRow) -> Self {
        Self {
            count: row.count,
            finite: row.finite,
            sum_ref_sq: row.sum_ref_sq,
            sum_out_sq: row.sum_out_sq,
            sum_err_sq: row.sum_err_sq,
            sum_dot: row.sum_dot,
            max_abs_err: row.max_abs_err,
            differing: row.differing,
            ref_nan: row.ref_nan,
            ref_inf: row.ref_inf,
            out_nan: row.out_nan,
            out_inf: row.out_inf,
            special_mismatch: row.special_mismatch,
        }
    }
}

/// Error sums that are on their way, one for each row.
#[must_use = "the sums are in device memory until `wait` fetches them"]
#[derive(Debug)]
pub struct PendingErrors {
    stream: Arc<CudaStream>,
    rows: CudaSlice<u8>,
}

impl PendingErrors {
    /// Waits for the stream to come this far, and fetches the sums of each row, to be merged in the
    /// order of rows.
    ///
    /// # Errors
    ///
    /// What the driver says.
    pub fn wait(self) -> Result<Vec<ErrorStats>, CudaError> {
        let bytes = self.stream.clone_dtoh(&self.rows)?;
        self.stream.synchronize()?;
        let rows = bytes.chunks_exact(ERROR_ROW_BYTES);
        Ok(rows
            .map(|row| bytemuck::pod_read_unaligned::<ErrorRow>(row).into())
            .collect())
    }
}

impl Device {
    /// Compares numbers with what they stand for, row by row: [`ErrorStats::of_row`], with the same
    /// order of additions and so the same bits.
    ///
    /// # Errors
    ///
    /// [`CudaError::Len`] where the two are not of `shape`, and the other errors of arguments.
    pub fn error_stats(
        &self,
        stream: &Arc<CudaStream>,
        shape: Shape,
        reference: &CudaView<'_, f32>,
        output: &CudaView<'_, f32>,
    ) -> Result<PendingErrors, CudaError> {
        self.check_context("stream", stream)?;
        self.check_context("reference", reference.stream())?;
        self.check_context("output", output.stream())?;
        check_len("reference", shape.len(), reference.len())?;
        check_len("output", shape.len(), output.len())?;
        let size = shape.rows.checked_mul(ERROR_ROW_BYTES);
        check_len("rows", size, size.unwrap_or(0))?;
        let mut rows = stream.alloc_zeros::<u8>(shape.rows * ERROR_ROW_BYTES)?;
        if !reference.is_empty() {
            let [r, c] = [shape.rows, shape.cols].map(|n| n as u64);
            let (reference, _reference) = reference.device_ptr(stream);
            let (output, _output) = output.device_ptr(stream);
            check_aligned::<f32>("reference", reference)?;
            check_aligned::<f32>("output", output)?;
            let (of_rows, _of_rows) = rows.device_ptr_mut(stream);
            let function = self.function("error_sums")?;
            let mut launch = stream.launch_builder(&function);
            launch.arg(&r).arg(&c).arg(&reference).arg(&output);
            launch.arg(&of_rows);
            let items = Items::Blocks(shape.rows.div_ceil(32));
            // SAFETY: the arguments are those of the kernel; both inputs are of `shape`, and there
            // is a place for each row, aligned as allocations are.
            unsafe { launch.launch(grid(items, 1)) }?;
        }
        Ok(PendingErrors {
            stream: Arc::clone(stream),
            rows,
        })
    }

    /// Adds to `bins` how often each code occurs; `bins` has one for each code of the element.
    ///
    /// # Errors
    ///
    /// [`CudaError::Len`] where a buffer is not as long as asked for, [`CudaError::NotOnDevice`] for
    /// codes narrower than a byte with gaps between them, and the other errors of arguments.
    pub fn histogram_codes(
        &self,
        stream: &Arc<CudaStream>,
        format: &Format,
        stack: Stack,
        codes: &CudaView<'_, u8>,
        bins: &mut CudaViewMut<'_, u64>,
    ) -> Result<(), CudaError> {
        self.check_context("stream", stream)?;
        self.check_context("codes", codes.stream())?;
        self.check_context("bins", bins.stream())?;
        let bits = format.element.bits();
        if format.row_bytes(8) != bits {
            return Err(CudaError::NotOnDevice {
                what: format!("a histogram of `{format}`"),
            });
        }
        check_len("codes", code_bytes(format, stack), codes.len())?;
        check_len("bins", Some(1 << bits), bins.len())?;
        if codes.is_empty() {
            return Ok(());
        }
        let (rows, cols) = (stack.matrices * stack.shape.rows, stack.shape.cols);
        let [r, c, row_bytes] = [rows, cols, format.row_bytes(cols)].map(|n| n as u64);
        let bits = bits as u32;
        let (codes, _codes) = codes.device_ptr(stream);
        let (bins, _bins) = bins.device_ptr_mut(stream);
        let function = self.function("histogram_codes")?;
        let mut launch = stream.launch_builder(&function);
        launch.arg(&bits).arg(&r).arg(&c).arg(&row_bytes);
        launch.arg(&codes).arg(&bins);
        let items = Items::Threads(rows * cols.div_ceil(64));
        // SAFETY: the arguments are those of the kernel; there are `rows * row_bytes` bytes of
        // codes and a bin for each code.
        unsafe { launch.launch(grid(items, 1)) }?;
        Ok(())
    }

    /// Adds to `bins`, 256 of them, how often each exponent field occurs in the numbers as F32: 0
    /// for zeros and subnormals, 255 for infinities and NaN.
    ///
    /// # Errors
    ///
    /// [`CudaError::Len`] where there are not 256 bins, and the other errors of arguments.
    pub fn histogram_exponents<T: DeviceReal>(
        &self,
        stream: &Arc<CudaStream>,
        values: &CudaView<'_, T>,
        bins: &mut CudaViewMut<'_, u64>,
    ) -> Result<(), CudaError> {
        self.check_context("stream", stream)?;
        self.check_context("values", values.stream())?;
        self.check_context("bins", bins.stream())?;
        check_len("bins", Some(256), bins.len())?;
        if values.is_empty() {
            return Ok(());
        }
        let count = values.len();
        let elements = count as u64;
        let (values, _values) = values.device_ptr(stream);
        check_aligned::<T>("values", values)?;
        let (bins, _bins) = bins.device_ptr_mut(stream);
        let function = self.function(&format!("histogram_exponents_{}", T::NAME))?;
        let mut launch = stream.launch_builder(&function);
        launch.arg(&elements).arg(&values).arg(&bins);
        let items = Items::Blocks(count.div_ceil(4096));
        // SAFETY: the arguments are those of the kernel; there are `elements` numbers and 256 bins.
        unsafe { launch.launch(grid(items, 1)) }?;
        Ok(())
    }
}
