//! The core, in all threads, beside a copy in all threads.

use std::time::Instant;

use blockscale::decode::{self, decode_rows};
use blockscale::encode::{amax, encode_rows, global_scale};
use blockscale::{Format, Shape, bf16};
use rayon::prelude::*;

use super::{BenchReport, BenchRow, median};
use crate::cases::{self, Content};
use crate::numbers::{Kind, Numbers};
use crate::random::Random;

const SHAPE: Shape = Shape::new(4096, 8192);
/// Rows of a task: whole blocks.
const ROWS: usize = 128;
const RUNS: usize = 5;
const COPY: &str = "copy in memory";

fn time(mut run: impl FnMut()) -> f64 {
    run();
    let once = |_| {
        let begun = Instant::now();
        run();
        begun.elapsed().as_secs_f64()
    };
    median((0..RUNS).map(once).collect())
}

pub(super) fn bench() -> BenchReport {
    let threads = rayon::current_num_threads();
    let size = format!("{}x{}", SHAPE.rows, SHAPE.cols);
    let mut random = Random::new(6);
    let elements = SHAPE.rows * SHAPE.cols;
    let mut rows = Vec::new();

    let from = random.bytes(4 * elements);
    let mut to = vec![0_u8; 4 * elements];
    let part = 1 << 20;
    let seconds = time(|| {
        to.par_chunks_mut(part)
            .zip(from.par_chunks(part))
            .for_each(|(to, from)| to.copy_from_slice(from));
    });
    let copy = BenchRow::new(COPY, size.clone(), 8 * elements, seconds);
    let rate = copy.bytes_per_second;
    rows.push(copy);

    let formats = [
        Format::NVFP4,
        Format::MXFP4,
        Format::MXFP8_E4M3,
        Format::FP8_BLOCK,
        Format::FP8_BLOCK_UE8M0,
    ];
    let pattern = Content::Usual.numbers(Kind::Bf16, 1 << 20, &mut random);
    let Numbers::Bf16(pattern) = pattern else {
        return BenchReport {
            engine: String::new(),
            rows,
        };
    };
    let weight: Vec<bf16> = pattern.iter().copied().cycle().take(elements).collect();
    let mut out = vec![bf16::ZERO; elements];
    for format in formats {
        let part = Shape::new(ROWS, SHAPE.cols);
        let code_bytes = format.code_bytes(part).unwrap_or(1);
        let scale_bytes = format.scale_bytes(part).unwrap_or(1);
        let stored = cases::rows(
            &format,
            blockscale::layout::Stack::single(SHAPE),
            &mut random,
        );
        let bytes = stored.codes.len() + stored.scales.len() + 2 * elements;
        let values = ROWS * SHAPE.cols;
        let seconds = time(|| {
            out.par_chunks_mut(values)
                .zip(stored.codes.par_chunks(code_bytes))
                .zip(stored.scales.par_chunks(scale_bytes))
                .for_each(|((out, codes), scales)| {
                    let global = 0.01;
                    let rows = decode::Rows {
                        codes,
                        scales,
                        global,
                    };
                    // The sizes are those of the format.
                    let _ = decode_rows(&format, part, rows, out);
                });
        });
        let row = BenchRow::new(&format!("{format} -> BF16"), size.clone(), bytes, seconds);
        rows.push(row.beside(COPY, rate, None));

        let (mut codes, mut scales) = (stored.codes, stored.scales);
        let global = global_scale(&format, amax(&pattern));
        let rule = format.default_rule();
        let seconds = time(|| {
            weight
                .par_chunks(values)
                .zip(codes.par_chunks_mut(code_bytes))
                .zip(scales.par_chunks_mut(scale_bytes))
                .for_each(|((weight, codes), scales)| {
                    let _ = encode_rows(&format, rule, part, weight, global, codes, scales);
                });
        });
        let row = BenchRow::new(&format!("BF16 -> {format}"), size.clone(), bytes, seconds);
        rows.push(row.beside(COPY, rate, None));
    }
    BenchReport {
        engine: format!("CPU, {threads} threads"),
        rows,
    }
}
