//! The streaming conversion: read, transform, write, one shard after another.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use blockscale_model::plan::Plan;

use crate::ConvertError;
use crate::backend::Backend;
use crate::compute::ComputeState;
use crate::jobs::{Cutter, Job};
use crate::joined::check_globals;
use crate::journal::{FinishedShard, JOURNAL, fingerprint};
use crate::manifest::{FileHash, MANIFEST, Manifest};
use crate::output_dir::{self, Existing};
use crate::placing::Chunk;
use crate::sink::{PartialFile, write_file};
use crate::tally::Comparison;
use crate::weights::{RunBytes, Weights};

/// Jobs that wait between two stages.
const QUEUE: usize = 2;

/// Choices of a conversion that do not change its output.
#[derive(Clone, Debug)]
pub struct ConvertOptions {
    /// Bytes that buffers may take; less than 32 KiB counts as 32 KiB.
    pub max_memory: u64,
    /// SQNR bound in place of each format's own.
    pub min_sqnr: Option<f64>,
    /// What to do about an output folder that holds something.
    pub existing: Existing,
    /// What does the arithmetic.
    pub backend: Backend,
}

impl Default for ConvertOptions {
    fn default() -> Self {
        Self {
            max_memory: 1 << 30,
            min_sqnr: None,
            existing: Existing::Refuse,
            backend: Backend::CPU,
        }
    }
}

/// Hears how a conversion goes.
pub trait Progress: Sync {
    /// So many output bytes are to be written; `done` are there already.
    fn start(&self, _total: u64, _done: u64) {}
    /// So many more output bytes are written.
    fn advance(&self, _bytes: u64) {}
}

/// Hears nothing.
impl Progress for () {}

/// Converts by `plan` into the folder `out`.
///
/// Returns the manifest, which is also written there. Until the end the folder
/// holds a journal; a conversion that stopped for any reason goes on with
/// [`Existing::Resume`] and ends in the same bytes.
///
/// # Errors
/// [`ConvertError`]. The source is never touched, and no file has its final name
/// before it is complete and checked.
pub fn convert(
    weights: Weights<'_>,
    plan: &Plan,
    out: &Path,
    options: &ConvertOptions,
    progress: &dyn Progress,
    stop: &AtomicBool,
) -> Result<Manifest, ConvertError> {
    let id = fingerprint(weights.source, plan, options.min_sqnr);
    let cutter = Cutter::new(plan, weights, options.max_memory, &options.backend);
    cutter.peak_bytes()?;
    check_globals(weights, plan)?;
    let (mut journal, mut finished) = output_dir::prepare(out, &id, options.existing)?;
    progress.start(plan.output_bytes(), finished.iter().map(|s| s.len).sum());

    for (i, shard) in plan.shards.iter().enumerate() {
        if finished.iter().any(|f| f.name == shard.name) {
            continue;
        }
        let work = ShardWork {
            cutter: &cutter,
            plan,
            shard: i,
            min_sqnr: options.min_sqnr,
            backend: &options.backend,
        };
        let done = work.run(out, progress, stop)?;
        journal.finished(&done)?;
        finished.push(done);
    }
    // A journal lists shards in the order in which they were finished.
    finished.sort_by(|a, b| a.name.cmp(&b.name));

    let mut others = Vec::new();
    let own = [MANIFEST, JOURNAL];
    for name in plan
        .copied_files
        .iter()
        .filter(|name| !own.contains(&name.as_str()))
    {
        let bytes = weights.source.read_other(name)?;
        write_file(out, name, &bytes)?;
        others.push(FileHash::of(name, &bytes));
    }
    others.extend(
        plan.documents
            .iter()
            .map(|d| FileHash::of(&d.name, &d.bytes)),
    );
    let manifest = Manifest::new(weights.source, plan, finished, others);
    write_file(out, MANIFEST, &manifest.to_json())?;
    for document in &plan.documents {
        write_file(out, &document.name, &document.bytes)?;
    }
    journal.remove()?;
    Ok(manifest)
}

/// Bytes that buffers take at most.
///
/// # Errors
/// [`ConvertError::Memory`] if `max_memory` does not hold one row of blocks.
pub fn peak_memory(
    weights: Weights<'_>,
    plan: &Plan,
    max_memory: u64,
) -> Result<u64, ConvertError> {
    Cutter::new(plan, weights, max_memory, &Backend::CPU).peak_bytes()
}

/// What the reading stage hands on.
struct Loaded {
    job: Job,
    bytes: RunBytes,
}

/// One shard on its way.
pub(crate) struct ShardWork<'a> {
    pub(crate) cutter: &'a Cutter<'a>,
    pub(crate) plan: &'a Plan,
    shard: usize,
    pub(crate) min_sqnr: Option<f64>,
    pub(crate) backend: &'a Backend,
}

impl ShardWork<'_> {
    fn run(
        &self,
        out: &Path,
        progress: &dyn Progress,
        stop: &AtomicBool,
    ) -> Result<FinishedShard, ConvertError> {
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
            let writer = scope.spawn(|| write(&file, to_write, progress));
            let compute = move || self.compute(to_compute, &computed);
            let compared = compute();
            let read = join(reader);
            let written = join(writer);
            read.and(written).and(compared)
        })?;
        let blake3 = file.publish()?;
        Ok(FinishedShard {
            name: shard.name.clone(),
            len: shard.len,
            blake3,
            comparisons,
        })
    }

    fn read(
        &self,
        jobs: Vec<Job>,
        next: &SyncSender<Loaded>,
        stop: &AtomicBool,
    ) -> Result<(), ConvertError> {
        let weights = &self.cutter.weights;
        for job in jobs {
            if stop.load(Ordering::Relaxed) {
                return Err(ConvertError::Interrupted);
            }
            let bytes = match &job {
                Job::Copy {
                    tensor,
                    offset,
                    len,
                    ..
                } => {
                    let mut codes = vec![0; *len];
                    weights.read_tensor(*tensor, *offset, &mut codes)?;
                    RunBytes {
                        codes,
                        ..RunBytes::default()
                    }
                }
                Job::Reciprocal { tensor, .. } => {
                    let mut codes = vec![0; weights.tensor_len(*tensor)];
                    weights.read_tensor(*tensor, 0, &mut codes)?;
                    RunBytes {
                        codes,
                        ..RunBytes::default()
                    }
                }
                Job::Ones { .. } | Job::Given { .. } => RunBytes::default(),
                Job::Scan { run, order, .. } | Job::Compute { run, order, .. } => {
                    weights.read_in(run, *order)?
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
        next: &SyncSender<Chunk>,
    ) -> Result<Vec<Comparison>, ConvertError> {
        let mut state = ComputeState::new(self);
        for Loaded { job, bytes } in jobs {
            let chunks = match job {
                Job::Copy { to, .. } => vec![Chunk {
                    offset: to,
                    bytes: bytes.codes,
                }],
                Job::Reciprocal { to, .. } => {
                    vec![Chunk {
                        offset: to,
                        bytes: reciprocals(&bytes.codes),
                    }]
                }
                Job::Ones { to } => vec![Chunk {
                    offset: to.start,
                    bytes: ones(&to),
                }],
                Job::Given { bytes, to } => vec![Chunk { offset: to, bytes }],
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
                if next.send(chunk).is_err() {
                    return Ok(Vec::new());
                }
            }
        }
        for chunk in state.rest()? {
            if next.send(chunk).is_err() {
                return Ok(Vec::new());
            }
        }
        state.finish()
    }
}

fn join<T>(handle: thread::ScopedJoinHandle<'_, T>) -> T {
    handle
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn write(
    file: &PartialFile,
    chunks: Receiver<Chunk>,
    progress: &dyn Progress,
) -> Result<(), ConvertError> {
    for Chunk { offset, bytes } in chunks {
        file.write_at(offset, &bytes)?;
        progress.advance(bytes.len() as u64);
    }
    Ok(())
}

/// F32 values inverted, in little-endian bytes.
fn reciprocals(bytes: &[u8]) -> Vec<u8> {
    let invert = |value: &[u8; 4]| (1.0 / f32::from_le_bytes(*value)).to_le_bytes();
    bytes.as_chunks::<4>().0.iter().flat_map(invert).collect()
}

/// F32 ones that fill a range.
fn ones(range: &std::ops::Range<u64>) -> Vec<u8> {
    1.0_f32
        .to_le_bytes()
        .repeat((range.end - range.start) as usize / 4)
}
