//! Signal to noise of each format on three distributions, against published figures.
//!
//! The figures are of weights of 2048 x 2048 in BF16, 0.02 times the standard distribution.

use std::thread;

use blockscale::decode::{Rows, decode_rows};
use blockscale::encode::{ScaleRule, Scheme, amax, encode_rows_with, global_scale_with};
use blockscale::ggml::{self, GgmlType};
use blockscale::int::{self, IntFormat, IntLayout, IntParts, IntPartsMut, IntRule};
use blockscale::stats::ErrorStats;
use blockscale::{Format, ScaleElement, Shape, bf16};

const SIDE: usize = 2048;
const SHAPE: Shape = Shape::new(SIDE, SIDE);
const TOLERANCE: f64 = 0.1;

/// splitmix64, and numbers from it.
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Above 0, up to 1.
    fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    fn gaussian(&mut self) -> f64 {
        let radius = libm::sqrt(-2.0 * libm::log(self.uniform()));
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }

    fn laplace(&mut self) -> f64 {
        let exponential = -libm::log(self.uniform());
        if self.bits() & 1 == 0 {
            exponential
        } else {
            -exponential
        }
    }

    /// Student's t with 4 degrees of freedom.
    fn student_t4(&mut self) -> f64 {
        // The sum of four squared Gaussians is twice a sum of two exponentials.
        let squares = -2.0 * (libm::log(self.uniform()) + libm::log(self.uniform()));
        self.gaussian() / libm::sqrt(squares / 4.0)
    }
}

#[derive(Clone, Copy)]
enum Distribution {
    Gaussian,
    Laplace,
    StudentT4,
}

use Distribution::{Gaussian, Laplace, StudentT4};

fn weight(distribution: Distribution) -> Vec<bf16> {
    let mut random = Random(7);
    let mut draw = || match distribution {
        Gaussian => 0.02 * random.gaussian(),
        Laplace => 0.02 * random.laplace(),
        StudentT4 => 0.02 * random.student_t4(),
    };
    (0..SIDE * SIDE)
        .map(|_| bf16::from_f32(draw() as f32))
        .collect()
}

fn sqnr(reference: &[f32], output: &[f32]) -> f64 {
    let mut stats = ErrorStats::new();
    for (reference, output) in reference.chunks(SIDE).zip(output.chunks(SIDE)) {
        stats.merge(&ErrorStats::of_row(reference, output).unwrap());
    }
    stats.sqnr_db()
}

/// Published figures in decibels: Gaussian, Laplace, Student's t.
type Row = (&'static str, Format, Scheme, [f64; 3]);

fn rows() -> Vec<Row> {
    let by = |rule: ScaleRule| Scheme::from(rule);
    let (floor, rceil) = (by(ScaleRule::Floor), by(ScaleRule::Rceil));
    let default = Scheme::DEFAULT;
    vec![
        ("NVFP4", Format::NVFP4, default, [20.43, 20.66, 20.74]),
        (
            "four over six",
            Format::NVFP4,
            Scheme::FOUR_OVER_SIX,
            [21.22, 21.20, 21.22],
        ),
        (
            "one level",
            Format::NVFP4_ONE_LEVEL,
            default,
            [19.73, 20.35, 20.42],
        ),
        ("MXFP4 floor", Format::MXFP4, floor, [18.86, 18.00, 17.64]),
        ("MXFP4 rceil", Format::MXFP4, rceil, [18.53, 17.59, 17.15]),
        (
            "MXFP4 even",
            Format::MXFP4,
            by(ScaleRule::Even),
            [19.00, 18.15, 17.77],
        ),
        (
            "MXFP4 nearest",
            Format::MXFP4,
            by(ScaleRule::Nearest),
            [18.63, 17.60, 17.21],
        ),
        (
            "E2M3 floor",
            Format::MXFP6_E2M3,
            floor,
            [31.03, 30.28, 29.99],
        ),
        (
            "E3M2 floor",
            Format::MXFP6_E3M2,
            floor,
            [25.38, 25.25, 25.18],
        ),
        (
            "E4M3 floor",
            Format::MXFP8_E4M3,
            floor,
            [30.67, 30.11, 29.85],
        ),
        (
            "E4M3 rceil",
            Format::MXFP8_E4M3,
            rceil,
            [31.50, 31.49, 31.50],
        ),
        (
            "FP8 block",
            Format::FP8_BLOCK,
            default,
            [31.55, 31.54, 31.61],
        ),
        (
            "FP8 block UE8M0",
            Format::FP8_BLOCK_UE8M0,
            rceil,
            [31.50, 31.49, 31.50],
        ),
        (
            "FP8 tensor",
            Format::FP8_TENSOR,
            default,
            [31.54, 31.53, 31.54],
        ),
        (
            "FP8 channel",
            Format::FP8_CHANNEL,
            default,
            [31.55, 31.60, 31.75],
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

/// What is not within the tolerance of its figure.
fn misses(distribution: Distribution) -> Vec<String> {
    let values = weight(distribution);
    let reference: Vec<f32> = values.iter().map(|value| value.to_f32()).collect();
    let mut misses = Vec::new();
    let mut check = |name: &str, figures: [f64; 3], output: &[f32]| {
        let (found, figure) = (sqnr(&reference, output), figures[distribution as usize]);
        if (found - figure).abs() > TOLERANCE {
            misses.push(format!("{name}: {found:.2} dB, published {figure} dB"));
        }
    };
    for (name, format, scheme, figures) in rows() {
        check(name, figures, &of_format(&format, &scheme, &values));
    }
    check(
        "Q8_0",
        [45.42, 43.44, 42.72],
        &of_ggml(GgmlType::Q8_0, &values),
    );
    check(
        "Q4_0",
        [21.32, 19.43, 18.73],
        &of_ggml(GgmlType::Q4_0, &values),
    );
    let symmetric = of_integers(
        IntLayout::CompressedTensors,
        128,
        IntRule::SymmetricFull,
        &values,
    );
    check("INT4 symmetric", [19.11, 16.38, 14.76], &symmetric);
    let affine = of_integers(IntLayout::Mlx, 64, IntRule::MinMax, &values);
    check("INT4 affine", [20.95, 19.08, 18.60], &affine);
    misses
}

#[test]
fn every_format_is_as_good_as_published_on_three_distributions() {
    let all = thread::scope(|scope| {
        let threads = [Gaussian, Laplace, StudentT4].map(|it| scope.spawn(move || misses(it)));
        threads.map(|thread| thread.join().unwrap())
    });
    assert_eq!(all, [const { Vec::<String>::new() }; 3]);
}
