//! Errors of numbers.

use crate::Real;
use crate::stats::ErrorStats;

pub(crate) fn errors_of_rows<T: Real>(
    cols: usize,
    reference: &[f32],
    output: &[T],
    of_rows: &mut [ErrorStats],
) {
    if cols == 0 {
        return of_rows.fill(ErrorStats::new());
    }
    let rows = reference.chunks(cols).zip(output.chunks(cols));
    for (of_row, (reference, output)) in of_rows.iter_mut().zip(rows) {
        *of_row = ErrorStats::new();
        for (reference, output) in reference.iter().zip(output) {
            of_row.add(*reference, output.to_f32());
        }
    }
}
