//! Heat maps, profiles and comparisons.

use blockscale::stats::ErrorStats;
use blockscale::{Format, Shape};
use blockscale_wgpu::{Gpu, HeatMap, Measure, Source, Stored, Window, cpu};

use crate::common::{Random, Sample, block_on, formats, gpus};

/// Maps that are the same but for the last places of the means.
#[track_caller]
fn assert_same_map(found: &HeatMap, expected: &HeatMap, largest: f32, what: &str) {
    assert_eq!(found.shape, expected.shape, "{what}");
    assert_eq!(found.cells.len(), expected.cells.len(), "{what}");
    for (index, (found, expected)) in found.cells.iter().zip(&expected.cells).enumerate() {
        let what = format!("{what}, cell {index}: {found:?}, not {expected:?}");
        assert_eq!(found.max.to_bits(), expected.max.to_bits(), "{what}");
        assert_eq!(found.min.to_bits(), expected.min.to_bits(), "{what}");
        let counts = |cell: &blockscale_wgpu::Cell| (cell.finite, cell.infinite, cell.nan);
        assert_eq!(counts(found), counts(expected), "{what}");
        let off = (f64::from(found.mean) - f64::from(expected.mean)).abs();
        let allowed = f64::from(expected.mean.abs()) * 2_f64.powi(-23)
            + f64::from(largest) * 2_f64.powi(-31)
            + 2_f64.powi(-149);
        assert!(
            off <= allowed || expected.mean.is_nan() && found.mean.is_nan(),
            "{what}"
        );
    }
}

/// The largest finite magnitude: a mean with signs is off by a share of it.
fn largest(source: Source<&Stored<'_>>, window: &Window) -> f32 {
    let numbers = cpu::tile(source, window).unwrap();
    let finite = numbers.iter().map(|x| x.abs()).filter(|x| x.is_finite());
    finite.fold(0.0, f32::max)
}

#[test]
fn heat_maps_of_any_grid_are_those_of_the_cpu() {
    let shape = Shape::new(131, 135);
    let grids = [(1, 1), (131, 1), (1, 135), (7, 9), (131, 135), (64, 2)];
    for gpu in gpus() {
        for format in [
            Format::NVFP4,
            Format::FP8_BLOCK,
            Format::MXFP8_E5M2,
            Format::FP8_TENSOR,
        ] {
            for sample in [
                Sample::wild(&format, shape, 31),
                Sample::tame(&format, shape, 32),
            ] {
                let stored = sample.stored();
                let resident = block_on(gpu.upload(&stored)).unwrap();
                let window = Window::whole(shape);
                let largest = largest(Source::Values(&stored), &window);
                for ((rows, cols), measure) in grids
                    .into_iter()
                    .zip([Measure::Magnitude, Measure::Signed].into_iter().cycle())
                {
                    let cells = Shape::new(rows, cols);
                    let values = Source::Values(&resident);
                    let found = block_on(gpu.heat_map(values, &window, cells, measure)).unwrap();
                    let values = Source::Values(&stored);
                    let expected = cpu::heat_map(values, &window, cells, measure).unwrap();
                    let what = format!("{format}, {rows} x {cols}, {measure:?}");
                    assert_same_map(&found, &expected, largest, &what);
                }
            }
        }
    }
}

#[test]
fn heat_maps_of_scales_take_each_scale_once_in_every_format() {
    let shape = Shape::new(131, 135);
    for gpu in gpus() {
        for format in formats() {
            let sample = Sample::tame(&format, shape, 33);
            let stored = sample.stored();
            let resident = block_on(gpu.upload(&stored)).unwrap();
            let Shape { rows, cols } = format.scale_shape(shape);
            let window = Window::new(0..rows, cols / 3..cols);
            let cells = Shape::new(rows.div_ceil(3), window.shape().cols.div_ceil(2));
            let measure = Measure::Magnitude;
            let found = gpu.heat_map(Source::Scales(&resident), &window, cells, measure);
            let expected = cpu::heat_map(Source::Scales(&stored), &window, cells, measure);
            let what = format.to_string();
            let largest = largest(Source::Scales(&stored), &window);
            assert_same_map(
                &block_on(found).unwrap(),
                &expected.unwrap(),
                largest,
                &what,
            );
        }
    }
}

/// One cell of more numbers than one piece, wide and high, in which one block is a million times
/// the others: it is seen however far one zooms out.
#[test]
fn one_outlier_among_many_is_the_maximum_of_its_cell() {
    for gpu in gpus() {
        for shape in [
            Shape::new(1, 40_000),
            Shape::new(40_000, 1),
            Shape::new(200, 200),
        ] {
            let len = shape.len().unwrap();
            let mut numbers: Vec<f32> = (0..len).map(|i| 1.0 + (i % 7) as f32 / 7.0).collect();
            numbers[len * 3 / 5] = -1e6;
            let sample = Sample::numbers(shape, &numbers);
            let stored = sample.stored();
            let resident = block_on(gpu.upload(&stored)).unwrap();
            let (window, cells) = (Window::whole(shape), Shape::new(1, 1));
            let source = Source::Values(&resident);
            let map = block_on(gpu.heat_map(source, &window, cells, Measure::Magnitude)).unwrap();
            assert_eq!((map.cells[0].max, map.cells[0].min), (1e6, 1.0));
            let exact = numbers.iter().map(|x| f64::from(x.abs())).sum::<f64>() / len as f64;
            assert!((f64::from(map.cells[0].mean) / exact - 1.0).abs() < 2_f64.powi(-23));
        }
    }
}

#[track_caller]
fn assert_close(found: &ErrorStats, expected: &ErrorStats, what: &str) {
    let counts = |s: &ErrorStats| {
        let pairs = [s.count, s.finite, s.differing, s.special_mismatch];
        (pairs, [s.ref_nan, s.ref_inf, s.out_nan, s.out_inf])
    };
    assert_eq!(counts(found), counts(expected), "{what}");
    let near = |found: f64, expected: f64, size: f64, bound: f64, name: &str| {
        let off = (found - expected).abs();
        assert!(
            off <= size * bound,
            "{what}: {name} is {found:e}, not {expected:e}"
        );
    };
    let square = 2_f64.powi(-22);
    near(
        found.sum_ref_sq,
        expected.sum_ref_sq,
        expected.sum_ref_sq,
        square,
        "sum_ref_sq",
    );
    near(
        found.sum_out_sq,
        expected.sum_out_sq,
        expected.sum_out_sq,
        square,
        "sum_out_sq",
    );
    near(
        found.sum_err_sq,
        expected.sum_err_sq,
        expected.sum_err_sq,
        square,
        "sum_err_sq",
    );
    let norms = (expected.sum_ref_sq * expected.sum_out_sq).sqrt();
    near(
        found.sum_dot,
        expected.sum_dot,
        norms,
        2_f64.powi(-30),
        "sum_dot",
    );
    let max = expected.max_abs_err;
    near(found.max_abs_err, max, max, 2_f64.powi(-24), "max_abs_err");
    if expected.sqnr_db().is_finite() {
        near(found.sqnr_db(), expected.sqnr_db(), 1.0, 2e-6, "sqnr_db");
    }
}

fn assert_compares(gpu: &Gpu, samples: [&Sample; 2], cells: Shape, what: &str) {
    let stored = samples.map(Sample::stored);
    let resident = [&stored[0], &stored[1]].map(|stored| block_on(gpu.upload(stored)).unwrap());
    let window = Window::whole(samples[0].shape);
    let found = gpu.compare(&resident[0], &resident[1], &window, cells);
    let found = block_on(found).unwrap();
    let expected = cpu::compare(&stored[0], &stored[1], &window, cells).unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(&expected) {
        assert_close(found, expected, what);
    }
}

#[test]
fn comparisons_count_alike_and_sum_within_the_promise() {
    let shape = Shape::new(131, 135);
    let grids = [Shape::new(1, 1), Shape::new(131, 1), Shape::new(9, 20)];
    for gpu in gpus() {
        for (first, second) in [
            (Format::NVFP4, Format::FP8_BLOCK),
            (Format::MXFP8_E5M2, Format::MXFP4),
            (Format::FP8_TENSOR, Format::FP8_TENSOR),
        ] {
            for cells in grids {
                let samples = [
                    &Sample::tame(&first, shape, 41),
                    &Sample::tame(&second, shape, 42),
                ];
                assert_compares(gpu, samples, cells, "tame");
                let samples = [
                    &Sample::wild(&first, shape, 43),
                    &Sample::wild(&second, shape, 44),
                ];
                assert_compares(gpu, samples, cells, "wild");
            }
        }
    }
}

#[test]
fn a_weight_is_equal_to_itself() {
    for gpu in gpus() {
        let shape = Shape::new(37, 64);
        let sample = Sample::wild(&Format::MXFP8_E5M2, shape, 45);
        let stored = sample.stored();
        let resident = block_on(gpu.upload(&stored)).unwrap();
        let (window, cells) = (Window::whole(shape), Shape::new(1, 1));
        let stats = block_on(gpu.compare(&resident, &resident, &window, cells)).unwrap();
        assert!(stats[0].is_exact());
        assert_eq!(stats[0].sqnr_db(), f64::INFINITY);
        assert_eq!(stats[0].count, 37 * 64);
    }
}

/// Errors far below the numbers, squares beyond `f32` both ways, and a difference beyond it.
#[test]
fn sums_do_not_overflow_or_vanish() {
    let shape = Shape::new(50, 100);
    let mut random = Random(46);
    let mut numbers = |base: f32| -> Vec<f32> {
        let number = |_| base * (1.0 + (random.below(1 << 20) as f32) / (1 << 20) as f32);
        (0..5000).map(number).collect()
    };
    for gpu in gpus() {
        for base in [1e-40_f32, 1e-30, 1.0, 1e30, 1.5e38] {
            let reference = numbers(base);
            let close: Vec<f32> = reference
                .iter()
                .map(|x| f32::from_bits(x.to_bits() + 1))
                .collect();
            let opposite: Vec<f32> = reference.iter().map(|x| -x).collect();
            for output in [close, opposite] {
                let samples = [
                    &Sample::numbers(shape, &reference),
                    &Sample::numbers(shape, &output),
                ];
                assert_compares(gpu, samples, Shape::new(1, 1), &format!("{base:e}"));
            }
        }
    }
}
