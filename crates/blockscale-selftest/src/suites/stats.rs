//! Sums of errors, histograms, and plain numbers in another width.

use blockscale::format::Packing;
use blockscale::layout::Stack;
use blockscale::{Format, Shape};

use super::CORE;
use crate::cases::{self, Content};
use crate::engine::Engine;
use crate::numbers::{Kind, Numbers};
use crate::random::Random;
use crate::report::Report;

pub(super) fn run(engine: &dyn Engine, report: &mut Report) {
    let mut random = Random::new(5);
    sums(engine, report, &mut random);
    histograms(engine, report, &mut random);
    widths(engine, report, &mut random);
}

fn sums(engine: &dyn Engine, report: &mut Report, random: &mut Random) {
    let group = report.group("error sums");
    let shapes = [(1, 1), (3, 7), (65, 129), (200, 1000), (2, 40_000)];
    for (rows, cols) in shapes {
        let shape = Shape::new(rows, cols);
        for content in Content::ALL {
            let values = content.numbers(Kind::F32, rows * cols, random).widened();
            let near = values.iter().map(|x| match random.below(9) {
                0 => f32::NAN,
                1 => f32::INFINITY,
                2 => *x,
                _ => x + random.normal() * 0.01 * x.abs(),
            });
            let output: Vec<f32> = near.collect();
            let sums = |engine: &dyn Engine| engine.error_stats(shape, &values, &output);
            let what = || format!("{content:?} {rows}x{cols}");
            group.compare(what, sums(engine), &sums(&CORE));
            let same = |engine: &dyn Engine| engine.error_stats(shape, &values, &values);
            group.compare(|| format!("{content:?}, equal"), same(engine), &same(&CORE));
        }
    }
}

fn histograms(engine: &dyn Engine, report: &mut Report, random: &mut Random) {
    let group = report.group("histograms");
    let dense = |format: &Format| format.packing == Packing::Dense;
    for format in cases::formats().into_iter().filter(dense) {
        for stack in [cases::LARGE, Stack::new(2, Shape::new(17, 131))] {
            let rows = cases::rows(&format, stack, random);
            let count = |engine: &dyn Engine| engine.histogram_codes(&format, stack, &rows.codes);
            let what = || format!("codes of {format} {stack:?}");
            group.compare(what, count(engine), &count(&CORE));
        }
    }
    for kind in Kind::ALL {
        for content in Content::ALL {
            let values = content.numbers(kind, 100_003, random);
            let count = |engine: &dyn Engine| engine.histogram_exponents(&values);
            let what = || format!("exponents of {} {content:?}", kind.name());
            group.compare(what, count(engine), &count(&CORE));
        }
    }
}

fn widths(engine: &dyn Engine, report: &mut Report, random: &mut Random) {
    let group = report.group("widen and narrow");
    for kind in [Kind::Bf16, Kind::F16] {
        if let Some(values) = cases::every_number(kind) {
            let widen = |engine: &dyn Engine| engine.widen(&values);
            let what = || format!("every {}", kind.name());
            group.compare(what, widen(engine), &widen(&CORE));
        }
        let ties = Numbers::rounded(kind, &bits(random, 1 << 16)).widened();
        let halves = ties.iter().map(|x| f32::from_bits(x.to_bits() | 1 << 15));
        for values in [halves.collect(), bits(random, 200_001)] {
            let narrow = |engine: &dyn Engine| engine.narrow(&values, kind);
            let what = || format!("F32 to {}", kind.name());
            group.compare(what, narrow(engine), &narrow(&CORE));
        }
    }
}

/// F32 of any bits.
fn bits(random: &mut Random, len: usize) -> Vec<f32> {
    (0..len)
        .map(|_| f32::from_bits(random.next() as u32))
        .collect()
}
