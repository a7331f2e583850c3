//! The streaming conversion: read, transform, write, one shard after another.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use blockscale_model::plan::Plan;

use crate::ConvertError;
use crate::backend::Backend;
use crate::jobs::Cutter;
use crate::joined::check_globals;
use crate::journal::{JOURNAL, fingerprint};
use crate::manifest::{FileHash, MANIFEST, Manifest};
use crate::output_dir::{self, Existing};
use crate::publish::Publisher;
use crate::shard::ShardWork;
use crate::sink::write_file;
use crate::weights::Weights;

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
    let buffers = options.backend.buffers(cutter.peak_bytes()?);
    check_globals(weights, plan)?;
    let (mut journal, mut finished) = output_dir::prepare(out, &id, options.existing)?;
    progress.start(plan.output_bytes(), finished.iter().map(|s| s.len).sum());

    let there: HashSet<String> = finished.iter().map(|shard| shard.name.clone()).collect();
    let new = Publisher::run(&mut journal, |publisher| {
        for (i, shard) in plan.shards.iter().enumerate() {
            if there.contains(&shard.name) {
                continue;
            }
            let work = ShardWork {
                cutter: &cutter,
                plan,
                shard: i,
                min_sqnr: options.min_sqnr,
                backend: &options.backend,
                buffers: &buffers,
            };
            publisher.publish(work.run(out, progress, stop)?)?;
        }
        Ok(())
    })?;
    finished.extend(new);
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
