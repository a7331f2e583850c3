//! One shard on its way: read, computed, written, in three threads with queues between.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use blockscale_model::plan::Plan;

use crate::ConvertError;
use crate::backend::Backend;
use crate::compute::ComputeState;
use crate::convert::Progress;
use crate::jobs::{Cutter, FileRange, Job, Through};
use crate::memory::{Buffer, Buffers};
use crate::placing::Chunk;
use crate::publish::{CompleteShard, join};
use crate::sink::{Gatherer, PartialFile};
use crate::source::ReadAhead;
use crate::tally::Comparison;
use crate::weights::{RunBytes, Weights};

/// Jobs that wait between two stages.
const QUEUE: usize = 1;

/// What the reading stage hands on.
struct Loaded {
    job: Job,
    bytes: RunBytes,
}

/// What the computing stage hands on.
enum Output {
    Bytes(Chunk),
    Copy(FileRange),
}

/// One shard on its way.
pub(crate) struct ShardWork<'a> {
    pub(crate) cutter: &'a Cutter<'a>,
    pub(crate) plan: &'a Plan,
    pub(crate) shard: usize,
    pub(crate) min_sqnr: Option<f64>,
    pub(crate) backend: &'a Backend,
    pub(crate) buffers: &'a Buffers,
}

impl ShardWork<'_> {
    /// Writes the shard under its temporary name.
    pub(crate) fn run(
        &self,
        out: &Path,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<CompleteShard, ConvertError> {
        let shard = &self.plan.shards[self.shard];
        let jobs = self.cutter.shard(self.shard)?;
        let file = PartialFile::create(out, &shard.name, shard.len)?;
        file.write_at(0, &shard.header)?;
        progress.advance(shard.header.len() as u64);

        let (loaded, to_compute) = sync_channel(QUEUE);
        let (computed, to_write) = sync_channel(QUEUE);
        let comparisons = thread::scope(|scope| {
            // Each stage owns the ends of its channels: when it stops, they close and
            // its neighbours end too.
            let reader = scope.spawn(move || self.read(jobs, &loaded, stop));
            let writer = scope.spawn(|| self.write(&file, to_write, progress));
            let compute = move || self.compute(to_compute, &computed);
            let compared = compute();
            let read = join(reader);
            let written = join(writer);
            read.and(written).and(compared)
        })?;
        self.cutter.weights.source.check_unchanged()?;
        Ok(CompleteShard {
            file,
            name: shard.name.clone(),
            len: shard.len,
            comparisons,
        })
    }

    fn read(
        &self,
        jobs: Vec<Job>,
        next: &SyncSender<Loaded>,
        stop: &AtomicBool,
    ) -> Result<(), ConvertError> {
        let ahead = ReadAhead::new(self.cutter.weights.source);
        let weights = Weights {
            source: &ahead,
            ..self.cutter.weights
        };
        for job in jobs {
            if stop.load(Ordering::Relaxed) {
                return Err(ConvertError::Interrupted);
            }
            let bytes = match &job {
                Job::Copy(from) if from.through == Through::Memory => {
                    let mut codes = self.buffers.get(from.len as usize);
                    let read = weights
                        .source
                        .read_exact_at(from.shard, from.offset, &mut codes);
                    read?;
                    plain(codes)
                }
                Job::Reciprocal { tensor, .. } => {
                    let mut codes = self.buffers.get(weights.tensor_len(*tensor));
                    weights.read_tensor(*tensor, 0, &mut codes)?;
                    plain(codes)
                }
                Job::Copy(_) | Job::Ones { .. } | Job::Given { .. } => RunBytes::default(),
                Job::Scan { run, order, .. } | Job::Compute { run, order, .. } => {
                    weights.read_into(run, *order, self.buffers)?
                }
            };
            if next.send(Loaded { job, bytes }).is_err() {
                break;
            }
        }
        Ok(())
    }

    fn compute(
        &self,
        jobs: Receiver<Loaded>,
        next: &SyncSender<Output>,
    ) -> Result<Vec<Comparison>, ConvertError> {
        let mut state = ComputeState::new(self);
        for Loaded { job, bytes } in jobs {
            let chunk = |offset, bytes| vec![Chunk { offset, bytes }];
            let chunks = match job {
                Job::Copy(range) if range.through == Through::System => {
                    if next.send(Output::Copy(range)).is_err() {
                        return Ok(Vec::new());
                    }
                    continue;
                }
                Job::Copy(range) => chunk(range.to, bytes.codes),
                Job::Reciprocal { to, .. } => chunk(to, reciprocals(&bytes.codes)),
                Job::Ones { to } => chunk(to.start, ones(&to)),
                Job::Given { bytes, to } => chunk(to, bytes.into()),
                Job::Scan { planned, run, .. } => state.scan(planned, run, bytes)?,
                Job::Compute {
                    planned,
                    run,
                    out,
                    last,
                    ..
                } => state.compute(planned, run, out, last, bytes)?,
            };
            for chunk in chunks {
                if next.send(Output::Bytes(chunk)).is_err() {
                    return Ok(Vec::new());
                }
            }
        }
        for chunk in state.rest()? {
            if next.send(Output::Bytes(chunk)).is_err() {
                return Ok(Vec::new());
            }
        }
        state.finish()
    }

    fn write(
        &self,
        file: &PartialFile,
        outputs: Receiver<Output>,
        progress: &dyn Progress,
    ) -> Result<(), ConvertError> {
        let mut gatherer = Gatherer::new(file);
        for output in outputs {
            match output {
                Output::Bytes(Chunk { offset, bytes }) => {
                    gatherer.write(offset, &bytes)?;
                    progress.advance(bytes.len() as u64);
                }
                Output::Copy(range) => {
                    self.copy(file, range)?;
                    progress.advance(range.len);
                }
            }
        }
        gatherer.flush()
    }

    /// Copies bytes of the source, by the system as far as it does.
    fn copy(&self, file: &PartialFile, range: FileRange) -> Result<(), ConvertError> {
        const PIECE: u64 = 1 << 20;
        let source = self.cutter.weights.source;
        let FileRange {
            shard,
            offset,
            len,
            to,
            ..
        } = range;
        let from = source.file(shard);
        let mut done = from.map_or(0, |from| file.copy_from(from, offset, to, len));
        while done < len {
            let mut piece = self.buffers.get((len - done).min(PIECE) as usize);
            source.read_exact_at(shard, offset + done, &mut piece)?;
            file.write_at(to + done, &piece)?;
            done += piece.len() as u64;
        }
        Ok(())
    }
}

fn plain(codes: Buffer) -> RunBytes {
    RunBytes {
        codes,
        ..RunBytes::default()
    }
}

/// F32 values inverted, in little-endian bytes.
fn reciprocals(bytes: &[u8]) -> Buffer {
    let invert = |value: &[u8; 4]| (1.0 / f32::from_le_bytes(*value)).to_le_bytes();
    let values = bytes.as_chunks::<4>().0.iter();
    values.flat_map(invert).collect::<Vec<u8>>().into()
}

/// F32 ones that fill a range.
fn ones(range: &std::ops::Range<u64>) -> Buffer {
    let count = (range.end - range.start) as usize / 4;
    1.0_f32.to_le_bytes().repeat(count).into()
}
