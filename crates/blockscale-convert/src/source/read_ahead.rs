//! Small reads served from larger ones.

use std::fs::File;
use std::sync::{Mutex, PoisonError};

use super::{ShardIdentity, Source, SourceError};

/// Reads of more bytes are left as they are.
const SMALL: usize = 8 << 10;

/// Bytes read for a small read: what costs about as much as asking the system at all.
const WINDOW: usize = 32 << 10;

/// A source that reads on behind a small read. Scales, biases and norms lie beside one another in a
/// file, and there are hundreds of thousands of them.
pub(crate) struct ReadAhead<'a> {
    source: &'a dyn Source,
    window: Mutex<Window>,
}

/// Some bytes of a shard; none at first.
#[derive(Default)]
struct Window {
    shard: usize,
    start: u64,
    bytes: Vec<u8>,
}

impl Window {
    fn get(&self, shard: usize, offset: u64, len: usize) -> Option<&[u8]> {
        let first = usize::try_from(offset.checked_sub(self.start)?).ok()?;
        (self.shard == shard).then(|| self.bytes.get(first..first.checked_add(len)?))?
    }
}

impl<'a> ReadAhead<'a> {
    pub(crate) fn new(source: &'a dyn Source) -> Self {
        Self {
            source,
            window: Mutex::default(),
        }
    }

    /// Fills the window from `offset` on. Where that fails, the read itself says why.
    fn fill(&self, window: &mut Window, shard: usize, offset: u64) {
        let identity = self.source.identities().get(shard);
        let rest = identity.map_or(0, |identity| identity.len.saturating_sub(offset));
        let len = usize::try_from(rest).map_or(WINDOW, |rest| rest.min(WINDOW));
        window.bytes.resize(len, 0);
        (window.shard, window.start) = (shard, offset);
        let read = self.source.read_exact_at(shard, offset, &mut window.bytes);
        if read.is_err() {
            window.bytes.clear();
        }
    }
}

impl Source for ReadAhead<'_> {
    fn read_exact_at(&self, shard: usize, offset: u64, buf: &mut [u8]) -> Result<(), SourceError> {
        if buf.len() > SMALL {
            return self.source.read_exact_at(shard, offset, buf);
        }
        let mut window = self.window.lock().unwrap_or_else(PoisonError::into_inner);
        if window.get(shard, offset, buf.len()).is_none() {
            self.fill(&mut window, shard, offset);
        }
        match window.get(shard, offset, buf.len()) {
            Some(bytes) => {
                buf.copy_from_slice(bytes);
                Ok(())
            }
            None => self.source.read_exact_at(shard, offset, buf),
        }
    }

    fn read_other(&self, name: &str) -> Result<Vec<u8>, SourceError> {
        self.source.read_other(name)
    }

    fn file(&self, shard: usize) -> Option<&File> {
        self.source.file(shard)
    }

    fn describe(&self) -> String {
        self.source.describe()
    }

    fn identities(&self) -> &[ShardIdentity] {
        self.source.identities()
    }

    fn check_unchanged(&self) -> Result<(), SourceError> {
        self.source.check_unchanged()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    /// Bytes in memory that count how often they are asked for.
    struct Counted {
        bytes: Vec<u8>,
        identities: Vec<ShardIdentity>,
        reads: AtomicUsize,
    }

    impl Counted {
        fn new(len: usize) -> Self {
            let identity = ShardIdentity {
                name: "s".to_owned(),
                len: len as u64,
                modified_ns: None,
                header_blake3: String::new(),
            };
            Self {
                bytes: (0..len).map(|i| (i * 7 % 251) as u8).collect(),
                identities: vec![identity],
                reads: AtomicUsize::new(0),
            }
        }
    }

    impl Source for Counted {
        fn read_exact_at(&self, shard: usize, at: u64, buf: &mut [u8]) -> Result<(), SourceError> {
            self.reads.fetch_add(1, Ordering::Relaxed);
            let count = self.identities.len();
            let found = self.bytes.get(at as usize..at as usize + buf.len());
            buf.copy_from_slice(found.ok_or(SourceError::NoSuchShard { shard, count })?);
            Ok(())
        }

        fn read_other(&self, _name: &str) -> Result<Vec<u8>, SourceError> {
            Ok(Vec::new())
        }

        fn describe(&self) -> String {
            String::new()
        }

        fn identities(&self) -> &[ShardIdentity] {
            &self.identities
        }
    }

    #[test]
    fn many_small_reads_ask_once_for_each_window() {
        let source = Counted::new(100_000);
        let ahead = ReadAhead::new(&source);
        let mut at = 0;
        for len in (1..=97).cycle() {
            if at + len > source.bytes.len() {
                break;
            }
            let mut buf = vec![0; len];
            ahead.read_exact_at(0, at as u64, &mut buf).unwrap();
            assert_eq!(buf, source.bytes[at..at + len]);
            at += len;
        }
        assert!(source.reads.load(Ordering::Relaxed) <= 100_000 / WINDOW + 2);
    }

    #[test]
    fn a_large_read_is_one_read_and_an_error_is_the_sources() {
        let source = Counted::new(50_000);
        let ahead = ReadAhead::new(&source);
        let mut buf = vec![0; SMALL + 1];
        ahead.read_exact_at(0, 3, &mut buf).unwrap();
        assert_eq!(buf, source.bytes[3..3 + buf.len()]);
        assert_eq!(source.reads.load(Ordering::Relaxed), 1);
        assert!(ahead.read_exact_at(0, 49_999, &mut [0; 2]).is_err());
        ahead.read_exact_at(0, 49_998, &mut [0; 2]).unwrap();
    }
}
