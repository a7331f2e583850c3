//! Buffers of one conversion, handed out again and again.

use std::sync::{Arc, Mutex, PoisonError, Weak};

#[cfg(feature = "cuda")]
use blockscale_cuda::{Device, PageLocked};

use super::{Buffer, LARGE_PAGE, Mapped, Memory};

/// Smaller buffers are left to the allocator, which keeps them itself.
const SMALLEST: usize = 64 << 10;

/// Lengths are rounded up to this, so that runs of nearly one size share buffers.
const STEP: usize = 64 << 10;

/// Hands out buffers and keeps those that come back, of so many bytes in all.
#[derive(Clone, Debug)]
pub(crate) struct Buffers(Option<Arc<Shared>>);

/// Where a buffer goes when it is dropped; nowhere if its pool is gone.
pub(super) struct Home(Weak<Shared>);

#[derive(Debug)]
struct Shared {
    /// Bytes to be kept at most.
    limit: usize,
    kept: Mutex<Kept>,
    /// Whose page-locked memory is handed out, if any's.
    #[cfg(feature = "cuda")]
    device: Option<Arc<Device>>,
}

/// Buffers that wait; the last to come back, whose bytes are in the cache, goes out first.
#[derive(Debug, Default)]
struct Kept {
    waiting: Vec<Memory>,
    bytes: usize,
}

impl Buffers {
    /// Every buffer is new, and none is kept.
    pub(crate) const NONE: Self = Self(None);

    pub(crate) fn new(limit: u64) -> Self {
        Self(Some(Arc::new(Shared {
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            kept: Mutex::default(),
            #[cfg(feature = "cuda")]
            device: None,
        })))
    }

    /// Buffers in page-locked memory, from which every device copies on its own.
    #[cfg(feature = "cuda")]
    pub(crate) fn page_locked(limit: u64, device: Arc<Device>) -> Self {
        Self(Some(Arc::new(Shared {
            limit: usize::try_from(limit).unwrap_or(usize::MAX),
            kept: Mutex::default(),
            device: Some(device),
        })))
    }

    /// A buffer whose bytes may be anything, and where numbers of up to 8 bytes can lie.
    pub(crate) fn get(&self, len: usize) -> Buffer {
        let shared = self.0.as_ref().filter(|_| len >= SMALLEST);
        let memory = shared.and_then(|shared| shared.find(len));
        Buffer {
            memory: memory
                .or_else(|| shared?.locked(len))
                .unwrap_or_else(|| fresh(len)),
            home: shared.map(|shared| Home(Arc::downgrade(shared))),
            len,
        }
    }
}

impl Shared {
    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        // What is kept is whole at every moment.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// New memory of the device, where there is one and it has any left.
    #[cfg(feature = "cuda")]
    fn locked(&self, len: usize) -> Option<Memory> {
        let device = self.device.as_ref()?;
        let locked = PageLocked::new(device, len.next_multiple_of(STEP)).ok()?;
        Some(Memory::Locked(locked))
    }

    #[cfg(not(feature = "cuda"))]
    fn locked(&self, _len: usize) -> Option<Memory> {
        None
    }

    /// The last that came back of those that are large enough and not much too large.
    fn find(&self, len: usize) -> Option<Memory> {
        let mut kept = self.kept();
        let fits = |memory: &Memory| (len..=len + len / 2 + STEP).contains(&capacity(memory));
        let index = kept.waiting.iter().rposition(fits)?;
        let memory = kept.waiting.remove(index);
        kept.bytes -= capacity(&memory);
        Some(memory)
    }
}

impl Home {
    pub(super) fn take_back(self, memory: Memory) {
        let Some(shared) = self.0.upgrade() else {
            return;
        };
        let mut kept = shared.kept();
        kept.bytes += capacity(&memory);
        kept.waiting.push(memory);
        // What has waited longest is of a size that is not asked for any more.
        while kept.bytes > shared.limit {
            let oldest = kept.waiting.remove(0);
            kept.bytes -= capacity(&oldest);
        }
    }
}

/// Large ones lie on pages of their own. Where the system has none left, the allocator's word is as
/// good as any.
fn fresh(len: usize) -> Memory {
    if len < SMALLEST {
        return Memory::Words(vec![0; len.div_ceil(8)]);
    }
    let capacity = len.next_multiple_of(STEP);
    if capacity >= LARGE_PAGE
        && let Ok(mapped) = Mapped::new(capacity)
    {
        return Memory::Mapped(mapped);
    }
    Memory::Words(vec![0; capacity / 8])
}

fn capacity(memory: &Memory) -> usize {
    match memory {
        Memory::Vector(bytes) => bytes.len(),
        Memory::Words(words) => 8 * words.len(),
        Memory::Mapped(mapped) => mapped.capacity,
        #[cfg(feature = "cuda")]
        Memory::Locked(locked) => locked.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(buffers: &Buffers) -> &Shared {
        buffers.0.as_deref().unwrap()
    }

    #[test]
    fn a_buffer_comes_back_and_goes_out_again() {
        let buffers = Buffers::new(64 << 20);
        let mut first = buffers.get(3 << 20);
        first.fill(7);
        let place = first.as_ptr();
        drop(first);
        let second = buffers.get((3 << 20) - 5);
        assert_eq!(second.as_ptr(), place);
        assert_eq!((second.len(), second[0]), ((3 << 20) - 5, 7));
    }

    #[test]
    fn a_much_larger_buffer_is_not_taken_for_a_small_one() {
        let buffers = Buffers::new(64 << 20);
        drop(buffers.get(8 << 20));
        assert!(shared(&buffers).find(1 << 20).is_none());
        assert!(shared(&buffers).find(8 << 20).is_some());
    }

    #[test]
    fn no_more_than_the_limit_is_kept() {
        let buffers = Buffers::new(5 << 20);
        let all: Vec<Buffer> = (0..4).map(|_| buffers.get(2 << 20)).collect();
        drop(all);
        assert_eq!(shared(&buffers).kept().bytes, 4 << 20);
        drop(buffers.get(9 << 20));
        assert!(shared(&buffers).kept().bytes <= 5 << 20);
    }

    #[test]
    fn numbers_can_lie_in_buffers_of_every_size() {
        for len in [8, 4 * 1000, 100 << 10, 3 << 20] {
            for buffers in [Buffers::NONE, Buffers::new(1 << 20)] {
                let mut buffer = buffers.get(len);
                assert_eq!(
                    bytemuck::cast_slice_mut::<u8, f64>(&mut buffer).len(),
                    len / 8
                );
            }
        }
    }

    #[test]
    fn a_buffer_outlives_its_pool() {
        let buffers = Buffers::new(1 << 20);
        let mut buffer = buffers.get(100 << 10);
        drop(buffers);
        buffer.fill(1);
        assert_eq!(buffer.len(), 100 << 10);
    }
}
