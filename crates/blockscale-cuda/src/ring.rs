//! Page-locked memory between ordinary memory and a device.
//!
//! The driver copies from and to memory of the program only while the program waits, and slowly;
//! page-locked memory it copies on its own. Each way has a ring of a few pieces: while one is on its
//! way, the next is filled or emptied. A file that is mapped into memory is never handed to the
//! driver: its bytes have been copied into a piece by then. What is page-locked already needs no
//! piece, and is copied at once.

use std::sync::Arc;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaContext, CudaEvent, CudaStream, CudaView, CudaViewMut, PinnedHostSlice};

use crate::CudaError;
use crate::page_locked::is_page_locked;

/// A piece of page-locked memory, and the copy that it is part of.
#[derive(Debug)]
struct Piece {
    memory: PinnedHostSlice<u8>,
    /// Recorded after each copy.
    copied: CudaEvent,
}

/// Pieces that are used in turn.
#[derive(Debug)]
pub(crate) struct Ring {
    pieces: Vec<Piece>,
    next: usize,
    piece_len: usize,
}

impl Ring {
    /// Takes page-locked memory: `count` pieces of `piece_len` bytes.
    pub(crate) fn new(
        context: &Arc<CudaContext>,
        count: usize,
        piece_len: usize,
    ) -> Result<Self, CudaError> {
        let pieces = (0..count)
            .map(|_| {
                // SAFETY: the memory is not set yet; the next statement does, before anything reads
                // it. Without the write-combined flag the processor reads it at full speed.
                let mut memory = unsafe { context.alloc_pinned_with_flags::<u8>(piece_len, 0) }?;
                let start = memory.as_mut_ptr()?;
                // SAFETY: the allocation has `piece_len` bytes from `start`, which are ours alone.
                unsafe { start.write_bytes(0, piece_len) };
                let copied = context.new_event(Some(CUevent_flags::CU_EVENT_DISABLE_TIMING))?;
                Ok(Piece { memory, copied })
            })
            .collect::<Result<_, CudaError>>()?;
        Ok(Self {
            pieces,
            next: 0,
            piece_len,
        })
    }

    /// The next piece, once no copy uses it.
    fn turn(&mut self) -> Result<usize, CudaError> {
        let index = self.next;
        self.next = (index + 1) % self.pieces.len();
        self.pieces[index].copied.synchronize()?;
        Ok(index)
    }

    /// Copies to the device. The bytes are the caller's again once this returns; the copy of the last
    /// pieces may still be on its way, queued on `stream`.
    pub(crate) fn upload(
        &mut self,
        stream: &Arc<CudaStream>,
        bytes: &[u8],
        to: &mut CudaViewMut<'_, u8>,
    ) -> Result<(), CudaError> {
        if is_page_locked(stream.context(), bytes) {
            stream.memcpy_htod(bytes, to)?;
            return Ok(stream.synchronize()?);
        }
        let mut first = 0;
        for chunk in bytes.chunks(self.piece_len) {
            let index = self.turn()?;
            let piece = &mut self.pieces[index];
            let memory = &mut piece.memory.as_mut_slice()?[..chunk.len()];
            copy_past_caches(chunk, memory);
            let mut to = to.slice_mut(first..first + chunk.len());
            stream.memcpy_htod(&*memory, &mut to)?;
            piece.copied.record(stream)?;
            first += chunk.len();
        }
        Ok(())
    }

    /// Copies from the device, and waits for it.
    pub(crate) fn download(
        &mut self,
        stream: &Arc<CudaStream>,
        from: &CudaView<'_, u8>,
        bytes: &mut [u8],
    ) -> Result<(), CudaError> {
        if is_page_locked(stream.context(), bytes) {
            stream.memcpy_dtoh(from, bytes)?;
            return Ok(stream.synchronize()?);
        }
        let ahead = self.pieces.len().saturating_sub(1).max(1);
        let piece_len = self.piece_len;
        let chunks = bytes.len().div_ceil(piece_len);
        let range = |chunk: usize| {
            let first = chunk * piece_len;
            first..from.len().min(first + piece_len)
        };
        let mut under_way = std::collections::VecDeque::with_capacity(ahead);
        let mut begun = 0;
        for (chunk, target) in bytes.chunks_mut(piece_len).enumerate() {
            while begun < chunks && begun < chunk + ahead {
                let index = self.turn()?;
                let piece = &mut self.pieces[index];
                let part = from.slice(range(begun));
                let memory = &mut piece.memory.as_mut_slice()?[..part.len()];
                stream.memcpy_dtoh(&part, memory)?;
                piece.copied.record(stream)?;
                under_way.push_back(index);
                begun += 1;
            }
            // The loop above has begun this chunk, if not an earlier round has.
            let Some(index) = under_way.pop_front() else {
                break;
            };
            let piece = &self.pieces[index];
            piece.copied.synchronize()?;
            copy_past_caches(&piece.memory.as_slice()?[..target.len()], target);
        }
        Ok(())
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        for piece in &self.pieces {
            // The memory goes back to the driver next; a copy must not be using it. An error here
            // has been told by an earlier call, or the context is gone with all copies.
            let _ = piece.copied.synchronize();
        }
    }
}

/// Copies to memory that this processor does not read soon, past its caches where it can: it then
/// need not fetch the lines that it overwrites, which is a third of what a copy moves.
fn copy_past_caches(from: &[u8], to: &mut [u8]) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};

        let skipped = to.as_ptr().align_offset(size_of::<__m128i>()).min(to.len());
        let (head, body) = to.split_at_mut(skipped);
        let (from_head, from_body) = from.split_at(skipped);
        head.copy_from_slice(from_head);
        let (blocks, tail) = body.as_chunks_mut::<16>();
        let (from_blocks, from_tail) = from_body.as_chunks::<16>();
        for (to, from) in blocks.iter_mut().zip(from_blocks) {
            // SAFETY: both are 16 bytes; `to` begins at a multiple of 16, since the head went
            // before it and blocks follow each other. SSE2 is part of x86-64.
            unsafe {
                _mm_stream_si128(
                    to.as_mut_ptr().cast(),
                    _mm_loadu_si128(from.as_ptr().cast()),
                );
            };
        }
        // SAFETY: as above. The fence makes the stores visible before the slice is handed on.
        unsafe { _mm_sfence() };
        tail.copy_from_slice(from_tail);
    }
    #[cfg(not(target_arch = "x86_64"))]
    to.copy_from_slice(from);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_past_the_caches_copies_every_byte_from_any_start() {
        let from: Vec<u8> = (0..=250).cycle().take(1000).collect();
        for (first, len) in
            (0..20).flat_map(|first| [0, 1, 15, 16, 17, 200].map(|len| (first, len)))
        {
            let mut to = vec![0xff; 1000];
            copy_past_caches(&from[3 * first..][..len], &mut to[first..first + len]);
            assert_eq!(
                to[first..first + len],
                from[3 * first..][..len],
                "{first} {len}"
            );
            assert!(
                to[..first]
                    .iter()
                    .chain(&to[first + len..])
                    .all(|&b| b == 0xff)
            );
        }
    }
}
