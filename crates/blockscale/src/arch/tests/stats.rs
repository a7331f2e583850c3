//! Error sums on every level.

use std::prelude::v1::*;

use super::body::{Random, same_on_every_level};
use crate::arch::Kernels;
use crate::stats::ErrorStats;
use crate::{Real, bf16, f16};

/// All fields as bits.
fn bits(stats: &ErrorStats) -> [u64; 13] {
    [
        stats.count,
        stats.finite,
        stats.sum_ref_sq.to_bits(),
        stats.sum_out_sq.to_bits(),
        stats.sum_err_sq.to_bits(),
        stats.sum_dot.to_bits(),
        stats.max_abs_err.to_bits(),
        stats.differing,
        stats.ref_nan,
        stats.ref_inf,
        stats.out_nan,
        stats.out_inf,
        stats.special_mismatch,
    ]
}

fn of_rows<T: Real>(random: &mut Random, rows: usize, cols: usize, odd: &[f32]) {
    let mut number = |exponents: usize| match random.below(60) {
        i if i < odd.len() => odd[i],
        _ => (random.bits() as i32) as f32 * 2.0_f32.powi(-(random.below(exponents) as i32)),
    };
    let reference: Vec<f32> = (0..rows * cols).map(|_| number(60)).collect();
    let output: Vec<T> = reference
        .iter()
        .map(|&x| T::from_f32(if number(2) > 0.0 { x * 0.99 } else { x }))
        .collect();
    same_on_every_level((rows, cols, odd), |level| {
        let mut of_rows = vec![ErrorStats::new(); rows];
        Kernels::<T>::of(level).errors_of_rows(cols, &reference, &output, &mut of_rows);
        of_rows.iter().flat_map(bits).collect()
    });
    let mut at_once = vec![ErrorStats::new(); rows];
    ErrorStats::of_rows(cols, &reference, &output, &mut at_once).unwrap();
    for (row, at_once) in at_once.iter().enumerate() {
        let part = row * cols..(row + 1) * cols;
        let output: Vec<f32> = output[part.clone()].iter().map(|x| x.to_f32()).collect();
        let alone = ErrorStats::of_row(&reference[part], &output).unwrap();
        assert_eq!(bits(at_once), bits(&alone), "row {row} of {rows} x {cols}");
    }
}

#[test]
fn rows_at_once_are_rows_one_by_one() {
    let random = &mut Random(20);
    for cols in (0..=40).chain([100, 257]) {
        for rows in [0, 1, 3, 4, 5, 9] {
            of_rows::<f32>(random, rows, cols, &[0.0, -0.0]);
            of_rows::<bf16>(random, rows, cols, &[f32::MAX, f32::MIN, 1e-45]);
            of_rows::<f16>(random, rows, cols, &[1e-8, 65504.0]);
        }
    }
}

#[test]
fn rows_with_nan_and_infinities_are_the_same() {
    let random = &mut Random(21);
    for cols in [1, 7, 8, 9, 33] {
        of_rows::<f32>(random, 8, cols, &[f32::NAN, f32::INFINITY]);
        of_rows::<bf16>(random, 8, cols, &[f32::NEG_INFINITY]);
    }
}
