//! Whole conversions, from file to file, beside a copy of as many bytes.

mod checkpoint;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use blockscale::Format;
use blockscale_convert::source::LocalSource;
use blockscale_convert::{ConvertOptions, Existing, Weights, convert};
use blockscale_model::catalog::Catalog;
use blockscale_model::plan::{Plan, PlanOptions};
use blockscale_model::recipe::{Target, generic};

use super::{BenchError, BenchRow, median};
pub(super) use checkpoint::{Content, Size, write};

const RUNS: usize = 3;
const COPY: &str = "copy of files";
const SYNCED: &str = "copy of files, synced";
/// Share of the copy's rate that a conversion has to reach.
const BAR: f64 = 0.7;

/// Where whole conversions are measured, and on how much.
#[derive(Clone, Debug)]
pub struct FilesOptions {
    /// A folder that is made, and whose content is removed.
    pub folder: PathBuf,
    /// Bytes that a conversion reads and writes, the largest of them.
    pub bytes: u64,
    /// What is measured.
    pub what: FilesWhat,
}

/// What is measured with files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesWhat {
    /// Conversions of every kind, beside copies.
    Conversions,
    /// How time and memory grow with bytes and with tensors.
    Growth,
}

/// Conversions: what is in the source, what is written, and bytes of either for eight elements.
const CONVERSIONS: [(Content, Target, [u64; 2]); 4] = [
    (Content::Block(Format::FP8_BLOCK), Target::Bf16, [8, 16]),
    (Content::Block(Format::NVFP4), Target::Bf16, [5, 16]),
    (Content::Bf16, Target::Nvfp4, [16, 5]),
    (Content::Bf16, Target::Bf16, [16, 16]),
];

pub(super) fn bench(options: &FilesOptions) -> Result<Vec<BenchRow>, BenchError> {
    let folder = Emptied::new(&options.folder)?;
    let mut rows = Vec::new();
    for (content, target, [from, to]) in CONVERSIONS {
        let elements = options.bytes * 8 / (from + to);
        let source = folder.path.join("source");
        write(&source, content, Size::elements(elements)).map_err(io_error(&source))?;
        measure(&folder.path, content, target, &mut rows)?;
        folder.empty()?;
    }
    Ok(rows)
}

/// A folder without the files that are made there, before and after.
pub(super) struct Emptied {
    pub(super) path: PathBuf,
}

impl Emptied {
    pub(super) fn new(path: &Path) -> Result<Self, BenchError> {
        let folder = Self {
            path: path.join("blockscale-bench"),
        };
        folder.empty()?;
        Ok(folder)
    }

    pub(super) fn empty(&self) -> Result<(), BenchError> {
        let emptied = remove(&self.path).and_then(|()| fs::create_dir_all(&self.path));
        emptied.map_err(io_error(&self.path))
    }
}

impl Drop for Emptied {
    fn drop(&mut self) {
        // What cannot be removed stays, and is removed before the next run.
        let _ = remove(&self.path);
    }
}

pub(super) fn io_error(path: &Path) -> impl FnOnce(io::Error) -> BenchError {
    let path = path.to_owned();
    move |source| BenchError::File { path, source }
}

fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let files = entries.collect::<io::Result<Vec<_>>>()?;
    let large = |path: &PathBuf| path.extension().is_some_and(|name| name == "safetensors");
    Ok(files.into_iter().filter(large).collect())
}

/// Whether files are made durable before the clock stops.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Durable {
    No,
    Yes,
}

/// Copies the shards of folders. Returns seconds for each byte read or written.
fn copy(folders: &[&Path], to: &Path, durable: Durable) -> io::Result<f64> {
    remove(to)?;
    fs::create_dir_all(to)?;
    let mut bytes = 0;
    let begun = Instant::now();
    for (i, folder) in folders.iter().enumerate() {
        for path in files(folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let copied = to.join(format!("{i}-{name}"));
            bytes += 2 * fs::copy(&path, &copied)?;
            if durable == Durable::Yes {
                File::open(&copied)?.sync_all()?;
            }
        }
    }
    let seconds = begun.elapsed().as_secs_f64();
    remove(to)?;
    Ok(seconds / bytes as f64)
}

/// Lets the system write back all that waits, so that no measurement pays for the one before.
fn settle(folder: &Path) -> io::Result<()> {
    for path in files(folder)? {
        File::open(path)?.sync_all()?;
    }
    Ok(())
}

/// A conversion to be timed.
pub(super) struct Conversion<'a> {
    pub(super) source: &'a Path,
    pub(super) out: &'a Path,
    pub(super) target: Target,
}

/// What came of it.
pub(super) struct Converted {
    pub(super) seconds: f64,
    pub(super) read: u64,
    pub(super) written: u64,
}

impl Conversion<'_> {
    /// All of it as the command does it: opened, planned, converted, compared, synced, hashed.
    pub(super) fn run(&self) -> Result<Converted, BenchError> {
        let begun = Instant::now();
        let refused = |reason: String| BenchError::Operation {
            operation: format!("a conversion to {}", self.target),
            reason,
        };
        let opened = LocalSource::open(self.source);
        let (checkpoint, source) = opened.map_err(|error| refused(error.to_string()))?;
        let catalog = Catalog::of(&checkpoint);
        let recipe = generic(self.target, Vec::new(), Vec::new());
        let plan = Plan::build(&checkpoint, &catalog, &recipe, &PlanOptions::default())
            .map_err(|error| refused(error.to_string()))?;
        let weights = Weights {
            checkpoint: &checkpoint,
            catalog: &catalog,
            source: &source,
        };
        let options = ConvertOptions {
            existing: Existing::Overwrite,
            ..ConvertOptions::default()
        };
        convert(
            weights,
            &plan,
            self.out,
            &options,
            &(),
            &AtomicBool::new(false),
        )
        .map_err(|error| refused(error.to_string()))?;
        Ok(Converted {
            seconds: begun.elapsed().as_secs_f64(),
            read: checkpoint.shards.iter().map(|shard| shard.len).sum(),
            written: plan.output_bytes(),
        })
    }
}

fn measure(
    folder: &Path,
    content: Content,
    target: Target,
    rows: &mut Vec<BenchRow>,
) -> Result<(), BenchError> {
    let [source, out, copied] = ["source", "out", "copy"].map(|name| folder.join(name));
    let conversion = Conversion {
        source: &source,
        out: &out,
        target,
    };
    let mut seconds: [Vec<f64>; 4] = Default::default();
    let Converted { read, written, .. } = conversion.run()?;
    let bytes = read + written;
    let io = || io_error(folder);
    for _ in 0..RUNS {
        let both: [&Path; 2] = [&source, &out];
        for (durable, seconds) in [Durable::No, Durable::Yes].into_iter().zip(&mut seconds) {
            settle(&out).map_err(io())?;
            seconds.push(copy(&both, &copied, durable).map_err(io())? * bytes as f64);
        }
        remove(&out).map_err(io())?;
        seconds[2].push(conversion.run()?.seconds);
    }
    if forget(&source).map_err(io())? == Cache::Emptied {
        remove(&out).map_err(io())?;
        seconds[3].push(conversion.run()?.seconds);
    }
    let place = match in_memory(folder) {
        true => "in memory",
        false => "on disk",
    };
    let gib = |bytes: u64| bytes as f64 / f64::from(1 << 30);
    let size = format!("{:.2} + {:.2} GiB {place}", gib(read), gib(written));
    let threads = rayon::current_num_threads();
    let row = |name: &str, seconds| {
        BenchRow::new(name, size.clone(), bytes as usize, seconds).on("", threads)
    };
    let [plain, synced, warm, cold] = seconds.map(median);
    let rate = bytes as f64 / synced;
    let name = format!("{content} -> {target}, whole conversion");
    rows.push(row(COPY, plain));
    rows.push(row(SYNCED, synced));
    rows.push(row(&name, warm).beside(SYNCED, rate, Some(BAR)));
    if cold.is_finite() {
        rows.push(row(&format!("{name}, cold"), cold).beside(SYNCED, rate, None));
    }
    Ok(())
}

/// Whether the system still holds bytes of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cache {
    Emptied,
    Kept,
}

/// Lets the system forget what it holds of the source, where files are on a disk.
#[cfg(target_os = "linux")]
fn forget(source: &Path) -> io::Result<Cache> {
    if in_memory(source) {
        return Ok(Cache::Kept);
    }
    for path in files(source)? {
        let file = File::open(path)?;
        file.sync_all()?;
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
    }
    Ok(Cache::Emptied)
}

#[cfg(not(target_os = "linux"))]
fn forget(_source: &Path) -> io::Result<Cache> {
    Ok(Cache::Kept)
}

/// Whether a folder is one of a file system without a disk.
#[cfg(target_os = "linux")]
fn in_memory(folder: &Path) -> bool {
    const TMPFS: rustix::fs::FsWord = 0x0102_1994;
    rustix::fs::statfs(folder).is_ok_and(|found| found.f_type == TMPFS)
}

#[cfg(not(target_os = "linux"))]
fn in_memory(_folder: &Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_conversion_has_its_rows_beside_both_copies() {
        let dir = tempfile::tempdir().unwrap();
        let options = FilesOptions {
            folder: dir.path().to_owned(),
            bytes: 1 << 20,
            what: FilesWhat::Conversions,
        };
        let rows = bench(&options).unwrap();
        for (content, target, _) in CONVERSIONS {
            let name = format!("{content} -> {target}, whole conversion");
            let row = rows.iter().find(|row| row.operation == name).unwrap();
            assert_eq!((row.beside.as_deref(), row.bar), (Some(SYNCED), Some(BAR)));
            assert!(row.bytes >= 1 << 19, "{row:?}");
        }
        for copy in [COPY, SYNCED] {
            let count = rows.iter().filter(|row| row.operation == copy).count();
            assert_eq!(count, CONVERSIONS.len());
        }
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            0,
            "all is removed"
        );
    }
}
