//! Heat maps and comparisons: records of pieces, brought together in cells.

use blockscale::Shape;
use blockscale::stats::ErrorStats;
use bytemuck::{Pod, Zeroable};

use super::Gpu;
use super::counting::input;
use super::patches::{self, Patch};
use crate::heat_map::Extremes;
use crate::kernel::{Kernel, Launch};
use crate::source::same_shape;
use crate::window::Cuts;
use crate::{GpuError, HeatMap, Measure, Resident, Source, Window};

/// Numbers of a piece that one lane looks at, at most. With 64 lanes the sums stay within 64 bits.
const NUMBERS_OF_LANE: usize = 256;
const MOST_LANES: usize = 64;

/// `Pieces` of `kernels/wgsl/pieces.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Pieces {
    rows: u32,
    cols: u32,
    lanes: u32,
    mask: u32,
}

/// `Record` of `kernels/wgsl/extremes.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct ExtremesRecord {
    largest: u32,
    smallest: u32,
    peak: u32,
    finite: u32,
    infinite: u32,
    nan: u32,
    sum: [u32; 2],
}

/// `Record` of `kernels/wgsl/compare.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct CompareRecord {
    finite: u32,
    differing: u32,
    reference_nan: u32,
    reference_infinite: u32,
    output_nan: u32,
    output_infinite: u32,
    mismatched: u32,
    reference_peak: u32,
    output_peak: u32,
    error_peak: u32,
    reference_square: [u32; 2],
    output_square: [u32; 2],
    error_square: [u32; 2],
    dot: [u32; 2],
}

impl Gpu {
    /// Extremes and means in `cells`, rows and columns of them, over a window: [`cpu::heat_map`].
    ///
    /// Extremes and counts are the same. A mean may differ in the last place: each sum is off by
    /// less than 2^-31 of the sum of the magnitudes, the same on every adapter.
    ///
    /// # Errors
    ///
    /// [`GpuError::Request`] as [`cpu::heat_map`]; else as [`upload`](Self::upload).
    ///
    /// [`cpu::heat_map`]: crate::cpu::heat_map
    pub async fn heat_map(
        &self,
        source: Source<&Resident>,
        window: &Window,
        cells: Shape,
        measure: Measure,
    ) -> Result<HeatMap, GpuError> {
        window.check_inside(source.shape()?)?;
        let grid = window.grid(cells)?;
        let mut extremes = vec![Extremes::NONE; cells.rows * cells.cols];
        let kernel = Kernel::Extremes(input(source));
        for patch in patches::of_source(source, window) {
            self.reduce(kernel, &patch, &grid, measure, |cell, record| {
                extremes[cell].merge(&extremes_of(record));
            })
            .await?;
        }
        Ok(HeatMap::of(cells, &extremes))
    }

    /// How far `output` is from `reference` in each of `cells` over a window: [`cpu::compare`].
    ///
    /// Counts are the same. `max_abs_err`, which is exact there, is rounded to `f32` here. The sums
    /// of squares are off by less than 2^-22 of themselves, which is 2e-6 dB of SQNR; `sum_dot` by
    /// less than 2^-30 of the product of the two norms. They are the same on every adapter.
    ///
    /// # Errors
    ///
    /// [`GpuError::Request`] as [`cpu::compare`]; else as [`upload`](Self::upload).
    ///
    /// [`cpu::compare`]: crate::cpu::compare
    pub async fn compare(
        &self,
        reference: &Resident,
        output: &Resident,
        window: &Window,
        cells: Shape,
    ) -> Result<Vec<ErrorStats>, GpuError> {
        window.check_inside(same_shape(reference.shape(), output.shape())?)?;
        let grid = window.grid(cells)?;
        let mut stats = vec![ErrorStats::new(); cells.rows * cells.cols];
        for patch in patches::of_pair(reference, output, window) {
            let measure = Measure::Signed;
            self.reduce(Kernel::Compare, &patch, &grid, measure, |cell, record| {
                stats[cell].merge(&stats_of(record));
            })
            .await?;
        }
        for (stats, elements) in stats.iter_mut().zip(elements_of_cells(&grid)) {
            stats.count = elements;
        }
        Ok(stats)
    }

    /// Cuts the cells of a grid to what one launch looks at and to pieces, and gives each piece's
    /// record to `merge`, with the cell that it belongs to.
    async fn reduce<R: Pod>(
        &self,
        kernel: Kernel,
        patch: &Patch<'_>,
        grid: &[Vec<usize>; 2],
        measure: Measure,
        mut merge: impl FnMut(usize, &R),
    ) -> Result<(), GpuError> {
        let cutting = Cutting::new(grid, &patch.window);
        let record_words = size_of::<R>() / 4;
        for batch in cutting.batches(self.part_bytes / size_of::<R>()) {
            let parameters = cutting.parameters(&batch, measure);
            let pieces_of_group = (MOST_LANES / cutting.lanes) as u64;
            let pieces = u64::from(parameters.rows) * u64::from(parameters.cols);
            let edges = cutting.edges(&batch);
            let launch = Launch {
                kernel,
                parameters: bytemuck::bytes_of(&parameters),
                input: bytemuck::cast_slice(&edges),
                weights: &patch.weights,
                workgroups: pieces.div_ceil(pieces_of_group),
                output_words: pieces as usize * record_words,
            };
            let words = self.kernels.run(&self.handle, &launch).await?;
            let records = words.chunks_exact(record_words);
            for (cell, record) in cutting.cells(&batch).zip(records) {
                merge(
                    cell,
                    &bytemuck::pod_read_unaligned(bytemuck::cast_slice(record)),
                );
            }
        }
        Ok(())
    }
}

/// A window cut to pieces, each inside a cell.
struct Cutting {
    rows: Cuts,
    cols: Cuts,
    /// Lanes that share a piece.
    lanes: usize,
    cells_in_row: usize,
}

impl Cutting {
    fn new([row_edges, col_edges]: &[Vec<usize>; 2], window: &Window) -> Self {
        let cols = Cuts::new(col_edges, &window.cols, NUMBERS_OF_LANE * MOST_LANES);
        let widest = cols.longest().max(1);
        // Eight numbers of a row a lane: fewer would have many lanes read one word.
        let lanes = widest.div_ceil(8).next_power_of_two().min(MOST_LANES);
        let rows_of_piece = (NUMBERS_OF_LANE / widest.div_ceil(lanes)).max(1);
        Self {
            rows: Cuts::new(row_edges, &window.rows, rows_of_piece),
            cols,
            lanes,
            cells_in_row: col_edges.len() - 1,
        }
    }

    /// Runs of at most `most` pieces, as windows of pieces.
    fn batches(&self, most: usize) -> impl Iterator<Item = Window> {
        Window::new(0..self.rows.cells.len(), 0..self.cols.cells.len()).bands(most)
    }

    fn parameters(&self, batch: &Window, measure: Measure) -> Pieces {
        let Shape { rows, cols } = batch.shape();
        Pieces {
            rows: rows as u32,
            cols: cols as u32,
            lanes: self.lanes as u32,
            mask: measure.mask(),
        }
    }

    fn edges(&self, batch: &Window) -> Vec<u32> {
        let rows = &self.rows.edges[batch.rows.start..=batch.rows.end];
        let cols = &self.cols.edges[batch.cols.start..=batch.cols.end];
        [rows, cols].concat()
    }

    /// The cell of each piece of a batch.
    fn cells(&self, batch: &Window) -> impl Iterator<Item = usize> {
        let cols = &self.cols.cells[batch.cols.clone()];
        let rows = &self.rows.cells[batch.rows.clone()];
        rows.iter()
            .flat_map(move |row| cols.iter().map(move |col| row * self.cells_in_row + col))
    }
}

/// Elements of each cell of a grid, row by row.
fn elements_of_cells([row_edges, col_edges]: &[Vec<usize>; 2]) -> impl Iterator<Item = u64> {
    let length = |ends: &[usize]| (ends[1] - ends[0]) as u64;
    let rows = row_edges.windows(2).map(length);
    rows.flat_map(move |rows| col_edges.windows(2).map(move |ends| rows * length(ends)))
}

fn extremes_of(record: &ExtremesRecord) -> Extremes {
    Extremes {
        largest: record.largest,
        smallest: record.smallest,
        sum: wide(record.sum) * unit(record.peak) / 2_f64.powi(24),
        finite: u64::from(record.finite),
        infinite: u64::from(record.infinite),
        nan: u64::from(record.nan),
    }
}

fn stats_of(record: &CompareRecord) -> ErrorStats {
    let sum = |sum, a, b| wide(sum) * unit(a) * unit(b);
    let (reference, output) = (record.reference_peak, record.output_peak);
    let error = record.error_peak;
    let mut stats = ErrorStats::new();
    stats.finite = u64::from(record.finite);
    stats.differing = u64::from(record.differing);
    stats.ref_nan = u64::from(record.reference_nan);
    stats.ref_inf = u64::from(record.reference_infinite);
    stats.out_nan = u64::from(record.output_nan);
    stats.out_inf = u64::from(record.output_infinite);
    stats.special_mismatch = u64::from(record.mismatched);
    stats.sum_ref_sq = sum(record.reference_square, reference, reference);
    stats.sum_out_sq = sum(record.output_square, output, output);
    stats.sum_err_sq = sum(record.error_square, error, error);
    stats.sum_dot = sum(record.dot, reference, output);
    stats.max_abs_err = f64::from(error & 0x7f_ffff | implicit_bit(error)) * unit(error);
    stats
}

/// A sum of the kernels, of 64 bits with a sign.
fn wide([low, high]: [u32; 2]) -> f64 {
    ((u64::from(high) << 32 | u64::from(low)) as i64) as f64
}

/// What the last place of a magnitude stands for; exponent field 255 is 2^128 here.
fn unit(magnitude: u32) -> f64 {
    let field = (magnitude >> 23).max(1);
    2_f64.powi(field as i32 - 150)
}

fn implicit_bit(magnitude: u32) -> u32 {
    u32::from(magnitude >> 23 != 0) << 23
}
