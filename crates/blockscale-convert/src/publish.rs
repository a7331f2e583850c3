//! Shards made durable and named while the next is made.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use crate::ConvertError;
use crate::journal::{FinishedShard, Journal};
use crate::sink::PartialFile;
use crate::tally::Comparison;

/// A shard of which every byte is written and compared, under its temporary name.
pub(crate) struct CompleteShard {
    pub(crate) file: PartialFile,
    pub(crate) name: String,
    pub(crate) len: u64,
    pub(crate) comparisons: Vec<Comparison>,
}

/// Takes complete shards, in order.
pub(crate) struct Publisher(SyncSender<CompleteShard>);

impl Publisher {
    /// Lets `make` hand on shards, which a thread beside it syncs, hashes, names and enters into the
    /// journal. Returns those that it has entered.
    ///
    /// # Errors
    /// The first in the order of the shards. What was handed on before is published all the same.
    pub(crate) fn run(
        journal: &mut Journal,
        make: impl FnOnce(&Self) -> Result<(), ConvertError>,
    ) -> Result<Vec<FinishedShard>, ConvertError> {
        // One is published while one is made: a crash costs no more than these two.
        let (next, complete) = sync_channel(0);
        thread::scope(|scope| {
            let thread = scope.spawn(move || {
                let shards = complete.into_iter();
                shards.map(|shard| publish(journal, shard)).collect()
            });
            let publisher = Self(next);
            let made = make(&publisher);
            // Closes the queue, so that the thread ends.
            drop(publisher);
            let published: Result<_, _> = join(thread);
            published.and_then(|published| made.map(|()| published))
        })
    }

    /// Hands a shard on.
    ///
    /// # Errors
    /// [`ConvertError::Interrupted`] where the one before could not be published; its own error is
    /// the one that counts.
    pub(crate) fn publish(&self, shard: CompleteShard) -> Result<(), ConvertError> {
        self.0.send(shard).map_err(|_| ConvertError::Interrupted)
    }
}

fn publish(journal: &mut Journal, shard: CompleteShard) -> Result<FinishedShard, ConvertError> {
    let finished = FinishedShard {
        name: shard.name,
        len: shard.len,
        blake3: shard.file.publish()?,
        comparisons: shard.comparisons,
    };
    journal.finished(&finished)?;
    Ok(finished)
}

/// What a thread returns; its panic goes on here.
pub(crate) fn join<T>(handle: thread::ScopedJoinHandle<'_, T>) -> T {
    handle
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
