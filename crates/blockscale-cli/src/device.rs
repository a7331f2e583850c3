//! `--device`: what does the arithmetic.

use std::str::FromStr;

use blockscale_convert::{Backend, CudaDevices, NoBackend};

use crate::error::CliError;

/// A device as the command line names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeviceChoice {
    /// CUDA where there is a device, else this processor.
    Auto,
    /// This processor.
    Cpu,
    /// All CUDA devices.
    Cuda,
    /// One CUDA device.
    CudaNumber(usize),
}

/// A word that names no device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no device; there are auto, cpu, cuda, and cuda:N for the device of that number")]
pub(crate) struct NoSuchDevice(String);

impl FromStr for DeviceChoice {
    type Err = NoSuchDevice;

    fn from_str(word: &str) -> Result<Self, NoSuchDevice> {
        let number = word.strip_prefix("cuda:").map(str::parse);
        match (word, number) {
            ("auto", _) => Ok(Self::Auto),
            ("cpu", _) => Ok(Self::Cpu),
            ("cuda", _) => Ok(Self::Cuda),
            (_, Some(Ok(number))) => Ok(Self::CudaNumber(number)),
            _ => Err(NoSuchDevice(word.to_owned())),
        }
    }
}

impl DeviceChoice {
    /// What carries out a conversion.
    pub(crate) fn backend(self, max_memory: u64) -> Result<Backend, CliError> {
        let cuda = |devices| Backend::cuda(devices, max_memory);
        Ok(match self {
            Self::Cpu => Backend::CPU,
            Self::Cuda => cuda(CudaDevices::All)?,
            Self::CudaNumber(number) => cuda(CudaDevices::One(number))?,
            Self::Auto => match cuda(CudaDevices::All) {
                Err(error) if is_absence(&error) => Backend::CPU,
                backend => backend?,
            },
        })
    }

    /// What a self-test or a benchmark is about: one device.
    pub(crate) fn measured(self) -> Result<blockscale_selftest::Backend, CliError> {
        use blockscale_selftest::Backend;

        Ok(match self {
            Self::Cpu => Backend::Cpu,
            Self::Cuda => Backend::cuda(0)?,
            Self::CudaNumber(number) => Backend::cuda(number)?,
            Self::Auto => Backend::cuda(0).unwrap_or(Backend::Cpu),
        })
    }
}

/// Whether an error says that there is no device, rather than that one is broken or full.
fn is_absence(error: &NoBackend) -> bool {
    match error {
        NoBackend::NotBuilt => true,
        #[cfg(feature = "cuda")]
        NoBackend::Cuda(error) => {
            use blockscale_cuda::CudaError;

            matches!(
                error,
                CudaError::NoDriver | CudaError::NoDevice { .. } | CudaError::Unsupported { .. }
            )
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_have_their_words() {
        assert_eq!("auto".parse(), Ok(DeviceChoice::Auto));
        assert_eq!("cpu".parse(), Ok(DeviceChoice::Cpu));
        assert_eq!("cuda".parse(), Ok(DeviceChoice::Cuda));
        assert_eq!("cuda:3".parse(), Ok(DeviceChoice::CudaNumber(3)));
        for wrong in ["", "gpu", "cuda:", "cuda:x", "cuda:-1", "CPU"] {
            assert!(wrong.parse::<DeviceChoice>().is_err(), "{wrong}");
        }
    }
}
