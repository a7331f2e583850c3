//! Codes to numbers, numbers to codes, and codes to codes.

use blockscale::decode::{self, decode_rows};
use blockscale::encode::{amax, encode_rows, global_scale};
use blockscale::layout::Stack;
use blockscale::transcode::nvfp4_to_fp8_block_ue8m0;
use blockscale::{Format, Shape, bf16};
use blockscale_convert::Buffer;
use rayon::prelude::*;

use super::{Bench, BenchError, Operation, SHAPE, Threads, count, each, filled, kept};
use crate::cases::{self, Content};
use crate::numbers::{Kind, Numbers};
use crate::random::Random;

/// Formats, with the bars of decoding and of encoding.
const FORMATS: [(Format, Option<f64>, Option<f64>); 6] = [
    (Format::NVFP4, Some(1.1), Some(0.5)),
    (Format::MXFP4, Some(1.1), None),
    (Format::MXFP8_E4M3, Some(0.9), Some(0.5)),
    (Format::FP8_BLOCK, Some(0.9), Some(0.5)),
    (Format::FP8_BLOCK_UE8M0, Some(0.9), None),
    (Format::FP8_CHANNEL, None, None),
];

/// A matrix in a block format.
struct Stored {
    codes: Buffer,
    scales: Buffer,
}

impl Stored {
    fn random(format: &Format, random: &mut Random) -> Result<Self, BenchError> {
        let rows = cases::rows(format, Stack::single(SHAPE), random);
        Ok(Self {
            codes: filled(&rows.codes)?,
            scales: filled(&rows.scales)?,
        })
    }

    fn bytes(&self) -> usize {
        self.codes.len() + self.scales.len()
    }
}

/// Numbers like a weight's.
fn weight(random: &mut Random) -> Result<Buffer, BenchError> {
    let mut weight = kept(2 * count(SHAPE))?;
    if let Numbers::Bf16(pattern) = Content::Usual.numbers(Kind::Bf16, 1 << 20, random) {
        let pattern: &[u8] = bytemuck::cast_slice(&pattern);
        for part in weight.chunks_exact_mut(pattern.len()) {
            part.copy_from_slice(pattern);
        }
    }
    Ok(weight)
}

/// Rows and bytes of a part.
struct Part {
    shape: Shape,
    codes: usize,
    scales: usize,
}

impl Part {
    fn of(format: &Format, threads: Threads) -> Self {
        let shape = Shape::new(threads.rows(SHAPE), SHAPE.cols);
        // The shape is one that fits in memory.
        Self {
            shape,
            codes: format.code_bytes(shape).unwrap_or(1),
            scales: format.scale_bytes(shape).unwrap_or(1),
        }
    }
}

fn size() -> String {
    format!("{}x{}", SHAPE.rows, SHAPE.cols)
}

pub(super) fn measure(bench: &mut Bench) -> Result<(), BenchError> {
    let weight = weight(&mut bench.random)?;
    for (format, decoding, encoding) in FORMATS {
        let mut stored = Stored::random(&format, &mut bench.random)?;
        decode(bench, &format, &stored, decoding)?;
        encode(bench, &format, &weight, &mut stored, encoding)?;
    }
    drop(weight);
    nvfp4_to_fp8(bench)
}

fn nvfp4_to_fp8(bench: &mut Bench) -> Result<(), BenchError> {
    let (from, to) = (Format::NVFP4, Format::FP8_BLOCK_UE8M0);
    let stored = Stored::random(&from, &mut bench.random)?;
    let mut made = Stored::random(&to, &mut bench.random)?;
    let bytes = stored.bytes() + made.bytes();
    let run = |threads| {
        let (source, part) = (Part::of(&from, threads), Part::of(&to, threads));
        each(
            made.codes
                .par_chunks_mut(part.codes)
                .zip(made.scales.par_chunks_mut(part.scales))
                .zip(stored.codes.par_chunks(source.codes))
                .zip(stored.scales.par_chunks(source.scales)),
            |(((out, out_scales), codes), scales)| {
                let global = 0.01;
                let rows = decode::Rows {
                    codes,
                    scales,
                    global,
                };
                nvfp4_to_fp8_block_ue8m0(&from, part.shape, rows, out, out_scales)
            },
        )
    };
    bench.measure(Operation {
        name: format!("{from} -> {to}"),
        size: size(),
        bytes,
        bar: Some(0.5),
        run: Box::new(run),
    })
}

fn decode(
    bench: &mut Bench,
    format: &Format,
    stored: &Stored,
    bar: Option<f64>,
) -> Result<(), BenchError> {
    let mut out = kept(2 * count(SHAPE))?;
    let run = |threads| {
        let part = Part::of(format, threads);
        let out: &mut [bf16] = bytemuck::cast_slice_mut(&mut out);
        each(
            out.par_chunks_mut(count(part.shape))
                .zip(stored.codes.par_chunks(part.codes))
                .zip(stored.scales.par_chunks(part.scales)),
            |((out, codes), scales)| {
                let global = 0.01;
                let rows = decode::Rows {
                    codes,
                    scales,
                    global,
                };
                decode_rows(format, part.shape, rows, out)
            },
        )
    };
    bench.measure(Operation {
        name: format!("{format} -> BF16"),
        size: size(),
        bytes: stored.bytes() + 2 * count(SHAPE),
        bar,
        run: Box::new(run),
    })
}

fn encode(
    bench: &mut Bench,
    format: &Format,
    weight: &Buffer,
    stored: &mut Stored,
    bar: Option<f64>,
) -> Result<(), BenchError> {
    let bytes = stored.bytes() + 2 * count(SHAPE);
    let weight: &[bf16] = bytemuck::cast_slice(weight);
    let global = global_scale(format, amax(weight));
    let run = |threads| {
        let part = Part::of(format, threads);
        each(
            weight
                .par_chunks(count(part.shape))
                .zip(stored.codes.par_chunks_mut(part.codes))
                .zip(stored.scales.par_chunks_mut(part.scales)),
            |((weight, codes), scales)| {
                let rule = format.default_rule();
                encode_rows(format, rule, part.shape, weight, global, codes, scales)
            },
        )
    };
    bench.measure(Operation {
        name: format!("BF16 -> {format}"),
        size: size(),
        bytes,
        bar,
        run: Box::new(run),
    })
}
