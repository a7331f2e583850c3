//! From this machine's memory to this machine's memory, beside page-locked copies of the same bytes in
//! both directions at once: from page-locked memory, as a conversion does, and from ordinary memory.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;
use std::time::Instant;

use blockscale::encode::Scheme;
use blockscale::layout::Stack;
use blockscale::{Format, Shape, bf16};
use blockscale_cuda::cudarc::driver::CudaSlice;
use blockscale_cuda::{
    CudaError, Device, DeviceRows, DeviceRowsMut, Global, PageLocked, Pool, PoolOptions, Slot,
    Ticket,
};

use super::{BenchRow, median};
use crate::random::Random;

/// Rows and columns of a job, and how many jobs there are: a billion elements.
const JOB: Shape = Shape::new(512, 8192);
const JOBS: usize = 256;
const RUNS: usize = 5;
const LIMIT: &str = "page-locked copies both ways";

/// What a conversion takes from memory and brings back, for one job.
#[derive(Clone, Copy)]
enum Conversion {
    Decode(Format),
    Encode(Format),
}

impl Conversion {
    fn name(self) -> String {
        match self {
            Self::Decode(format) => format!("{format} -> BF16, host to host"),
            Self::Encode(format) => format!("BF16 -> {format}, host to host"),
        }
    }

    /// Bytes up and down.
    fn bytes(self) -> [usize; 2] {
        let (Self::Decode(format) | Self::Encode(format)) = self;
        let stored = format.code_bytes(JOB).unwrap_or(0) + format.scale_bytes(JOB).unwrap_or(0);
        let plain = 2 * JOB.rows * JOB.cols;
        match self {
            Self::Decode(_) => [stored, plain],
            Self::Encode(_) => [plain, stored],
        }
    }

    fn run(self, slot: &mut Slot, from: &[u8], to: &mut [u8]) -> Result<(), CudaError> {
        let (device, stream) = (Arc::clone(slot.device()), Arc::clone(slot.stream()));
        let stack = Stack::single(JOB);
        let global = stream.clone_htod(&[0.003_f32])?;
        let global = Global::Shared(global.as_view());
        match self {
            Self::Decode(format) => {
                let up = slot.upload::<u8>(from)?;
                let (codes, scales) = up.split_at(format.code_bytes(JOB).unwrap_or(0));
                let rows = DeviceRows {
                    codes,
                    scales,
                    global,
                };
                let mut out = slot.alloc::<bf16>(to.len() / 2)?;
                device.decode_rows(&stream, &format, stack, &rows, &mut out.as_view_mut())?;
                slot.download(&out.as_view(), to)
            }
            Self::Encode(format) => {
                let values = slot.upload::<bf16>(from)?;
                let code_bytes = format.code_bytes(JOB).unwrap_or(0);
                let mut out = slot.alloc::<u8>(to.len())?;
                let (codes, scales) = out.split_at_mut(code_bytes);
                let scheme = Scheme::from(format.default_rule());
                let mut rows = DeviceRowsMut { codes, scales };
                device.encode_rows_with(
                    &stream,
                    &format,
                    &scheme,
                    stack,
                    &values.as_view(),
                    &global,
                    &mut rows,
                )?;
                slot.download(&out.as_view(), to)
            }
        }
    }
}

pub(super) fn bench(device: &Arc<Device>) -> Result<Vec<BenchRow>, CudaError> {
    let threads = std::thread::available_parallelism().map_or(4, usize::from);
    let options = PoolOptions {
        slots_per_device: threads.clamp(2, 14),
        piece_bytes: 4 << 20,
    };
    let pool = Pool::new(vec![Arc::clone(device)], options)?;
    let size = format!("{JOBS} x {}x{}", JOB.rows, JOB.cols);
    let conversions = [
        Conversion::Decode(Format::NVFP4),
        Conversion::Encode(Format::NVFP4),
        Conversion::Encode(Format::FP8_BLOCK_UE8M0),
    ];
    let mut rows = Vec::new();
    for conversion in conversions {
        let [up, down] = conversion.bytes();
        let bytes = JOBS * (up + down);
        let limit = copies_both_ways(device, JOBS * up, JOBS * down)?;
        let name = conversion.name();
        let copies = format!("{LIMIT}, bytes of {name}");
        rows.push(BenchRow::new(&copies, size.clone(), bytes, limit));

        let seconds = through(&pool, conversion, |len| PageLocked::new(device, len))?;
        let row = BenchRow::new(&name, size.clone(), bytes, seconds);
        rows.push(row.beside(LIMIT, bytes as f64 / limit, Some(0.80)));

        let seconds = through(&pool, conversion, |len| Ok(vec![0xa5_u8; len]))?;
        let row = BenchRow::new(
            &format!("{name}, ordinary memory"),
            size.clone(),
            bytes,
            seconds,
        );
        rows.push(row.beside(LIMIT, bytes as f64 / limit, None));
    }
    Ok(rows)
}

/// Seconds to copy so many bytes up and so many down, both at once, in pieces of page-locked memory.
fn copies_both_ways(device: &Device, up: usize, down: usize) -> Result<f64, CudaError> {
    const PIECE: usize = 64 << 20;
    let context = device.context();
    let streams = [device.new_stream()?, device.new_stream()?];
    // SAFETY: both are written before they are read: one here, the other by the first copy.
    let mut from = unsafe { context.alloc_pinned_with_flags::<u8>(PIECE, 0) }?;
    // SAFETY: as above.
    let mut to = unsafe { context.alloc_pinned_with_flags::<u8>(PIECE, 0) }?;
    from.as_mut_slice()?.fill(0x5a);
    to.as_mut_slice()?.fill(0xa5);
    let mut above: CudaSlice<u8> = streams[0].alloc_zeros(PIECE)?;
    let below: CudaSlice<u8> = streams[1].alloc_zeros(PIECE)?;
    let mut seconds = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        streams[0].synchronize()?;
        streams[1].synchronize()?;
        let begun = Instant::now();
        let (mut to_go_up, mut to_go_down) = (up, down);
        while to_go_up > 0 || to_go_down > 0 {
            let part = to_go_up.min(PIECE);
            if part > 0 {
                let memory = &from.as_slice()?[..part];
                streams[0].memcpy_htod(memory, &mut above.slice_mut(0..part))?;
                to_go_up -= part;
            }
            let part = to_go_down.min(PIECE);
            if part > 0 {
                let memory = &mut to.as_mut_slice()?[..part];
                streams[1].memcpy_dtoh(&below.slice(0..part), memory)?;
                to_go_down -= part;
            }
        }
        streams[0].synchronize()?;
        streams[1].synchronize()?;
        seconds.push(begun.elapsed().as_secs_f64());
    }
    Ok(median(seconds))
}

/// Seconds for all jobs of a conversion, in memory that `take` gives and that is used again and again.
fn through<M>(
    pool: &Pool,
    conversion: Conversion,
    take: impl Fn(usize) -> Result<M, CudaError>,
) -> Result<f64, CudaError>
where
    M: Deref<Target = [u8]> + DerefMut + Send + Sync + 'static,
{
    let [up, down] = conversion.bytes();
    let mut random = Random::new(8);
    // Numbers near 0.02 as BF16; as codes and scales any bytes will do.
    let pattern: Vec<u8> = (0..up / 2)
        .flat_map(|_| bf16::from_f32(random.normal() * 0.02).to_le_bytes())
        .collect();
    let in_flight = 2 * pool.slots();
    let mut sources = Vec::with_capacity(in_flight);
    let mut outputs = Vec::with_capacity(in_flight);
    for _ in 0..in_flight {
        let mut source = take(up)?;
        source.fill(0x38);
        source[..pattern.len()].copy_from_slice(&pattern);
        sources.push(Arc::new(source));
        let mut output = take(down)?;
        // Touched here, so that no page is new to the clock.
        output.fill(0xa5);
        outputs.push(output);
    }
    let mut seconds = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        let begun = Instant::now();
        let mut tickets = VecDeque::with_capacity(in_flight);
        for job in 0..JOBS {
            if tickets.len() == in_flight
                && let Some(oldest) = tickets.pop_front()
            {
                outputs.push(finished(oldest)?);
            }
            let source = Arc::clone(&sources[job % in_flight]);
            let Some(mut output) = outputs.pop() else {
                break;
            };
            tickets.push_back(
                pool.run(move |slot| conversion.run(slot, &source, &mut output).map(|()| output)),
            );
        }
        for ticket in tickets {
            outputs.push(finished(ticket)?);
        }
        seconds.push(begun.elapsed().as_secs_f64());
    }
    Ok(median(seconds))
}

fn finished<M>(ticket: Ticket<Result<M, CudaError>>) -> Result<M, CudaError> {
    ticket.wait()?
}
