//! What does the arithmetic of runs: this processor, or CUDA devices. The bytes are the same.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod task;
mod thread;

use std::fmt;
#[cfg(feature = "cuda")]
use std::sync::Arc;

pub(crate) use task::{Outcome, ScalesOf, Task, Want};

use crate::ConvertError;
use crate::memory::Buffers;

/// Runs that the processor may be at together: while one waits for its slowest thread, another gives
/// work to the rest.
const CPU_IN_FLIGHT: usize = 3;

/// Bytes moved by one copy job, and computed by one run: more gains nothing.
pub(crate) const LARGEST_JOB: u64 = 64 << 20;

/// What does the arithmetic of a conversion. It makes no difference to the output.
#[derive(Clone, Default)]
pub struct Backend(Kind);

#[derive(Clone, Default)]
enum Kind {
    #[default]
    Cpu,
    #[cfg(feature = "cuda")]
    Cuda(Arc<cuda::Devices>),
}

/// Which CUDA devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CudaDevices {
    /// All of this machine.
    All,
    /// The one of this number.
    One(usize),
}

/// Why a backend cannot be had.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NoBackend {
    /// This program was built without it.
    #[error("this program was built without CUDA; use the CPU")]
    NotBuilt,
    /// The devices cannot be used.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Cuda(#[from] blockscale_cuda::CudaError),
}

impl Backend {
    /// This processor, all threads of it.
    pub const CPU: Self = Self(Kind::Cpu);

    /// CUDA devices, with page-locked buffers that fit a conversion under `max_memory` bytes. What
    /// they have no kernels for, integers in groups and blocks of ggml, stays on the processor.
    ///
    /// # Errors
    /// [`NoBackend`], which says why not.
    pub fn cuda(devices: CudaDevices, max_memory: u64) -> Result<Self, NoBackend> {
        #[cfg(feature = "cuda")]
        {
            let devices = cuda::Devices::open(devices, max_memory)?;
            Ok(Self(Kind::Cuda(Arc::new(devices))))
        }
        #[cfg(not(feature = "cuda"))]
        {
            let _ = (devices, max_memory);
            Err(NoBackend::NotBuilt)
        }
    }

    /// Hands a run over.
    pub(crate) fn begin(&self, task: Task) -> Ticket {
        match &self.0 {
            Kind::Cpu => Ticket::Thread(thread::begin(|| cpu::run(task))),
            #[cfg(feature = "cuda")]
            Kind::Cuda(devices) => devices.begin(task),
        }
    }

    /// Runs that may be under way before the first of them is waited for.
    pub(crate) fn in_flight(&self) -> usize {
        match &self.0 {
            Kind::Cpu => CPU_IN_FLIGHT,
            #[cfg(feature = "cuda")]
            Kind::Cuda(devices) => devices.in_flight(),
        }
    }

    /// Bytes that a run may take at most: more gains nothing.
    pub(crate) fn largest_job(&self) -> u64 {
        match &self.0 {
            // Some megabytes for each thread: what is read, made and written then stays in the cache
            // that the threads share.
            Kind::Cpu => (rayon::current_num_threads() as u64 * (4 << 20)).min(LARGEST_JOB),
            #[cfg(feature = "cuda")]
            Kind::Cuda(_) => LARGEST_JOB,
        }
    }

    /// Memory for what is read, made and written, of so many bytes at most.
    pub(crate) fn buffers(&self, limit: u64) -> Buffers {
        match &self.0 {
            Kind::Cpu => Buffers::new(limit),
            #[cfg(feature = "cuda")]
            Kind::Cuda(devices) => devices.buffers(limit),
        }
    }

    /// Bytes that it holds all the time.
    pub(crate) fn pinned_bytes(&self) -> u64 {
        match &self.0 {
            Kind::Cpu => 0,
            #[cfg(feature = "cuda")]
            Kind::Cuda(devices) => devices.pinned_bytes(),
        }
    }
}

/// What it is, for people: `CPU`, or the names of the devices.
impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Cpu => f.write_str("CPU"),
            #[cfg(feature = "cuda")]
            Kind::Cuda(devices) => devices.fmt(f),
        }
    }
}

impl fmt::Debug for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Backend({self})")
    }
}

/// A run that is under way.
pub(crate) enum Ticket {
    /// It is done.
    #[cfg(feature = "cuda")]
    Done(Box<Result<Outcome, ConvertError>>),
    /// Threads of this processor are at it.
    Thread(thread::Ticket<Result<Outcome, ConvertError>>),
    /// A device is at it.
    #[cfg(feature = "cuda")]
    Device(blockscale_cuda::Ticket<Result<Outcome, ConvertError>>),
}

impl Ticket {
    /// Waits for it.
    pub(crate) fn wait(self) -> Result<Outcome, ConvertError> {
        match self {
            #[cfg(feature = "cuda")]
            Self::Done(outcome) => *outcome,
            Self::Thread(ticket) => ticket.wait(),
            #[cfg(feature = "cuda")]
            Self::Device(ticket) => ticket.wait()?,
        }
    }
}
