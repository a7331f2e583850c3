//! The backends of this build, by name.

#[cfg(feature = "cuda")]
use std::sync::Arc;

#[cfg(feature = "cuda")]
use blockscale_cuda::{CudaError, Device};

use crate::engine::{Cpu, Cut};
use crate::suites;
use crate::{ArchiveError, Report};

/// Something that does the arithmetic.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Backend {
    /// This processor.
    Cpu,
    /// A CUDA device.
    #[cfg(feature = "cuda")]
    Cuda(Arc<Device>),
}

/// Why a backend cannot be had.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NoBackend {
    /// This program was built without it.
    #[error("this program was built without CUDA")]
    NotBuilt,
    /// The device cannot be opened.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Cuda(#[from] CudaError),
}

/// Why a self-test did not come to an end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SelftestError {
    /// What it compares with cannot be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The device does not work at all.
    #[error(transparent)]
    Backend(#[from] NoBackend),
}

impl Backend {
    /// CUDA device `ordinal`.
    ///
    /// # Errors
    ///
    /// [`NoBackend`], which says why not.
    pub fn cuda(ordinal: usize) -> Result<Self, NoBackend> {
        #[cfg(feature = "cuda")]
        {
            Ok(Self::Cuda(Arc::new(Device::open(ordinal)?)))
        }
        #[cfg(not(feature = "cuda"))]
        {
            let _ = ordinal;
            Err(NoBackend::NotBuilt)
        }
    }
}

/// Puts a backend through everything; minutes on a processor, less than one on a GPU.
///
/// # Errors
///
/// [`SelftestError`]; a result that differs is none, but in the report.
pub fn selftest(backend: &Backend) -> Result<Report, SelftestError> {
    match backend {
        Backend::Cpu => Ok(suites::run(&Cpu { cut: Cut::Rows })?),
        #[cfg(feature = "cuda")]
        Backend::Cuda(device) => {
            let engine = crate::engine::Cuda::new(Arc::clone(device)).map_err(NoBackend::from)?;
            Ok(suites::run(&engine)?)
        }
    }
}
