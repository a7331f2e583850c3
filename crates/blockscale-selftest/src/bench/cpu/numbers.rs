//! What is counted and summed over numbers.

use blockscale::encode::amax;
use blockscale::stats::ErrorStats;
use blockscale::{Shape, bf16};
use rayon::prelude::*;

use super::{Bench, BenchError, Operation, Threads, count, each, kept};
use crate::cases::Content;
use crate::numbers::{Kind, Numbers};

/// 64 MiB of F32 on either side.
const SHAPE: Shape = Shape::new(2048, 8192);

pub(super) fn measure(bench: &mut Bench) -> Result<(), BenchError> {
    let mut reference = kept(4 * count(SHAPE))?;
    if let Numbers::F32(pattern) = Content::Usual.numbers(Kind::F32, 1 << 20, &mut bench.random) {
        let pattern: &[u8] = bytemuck::cast_slice(&pattern);
        for part in reference.chunks_exact_mut(pattern.len()) {
            part.copy_from_slice(pattern);
        }
    }
    let reference: &[f32] = bytemuck::cast_slice(&reference);
    let mut output = kept(4 * count(SHAPE))?;
    let output: &mut [f32] = bytemuck::cast_slice_mut(&mut output);
    for (output, value) in output.iter_mut().zip(reference) {
        *output = bf16::from_f32(*value).to_f32();
    }
    let output: &[f32] = output;
    let size = format!("{}x{}", SHAPE.rows, SHAPE.cols);
    let part = |threads: Threads| threads.rows(SHAPE) * SHAPE.cols;
    let errors = |threads| {
        let part = part(threads);
        let pairs = reference.par_chunks(part).zip(output.par_chunks(part));
        each(pairs, |(reference, output)| {
            let mut rows = vec![ErrorStats::new(); reference.len() / SHAPE.cols];
            ErrorStats::of_rows(SHAPE.cols, reference, output, &mut rows)?;
            std::hint::black_box(rows);
            Ok::<(), blockscale::LenMismatch>(())
        })
    };
    bench.measure(Operation {
        name: "errors of F32 against F32".to_owned(),
        size: size.clone(),
        bytes: 8 * count(SHAPE),
        bar: None,
        run: Box::new(errors),
    })?;
    let largest = |threads| {
        each(reference.par_chunks(part(threads)), |values| {
            std::hint::black_box(amax(values));
            Ok::<(), String>(())
        })
    };
    bench.measure(Operation {
        name: "amax of F32".to_owned(),
        size,
        bytes: 4 * count(SHAPE),
        bar: None,
        run: Box::new(largest),
    })
}
