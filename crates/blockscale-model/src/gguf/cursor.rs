//! Reading forward through the part of a header that is there so far.

use super::MAX_HEADER_BYTES;
use super::error::GgufError;
use crate::limits::MAX_NAME_BYTES;

/// Why reading stopped before the end of the header.
pub(super) enum Stop {
    /// The bytes given so far are fine, and end too early: so many are needed at the least.
    NeedMore(u64),
    /// The header is at fault.
    Fault(GgufError),
}

impl From<GgufError> for Stop {
    fn from(error: GgufError) -> Self {
        Self::Fault(error)
    }
}

/// A position in the known first bytes of a file.
pub(super) struct Cursor<'a> {
    known: &'a [u8],
    at: usize,
    file_len: u64,
}

impl<'a> Cursor<'a> {
    /// Bytes of `prefix` beyond the file's end, or beyond the longest header, are left out. So a
    /// longer prefix never changes the outcome.
    pub(super) fn new(prefix: &'a [u8], file_len: u64) -> Self {
        let limit = file_len.min(MAX_HEADER_BYTES) as usize;
        Self {
            known: &prefix[..prefix.len().min(limit)],
            at: 0,
            file_len,
        }
    }

    /// Bytes read, counted from the file's first.
    pub(super) fn position(&self) -> u64 {
        self.at as u64
    }

    /// What is known from here on.
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.known[self.at..]
    }

    /// Makes sure that `count` things of at least `bytes` bytes each follow. After this a loop over
    /// them, or a list of them, is bounded by bytes that are there.
    pub(super) fn expect(&self, count: u64, bytes: u64) -> Result<(), Stop> {
        let len = count.saturating_mul(bytes);
        if len <= self.rest().len() as u64 {
            Ok(())
        } else {
            Err(self.short_of(len))
        }
    }

    pub(super) fn take(&mut self, len: u64) -> Result<&'a [u8], Stop> {
        self.expect(len, 1)?;
        let (taken, _) = self.rest().split_at(len as usize);
        self.at += taken.len();
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], Stop> {
        match self.rest().first_chunk() {
            Some(&bytes) => {
                self.at += N;
                Ok(bytes)
            }
            None => Err(self.short_of(N as u64)),
        }
    }

    pub(super) fn u32(&mut self) -> Result<u32, Stop> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    pub(super) fn u64(&mut self) -> Result<u64, Stop> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// A string: its length as `u64`, then UTF-8 without a terminator.
    pub(super) fn text(&mut self) -> Result<&'a str, Stop> {
        let len = self.u64()?;
        let start = self.position();
        let text = std::str::from_utf8(self.take(len)?).map_err(|error| GgufError::NotUtf8 {
            position: start + error.valid_up_to() as u64,
        })?;
        Ok(text)
    }

    /// A [`text`](Self::text) that is a key or a name.
    pub(super) fn name(&mut self) -> Result<&'a str, Stop> {
        let found = self.peek_len()?;
        if found <= MAX_NAME_BYTES as u64 {
            return self.text();
        }
        let too_long = GgufError::NameTooLong {
            position: self.position(),
            limit: MAX_NAME_BYTES,
            found,
        };
        // A file that cannot hold it was cut.
        match self.expect(found.saturating_add(8), 1) {
            Err(cut @ Stop::Fault(_)) => Err(cut),
            _ => Err(Stop::Fault(too_long)),
        }
    }

    /// The length of the string that comes next.
    fn peek_len(&self) -> Result<u64, Stop> {
        match self.rest().first_chunk() {
            Some(&bytes) => Ok(u64::from_le_bytes(bytes)),
            None => Err(self.short_of(8)),
        }
    }

    fn short_of(&self, len: u64) -> Stop {
        let end = self.position().saturating_add(len);
        if end > self.file_len {
            Stop::Fault(GgufError::EndsInsideHeader {
                expected: end,
                found: self.file_len,
            })
        } else if end > MAX_HEADER_BYTES {
            Stop::Fault(GgufError::TooLong {
                limit: MAX_HEADER_BYTES,
                found: end,
            })
        } else {
            Stop::NeedMore(end)
        }
    }
}
