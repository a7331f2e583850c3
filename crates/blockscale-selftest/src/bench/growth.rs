//! How time and memory of a conversion grow with its bytes, and those of a plan with its tensors.

use std::fs;
use std::path::Path;
use std::time::Instant;

use blockscale::{Format, Shape};
use blockscale_convert::source::LocalSource;
use blockscale_model::catalog::Catalog;
use blockscale_model::plan::{Plan, PlanOptions};
use blockscale_model::recipe::{Target, generic};

use super::files::{Content, Conversion, Emptied, FilesOptions, Size, io_error, write};
use super::{BenchError, BenchRow};

const CONTENT: Content = Content::Block(Format::FP8_BLOCK);
const TARGET: Target = Target::Bf16;
/// Bytes read and written for an element: one in, two out.
const BYTES: u64 = 3;

/// Smallest conversion, as a share of the largest; each next is four times as large.
const STEPS: [u64; 4] = [64, 16, 4, 1];
const TENSORS: [usize; 3] = [1_000, 10_000, 100_000];
const SHARDS: usize = 64;
/// What the plan of the most tensors may take.
const PLAN_SECONDS: f64 = 2.0;
const PLAN_MEMORY: u64 = 300 << 20;

pub(super) fn bench(options: &FilesOptions) -> Result<Vec<BenchRow>, BenchError> {
    let folder = Emptied::new(&options.folder)?;
    let source = folder.path.join("source");
    let mut rows = Vec::new();
    for step in STEPS {
        let size = Size::elements(options.bytes / step / BYTES);
        write(&source, CONTENT, size).map_err(io_error(&source))?;
        rows.push(conversion(&source, &folder.path.join("out"))?);
        folder.empty()?;
    }
    for tensors in TENSORS {
        // Codes, scales and a norm for each matrix.
        let size = Size {
            matrices: tensors.div_ceil(3),
            shape: Shape::new(128, 16),
            shards: SHARDS,
        };
        write(&source, CONTENT, size).map_err(io_error(&source))?;
        rows.push(plan(&source, tensors)?);
        folder.empty()?;
    }
    Ok(rows)
}

fn conversion(source: &Path, out: &Path) -> Result<BenchRow, BenchError> {
    forget_peak();
    let target = TARGET;
    let done = Conversion {
        source,
        out,
        target,
    }
    .run()?;
    let bytes = done.read + done.written;
    let name = format!("{CONTENT} -> {TARGET}, whole conversion");
    let size = format!("{:.2} GiB", bytes as f64 / f64::from(1 << 30));
    let row = BenchRow::new(&name, size, bytes as usize, done.seconds);
    Ok(BenchRow {
        memory: peak(),
        ..row.on("", rayon::current_num_threads())
    })
}

fn plan(source: &Path, tensors: usize) -> Result<BenchRow, BenchError> {
    let refused = |reason: String| BenchError::Operation {
        operation: "a plan".to_owned(),
        reason,
    };
    forget_peak();
    let begun = Instant::now();
    let opened = LocalSource::open(source);
    let (checkpoint, _files) = opened.map_err(|error| refused(error.to_string()))?;
    let catalog = Catalog::of(&checkpoint);
    let recipe = generic(TARGET, Vec::new(), Vec::new());
    let plan = Plan::build(&checkpoint, &catalog, &recipe, &PlanOptions::default())
        .map_err(|error| refused(error.to_string()))?;
    let seconds = begun.elapsed().as_secs_f64();
    let memory = peak();
    let headers: usize = plan.shards.iter().map(|shard| shard.header.len()).sum();
    let most = TENSORS.iter().max() == Some(&tensors);
    let size = format!("{tensors} tensors in {SHARDS} shards");
    let row = BenchRow::new("plan", size, headers, seconds);
    let fast = seconds <= PLAN_SECONDS && memory.is_none_or(|bytes| bytes <= PLAN_MEMORY);
    Ok(BenchRow {
        memory,
        met: most.then_some(fast),
        ..row.on("", 1)
    })
}

/// Begins to count the memory of this process anew, where the system can.
fn forget_peak() {
    // Without it the peak is that of all the run, which is no less.
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// Bytes that this process took at most.
fn peak() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_numbers_of_tensors_have_their_rows() {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("source");
        let size = Size {
            matrices: 10,
            shape: Shape::new(128, 16),
            shards: 3,
        };
        write(&source, CONTENT, size).unwrap();
        let row = plan(&source, 30).unwrap();
        assert_eq!(
            (row.size.as_str(), row.met),
            ("30 tensors in 64 shards", None)
        );
        let row = conversion(&source, &dir.path().join("out")).unwrap();
        assert!(row.bytes > 10 * 128 * 16 * BYTES, "{row:?}");
        assert_eq!(row.memory.is_some(), cfg!(target_os = "linux"));
    }
}
