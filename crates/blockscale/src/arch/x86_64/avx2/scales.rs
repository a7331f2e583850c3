//! Numbers to the scales of their blocks.

use core::arch::x86_64::*;

use super::amax::{self, Largest, magnitudes, max};
use super::eights::Eights;
use super::source::bytes32;
use super::window::Window;
use crate::arch::scalar;
use crate::encode::{ScaleRule, Scheme, block_scale, write_scale};
use crate::{Format, Real, Shape};

#[target_feature(enable = "avx2,f16c")]
pub(in crate::arch) fn choose_scales<T: Real>(
    format: &Format,
    scheme: &Scheme,
    shape: Shape,
    values: &[T],
    global: f32,
    scales: &mut [u8],
) {
    if values.is_empty() || !goes_by_amax(scheme) {
        return scalar::scales::choose_scales(format, scheme, shape, values, global, scales);
    }
    let chooser = Chooser::new(format, scheme, global);
    for window in Window::all::<T>(format, shape) {
        chooser.window(&window, values, scales);
    }
}

/// Whether the largest magnitude of a block decides on its scale.
pub(super) const fn goes_by_amax(scheme: &Scheme) -> bool {
    !matches!(
        scheme.rule,
        ScaleRule::FourOverSix(_) | ScaleRule::MseSearch
    )
}

/// Blocks whose magnitudes are looked at before their scales are computed.
const AT_ONCE: usize = 64;

pub(super) struct Chooser<'a> {
    format: &'a Format,
    scheme: &'a Scheme,
    global: f32,
    eights: Option<Eights>,
}

impl<'a> Chooser<'a> {
    #[target_feature(enable = "avx2")]
    pub(super) fn new(format: &'a Format, scheme: &'a Scheme, global: f32) -> Self {
        Self {
            format,
            scheme,
            global,
            eights: Eights::new(format, scheme, global),
        }
    }

    /// The scales of the blocks of a window.
    #[target_feature(enable = "avx2,f16c")]
    pub(super) fn window<T: Real>(&self, window: &Window, values: &[T], scales: &mut [u8]) {
        let in_lanes = window.block_rows == 1 && [16, 32].contains(&window.block_cols);
        for block_row in window.block_rows() {
            for blocks in window.blocks_by(AT_ONCE) {
                let mut largest = [0.0; AT_ONCE];
                let largest = &mut largest[..blocks.len()];
                if in_lanes {
                    let row = &values[window.part(block_row, &blocks)];
                    match window.block_cols {
                        16 => narrow::<T, 16>(row, largest),
                        _ => narrow::<T, 32>(row, largest),
                    }
                } else {
                    tall(window, block_row, &blocks, values, largest);
                }
                let scales = &mut scales[window.scales(block_row, &blocks)];
                self.of_largest::<T>(largest, scales);
            }
        }
    }

    /// Scales from the largest magnitudes.
    #[target_feature(enable = "avx2,f16c")]
    fn of_largest<T: Real>(&self, largest: &[f32], scales: &mut [u8]) {
        let mut done = 0;
        if let Some(in_vectors) = &self.eights {
            let (eights, _) = largest.as_chunks::<8>();
            let (of_eights, _) = scales.as_chunks_mut::<8>();
            for (largest, scales) in eights.iter().zip(of_eights) {
                in_vectors.scales(largest, scales);
                done += 8;
            }
        }
        let scales = scales.chunks_exact_mut(self.format.scale.bytes());
        for (scale, &amax) in scales.zip(largest).skip(done) {
            let chosen = block_scale::<T>(self.format, self.scheme, amax, self.global);
            write_scale(self.format.scale, chosen, scale);
        }
    }
}

/// The largest magnitudes of blocks of sixteen or thirty-two columns, eight blocks at a time.
#[target_feature(enable = "avx2,f16c")]
fn narrow<T: Real, const COLS: usize>(row: &[T], largest: &mut [f32]) {
    let (blocks, _) = row.as_chunks::<COLS>();
    let (eights, _) = blocks.as_chunks::<8>();
    let (of_eights, of_rest) = largest.split_at_mut(8 * eights.len());
    for (blocks, largest) in eights.iter().zip(of_eights.chunks_exact_mut(8)) {
        let mut lanes = [_mm256_setzero_si256(); 8];
        for (lanes, block) in lanes.iter_mut().zip(blocks) {
            let (vectors, _) = bytemuck::cast_slice::<T, u8>(block).as_chunks::<32>();
            for vector in vectors {
                *lanes = max::<T>(*lanes, magnitudes::<T>(bytes32(vector)));
            }
        }
        if let Some(found) = amax::of_eight_blocks::<T>(lanes) {
            largest.copy_from_slice(&found);
            continue;
        }
        for (largest, block) in largest.iter_mut().zip(blocks) {
            *largest = scalar::encode::amax(block);
        }
    }
    let rest = row.chunks(COLS).skip(8 * eights.len());
    for (largest, block) in of_rest.iter_mut().zip(rest) {
        *largest = amax::amax(block);
    }
}

/// The largest magnitudes of blocks of any size, row by row through all of them.
#[target_feature(enable = "avx2,f16c")]
fn tall<T: Real>(
    window: &Window,
    block_row: usize,
    blocks: &core::ops::Range<usize>,
    values: &[T],
    largest: &mut [f32],
) {
    let mut lanes = [Largest::new(); AT_ONCE];
    for row in window.rows(block_row) {
        let parts = values[window.part(row, blocks)].chunks(window.block_cols);
        for (lanes, part) in lanes.iter_mut().zip(parts) {
            lanes.add(part);
        }
    }
    for ((largest, lanes), block) in largest.iter_mut().zip(&lanes).zip(blocks.clone()) {
        *largest = lanes.finite::<T>().unwrap_or_else(|| {
            let rows = window.rows(block_row);
            let parts = rows.map(|row| &values[window.part(row, &(block..block + 1))]);
            parts.map(scalar::encode::amax).fold(0.0, f32::max)
        });
    }
}
