//! Jobs over all devices of a machine, from this machine's memory to this machine's memory.
//!
//! A slot is a thread with a stream and page-locked memory of its own; each device has a few. While
//! one slot's bytes go up, another's are worked on and a third's come down, so that both directions
//! of the bus and the kernels overlap without anybody scheduling them. Jobs go to whichever slot is
//! free, on whichever device.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use bytemuck::Pod;
use cudarc::driver::sys;
use cudarc::driver::{CudaSlice, CudaStream, CudaView, DeviceRepr};

use crate::error::check_len;
use crate::ring::Ring;
use crate::{CudaError, Device};

/// Pieces of page-locked memory each way.
const PIECES: usize = 3;

/// How a [`Pool`] is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolOptions {
    /// Slots of each device, that is, jobs on it at a time.
    pub slots_per_device: usize,
    /// Bytes of a piece of page-locked memory, of which a slot has three each way.
    pub piece_bytes: usize,
}

impl PoolOptions {
    /// Page-locked bytes of a slot.
    pub const fn pinned_bytes(&self) -> usize {
        2 * PIECES * self.piece_bytes
    }
}

impl Default for PoolOptions {
    /// Four slots, pieces of 4 MiB.
    fn default() -> Self {
        Self {
            slots_per_device: 4,
            piece_bytes: 4 << 20,
        }
    }
}

type Job = Box<dyn FnOnce(&mut Slot) + Send>;

/// Threads that carry out jobs on the devices.
#[derive(Debug)]
pub struct Pool {
    jobs: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    devices: Vec<Arc<Device>>,
}

/// What a job works with: one device, a stream of its own, and the way there and back.
#[derive(Debug)]
pub struct Slot {
    device: Arc<Device>,
    stream: Arc<CudaStream>,
    up: Ring,
    down: Ring,
}

/// The result of a job that has been handed to a [`Pool`].
#[must_use = "a job's result is lost unless it is waited for"]
#[derive(Debug)]
pub struct Ticket<T>(Receiver<T>);

impl<T> Ticket<T> {
    /// Waits for the job.
    ///
    /// # Errors
    ///
    /// [`CudaError::WorkerLost`] where its thread ended first.
    pub fn wait(self) -> Result<T, CudaError> {
        self.0.recv().map_err(|_| CudaError::WorkerLost)
    }
}

impl Pool {
    /// Starts the slots of each device.
    ///
    /// # Errors
    ///
    /// [`CudaError::OutOfMemory`] where the page-locked memory is not to be had, and what else the
    /// driver says.
    pub fn new(devices: Vec<Arc<Device>>, options: PoolOptions) -> Result<Self, CudaError> {
        let mut slots = Vec::new();
        for device in &devices {
            keep_freed_memory(device)?;
            for _ in 0..options.slots_per_device.max(1) {
                slots.push(Slot::new(Arc::clone(device), options.piece_bytes.max(1))?);
            }
        }
        let (jobs, queue) = channel::<Job>();
        let queue = Arc::new(Mutex::new(queue));
        let threads = slots
            .into_iter()
            .map(|slot| {
                let queue = Arc::clone(&queue);
                std::thread::spawn(move || slot.work(&queue))
            })
            .collect();
        Ok(Self {
            jobs: Some(jobs),
            threads,
            devices,
        })
    }

    /// The devices that jobs may run on.
    pub fn devices(&self) -> &[Arc<Device>] {
        &self.devices
    }

    /// How many jobs run at a time.
    pub fn slots(&self) -> usize {
        self.threads.len()
    }

    /// Hands a job over; it begins once a slot is free.
    pub fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Slot) -> T + Send + 'static,
    ) -> Ticket<T> {
        let (done, result) = channel();
        let job: Job = Box::new(move |slot| {
            // Nobody may be waiting any more.
            let _ = done.send(job(slot));
        });
        if let Some(jobs) = &self.jobs {
            // Where every worker is gone, the job is dropped here and the ticket says so.
            let _ = jobs.send(job);
        }
        Ticket(result)
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A job that panicked has told its ticket already.
            let _ = thread.join();
        }
    }
}

impl Slot {
    fn new(device: Arc<Device>, piece_bytes: usize) -> Result<Self, CudaError> {
        let stream = device.new_stream()?;
        let up = Ring::new(device.context(), PIECES, piece_bytes)?;
        let down = Ring::new(device.context(), PIECES, piece_bytes)?;
        Ok(Self {
            device,
            stream,
            up,
            down,
        })
    }

    fn work(mut self, queue: &Mutex<Receiver<Job>>) {
        loop {
            let job = queue.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(job) = job else {
                return;
            };
            job(&mut self);
        }
    }

    /// The device of this slot.
    pub fn device(&self) -> &Arc<Device> {
        &self.device
    }

    /// The stream of this slot.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// A buffer on the device, whose contents are left over from others.
    ///
    /// # Errors
    ///
    /// [`CudaError::OutOfMemory`], and what else the driver says.
    pub fn alloc<T: Pod + DeviceRepr>(&self, len: usize) -> Result<CudaSlice<T>, CudaError> {
        // SAFETY: any bits are a `T`. What reads them before writing them reads what was there.
        Ok(unsafe { self.stream.alloc(len) }?)
    }

    /// Copies the bytes of numbers, little-endian, to a new buffer on the device: directly, where they
    /// are in page-locked memory such as [`PageLocked`](crate::PageLocked).
    ///
    /// # Errors
    ///
    /// [`CudaError::Len`] where `bytes` is no whole number of them, [`CudaError::OutOfMemory`], and
    /// what else the driver says.
    pub fn upload<T: Pod + DeviceRepr>(&mut self, bytes: &[u8]) -> Result<CudaSlice<T>, CudaError> {
        let len = bytes.len() / size_of::<T>();
        check_len("uploaded bytes", Some(len * size_of::<T>()), bytes.len())?;
        let mut buffer = self.alloc::<T>(len)?;
        // SAFETY: a `T` is so many bytes, and any bytes are a `T`.
        if let Some(mut view) = unsafe { buffer.transmute_mut::<u8>(bytes.len()) } {
            self.up.upload(&self.stream, bytes, &mut view)?;
        }
        Ok(buffer)
    }

    /// Copies from the device, directly where the bytes are in page-locked memory; they are there when
    /// this returns.
    ///
    /// # Errors
    ///
    /// [`CudaError::Len`] where the two are not equally long, and what the driver says.
    pub fn download<T: Pod>(
        &mut self,
        from: &CudaView<'_, T>,
        bytes: &mut [u8],
    ) -> Result<(), CudaError> {
        let len = from.len() * size_of::<T>();
        check_len("downloaded bytes", Some(len), bytes.len())?;
        // SAFETY: a `T` is so many bytes.
        match unsafe { from.transmute::<u8>(len) } {
            Some(view) => self.down.download(&self.stream, &view, bytes),
            None => Ok(()),
        }
    }
}

/// Lets a device keep memory that was freed for the next allocation. Without this it goes back to
/// the driver whenever a stream is waited for, and each job pays for new memory.
fn keep_freed_memory(device: &Device) -> Result<(), CudaError> {
    let context = device.context();
    if !context.has_async_alloc() {
        return Ok(());
    }
    let mut pool = std::ptr::null_mut();
    let mut everything = u64::MAX;
    // SAFETY: `pool` is a place for the handle of the device's default pool, which lives as long as
    // the device; the attribute is a `u64`, of which `everything` is one.
    unsafe {
        sys::cuDeviceGetDefaultMemPool(&raw mut pool, context.cu_device()).result()?;
        sys::cuMemPoolSetAttribute(
            pool,
            sys::CUmemPool_attribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
            (&raw mut everything).cast(),
        )
        .result()?;
    }
    Ok(())
}
