//! What can go wrong on a device.

use blockscale::layout::LayoutError;
use blockscale::transcode::TranscodeError;
use blockscale::{Format, LenMismatch};
use cudarc::driver::DriverError;
use cudarc::driver::sys::CUresult;

/// Why an operation was not carried out on a device.
///
/// Errors of arguments are found before anything is launched. What a kernel runs into is reported
/// by a later call on the same device, as CUDA has it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// The driver's library is not on this machine, or cannot be used.
    #[error(
        "no CUDA driver: no usable libcuda on this machine; install NVIDIA's driver or use the CPU"
    )]
    NoDriver,
    /// There is no device of that number.
    #[error("no CUDA device {ordinal}: there are {count}")]
    NoDevice {
        /// The device asked for.
        ordinal: usize,
        /// How many there are.
        count: usize,
    },
    /// The device is older than the kernels are built for.
    #[error(
        "`{name}` has compute capability {}.{}, and the kernels need 8.0 or newer; use the CPU",
        capability.0,
        capability.1
    )]
    Unsupported {
        /// Name of the device.
        name: String,
        /// Its compute capability, major and minor.
        capability: (i32, i32),
    },
    /// The driver does not take the kernels' image.
    #[error(
        "the driver cannot load the kernels ({reason}); they are built with CUDA 13.0, which needs \
         driver 580 or newer"
    )]
    Image {
        /// What the driver said.
        reason: String,
    },
    /// The image has no kernel of that name: it was built from other sources than this crate.
    #[error("the kernels' image has no `{name}`; rebuild it with `cargo xtask kernels`")]
    MissingKernel {
        /// The kernel.
        name: String,
    },
    /// A buffer is not as long as the shape asks for.
    #[error(transparent)]
    Len(#[from] LenMismatch),
    /// A layout that the bytes cannot be brought into, or taken out of.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// Codes or scales that cannot be carried over.
    #[error(transparent)]
    Transcode(#[from] TranscodeError),
    /// The format has a scale of the tensor, and none was given.
    #[error("`{format}` has a scale of the tensor, and none was given")]
    MissingGlobal {
        /// The format.
        format: Format,
    },
    /// The kernels have no code for this; the CPU has.
    #[error("the CUDA kernels do not know {what}; use the CPU for it")]
    NotOnDevice {
        /// What it is.
        what: String,
    },
    /// A buffer lies on another device than the stream or the kernels.
    #[error("`{what}` belongs to another device's context than the kernels")]
    OtherDevice {
        /// Which argument.
        what: &'static str,
    },
    /// A buffer of numbers does not begin where one of its numbers may.
    #[error("`{what}` has to begin at a multiple of {needed} bytes")]
    Misaligned {
        /// Which argument.
        what: &'static str,
        /// Bytes.
        needed: usize,
    },
    /// The device has no memory left for it.
    #[error("out of memory on the CUDA device; smaller pieces or fewer at a time may fit")]
    OutOfMemory,
    /// Another error of the driver.
    #[error("CUDA driver: {name} ({code})")]
    Driver {
        /// Number of the `CUresult`.
        code: u32,
        /// Its name.
        name: String,
    },
    /// A worker's thread ended before its job was done.
    #[error("a worker of the device pool ended before its job was done")]
    WorkerLost,
}

impl From<DriverError> for CudaError {
    fn from(DriverError(code): DriverError) -> Self {
        match code {
            CUresult::CUDA_ERROR_OUT_OF_MEMORY => Self::OutOfMemory,
            CUresult::CUDA_ERROR_STUB_LIBRARY
            | CUresult::CUDA_ERROR_SYSTEM_DRIVER_MISMATCH
            | CUresult::CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE => Self::NoDriver,
            CUresult::CUDA_ERROR_NO_DEVICE => Self::NoDevice {
                ordinal: 0,
                count: 0,
            },
            code => Self::Driver {
                code: code as u32,
                name: format!("{code:?}"),
            },
        }
    }
}

/// Compares the length of a buffer with one that may have overflowed.
pub(crate) fn check_len(
    what: &'static str,
    expected: Option<usize>,
    found: usize,
) -> Result<(), CudaError> {
    if expected == Some(found) {
        return Ok(());
    }
    let expected = expected.unwrap_or(usize::MAX);
    Err(CudaError::Len(LenMismatch {
        what,
        expected,
        found,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn out_of_memory_has_a_variant_of_its_own() {
        let error = DriverError(CUresult::CUDA_ERROR_OUT_OF_MEMORY);
        assert_eq!(CudaError::from(error), CudaError::OutOfMemory);
    }

    #[test]
    fn other_errors_keep_the_drivers_number_and_name() {
        let error = CudaError::from(DriverError(CUresult::CUDA_ERROR_ILLEGAL_ADDRESS));
        let text = error.to_string();
        assert_eq!(text, "CUDA driver: CUDA_ERROR_ILLEGAL_ADDRESS (700)");
    }

    #[test]
    fn a_length_that_overflows_is_a_mismatch() {
        let error = check_len("codes", None, 3).unwrap_err();
        let expected = usize::MAX;
        let (what, found) = ("codes", 3);
        assert_eq!(
            error,
            CudaError::Len(LenMismatch {
                what,
                expected,
                found
            })
        );
    }
}
