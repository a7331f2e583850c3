//! Memory that is kept and used again, on large pages where the system has them.
//!
//! Fresh pages cost more than what is done with them: the kernel clears each before it is first
//! written. So buffers go back to where they came from, and those of megabytes begin at a large page
//! and are advised to lie on such.

mod pool;

use std::fmt;
use std::io;
use std::ops::{Deref, DerefMut};

use memmap2::MmapMut;

pub(crate) use pool::Buffers;
use pool::Home;

/// Bytes of a large page of x86-64, and of 64-bit ARM with pages of 4 KiB.
const LARGE_PAGE: usize = 2 << 20;

/// Bytes with an owner: a vector, or pages of their own that go back to where they are kept.
///
/// ```
/// use blockscale_convert::Buffer;
///
/// let mut buffer = Buffer::mapped(3 << 20)?;
/// buffer[7] = 1;
/// assert_eq!((buffer.len(), buffer[6], buffer[7]), (3 << 20, 0, 1));
/// assert_eq!(&Buffer::from(vec![1, 2])[..], [1, 2]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Buffer {
    memory: Memory,
    /// Where it goes when it is dropped.
    home: Option<Home>,
    len: usize,
}

/// What holds the bytes.
#[derive(Debug)]
enum Memory {
    Vector(Vec<u8>),
    /// As bytes, with room for numbers of eight.
    Words(Vec<u64>),
    Mapped(Mapped),
    /// What devices copy from and to.
    #[cfg(feature = "cuda")]
    Locked(blockscale_cuda::PageLocked),
}

/// Pages of their own, the first byte at the start of a large page.
#[derive(Debug)]
struct Mapped {
    pages: MmapMut,
    start: usize,
    capacity: usize,
}

impl Mapped {
    fn new(capacity: usize) -> io::Result<Self> {
        // Room to begin at a large page; what is never touched takes no memory.
        let pages = MmapMut::map_anon(capacity.saturating_add(LARGE_PAGE))?;
        // A system without large pages refuses the advice, and small ones do.
        #[cfg(target_os = "linux")]
        let _ = pages.advise(memmap2::Advice::HugePage);
        let start = pages.as_ptr().align_offset(LARGE_PAGE).min(LARGE_PAGE);
        Ok(Self {
            pages,
            start,
            capacity,
        })
    }
}

impl Buffer {
    /// Zeros, on pages of their own that begin at a large page and are advised to be large.
    ///
    /// # Errors
    /// What the system says where it has no more memory.
    pub fn mapped(len: usize) -> io::Result<Self> {
        Ok(Self {
            memory: Memory::Mapped(Mapped::new(len)?),
            home: None,
            len,
        })
    }
}

impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            len: bytes.len(),
            memory: Memory::Vector(bytes),
            home: None,
        }
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Vec::new().into()
    }
}

/// A copy, in a vector.
impl Clone for Buffer {
    fn clone(&self) -> Self {
        self.to_vec().into()
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.memory {
            Memory::Vector(bytes) => &bytes[..self.len],
            Memory::Words(words) => &bytemuck::cast_slice(words)[..self.len],
            Memory::Mapped(mapped) => &mapped.pages[mapped.start..][..self.len],
            #[cfg(feature = "cuda")]
            Memory::Locked(locked) => &locked[..self.len],
        }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        match &mut self.memory {
            Memory::Vector(bytes) => &mut bytes[..self.len],
            Memory::Words(words) => &mut bytemuck::cast_slice_mut(words)[..self.len],
            Memory::Mapped(mapped) => &mut mapped.pages[mapped.start..][..self.len],
            #[cfg(feature = "cuda")]
            Memory::Locked(locked) => &mut locked[..self.len],
        }
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len)
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(home) = self.home.take() {
            home.take_back(std::mem::replace(
                &mut self.memory,
                Memory::Vector(Vec::new()),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_begin_at_a_large_page_and_are_zero() {
        for len in [1, LARGE_PAGE, 5 * LARGE_PAGE + 1] {
            let buffer = Buffer::mapped(len).unwrap();
            assert_eq!(buffer.as_ptr().align_offset(LARGE_PAGE), 0);
            assert_eq!(buffer.len(), len);
            assert!(buffer.iter().all(|&byte| byte == 0));
        }
    }
}
