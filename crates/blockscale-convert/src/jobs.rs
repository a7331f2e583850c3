//! A shard's work, cut into pieces that fit the memory limit.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use blockscale::format::Block;
use blockscale::layout::ScaleLayout;
use blockscale_model::catalog::RowOrder;
use blockscale_model::plan::{Origin, Plan, PlannedWeight, SourceBytes, Step};

use crate::ConvertError;
use crate::backend::{Backend, LARGEST_JOB};
use crate::weights::{Run, Weights, alignment, has_global, stored_row_bytes};

/// Jobs that are in memory at once beside those that the backend is at: being read, queued, handed to
/// it, queued, written.
const IN_FLIGHT: u64 = 5;

/// Smaller jobs would be all overhead; a lower limit counts as this much a job.
const SMALLEST_JOB: u64 = 4 << 10;

/// Copies of fewer bytes go through memory, with others beside them.
const SMALL_COPY: u64 = 256 << 10;

/// One piece of work, in the order of the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    /// Bytes of a source shard to one place of the shard.
    Copy(FileRange),
    /// Reciprocals of the F32 values of a tensor, all of it, to one place of the shard.
    Reciprocal { tensor: usize, to: u64 },
    /// F32 ones up to the end of a range of the shard.
    Ones { to: Range<u64> },
    /// Bytes that the plan knows, to one place of the shard.
    Given { bytes: Vec<u8>, to: u64 },
    /// Largest magnitude of a run, for the global scale of planned weight `planned`.
    Scan {
        planned: usize,
        run: Run,
        order: Option<RowOrder>,
    },
    /// A run through the step of planned weight `planned`.
    Compute {
        planned: usize,
        run: Run,
        /// The order of gate and up in which the rows of the run are counted.
        order: Option<RowOrder>,
        out: OutRows,
        last: bool,
    },
}

/// Bytes of a source shard, and where they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileRange {
    pub(crate) shard: usize,
    pub(crate) offset: u64,
    pub(crate) len: u64,
    pub(crate) to: u64,
    pub(crate) through: Through,
}

/// How bytes are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Through {
    /// They are read and written.
    Memory,
    /// The system copies them from file to file.
    System,
}

/// Rows to be read, and where they go.
#[derive(Clone, Debug)]
struct Part {
    run: Run,
    order: Option<RowOrder>,
    out: OutRows,
}

/// Where the rows of a run go in the output weight, counted gate first where they are written in
/// turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutRows {
    /// Which matrix of the output weight.
    pub(crate) matrix: usize,
    /// Rows of that matrix.
    pub(crate) rows: Range<usize>,
}

/// Cuts plans into jobs.
pub(crate) struct Cutter<'a> {
    plan: &'a Plan,
    pub(crate) weights: Weights<'a>,
    max_memory: u64,
    /// Jobs that are in memory at once.
    in_flight: u64,
    /// Bytes that a job may take at most.
    largest_job: u64,
    /// Bytes that the backend holds all the time.
    held: u64,
    /// Planned weights that share a global scale, by group.
    groups: HashMap<usize, Vec<usize>>,
}

impl<'a> Cutter<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        weights: Weights<'a>,
        max_memory: u64,
        backend: &Backend,
    ) -> Self {
        let mut groups: HashMap<usize, Vec<usize>> = HashMap::new();
        for (planned, weight) in plan.weights.iter().enumerate() {
            if let Some(group) = weight.global_group {
                groups.entry(group).or_default().push(planned);
            }
        }
        Self {
            plan,
            weights,
            max_memory,
            in_flight: IN_FLIGHT + backend.in_flight() as u64,
            largest_job: backend.largest_job(),
            held: backend.pinned_bytes(),
            groups,
        }
    }

    /// The planned weights that share a global scale with this one, itself included; none if it
    /// shares none.
    pub(crate) fn group_of(&self, planned: usize) -> &[usize] {
        let group = self.plan.weights[planned].global_group;
        let members = group.and_then(|group| self.groups.get(&group));
        members.map_or(&[], Vec::as_slice)
    }

    fn job_bytes(&self) -> u64 {
        (self.max_memory.saturating_sub(self.held) / self.in_flight)
            .clamp(SMALLEST_JOB, self.largest_job)
    }

    /// The jobs of one shard.
    pub(crate) fn shard(&self, shard: usize) -> Result<Vec<Job>, ConvertError> {
        let mut jobs = Vec::new();
        let mut scanned = HashSet::new();
        for planned in self.plan.shards[shard].weights.clone() {
            let weight = &self.plan.weights[planned];
            self.fixed(weight, &mut jobs)?;
            if !weight.is_computed() {
                continue;
            }
            let runs = self.runs(weight)?;
            match weight.global_group {
                Some(group) if scanned.insert(group) => self.scan_group(group, &mut jobs)?,
                None if needs_scan(weight) && runs.len() > 1 => {
                    jobs.extend(runs.iter().map(|part| scan(planned, part)));
                }
                _ => {}
            }
            let last = runs.len();
            jobs.extend(runs.into_iter().enumerate().map(|(i, part)| Job::Compute {
                planned,
                run: part.run,
                order: part.order,
                out: part.out,
                last: i + 1 == last,
            }));
        }
        Ok(jobs)
    }

    /// Largest number of bytes that any job of the plan holds at once, times the
    /// jobs in flight, and the planes of the largest weight that is held whole.
    pub(crate) fn peak_bytes(&self) -> Result<u64, ConvertError> {
        let (mut largest, mut planes) = (0, 0);
        for weight in &self.plan.weights {
            let bytes = if !weight.is_computed() {
                weight.bytes().min(self.job_bytes())
            } else {
                let runs = self.runs(weight)?;
                let longest = runs
                    .iter()
                    .map(|part| part.run.rows.len())
                    .max()
                    .unwrap_or(0);
                self.row_cost(weight, runs.first().map_or(0, |part| part.run.weight))
                    * longest as u64
            };
            let whole = self.whole_planes(weight);
            if whole > self.max_memory {
                return Err(ConvertError::Memory {
                    tensor: weight.name.clone(),
                    needed: whole,
                    limit: self.max_memory,
                });
            }
            largest = largest.max(bytes);
            planes = planes.max(whole);
        }
        Ok(largest * self.in_flight + planes + self.held)
    }

    /// Bytes of the planes that are in memory as a whole, because they leave or
    /// enter a runtime's layout: in rows, laid out, and back in rows.
    fn whole_planes(&self, weight: &PlannedWeight) -> u64 {
        let sources = weight
            .pieces
            .iter()
            .map(|p| &self.weights.catalog.weights[p.weight]);
        let laid_out = sources.filter(|w| w.layout != ScaleLayout::Linear);
        let read: u64 = laid_out
            .flat_map(|w| &w.parts)
            .map(|part| 2 * self.weights.checkpoint.tensors[part.tensor].bytes())
            .sum();
        let written = if weight.layout == ScaleLayout::Linear {
            0
        } else {
            3 * weight.bytes()
        };
        read + written
    }

    fn scan_group(&self, group: usize, jobs: &mut Vec<Job>) -> Result<(), ConvertError> {
        for &planned in self.groups.get(&group).into_iter().flatten() {
            let runs = self.runs(&self.plan.weights[planned])?;
            jobs.extend(runs.iter().map(|part| scan(planned, part)));
        }
        Ok(())
    }

    /// The tensors of a weight that its step does not compute.
    fn fixed(&self, weight: &PlannedWeight, jobs: &mut Vec<Job>) -> Result<(), ConvertError> {
        for tensor in &weight.tensors {
            match &tensor.origin {
                Origin::Computed => {}
                Origin::Copied(ranges) => self.copy(ranges, tensor.range.start, jobs)?,
                Origin::Reciprocal(source) => {
                    jobs.push(Job::Reciprocal {
                        tensor: *source,
                        to: tensor.range.start,
                    });
                }
                Origin::Ones => jobs.push(Job::Ones {
                    to: tensor.range.clone(),
                }),
                Origin::Given(bytes) => jobs.push(Job::Given {
                    bytes: bytes.clone(),
                    to: tensor.range.start,
                }),
            }
        }
        Ok(())
    }

    fn copy(
        &self,
        ranges: &[SourceBytes],
        mut to: u64,
        jobs: &mut Vec<Job>,
    ) -> Result<(), ConvertError> {
        for from in ranges {
            let tensor = &self.weights.checkpoint.tensors[from.tensor];
            if from.range.end > tensor.bytes() {
                return Err(ConvertError::OutsideTensor {
                    tensor: tensor.name.clone(),
                });
            }
            let mut offset = tensor.range.start + from.range.start;
            let end = tensor.range.start + from.range.end;
            while offset < end {
                let wanted = FileRange {
                    shard: tensor.shard,
                    offset,
                    len: end - offset,
                    to,
                    through: Through::Memory,
                };
                let taken = self.add_copy(wanted, jobs);
                offset += taken;
                to += taken;
            }
        }
        Ok(())
    }

    /// Adds a copy of the first bytes of a range, to the last job where they follow upon its own.
    /// Returns how many.
    fn add_copy(&self, wanted: FileRange, jobs: &mut Vec<Job>) -> u64 {
        let small = SMALL_COPY.min(self.job_bytes());
        let follows = |last: &FileRange| {
            last.shard == wanted.shard
                && last.offset + last.len == wanted.offset
                && last.to + last.len == wanted.to
        };
        if let Some(Job::Copy(last)) = jobs.last_mut()
            && last.through == Through::Memory
            && follows(last)
            && last.len + wanted.len <= small
        {
            last.len += wanted.len;
            return wanted.len;
        }
        let by_system = wanted.len > small && self.weights.source.file(wanted.shard).is_some();
        let (through, most) = match by_system {
            true => (Through::System, LARGEST_JOB),
            false => (Through::Memory, self.job_bytes()),
        };
        let len = wanted.len.min(most);
        jobs.push(Job::Copy(FileRange {
            len,
            through,
            ..wanted
        }));
        len
    }

    /// The runs of a planned weight, each with the place of its rows.
    fn runs(&self, weight: &PlannedWeight) -> Result<Vec<Part>, ConvertError> {
        let out_rows = blockscale_model::catalog::Matrices::of(&weight.shape)
            .shape
            .rows
            .max(1);
        let mut runs = Vec::new();
        let mut done = 0;
        for piece in &weight.pieces {
            let matrix_rows = self.weights.catalog.weights[piece.weight]
                .matrices()
                .shape
                .rows;
            let step = self.rows_per_run(weight, piece.weight)?;
            let mut row = piece.rows.start;
            while row < piece.rows.end {
                let matrix = row / matrix_rows;
                let first = row % matrix_rows;
                let out_first = done % out_rows;
                let count = step
                    .min(piece.rows.end - row)
                    .min(matrix_rows - first)
                    .min(out_rows - out_first);
                let run = Run {
                    weight: piece.weight,
                    matrix,
                    rows: first..first + count,
                };
                let out = OutRows {
                    matrix: done / out_rows,
                    rows: out_first..out_first + count,
                };
                runs.push(Part {
                    run,
                    order: piece.order,
                    out,
                });
                row += count;
                done += count;
            }
        }
        Ok(runs)
    }

    /// Rows of a run: as many as the memory limit holds, in whole blocks of both sides.
    fn rows_per_run(&self, weight: &PlannedWeight, source: usize) -> Result<usize, ConvertError> {
        let catalog_weight = &self.weights.catalog.weights[source];
        let matrix = catalog_weight.matrices().shape;
        let align = [
            catalog_weight.encoding,
            weight.step.result(&catalog_weight.encoding),
        ]
        .iter()
        .map(|encoding| alignment(encoding, matrix.rows))
        .fold(1, least_common_multiple)
        .min(matrix.rows.max(1));
        let cost = self.row_cost(weight, source).max(1);
        let rows = usize::try_from(self.job_bytes() / cost).unwrap_or(usize::MAX);
        if rows >= align {
            return Ok(rows / align * align);
        }
        let smallest = cost * align as u64;
        let needed = smallest * self.in_flight + self.held;
        if needed > self.max_memory {
            return Err(ConvertError::Memory {
                tensor: weight.name.clone(),
                needed,
                limit: self.max_memory,
            });
        }
        Ok(align)
    }

    /// Bytes in memory for one row: source, f32 values, output, and the f32
    /// values of the output decoded again.
    fn row_cost(&self, weight: &PlannedWeight, source: usize) -> u64 {
        let from = &self.weights.catalog.weights[source];
        let cols = from.matrices().shape.cols;
        let stored = |encoding| stored_row_bytes(encoding, cols);
        // Rows that are picked out of others are read with those between them.
        let moved = weight.pieces.iter().any(|piece| piece.order.is_some());
        let reads = if moved { 3 } else { 1 };
        (reads * stored(&from.encoding) + stored(&weight.step.result(&from.encoding)) + 8 * cols)
            as u64
    }
}

fn scan(planned: usize, part: &Part) -> Job {
    Job::Scan {
        planned,
        run: part.run.clone(),
        order: part.order,
    }
}

/// Whether scales wait for something that only the whole weight tells.
pub(crate) fn needs_scan(weight: &PlannedWeight) -> bool {
    match &weight.step {
        Step::Encode { to, .. } => has_global(to) || to.block == Block::Tensor,
        Step::CastMxfp4 { to } => has_global(to),
        _ => false,
    }
}

pub(crate) fn least_common_multiple(a: usize, b: usize) -> usize {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}
