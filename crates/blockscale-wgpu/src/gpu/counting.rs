//! Decoding, and counting of numbers and codes.

use blockscale::Shape;
use bytemuck::{Pod, Zeroable};

use super::Gpu;
use super::patches::{self, Patch};
use crate::kernel::{Input, Kernel, Launch};
use crate::{Edges, GpuError, Histogram, Measure, Resident, Source, Window, cpu};

/// Numbers that one workgroup counts; far fewer than a `u32` can.
const SHARE: u32 = 1 << 14;

/// Lanes of a workgroup, in all kernels.
const LANES: u64 = 64;

/// `Tile` of `kernels/wgsl/tile.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct TileParameters {
    first_row: u32,
    first_col: u32,
    cols: u32,
    count: u32,
}

/// `Histogram` of `kernels/wgsl/histogram.wgsl`.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct HistogramParameters {
    window: TileParameters,
    share: u32,
    mask: u32,
    edges: u32,
    bins: u32,
}

impl TileParameters {
    fn of(window: &Window) -> Self {
        let Shape { rows, cols } = window.shape();
        Self {
            first_row: window.rows.start as u32,
            first_col: window.cols.start as u32,
            cols: cols as u32,
            count: (rows * cols) as u32,
        }
    }
}

impl Gpu {
    /// The numbers in a window, row by row: [`cpu::tile`], bit for bit but for the payload of NaN.
    ///
    /// # Errors
    ///
    /// [`GpuError::Request`] as [`cpu::tile`]; else as [`upload`](Self::upload).
    pub async fn tile(
        &self,
        source: Source<&Resident>,
        window: &Window,
    ) -> Result<Vec<f32>, GpuError> {
        let shape = source.shape()?;
        window.check_inside(shape)?;
        let Shape { rows, cols } = window.shape();
        let mut numbers = vec![0.0; rows * cols];
        for patch in patches::of_source(source, window) {
            for band in patch.window.bands(self.part_bytes / 4) {
                let words = self.tile_of(input(source), &patch, &band).await?;
                let band_cols = band.cols.len();
                let first_col = band.cols.start - window.cols.start;
                for (row, words) in band.rows.zip(words.chunks_exact(band_cols)) {
                    let start = (row - window.rows.start) * cols + first_col;
                    let out = &mut numbers[start..][..band_cols];
                    out.copy_from_slice(bytemuck::cast_slice(words));
                }
            }
        }
        Ok(numbers)
    }

    async fn tile_of(
        &self,
        input: Input,
        patch: &Patch<'_>,
        band: &Window,
    ) -> Result<Vec<u32>, GpuError> {
        let parameters = TileParameters::of(band);
        let launch = Launch {
            kernel: Kernel::Tile(input),
            parameters: bytemuck::bytes_of(&parameters),
            input: &[],
            weights: &patch.weights,
            workgroups: u64::from(parameters.count).div_ceil(LANES),
            output_words: parameters.count as usize,
        };
        self.kernels.run(&self.handle, &launch).await
    }

    /// How many numbers of a window lie between which edges: [`cpu::histogram`].
    ///
    /// # Errors
    ///
    /// [`GpuError::Request`] as [`cpu::histogram`]; else as [`upload`](Self::upload).
    pub async fn histogram(
        &self,
        source: Source<&Resident>,
        window: &Window,
        measure: Measure,
        edges: &Edges,
    ) -> Result<Histogram, GpuError> {
        window.check_inside(source.shape()?)?;
        let patches = patches::of_source(source, window);
        let places = edges.places();
        let bins = places.len() + 2;
        let mut counts = self
            .counts(input(source), &patches, measure.mask(), &places, bins)
            .await?;
        let nan = counts.pop().unwrap_or(0);
        Ok(Histogram { counts, nan })
    }

    /// How often each code occurs in a window: [`cpu::code_counts`].
    ///
    /// # Errors
    ///
    /// [`GpuError::Request`] as [`cpu::code_counts`]; else as [`upload`](Self::upload).
    pub async fn code_counts(
        &self,
        weight: &Resident,
        window: &Window,
    ) -> Result<Vec<u64>, GpuError> {
        let format = weight.kind().format("codes")?;
        window.check_inside(weight.shape())?;
        let patches = patches::of_elements(weight, window);
        let bins = cpu::codes_of(format.element);
        self.counts(Input::Codes, &patches, u32::MAX, &[], bins)
            .await
    }

    /// How often each byte occurs among the scales in a window: [`cpu::scale_code_counts`].
    ///
    /// # Errors
    ///
    /// [`GpuError::Request`] as [`cpu::scale_code_counts`]; else as [`upload`](Self::upload).
    pub async fn scale_code_counts(
        &self,
        weight: &Resident,
        window: &Window,
    ) -> Result<Vec<u64>, GpuError> {
        let format = weight.kind().format_with_scale_codes()?;
        window.check_inside(format.scale_shape(weight.shape()))?;
        let patches = patches::of_scales(weight, window);
        self.counts(Input::ScaleCodes, &patches, u32::MAX, &[], 256)
            .await
    }

    async fn counts(
        &self,
        input: Input,
        patches: &[Patch<'_>],
        mask: u32,
        edges: &[u32],
        bins: usize,
    ) -> Result<Vec<u64>, GpuError> {
        let mut counts = vec![0; bins];
        for patch in patches {
            let window = TileParameters::of(&patch.window);
            let parameters = HistogramParameters {
                window,
                share: SHARE,
                mask,
                edges: edges.len() as u32,
                bins: bins as u32,
            };
            let launch = Launch {
                kernel: Kernel::Histogram(input),
                parameters: bytemuck::bytes_of(&parameters),
                input: bytemuck::cast_slice(edges),
                weights: &patch.weights,
                workgroups: u64::from(window.count.div_ceil(SHARE)),
                output_words: bins,
            };
            let found = self.kernels.run(&self.handle, &launch).await?;
            for (count, found) in counts.iter_mut().zip(found) {
                *count += u64::from(found);
            }
        }
        Ok(counts)
    }
}

pub(super) fn input(source: Source<&Resident>) -> Input {
    match source {
        Source::Values(_) => Input::Values,
        Source::Scales(_) => Input::Scales,
        Source::Difference(..) => Input::Difference,
    }
}
