//! Runs on CUDA devices: each goes up, through its step, is compared with its source, and comes down,
//! while others are on their way.

mod check;
mod numbers;
mod step;

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use blockscale::format::Block;
use blockscale_cuda::{CudaError, Device, Pool, PoolOptions, Slot};
use blockscale_model::Dtype;
use blockscale_model::catalog::{Encoding, Weight};
use blockscale_model::plan::Step;

use super::{CudaDevices, Outcome, Task, Ticket, Want, cpu};
use crate::ConvertError;
use crate::memory::Buffers;
use crate::transform::{CastBlocks, LISTED_NANS, Planes, TensorScales, Transformed};
use crate::weights::{RunBytes, alignment, codes_of, plain_row_bytes, scale_range};

/// Runs on a device at a time, at most: more gains nothing.
const SLOTS: usize = 8;

/// The devices of a conversion.
pub(super) struct Devices {
    pool: Pool,
    pinned_bytes: u64,
}

impl fmt::Display for Devices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, device) in self.pool.devices().iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            write!(f, "{comma}{}", device.name())?;
        }
        Ok(())
    }
}

impl Devices {
    pub(super) fn open(which: CudaDevices, max_memory: u64) -> Result<Self, CudaError> {
        let ordinals = match which {
            CudaDevices::One(ordinal) => ordinal..ordinal + 1,
            CudaDevices::All => 0..Device::count()?.max(1),
        };
        let devices = ordinals
            .map(|ordinal| Device::open(ordinal).map(Arc::new))
            .collect::<Result<Vec<_>, _>>()?;
        // Each slot's thread copies; the processor has as many hands.
        let threads = std::thread::available_parallelism().map_or(SLOTS, usize::from);
        let slots_per_device = (threads / devices.len()).clamp(2, SLOTS);
        let slots = slots_per_device * devices.len();
        let mut options = PoolOptions {
            slots_per_device,
            ..PoolOptions::default()
        };
        // An eighth of the memory at most is page-locked, in pieces of 64 KiB at least.
        let share = usize::try_from(max_memory / 8).unwrap_or(usize::MAX);
        while slots * options.pinned_bytes() > share && options.piece_bytes > 64 << 10 {
            options.piece_bytes /= 2;
        }
        let pinned_bytes = (slots * options.pinned_bytes()) as u64;
        let pool = Pool::new(devices, options)?;
        Ok(Self { pool, pinned_bytes })
    }

    pub(super) fn in_flight(&self) -> usize {
        self.pool.slots()
    }

    /// Page-locked memory: files are read into it, and written from it, without another copy.
    pub(super) fn buffers(&self, limit: u64) -> Buffers {
        match self.pool.devices().first() {
            Some(device) => Buffers::page_locked(limit, Arc::clone(device)),
            None => Buffers::new(limit),
        }
    }

    pub(super) fn pinned_bytes(&self) -> u64 {
        self.pinned_bytes
    }

    pub(super) fn begin(&self, task: Task) -> Ticket {
        if !has_kernels(&task) {
            return Ticket::Done(Box::new(cpu::run(task)));
        }
        Ticket::Device(self.pool.run(move |slot| work(slot, task)))
    }
}

/// Whether the devices can do any of it.
fn has_kernels(task: &Task) -> bool {
    let numbers = match task.weight.encoding {
        Encoding::Plain(dtype) => matches!(dtype, Dtype::F32 | Dtype::BF16 | Dtype::F16),
        Encoding::Block(_) => true,
        Encoding::Grouped(_) | Encoding::Ggml(_) => false,
    };
    let shape = task.shape();
    numbers && shape.rows > 0 && shape.cols > 0 && !matches!(task.step, Step::EncodeInt { .. })
}

fn work(slot: &mut Slot, task: Task) -> Result<Outcome, ConvertError> {
    let rows = 0..task.run.rows.len();
    let outcome = match task.want {
        Want::Largest => largest(slot, &task, rows).map(Outcome::Largest),
        Want::Transformed(scales) => scales
            .resolve(&task, || largest(slot, &task, rows.clone()))
            .and_then(|scales| {
                let done = transformed(slot, &task, scales, rows)?;
                Ok(Outcome::Transformed(Box::new(done), scales))
            }),
    };
    match outcome {
        Err(error) if is_for_the_cpu(&error) => cpu::run(task),
        outcome => Ok(outcome?),
    }
}

/// What there is no kernel for, what is refused (the processor finds the words for it), and a single
/// block of rows for which the device has no room.
fn is_for_the_cpu(error: &CudaError) -> bool {
    matches!(
        error,
        CudaError::NotOnDevice { .. } | CudaError::Transcode(_) | CudaError::OutOfMemory
    )
}

/// The middle of some rows of a run, where it can be cut.
fn middle(task: &Task, rows: &Range<usize>) -> Option<usize> {
    let matrix = task.weight.matrices().shape.rows;
    let result = task.step.result(&task.weight.encoding);
    let block = alignment(&task.weight.encoding, matrix).max(alignment(&result, matrix));
    let middle = rows.start + rows.len() / 2 / block * block;
    (middle > rows.start && middle < rows.end).then_some(middle)
}

fn largest(slot: &mut Slot, task: &Task, rows: Range<usize>) -> Result<f32, CudaError> {
    let found = numbers::largest(slot, &task.weight, &part(task, &rows));
    match (found, middle(task, &rows)) {
        (Err(CudaError::OutOfMemory), Some(middle)) => {
            let first = largest(slot, task, rows.start..middle)?;
            Ok(first.max(largest(slot, task, middle..rows.end)?))
        }
        (found, _) => found,
    }
}

fn transformed(
    slot: &mut Slot,
    task: &Task,
    scales: TensorScales,
    rows: Range<usize>,
) -> Result<Transformed, CudaError> {
    let done = step::apply(slot, task, &part(task, &rows), scales);
    match (done, middle(task, &rows)) {
        (Err(CudaError::OutOfMemory), Some(middle)) => {
            let first = transformed(slot, task, scales, rows.start..middle)?;
            let second = transformed(slot, task, scales, middle..rows.end)?;
            let result = task.step.result(&task.weight.encoding);
            Ok(joined(&result, first, second, middle - rows.start))
        }
        (done, _) => done,
    }
}

/// Two parts of a run, of which the second begins at row `first_row` of the first.
fn joined(
    result: &Encoding,
    mut first: Transformed,
    second: Transformed,
    first_row: usize,
) -> Transformed {
    let Planes { codes, scales, .. } = second.planes;
    first.planes.codes = [&first.planes.codes[..], &codes].concat().into();
    let shared = matches!(result, Encoding::Block(format) if format.block == Block::Tensor);
    if !shared {
        first.planes.scales = [&first.planes.scales[..], &scales].concat().into();
    }
    first.stats.extend(second.stats);
    let nans = second.nans.into_iter();
    first
        .nans
        .extend(nans.map(|[row, col]| [first_row + row, col]));
    first.nans.truncate(LISTED_NANS);
    if let (Some(blocks), Some(more)) = (&mut first.blocks, second.blocks) {
        CastBlocks::add(blocks, more);
    }
    first
}

/// Some rows of a run.
struct Part<'a> {
    rows: usize,
    cols: usize,
    codes: &'a [u8],
    scales: &'a [u8],
    global: f32,
}

fn part<'a>(task: &'a Task, rows: &Range<usize>) -> Part<'a> {
    let shape = task.shape();
    let RunBytes { codes, scales, .. } = &task.bytes;
    let (code_place, scale_place) = match &task.weight.encoding {
        Encoding::Plain(dtype) => {
            let row = plain_row_bytes(*dtype, shape.cols);
            (rows.start * row..rows.end * row, 0..0)
        }
        Encoding::Block(format) => (
            codes_of(format, shape.cols, rows),
            scale_range(format, shape, 0, rows),
        ),
        // They have no kernels.
        Encoding::Grouped(_) | Encoding::Ggml(_) => (0..0, 0..0),
    };
    Part {
        rows: rows.len(),
        cols: shape.cols,
        codes: codes.get(code_place).unwrap_or_default(),
        scales: scales.get(scale_place).unwrap_or_default(),
        global: task.bytes.global,
    }
}

/// The type of plain numbers, `None` of codes.
fn plain(weight: &Weight) -> Option<Dtype> {
    match weight.encoding {
        Encoding::Plain(dtype) => Some(dtype),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use blockscale::Format;
    use blockscale_model::catalog::{Axes, GateUp, Weight};
    use blockscale_model::recipe::EncodeBy;

    use super::*;
    use crate::backend::ScalesOf;
    use crate::weights::Run;

    const COLS: usize = 160;

    /// BF16 with a NaN in row 129, all of its rows in one run.
    fn task(step: Step, rows: usize) -> Task {
        let value = |i: usize| match i {
            i if i == 129 * COLS + 7 => 0x7fc0,
            i => 0x3c00_u16 + (i * 37 % 512) as u16,
        };
        let codes = (0..rows * COLS).flat_map(|i| value(i).to_le_bytes());
        Task {
            weight: Weight {
                name: "w".to_owned(),
                shape: vec![rows, COLS],
                encoding: Encoding::Plain(Dtype::BF16),
                parts: Vec::new(),
                layout: blockscale::layout::ScaleLayout::Linear,
                gate_up: GateUp::default(),
                axes: Axes::default(),
                members: Vec::new(),
            },
            step,
            run: Run {
                weight: 0,
                matrix: 0,
                rows: 0..rows,
            },
            bytes: RunBytes {
                codes: codes.collect::<Vec<u8>>().into(),
                global: 1.0,
                ..RunBytes::default()
            },
            want: Want::Transformed(ScalesOf::Run(Encoding::Plain(Dtype::BF16))),
            buffers: Buffers::NONE,
        }
    }

    fn on_cpu(task: &Task) -> (Transformed, TensorScales) {
        match cpu::run(task.clone()).unwrap() {
            Outcome::Transformed(done, scales) => (*done, scales),
            Outcome::Largest(_) => panic!("more was wanted"),
        }
    }

    #[test]
    fn a_run_that_is_cut_in_halves_comes_out_as_if_it_were_not() {
        let formats = [Format::NVFP4, Format::FP8_BLOCK_UE8M0, Format::FP8_TENSOR];
        for to in formats {
            let by = EncodeBy::Rule(to.default_rule());
            let whole = task(Step::Encode { to, by }, 300);
            let (expected, scales) = on_cpu(&whole);
            let rows = 0..300;
            let cut = middle(&whole, &rows).unwrap();
            let half = |rows: Range<usize>| {
                let Part { codes, .. } = part(&whole, &rows);
                let bytes = RunBytes {
                    codes: codes.to_vec().into(),
                    global: 1.0,
                    ..RunBytes::default()
                };
                let run = Run {
                    weight: 0,
                    matrix: 0,
                    rows,
                };
                let want = Want::Transformed(ScalesOf::Weight(scales));
                on_cpu(&Task {
                    run,
                    bytes,
                    want,
                    ..task(whole.step, 300)
                })
                .0
            };
            let found = joined(&Encoding::Block(to), half(0..cut), half(cut..300), cut);
            assert_eq!(found.planes.codes[..], expected.planes.codes[..], "{to}");
            assert_eq!(found.planes.scales[..], expected.planes.scales[..], "{to}");
            assert_eq!(found.stats, expected.stats, "{to}");
            assert_eq!(
                (found.nans, &expected.nans[..]),
                (vec![[129, 7]], &[[129, 7]][..])
            );
        }
    }

    #[test]
    fn a_run_is_cut_between_blocks_and_one_block_not_at_all() {
        let to = Format::FP8_BLOCK;
        let by = EncodeBy::Rule(to.default_rule());
        let run = task(Step::Encode { to, by }, 300);
        assert_eq!(middle(&run, &(0..300)), Some(128));
        assert_eq!(middle(&run, &(128..300)), None);
        assert_eq!(middle(&run, &(0..128)), None);
    }
}
