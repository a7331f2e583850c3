//! The output, decoded again and compared with the source, row by row.

use std::sync::Arc;

use blockscale::layout::Stack;
use blockscale::stats::ErrorStats;
use blockscale_cuda::cudarc::driver::CudaSlice;
use blockscale_cuda::{CudaError, Slot};

use super::numbers::fetch;
use crate::memory::Buffers;
use crate::transform::LISTED_NANS;

/// Statistics of each row, and the first NaNs of the source.
pub(super) fn compare(
    slot: &mut Slot,
    stack: Stack,
    source: &CudaSlice<f32>,
    output: &CudaSlice<f32>,
) -> Result<(Vec<ErrorStats>, Vec<[usize; 2]>), CudaError> {
    let (device, stream) = (Arc::clone(slot.device()), Arc::clone(slot.stream()));
    let (from, to) = (source.as_view(), output.as_view());
    let stats = device
        .error_stats(&stream, stack.shape, &from, &to)?
        .wait()?;
    let nans = nan_positions(slot, stack.shape.cols, source, &stats)?;
    Ok((stats, nans))
}

/// Rows and columns of the first NaNs; rows without one are not fetched.
fn nan_positions(
    slot: &mut Slot,
    cols: usize,
    source: &CudaSlice<f32>,
    stats: &[ErrorStats],
) -> Result<Vec<[usize; 2]>, CudaError> {
    let mut found = Vec::new();
    let rows = stats.iter().enumerate().filter(|(_, row)| row.ref_nan > 0);
    for (row, _) in rows {
        let values = fetch(
            slot,
            &Buffers::NONE,
            &source.slice(row * cols..(row + 1) * cols),
        )?;
        let values = values.as_chunks::<4>().0.iter();
        let is_nan = |(col, value): (usize, &[u8; 4])| {
            f32::from_le_bytes(*value).is_nan().then_some([row, col])
        };
        found.extend(values.enumerate().filter_map(is_nan));
        if found.len() >= LISTED_NANS {
            found.truncate(LISTED_NANS);
            break;
        }
    }
    Ok(found)
}
