//! The operations on the processor: their definition, and what there is where no adapter is.
//!
//! Plain loops over the core's numbers. A [`Gpu`](crate::Gpu) is held to them.

use blockscale::stats::ErrorStats;
use blockscale::{Element, Shape};

use crate::heat_map::Extremes;
use crate::order::{number_at, order};
use crate::source::same_shape;
use crate::{Edges, HeatMap, Histogram, Measure, RequestError, Source, Stored, Window};

/// The numbers in a window, row by row.
///
/// # Errors
///
/// [`RequestError`] where the window lies outside or the source has no such numbers.
///
/// ```
/// use blockscale::Shape;
/// use blockscale_wgpu::{Number, Source, Stored, Window, cpu};
///
/// let bytes = [0x3f80_u16, 0x4000, 0x4040, 0x4080].map(u16::to_le_bytes).concat();
/// let weight = Stored::numbers(Number::Bf16, Shape::new(2, 2), &bytes)?;
/// assert_eq!(cpu::tile(Source::Values(&weight), &Window::new(0..2, 1..2))?, [2.0, 4.0]);
/// # Ok::<(), blockscale_wgpu::RequestError>(())
/// ```
pub fn tile(source: Source<&Stored<'_>>, window: &Window) -> Result<Vec<f32>, RequestError> {
    let mut numbers = Vec::new();
    each_row(source, window, |_, row| numbers.extend_from_slice(row))?;
    Ok(numbers)
}

/// Extremes and means in `cells`, rows and columns of them, over a window.
///
/// # Errors
///
/// [`RequestError`] where the window lies outside, the source has no such numbers, or there are
/// more cells than numbers one way.
pub fn heat_map(
    source: Source<&Stored<'_>>,
    window: &Window,
    cells: Shape,
    measure: Measure,
) -> Result<HeatMap, RequestError> {
    window.check_inside(source.shape()?)?;
    let [row_edges, col_edges] = window.grid(cells)?;
    let mut extremes = vec![Extremes::NONE; cells.rows * cells.cols];
    each_row(source, window, |row, numbers| {
        let cell_row = row_edges.partition_point(|&edge| edge <= row) - 1;
        let line = &mut extremes[cell_row * cells.cols..][..cells.cols];
        for (extremes, ends) in line.iter_mut().zip(col_edges.windows(2)) {
            let start = ends[0] - window.cols.start;
            for &number in &numbers[start..][..ends[1] - ends[0]] {
                extremes.add(measure.of(number));
            }
        }
    })?;
    Ok(HeatMap::of(cells, &extremes))
}

/// How many numbers of a window lie between which edges.
///
/// # Errors
///
/// [`RequestError`] where the window lies outside or the source has no such numbers.
pub fn histogram(
    source: Source<&Stored<'_>>,
    window: &Window,
    measure: Measure,
    edges: &Edges,
) -> Result<Histogram, RequestError> {
    let mut histogram = Histogram::empty(edges);
    each_row(source, window, |_, row| {
        for &number in row {
            if number.is_nan() {
                histogram.nan += 1;
            } else {
                histogram.counts[edges.bin(measure.of(number))] += 1;
            }
        }
    })?;
    Ok(histogram)
}

/// The numbers below which the given shares of a window's finite numbers lie, each one of them.
///
/// A share is from 0, the smallest, to 1, the largest; the number at rank `share * (count - 1)`,
/// rounded to the nearest, is taken. All are NaN where no number is finite. The numbers are brought
/// into order in memory: four bytes for each.
///
/// # Errors
///
/// [`RequestError`] where the window lies outside, the source has no such numbers, or a share is
/// not from 0 to 1.
///
/// ```
/// use blockscale::Shape;
/// use blockscale_wgpu::{Measure, Number, Source, Stored, Window, cpu};
///
/// let bytes = [3.0_f32, f32::NAN, -1.0, 2.0].map(f32::to_le_bytes).concat();
/// let weight = Stored::numbers(Number::F32, Shape::new(1, 4), &bytes)?;
/// let (all, window) = (Source::Values(&weight), Window::new(0..1, 0..4));
/// let found = cpu::quantiles(all, &window, Measure::Signed, &[0.0, 0.5, 1.0])?;
/// assert_eq!(found, [-1.0, 2.0, 3.0]);
/// # Ok::<(), blockscale_wgpu::RequestError>(())
/// ```
pub fn quantiles(
    source: Source<&Stored<'_>>,
    window: &Window,
    measure: Measure,
    shares: &[f64],
) -> Result<Vec<f32>, RequestError> {
    if let Some(index) = shares.iter().position(|share| !(0.0..=1.0).contains(share)) {
        return Err(RequestError::Share { index });
    }
    let mut places = Vec::new();
    each_row(source, window, |_, row| {
        let finite = row.iter().filter(|number| number.is_finite());
        places.extend(finite.map(|&number| order(measure.of(number))));
    })?;
    Ok(shares
        .iter()
        .map(|share| match places.len().checked_sub(1) {
            None => f32::NAN,
            Some(last) => {
                let rank = (share * last as f64).round() as usize;
                number_at(*places.select_nth_unstable(rank.min(last)).1)
            }
        })
        .collect())
}

/// How often each code occurs in a window: 16, 64 or 256 counts, by code.
///
/// # Errors
///
/// [`RequestError`] where the window lies outside or the weight has no codes.
pub fn code_counts(weight: &Stored<'_>, window: &Window) -> Result<Vec<u64>, RequestError> {
    let format = weight.kind().format("codes")?;
    window.check_inside(weight.shape())?;
    let mut counts = vec![0; codes_of(format.element)];
    let mask = counts.len() - 1;
    // Eight codes take as many bytes as one takes bits.
    let stride = format.row_bytes(8);
    let row_bytes = format.row_bytes(weight.shape().cols);
    for row in window.rows.clone() {
        let codes = &weight.codes()[row * row_bytes..][..row_bytes];
        for col in window.cols.clone() {
            counts[bits_at(codes, stride, col) & mask] += 1;
        }
    }
    Ok(counts)
}

/// How often each byte occurs among the scales in a window, whose rows and columns count scales.
///
/// # Errors
///
/// [`RequestError`] where the window lies outside or the scales are not bytes.
pub fn scale_code_counts(weight: &Stored<'_>, window: &Window) -> Result<Vec<u64>, RequestError> {
    let shape = weight
        .kind()
        .format_with_scale_codes()?
        .scale_shape(weight.shape());
    window.check_inside(shape)?;
    let mut counts = vec![0; 256];
    for row in window.rows.clone() {
        let scales = &weight.scales()[row * shape.cols..][..shape.cols];
        for &code in &scales[window.cols.clone()] {
            counts[usize::from(code)] += 1;
        }
    }
    Ok(counts)
}

/// How far `output` is from `reference` in each of `cells` over a window, row by row of cells.
///
/// # Errors
///
/// [`RequestError`] where the shapes differ, the window lies outside, or there are more cells than
/// numbers one way.
pub fn compare(
    reference: &Stored<'_>,
    output: &Stored<'_>,
    window: &Window,
    cells: Shape,
) -> Result<Vec<ErrorStats>, RequestError> {
    let shape = same_shape(reference.shape(), output.shape())?;
    window.check_inside(shape)?;
    let [row_edges, col_edges] = window.grid(cells)?;
    let mut stats = vec![ErrorStats::new(); cells.rows * cells.cols];
    let mut rows = [vec![0.0; shape.cols], vec![0.0; shape.cols]];
    for row in window.rows.clone() {
        let [reference_row, output_row] = &mut rows;
        reference.decode_row(row, reference_row)?;
        output.decode_row(row, output_row)?;
        let cell_row = row_edges.partition_point(|&edge| edge <= row) - 1;
        let line = &mut stats[cell_row * cells.cols..][..cells.cols];
        for (stats, ends) in line.iter_mut().zip(col_edges.windows(2)) {
            let cols = ends[0]..ends[1];
            stats.merge(&ErrorStats::of_row(&rows[0][cols.clone()], &rows[1][cols])?);
        }
    }
    Ok(stats)
}

/// Number of codes of an element type.
pub(crate) fn codes_of(element: Element) -> usize {
    1 << element.bits()
}

/// The bits of a row from code `col` on, where codes lie `stride` bits apart.
fn bits_at(row: &[u8], stride: usize, col: usize) -> usize {
    let bit = col % 8 * stride;
    let byte = col / 8 * stride + bit / 8;
    let next = row.get(byte + 1).copied().unwrap_or(0);
    usize::from(u16::from_le_bytes([row[byte], next]) >> (bit % 8))
}

/// Gives each row of a window to `visit`, with its index in the whole.
fn each_row(
    source: Source<&Stored<'_>>,
    window: &Window,
    mut visit: impl FnMut(usize, &[f32]),
) -> Result<(), RequestError> {
    let shape = source.shape()?;
    window.check_inside(shape)?;
    let mut numbers = vec![0.0; shape.cols];
    let mut subtrahend = match source {
        Source::Difference(..) => vec![0.0; shape.cols],
        _ => Vec::new(),
    };
    for row in window.rows.clone() {
        match source {
            Source::Values(weight) => weight.decode_row(row, &mut numbers)?,
            Source::Scales(weight) => weight.decode_scale_row(row, &mut numbers)?,
            Source::Difference(first, second) => {
                first.decode_row(row, &mut numbers)?;
                second.decode_row(row, &mut subtrahend)?;
                for (number, subtrahend) in numbers.iter_mut().zip(&subtrahend) {
                    *number -= subtrahend;
                }
            }
        }
        visit(row, &numbers[window.cols.clone()]);
    }
    Ok(())
}
