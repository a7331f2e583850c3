//! The table of what formats cost: signal to noise of each on three distributions.
//!
//! Weights are of 2048 x 2048 in BF16, 0.02 times the standard distribution.

use std::sync::OnceLock;
use std::thread;

use blockscale::decode::{Rows, decode_rows};
use blockscale::encode::{ScaleRule, Scheme, amax, encode_rows_with, global_scale_with};
use blockscale::ggml::{self, GgmlType};
use blockscale::int::{self, IntFormat, IntLayout, IntParts, IntPartsMut, IntRule};
use blockscale::stats::ErrorStats;
use blockscale::{Format, ScaleElement, Shape, bf16};

use crate::page;
use crate::random::{DISTRIBUTIONS, weight};

const SIDE: usize = 2048;
const SHAPE: Shape = Shape::new(SIDE, SIDE);

/// How far a figure may be from the published one, in decibels: other random numbers.
const TOLERANCE: f64 = 0.1;

/// How a weight is encoded.
enum How {
    Block(Format, Scheme),
    Ggml(GgmlType),
    /// INT4 in F32-scaled groups of columns.
    Int(IntLayout, usize, IntRule),
}

/// A line of the table.
struct Line {
    format: &'static str,
    rule: &'static str,
    how: How,
    /// Figures that others have published for other weights of the same distributions, in decibels.
    published: [f64; 3],
}

fn lines() -> Vec<Line> {
    let block = |format, rule, how: (Format, Scheme), published| {
        let how = How::Block(how.0, how.1);
        Line {
            format,
            rule,
            how,
            published,
        }
    };
    let by = |format: Format, rule: ScaleRule| (format, Scheme::from(rule));
    let amax = |format: Format| (format, Scheme::DEFAULT);
    let (floor, rceil) = (ScaleRule::Floor, ScaleRule::Rceil);
    let four_over_six = (Format::NVFP4, Scheme::FOUR_OVER_SIX);
    let symmetric = How::Int(IntLayout::CompressedTensors, 128, IntRule::SymmetricFull);
    let affine = How::Int(IntLayout::Mlx, 64, IntRule::MinMax);
    let other = |format, rule, how, published| Line {
        format,
        rule,
        how,
        published,
    };
    vec![
        block(
            "NVFP4",
            "`Amax`",
            amax(Format::NVFP4),
            [20.43, 20.66, 20.74],
        ),
        block(
            "",
            "`FourOverSix`, squared error",
            four_over_six,
            [21.22, 21.20, 21.22],
        ),
        block(
            "NVFP4, one level",
            "`Amax`",
            amax(Format::NVFP4_ONE_LEVEL),
            [19.73, 20.35, 20.42],
        ),
        block(
            "MXFP4",
            "`Rceil`",
            by(Format::MXFP4, rceil),
            [18.53, 17.59, 17.15],
        ),
        block(
            "",
            "`Floor`",
            by(Format::MXFP4, floor),
            [18.86, 18.00, 17.64],
        ),
        block(
            "",
            "`Even`",
            by(Format::MXFP4, ScaleRule::Even),
            [19.00, 18.15, 17.77],
        ),
        block(
            "",
            "`Nearest`",
            by(Format::MXFP4, ScaleRule::Nearest),
            [18.63, 17.60, 17.21],
        ),
        block(
            "MXFP6 E2M3",
            "`Floor`",
            by(Format::MXFP6_E2M3, floor),
            [31.03, 30.28, 29.99],
        ),
        block(
            "MXFP6 E3M2",
            "`Floor`",
            by(Format::MXFP6_E3M2, floor),
            [25.38, 25.25, 25.18],
        ),
        block(
            "MXFP8 E4M3",
            "`Rceil`",
            by(Format::MXFP8_E4M3, rceil),
            [31.50, 31.49, 31.50],
        ),
        block(
            "",
            "`Floor`",
            by(Format::MXFP8_E4M3, floor),
            [30.67, 30.11, 29.85],
        ),
        block(
            "FP8 block",
            "`Amax`",
            amax(Format::FP8_BLOCK),
            [31.55, 31.54, 31.61],
        ),
        block(
            "FP8 block, E8M0",
            "`Rceil`",
            by(Format::FP8_BLOCK_UE8M0, rceil),
            [31.50, 31.49, 31.50],
        ),
        block(
            "FP8 channel",
            "`Amax`",
            amax(Format::FP8_CHANNEL),
            [31.55, 31.60, 31.75],
        ),
        block(
            "FP8 tensor",
            "`Amax`",
            amax(Format::FP8_TENSOR),
            [31.54, 31.53, 31.54],
        ),
        other(
            "Q8_0",
            "ggml's",
            How::Ggml(GgmlType::Q8_0),
            [45.42, 43.44, 42.72],
        ),
        other(
            "INT4, 64 columns",
            "`MinMax`",
            affine,
            [20.95, 19.08, 18.60],
        ),
        other(
            "Q4_0",
            "ggml's",
            How::Ggml(GgmlType::Q4_0),
            [21.32, 19.43, 18.73],
        ),
        other(
            "INT4, 128 columns",
            "`SymmetricFull`",
            symmetric,
            [19.11, 16.38, 14.76],
        ),
    ]
}

fn of_format(format: &Format, scheme: &Scheme, values: &[bf16]) -> Vec<f32> {
    let global = global_scale_with(format, scheme, amax(values));
    let mut codes = vec![0; format.code_bytes(SHAPE).unwrap()];
    let mut scales = vec![0; format.scale_bytes(SHAPE).unwrap()];
    encode_rows_with(
        format,
        scheme,
        SHAPE,
        values,
        global,
        &mut codes,
        &mut scales,
    )
    .unwrap();
    let rows = Rows {
        codes: &codes,
        scales: &scales,
        global,
    };
    let mut out = vec![0.0; SIDE * SIDE];
    decode_rows(format, SHAPE, rows, &mut out).unwrap();
    out
}

fn of_ggml(ty: GgmlType, values: &[bf16]) -> Vec<f32> {
    let mut rows = vec![0; SIDE * ty.row_bytes(SIDE).unwrap()];
    ggml::encode_rows(ty, SHAPE, values, &mut rows).unwrap();
    let mut out = vec![0.0; SIDE * SIDE];
    ggml::decode_rows(ty, SHAPE, &rows, &mut out).unwrap();
    out
}

fn of_integers(layout: IntLayout, group_cols: usize, rule: IntRule, values: &[bf16]) -> Vec<f32> {
    let format = IntFormat {
        bits: 4,
        group_cols,
        scale: ScaleElement::F32,
        layout,
    };
    let mut codes = vec![0; format.code_bytes(SHAPE).unwrap()];
    let mut scales = vec![0; format.scale_bytes(SHAPE).unwrap()];
    let mut zeros = vec![0; format.zero_bytes(SHAPE).unwrap()];
    let with_zeros = rule == IntRule::MinMax;
    let parts = IntPartsMut {
        codes: &mut codes,
        scales: &mut scales,
        zeros: with_zeros.then_some(&mut zeros[..]),
    };
    int::encode(&format, rule, SHAPE, values, parts).unwrap();
    let parts = IntParts {
        codes: &codes,
        scales: &scales,
        zeros: with_zeros.then_some(&zeros[..]),
        groups: None,
    };
    let mut out = vec![0.0; SIDE * SIDE];
    int::decode_rows(&format, SHAPE, parts, 0..SIDE, &mut out).unwrap();
    out
}

fn sqnr(reference: &[f32], output: &[f32]) -> f64 {
    let mut stats = ErrorStats::new();
    for (reference, output) in reference.chunks(SIDE).zip(output.chunks(SIDE)) {
        stats.merge(&ErrorStats::of_row(reference, output).unwrap());
    }
    stats.sqnr_db()
}

impl How {
    fn round_trip(&self, values: &[bf16]) -> Vec<f32> {
        match *self {
            Self::Block(format, scheme) => of_format(&format, &scheme, values),
            Self::Ggml(ty) => of_ggml(ty, values),
            Self::Int(layout, group_cols, rule) => of_integers(layout, group_cols, rule, values),
        }
    }
}

/// The figures of each line, in decibels, computed once.
fn figures() -> &'static [[f64; 3]] {
    static FIGURES: OnceLock<Vec<[f64; 3]>> = OnceLock::new();
    FIGURES.get_or_init(|| {
        let of_lines = |values: Vec<bf16>| -> Vec<f64> {
            let reference: Vec<f32> = values.iter().map(|value| value.to_f32()).collect();
            let figure = |line: Line| sqnr(&reference, &line.how.round_trip(&values));
            lines().into_iter().map(figure).collect()
        };
        let columns = thread::scope(|scope| {
            let threads = DISTRIBUTIONS.map(|distribution| {
                scope.spawn(move || of_lines(weight(distribution, SIDE * SIDE)))
            });
            threads.map(|thread| thread.join().unwrap())
        });
        let figures = (0..lines().len()).map(|line| columns.each_ref().map(|column| column[line]));
        figures.collect()
    })
}

pub(crate) fn table() -> String {
    let head = ["format", "scale rule", "normal", "Laplace", "Student t, 4"];
    let row = |(line, figures): (Line, &[f64; 3])| {
        let [normal, laplace, student_t] = figures.map(|figure| format!("{figure:.2}"));
        let [format, rule] = [line.format, line.rule].map(str::to_owned);
        [format, rule, normal, laplace, student_t]
    };
    let rows: Vec<_> = lines().into_iter().zip(figures()).map(row).collect();
    page::table(head, &rows)
}

#[test]
fn every_format_is_as_good_as_published_on_three_distributions() {
    for (line, figures) in lines().iter().zip(figures()) {
        for (figure, published) in figures.iter().zip(line.published) {
            let (format, rule) = (line.format, line.rule);
            let apart = (figure - published).abs();
            assert!(
                apart <= TOLERANCE,
                "{format} {rule}: {figure:.2} dB, published {published}"
            );
        }
    }
}
