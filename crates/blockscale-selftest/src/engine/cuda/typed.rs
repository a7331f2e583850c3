//! Up to the device, through an operation, and down, for numbers of one type.

use blockscale::encode::Scheme;
use blockscale::layout::Stack;
use blockscale::{Format, GlobalScale};
use blockscale_cuda::cudarc::driver::{CudaSlice, DeviceRepr, ValidAsZeroBits};
use blockscale_cuda::{CudaError, DeviceReal, DeviceRows, DeviceRowsMut, Global, Narrow};

use super::Cuda;
use crate::engine::{Encoded, Failure, Outcome, Rows};

/// Formats, rows and scales of the tensor on the device.
pub(super) struct OnDevice {
    pub(super) codes: CudaSlice<u8>,
    pub(super) scales: CudaSlice<u8>,
    globals: CudaSlice<f32>,
}

impl OnDevice {
    pub(super) fn rows(&self, format: &Format, stack: Stack) -> DeviceRows<'_> {
        DeviceRows {
            codes: self.codes.as_view(),
            scales: self.scales.as_view(),
            global: global_of(format, stack, &self.globals),
        }
    }
}

fn global_of<'a>(format: &Format, stack: Stack, globals: &'a CudaSlice<f32>) -> Global<'a> {
    match (format.global, globals.len()) {
        (GlobalScale::None, _) => Global::None,
        (_, 1) if stack.matrices != 1 => Global::Shared(globals.as_view()),
        _ => Global::Each(globals.as_view()),
    }
}

fn missing(what: &str) -> Failure {
    Failure::Failed(format!("the size of the {what} overflows"))
}

/// Number types that can lie in device memory.
pub(super) trait OnCard: DeviceReal + DeviceRepr + ValidAsZeroBits {}
impl<T: DeviceReal + DeviceRepr + ValidAsZeroBits> OnCard for T {}

impl Cuda {
    pub(super) fn up<T: DeviceRepr>(&self, values: &[T]) -> Outcome<CudaSlice<T>> {
        Ok(self.stream.clone_htod(values).map_err(CudaError::from)?)
    }

    /// A buffer of a pattern that no result is made of throughout, so that what a kernel leaves
    /// unwritten shows.
    pub(super) fn poisoned(&self, len: usize) -> Outcome<CudaSlice<u8>> {
        self.up(&vec![0xa5; len])
    }

    pub(super) fn zeros<T: DeviceRepr + ValidAsZeroBits>(
        &self,
        len: usize,
    ) -> Outcome<CudaSlice<T>> {
        Ok(self.stream.alloc_zeros(len).map_err(CudaError::from)?)
    }

    pub(super) fn down<T: DeviceRepr>(&self, buffer: &CudaSlice<T>) -> Outcome<Vec<T>> {
        let values = self.stream.clone_dtoh(buffer).map_err(CudaError::from)?;
        self.stream.synchronize().map_err(CudaError::from)?;
        Ok(values)
    }

    pub(super) fn rows(&self, rows: &Rows) -> Outcome<OnDevice> {
        Ok(OnDevice {
            codes: self.up(&rows.codes)?,
            scales: self.up(&rows.scales)?,
            globals: self.up(&rows.globals)?,
        })
    }

    pub(super) fn encoded(
        &self,
        codes: &CudaSlice<u8>,
        scales: &CudaSlice<u8>,
    ) -> Outcome<Encoded> {
        Ok(Encoded {
            codes: self.down(codes)?,
            scales: self.down(scales)?,
        })
    }

    pub(super) fn out(
        &self,
        format: &Format,
        stack: Stack,
    ) -> Outcome<(CudaSlice<u8>, CudaSlice<u8>)> {
        let of_all = |one: Option<usize>| one.and_then(|one| one.checked_mul(stack.matrices));
        let codes = of_all(format.code_bytes(stack.shape)).ok_or_else(|| missing("codes"))?;
        let scales = of_all(format.scale_bytes(stack.shape)).ok_or_else(|| missing("scales"))?;
        Ok((self.poisoned(codes)?, self.poisoned(scales)?))
    }

    pub(super) fn decoded<T: OnCard>(
        &self,
        format: &Format,
        stack: Stack,
        rows: &Rows,
        poison: T,
    ) -> Outcome<Vec<T>> {
        let len = stack.shape.rows * stack.shape.cols * stack.matrices;
        let rows = self.rows(rows)?;
        let mut out = self.up(&vec![poison; len])?;
        let (device, stream) = (&self.device, &self.stream);
        let rows = rows.rows(format, stack);
        device.decode_rows(stream, format, stack, &rows, &mut out.as_view_mut())?;
        self.down(&out)
    }

    pub(super) fn largest<T: OnCard>(&self, stack: Stack, values: &[T]) -> Outcome<Vec<f32>> {
        let values = self.up(values)?;
        let mut out = self.up(&vec![f32::NAN; stack.matrices])?;
        let (device, stream) = (&self.device, &self.stream);
        device.amax(stream, stack, &values.as_view(), &mut out.as_view_mut())?;
        self.down(&out)
    }

    pub(super) fn scales_of_tensors<T: OnCard>(
        &self,
        format: &Format,
        scheme: &Scheme,
        amax: &[f32],
    ) -> Outcome<Vec<f32>> {
        let amax = self.up(amax)?;
        let mut out = self.up(&vec![f32::NAN; amax.len()])?;
        let (from, to) = (amax.as_view(), &mut out.as_view_mut());
        let (device, stream) = (&self.device, &self.stream);
        device.global_scales::<T>(stream, format, scheme, &from, to)?;
        self.down(&out)
    }

    pub(super) fn encode_all<T: OnCard>(
        &self,
        format: &Format,
        scheme: &Scheme,
        stack: Stack,
        values: &[T],
        globals: &[f32],
    ) -> Outcome<Encoded> {
        let (values, globals) = (self.up(values)?, self.up(globals)?);
        let (mut codes, mut scales) = self.out(format, stack)?;
        let mut out = DeviceRowsMut {
            codes: codes.as_view_mut(),
            scales: scales.as_view_mut(),
        };
        let global = global_of(format, stack, &globals);
        let values = values.as_view();
        let (device, stream) = (&self.device, &self.stream);
        device.encode_rows_with(stream, format, scheme, stack, &values, &global, &mut out)?;
        self.encoded(&codes, &scales)
    }

    pub(super) fn codes_under<T: OnCard>(
        &self,
        format: &Format,
        scheme: &Scheme,
        stack: Stack,
        values: &[T],
        scales: &[u8],
        globals: &[f32],
    ) -> Outcome<Vec<u8>> {
        let (values, globals) = (self.up(values)?, self.up(globals)?);
        let scales = self.up(scales)?;
        let (mut codes, _) = self.out(format, stack)?;
        let global = global_of(format, stack, &globals);
        self.device.encode_codes_with(
            &self.stream,
            format,
            scheme,
            stack,
            &values.as_view(),
            &scales.as_view(),
            &global,
            &mut codes.as_view_mut(),
        )?;
        self.down(&codes)
    }

    pub(super) fn exponents<T: OnCard>(&self, values: &[T]) -> Outcome<Vec<u64>> {
        let values = self.up(values)?;
        let mut bins = self.zeros::<u64>(256)?;
        let (device, stream) = (&self.device, &self.stream);
        device.histogram_exponents(stream, &values.as_view(), &mut bins.as_view_mut())?;
        self.down(&bins)
    }

    pub(super) fn widened<T: OnCard + Narrow>(&self, values: &[T]) -> Outcome<Vec<f32>> {
        let values = self.up(values)?;
        let mut out = self.up(&vec![1.5; values.len()])?;
        let (device, stream) = (&self.device, &self.stream);
        device.widen(stream, &values.as_view(), &mut out.as_view_mut())?;
        self.down(&out)
    }

    pub(super) fn narrowed<T: OnCard + Narrow>(
        &self,
        values: &[f32],
        poison: T,
    ) -> Outcome<Vec<T>> {
        let values = self.up(values)?;
        let mut out = self.up(&vec![poison; values.len()])?;
        let (device, stream) = (&self.device, &self.stream);
        device.narrow(stream, &values.as_view(), &mut out.as_view_mut())?;
        self.down(&out)
    }
}
