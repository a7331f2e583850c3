//! Memory of this machine that devices copy from and to on their own.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use cudarc::driver::sys::{
    self, CU_MEMHOSTALLOC_PORTABLE, CUmemorytype, CUpointer_attribute, CUresult,
};
use cudarc::driver::{CudaContext, PinnedHostSlice};

use crate::{CudaError, Device};

/// Bytes of this machine in page-locked memory, for every device.
///
/// A [`Slot`](crate::Slot) copies from and to such memory directly. From and to other memory it
/// goes by way of page-locked memory of its own, which costs the processor one more copy; so what
/// files are read into, and written from, is best made of these. Making one takes the driver some
/// milliseconds for each 16 MiB: keep them.
///
/// ```no_run
/// use std::io::Read;
///
/// use blockscale_cuda::{Device, PageLocked};
///
/// let device = Device::open(0)?;
/// let mut codes = PageLocked::new(&device, 8 << 20)?;
/// std::fs::File::open("codes.bin")?.read_exact(&mut codes)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PageLocked {
    start: NonNull<u8>,
    len: usize,
    /// Gives the memory back.
    _memory: Option<PinnedHostSlice<u8>>,
}

// SAFETY: the bytes belong to this value alone, like those of a `Box<[u8]>`, and the driver frees
// them from any thread.
unsafe impl Send for PageLocked {}
// SAFETY: as above; a shared reference only reads.
unsafe impl Sync for PageLocked {}

impl PageLocked {
    /// Takes `len` bytes, all of them zero.
    ///
    /// # Errors
    ///
    /// [`CudaError::OutOfMemory`] where so much cannot be locked, and what else the driver says.
    pub fn new(device: &Device, len: usize) -> Result<Self, CudaError> {
        // The driver has no empty memory.
        if len == 0 {
            return Ok(Self {
                start: NonNull::dangling(),
                len,
                _memory: None,
            });
        }
        let flags = CU_MEMHOSTALLOC_PORTABLE;
        // SAFETY: the memory is not set yet; the next statement but one does, before anything reads
        // it. Without the write-combined flag the processor reads it at full speed.
        let mut memory = unsafe { device.context().alloc_pinned_with_flags::<u8>(len, flags) }?;
        let start = NonNull::new(memory.as_mut_ptr()?).ok_or(CudaError::OutOfMemory)?;
        // SAFETY: the allocation has `len` bytes from `start`, which are ours alone.
        unsafe { start.write_bytes(0, len) };
        Ok(Self {
            start,
            len,
            _memory: Some(memory),
        })
    }
}

impl Deref for PageLocked {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `len` bytes from `start` are this value's and were written by `new`. No copy of a
        // device uses them while they are borrowed: a `Slot` waits for its copies.
        unsafe { core::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for PageLocked {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and the borrow is the only one.
        unsafe { core::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl fmt::Debug for PageLocked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PageLocked({} bytes)", self.len)
    }
}

/// Whether the driver knows these bytes as page-locked, whoever locked them.
pub(crate) fn is_page_locked(context: &Arc<CudaContext>, bytes: &[u8]) -> bool {
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else {
        return false;
    };
    context.bind_to_thread().is_ok() && [first, last].into_iter().all(is_host_memory)
}

fn is_host_memory(byte: &u8) -> bool {
    // The driver writes a 32-bit number.
    let mut kind = 0_u32;
    let (attribute, address) = (
        CUpointer_attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
        ptr::from_ref(byte) as sys::CUdeviceptr,
    );
    // SAFETY: `kind` is what this attribute is written to; any address may be asked about.
    let result = unsafe { sys::cuPointerGetAttribute((&raw mut kind).cast(), attribute, address) };
    result == CUresult::CUDA_SUCCESS && kind == CUmemorytype::CU_MEMORYTYPE_HOST as u32
}
