//! The bytes to be written, decoded again and compared with the source's numbers.

use blockscale::format::Shape;
use blockscale::stats::ErrorStats;
use blockscale::{Real, bf16, f16};
use blockscale_model::Dtype;
use blockscale_model::catalog::Encoding;

use super::LISTED_NANS;
use crate::ConvertError;
use crate::memory::Buffers;
use crate::weights::{Decoder, Stored, alignment, group_rows};

/// What a check found, row by row.
#[derive(Default)]
pub(super) struct Checked {
    pub(super) stats: Vec<ErrorStats>,
    /// Rows and columns of the part where the source is NaN, the first few.
    pub(super) nans: Vec<[usize; 2]>,
}

/// Reads some rows of the output, which begin with a block, and compares them with `values`.
pub(super) fn check(
    output: Decoder<'_>,
    shape: Shape,
    stored: Stored<'_>,
    values: &[f32],
    buffers: &Buffers,
) -> Result<Checked, ConvertError> {
    output.check(shape, stored)?;
    let mut stats = vec![ErrorStats::new(); shape.rows];
    match output.encoding {
        // As they will be read: no other number stands for them.
        Encoding::Plain(Dtype::BF16) => plain::<bf16>(shape.cols, stored, values, &mut stats)?,
        Encoding::Plain(Dtype::F16) => plain::<f16>(shape.cols, stored, values, &mut stats)?,
        Encoding::Plain(Dtype::F32) => plain::<f32>(shape.cols, stored, values, &mut stats)?,
        _ => decoded(output, shape, stored, values, &mut stats, buffers)?,
    }
    let nans = nan_positions(values, shape.cols, &stats);
    Ok(Checked { stats, nans })
}

fn plain<T: Real>(
    cols: usize,
    stored: Stored<'_>,
    values: &[f32],
    stats: &mut [ErrorStats],
) -> Result<(), ConvertError> {
    match bytemuck::try_cast_slice::<u8, T>(stored.codes) {
        Ok(output) => ErrorStats::of_rows(cols, values, output, stats)?,
        // Bytes of a vector may begin anywhere.
        Err(_) => {
            let numbers = stored.codes.chunks_exact(size_of::<T>());
            let output: Vec<T> = numbers.map(bytemuck::pod_read_unaligned).collect();
            ErrorStats::of_rows(cols, values, &output, stats)?;
        }
    }
    Ok(())
}

fn decoded(
    output: Decoder<'_>,
    shape: Shape,
    stored: Stored<'_>,
    values: &[f32],
    stats: &mut [ErrorStats],
    buffers: &Buffers,
) -> Result<(), ConvertError> {
    let step = group_rows(&[alignment(&output.encoding, shape.rows)], shape.cols);
    let mut again = buffers.get(4 * step.min(shape.rows) * shape.cols);
    let again: &mut [f32] = bytemuck::cast_slice_mut(&mut again);
    let groups = values.chunks(step * shape.cols).zip(stats.chunks_mut(step));
    for (i, (values, stats)) in groups.enumerate() {
        let rows = i * step..i * step + stats.len();
        let again = &mut again[..values.len()];
        output.rows(shape, rows, stored, again)?;
        ErrorStats::of_rows(shape.cols, values, again, stats)?;
    }
    Ok(())
}

/// The first NaNs of the run; rows without one are skipped by their statistics.
pub(crate) fn nan_positions(values: &[f32], cols: usize, stats: &[ErrorStats]) -> Vec<[usize; 2]> {
    let rows = stats.iter().enumerate().filter(|(_, s)| s.ref_nan > 0);
    rows.flat_map(|(row, _)| {
        let values = &values[row * cols..(row + 1) * cols];
        values
            .iter()
            .enumerate()
            .filter(|(_, v)| v.is_nan())
            .map(move |(col, _)| [row, col])
    })
    .take(LISTED_NANS)
    .collect()
}

impl Checked {
    /// All parts of a run in order, each with its first row.
    pub(super) fn join(parts: impl IntoIterator<Item = (usize, Self)>) -> Self {
        let mut all = Self::default();
        for (first_row, part) in parts {
            all.stats.extend(part.stats);
            let room = LISTED_NANS.saturating_sub(all.nans.len());
            let nans = part.nans.into_iter().take(room);
            all.nans
                .extend(nans.map(|[row, col]| [first_row + row, col]));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nans_of_parts_are_counted_through_the_run_and_only_the_first_are_listed() {
        let part = |nans: Vec<[usize; 2]>| Checked {
            stats: vec![ErrorStats::new(); 2],
            nans,
        };
        let joined = Checked::join([
            (0, part(vec![[1, 5]])),
            (2, part((0..9).map(|col| [0, col]).collect())),
        ]);
        assert_eq!(joined.stats.len(), 4);
        assert_eq!(joined.nans.len(), LISTED_NANS);
        assert_eq!(joined.nans[..2], [[1, 5], [2, 0]]);
    }
}
