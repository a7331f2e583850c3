//! Error sums against their definition, row by row.

use blockscale::LenMismatch;
use blockscale::stats::ErrorStats;
use proptest::prelude::*;

fn any_pair() -> impl Strategy<Value = (f32, f32)> {
    let special = prop::sample::select(vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 0.0, -0.0]);
    let value = prop_oneof![8 => -4.0_f32..4.0, 1 => special];
    (value.clone(), value)
}

fn of_pairs(pairs: &[(f32, f32)]) -> ErrorStats {
    let (reference, output): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
    ErrorStats::of_row(&reference, &output).unwrap()
}

proptest! {
    #[test]
    fn counts_and_sums_follow_their_definitions(pairs in prop::collection::vec(any_pair(), 0..50)) {
        let stats = of_pairs(&pairs);
        let count = |f: fn(&(f32, f32)) -> bool| pairs.iter().filter(|pair| f(pair)).count() as u64;
        let sum = |f: fn(f64, f64) -> f64| -> f64 {
            let finite = pairs.iter().filter(|(r, o)| r.is_finite() && o.is_finite());
            finite.fold(0.0, |sum, &(r, o)| sum + f(f64::from(r), f64::from(o)))
        };
        prop_assert_eq!(stats.count, pairs.len() as u64);
        prop_assert_eq!(stats.finite, count(|(r, o)| r.is_finite() && o.is_finite()));
        prop_assert_eq!(stats.ref_nan, count(|(r, _)| r.is_nan()));
        prop_assert_eq!(stats.ref_inf, count(|(r, _)| r.is_infinite()));
        prop_assert_eq!(stats.out_nan, count(|(_, o)| o.is_nan()));
        prop_assert_eq!(stats.out_inf, count(|(_, o)| o.is_infinite()));
        prop_assert_eq!(
            stats.differing + stats.special_mismatch,
            count(|(r, o)| r != o && !(r.is_nan() && o.is_nan()))
        );
        prop_assert_eq!(stats.sum_ref_sq, sum(|r, _| r * r));
        prop_assert_eq!(stats.sum_out_sq, sum(|_, o| o * o));
        prop_assert_eq!(stats.sum_err_sq, sum(|r, o| (o - r) * (o - r)));
        prop_assert_eq!(stats.sum_dot, sum(|r, o| r * o));
    }

    #[test]
    fn rows_are_summed_by_themselves_and_then_in_order(
        rows in prop::collection::vec(prop::collection::vec(any_pair(), 0..20), 0..12),
    ) {
        let mut stats = ErrorStats::new();
        for row in &rows {
            stats.merge(&of_pairs(row));
        }
        let error_of = |row: &Vec<(f32, f32)>| {
            let finite = row.iter().filter(|(r, o)| r.is_finite() && o.is_finite());
            finite.fold(0.0, |sum, &(r, o)| sum + (f64::from(o) - f64::from(r)).powi(2))
        };
        prop_assert_eq!(stats.sum_err_sq, rows.iter().fold(0.0, |sum, row| sum + error_of(row)));

        // What is not a sum of roundings does not depend on where rows end.
        let one_row = of_pairs(&rows.concat());
        prop_assert_eq!(stats.count, one_row.count);
        prop_assert_eq!(stats.finite, one_row.finite);
        prop_assert_eq!(stats.differing, one_row.differing);
        prop_assert_eq!(stats.ref_nan, one_row.ref_nan);
        prop_assert_eq!(stats.ref_inf, one_row.ref_inf);
        prop_assert_eq!(stats.out_nan, one_row.out_nan);
        prop_assert_eq!(stats.out_inf, one_row.out_inf);
        prop_assert_eq!(stats.special_mismatch, one_row.special_mismatch);
        prop_assert_eq!(stats.max_abs_err, one_row.max_abs_err);
    }

    #[test]
    fn a_row_is_exact_against_itself(pairs in prop::collection::vec(any_pair(), 1..50)) {
        let same: Vec<(f32, f32)> = pairs.iter().map(|&(r, _)| (r, r)).collect();
        let stats = of_pairs(&same);
        prop_assert!(stats.is_exact());
        prop_assert!(stats.sqnr_db() == f64::INFINITY || stats.finite == 0);
    }
}

#[test]
fn a_scale_of_twice_shows_in_the_norm_and_not_in_the_cosine() {
    let stats = of_pairs(&[(1.0, 2.0), (-3.0, -6.0)]);
    assert!((stats.cosine() - 1.0).abs() < 1e-15);
    assert_eq!(stats.norm_ratio(), 2.0);
    assert_eq!(stats.relative_l2(), 1.0);
    assert_eq!(stats.sqnr_db(), 0.0);
    assert_eq!(stats.max_abs_err, 3.0);
}

#[test]
fn zeros_are_equal_whatever_their_signs() {
    let stats = of_pairs(&[(0.0, -0.0), (-0.0, 0.0)]);
    assert!(stats.is_exact());
    assert_eq!(
        (stats.cosine(), stats.norm_ratio(), stats.relative_l2()),
        (1.0, 1.0, 0.0)
    );
    assert_eq!(stats.sqnr_db(), f64::INFINITY);
}

#[test]
fn specials_match_only_their_own_kind() {
    let inf = f32::INFINITY;
    assert!(of_pairs(&[(f32::NAN, -f32::NAN), (inf, inf), (-inf, -inf)]).is_exact());
    for pair in [
        (f32::NAN, 1.0),
        (1.0, f32::NAN),
        (inf, -inf),
        (inf, f32::MAX),
        (f32::NAN, inf),
    ] {
        let stats = of_pairs(&[pair]);
        assert_eq!((stats.special_mismatch, stats.finite), (1, 0), "{pair:?}");
        assert!(!stats.is_exact(), "{pair:?}");
    }
}

#[test]
fn a_lost_or_invented_signal_has_its_limits() {
    let lost = of_pairs(&[(1.0, 0.0)]);
    assert_eq!(
        (lost.sqnr_db(), lost.cosine(), lost.norm_ratio()),
        (0.0, 0.0, 0.0)
    );
    let invented = of_pairs(&[(0.0, 1.0)]);
    assert_eq!(invented.sqnr_db(), f64::NEG_INFINITY);
    assert_eq!(
        (invented.cosine(), invented.norm_ratio()),
        (0.0, f64::INFINITY)
    );
    assert_eq!(invented.relative_l2(), f64::INFINITY);
}

#[test]
fn without_a_finite_pair_no_measure_claims_anything() {
    let stats = of_pairs(&[(f32::NAN, f32::NAN)]);
    let measures = [
        stats.sqnr_db(),
        stats.relative_l2(),
        stats.cosine(),
        stats.norm_ratio(),
    ];
    assert!(measures.iter().all(|measure| measure.is_nan()));
}

#[test]
fn rows_of_unequal_length_are_refused() {
    let error = LenMismatch {
        what: "output",
        expected: 2,
        found: 1,
    };
    assert_eq!(ErrorStats::of_row(&[1.0, 2.0], &[1.0]), Err(error));
}
