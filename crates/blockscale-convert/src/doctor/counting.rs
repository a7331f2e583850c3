//! A source that counts what is read through it.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::source::{ShardIdentity, Source, SourceError};

pub(crate) struct Counting<'a> {
    source: &'a dyn Source,
    bytes: AtomicU64,
}

impl<'a> Counting<'a> {
    pub(crate) fn new(source: &'a dyn Source) -> Self {
        Self {
            source,
            bytes: AtomicU64::new(0),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

impl Source for Counting<'_> {
    fn read_exact_at(&self, shard: usize, offset: u64, buf: &mut [u8]) -> Result<(), SourceError> {
        self.bytes.fetch_add(buf.len() as u64, Ordering::Relaxed);
        self.source.read_exact_at(shard, offset, buf)
    }

    fn read_other(&self, name: &str) -> Result<Vec<u8>, SourceError> {
        self.source.read_other(name)
    }

    fn describe(&self) -> String {
        self.source.describe()
    }

    fn identities(&self) -> &[ShardIdentity] {
        self.source.identities()
    }
}
