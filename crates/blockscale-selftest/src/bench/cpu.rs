//! The core, in one thread and in all, beside a copy in as many on pages of the same kind.

mod encoding;
mod layouts;
mod numbers;

use blockscale::Shape;
use blockscale::arch::Level;
use blockscale_convert::Buffer;
use rayon::prelude::*;

use super::timing::{Pair, in_turn};
use super::{BenchError, BenchOptions, BenchReport, BenchRow, machine};
use crate::random::Random;

const SHAPE: Shape = Shape::new(8192, 8192);
/// Rows of a part in all threads: whole blocks, and parts enough for idle threads to take.
const ROWS: usize = 512;
const COPY: &str = "copy in memory";
const COPIED: usize = 2 * SHAPE.rows * SHAPE.cols;

/// Something to be measured.
struct Operation<'a> {
    name: String,
    size: String,
    /// Bytes read and written by one run.
    bytes: usize,
    /// The share of the copy's rate that one thread has to reach.
    bar: Option<f64>,
    run: Box<dyn FnMut(Threads) -> Result<(), String> + 'a>,
}

/// Elements of a matrix.
const fn count(shape: Shape) -> usize {
    shape.rows * shape.cols
}

/// How many threads are at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Threads {
    One,
    All,
}

impl Threads {
    fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::All => rayon::current_num_threads(),
        }
    }

    /// Rows of a part of a matrix.
    fn rows(self, matrix: Shape) -> usize {
        match self {
            Self::One => matrix.rows,
            Self::All => ROWS,
        }
    }
}

/// What all operations of a run are measured beside, and on.
struct Bench {
    from: Buffer,
    to: Buffer,
    random: Random,
    levels: Vec<Level>,
    only: Option<String>,
    rows: Vec<BenchRow>,
    /// Seconds of the copies, in one thread and in all.
    copies: [Vec<f64>; 2],
}

impl Bench {
    fn new(options: &BenchOptions) -> Result<Self, BenchError> {
        let mut from = kept(COPIED)?;
        from.fill(0x5a);
        Ok(Self {
            from,
            to: kept(COPIED)?,
            random: Random::new(6),
            levels: levels(options.level),
            only: options.only.clone(),
            rows: Vec::new(),
            copies: [Vec::new(), Vec::new()],
        })
    }

    /// Measures an operation at every level, in one thread and in all.
    fn measure(&mut self, mut operation: Operation<'_>) -> Result<(), BenchError> {
        let left_out = |only: &String| !operation.name.contains(only.as_str());
        if self.only.as_ref().is_some_and(left_out) {
            return Ok(());
        }
        for level in self.levels.clone() {
            level.use_everywhere()?;
            let one = self.row(&mut operation, level, Threads::One)?;
            let all = self.row(&mut operation, level, Threads::All)?.over(&one);
            self.rows.extend([one, all]);
        }
        Level::detected().use_everywhere()?;
        Ok(())
    }

    fn row(
        &mut self,
        operation: &mut Operation<'_>,
        level: Level,
        threads: Threads,
    ) -> Result<BenchRow, BenchError> {
        let (from, to) = (&self.from, &mut self.to);
        let timed = in_turn(|| copy(threads, from, to), || (operation.run)(threads));
        let Pair {
            copy,
            operation: seconds,
        } = timed.map_err(|reason| BenchError::Operation {
            operation: operation.name.clone(),
            reason,
        })?;
        self.copies[threads as usize].push(copy);
        let size = operation.size.clone();
        let row = BenchRow::new(&operation.name, size, operation.bytes, seconds)
            .on(level.name(), threads.count());
        let bar = operation.bar.filter(|_| threads == Threads::One);
        Ok(row.beside(COPY, (2 * COPIED) as f64 / copy, bar))
    }

    fn report(self) -> BenchReport {
        let size = format!("{} MiB", COPIED >> 20);
        let copies = [Threads::One, Threads::All].into_iter().zip(self.copies);
        let copies = copies.filter(|(_, seconds)| !seconds.is_empty());
        let copies = copies.map(|(threads, seconds)| {
            let seconds = super::median(seconds);
            BenchRow::new(COPY, size.clone(), 2 * COPIED, seconds).on("", threads.count())
        });
        let rows = copies.chain(self.rows).collect();
        BenchReport {
            engine: format!("CPU, {} threads", Threads::All.count()),
            machine: Some(machine::describe()),
            pages: Some(machine::pages()),
            rows,
        }
    }
}

/// Memory that is kept for all runs of an operation, every page of it touched.
fn kept(len: usize) -> Result<Buffer, BenchError> {
    let mut buffer = Buffer::mapped(len).map_err(BenchError::Memory)?;
    buffer.fill(0);
    Ok(buffer)
}

fn filled(bytes: &[u8]) -> Result<Buffer, BenchError> {
    let mut buffer = kept(bytes.len())?;
    buffer.copy_from_slice(bytes);
    Ok(buffer)
}

/// The levels to measure: without the portable one, which is slow, where there is another.
fn levels(wanted: Option<Level>) -> Vec<Level> {
    if let Some(level) = wanted {
        return vec![level];
    }
    let fast = |level: &Level| *level != Level::Scalar || Level::detected() == Level::Scalar;
    Level::available().filter(fast).collect()
}

fn copy(threads: Threads, from: &[u8], to: &mut [u8]) -> Result<(), String> {
    let part = match threads {
        Threads::One => to.len(),
        Threads::All => to.len() / (SHAPE.rows / ROWS),
    };
    each(
        to.par_chunks_mut(part).zip(from.par_chunks(part)),
        |(to, from)| {
            to.copy_from_slice(from);
            Ok::<(), String>(())
        },
    )
}

/// Does something with each part. An error is a text, since only people read it.
fn each<T: Send, E: std::fmt::Display + Send>(
    parts: impl IndexedParallelIterator<Item = T>,
    run: impl Fn(T) -> Result<(), E> + Send + Sync,
) -> Result<(), String> {
    parts
        .try_for_each(run)
        .map_err(|error: E| error.to_string())
}

pub(super) fn bench(options: &BenchOptions) -> Result<BenchReport, BenchError> {
    let mut bench = Bench::new(options)?;
    encoding::measure(&mut bench)?;
    layouts::measure(&mut bench)?;
    numbers::measure(&mut bench)?;
    Ok(bench.report())
}
