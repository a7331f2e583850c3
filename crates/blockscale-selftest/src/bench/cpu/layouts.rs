//! Scales into the orders that runtimes read.

use blockscale::layout::{ScaleLayout, Scales, Stack, permute_scales, unpermute_scales};
use blockscale::{ScaleElement, Shape};
use rayon::prelude::*;

use super::{Bench, BenchError, Operation, Threads, count, each, filled, kept};
use crate::random::Random;

/// Scale planes are small; so many of them make buffers far larger than any cache.
const MATRICES: usize = 32;
const BAR: f64 = 0.6;

struct Case {
    name: &'static str,
    layout: ScaleLayout,
    element: ScaleElement,
    shape: Shape,
}

pub(super) fn measure(bench: &mut Bench) -> Result<(), BenchError> {
    let tiles = Case {
        name: "E4M3 scales -> 128x4 tiles",
        layout: ScaleLayout::Tiles128x4,
        element: ScaleElement::E4m3Fn,
        shape: Shape::new(8192, 512),
    };
    let packed = Case {
        name: "F32 scales -> DeepGEMM packed UE8M0",
        layout: ScaleLayout::DeepGemmPacked,
        element: ScaleElement::F32,
        shape: Shape::new(8192, 64),
    };
    let columns = Case {
        name: "F32 scales -> DeepGEMM columns",
        layout: ScaleLayout::DeepGemmF32,
        element: ScaleElement::F32,
        shape: Shape::new(8192, 64),
    };
    for case in [tiles, packed, columns] {
        case.measure(bench)?;
    }
    Ok(())
}

impl Case {
    fn scales(&self, random: &mut Random) -> Vec<u8> {
        let count = MATRICES * count(self.shape);
        match self.element {
            ScaleElement::F32 => (0..count)
                .flat_map(|_| (random.below(40) as f32 - 20.0).exp2().to_le_bytes())
                .collect(),
            _ => (0..count).map(|_| random.below(0x7f) as u8).collect(),
        }
    }

    fn measure(&self, bench: &mut Bench) -> Result<(), BenchError> {
        let refused = |reason: String| BenchError::Operation {
            operation: self.name.to_owned(),
            reason,
        };
        let stored = filled(&self.scales(&mut bench.random))?;
        let (layout, element) = (self.layout, self.element);
        let stack = |matrices| Stack::new(matrices, self.shape);
        let laid_out_bytes = layout
            .scale_bytes(stack(1), element)
            .map_err(|error| refused(error.to_string()))?;
        let mut laid_out = kept(MATRICES * laid_out_bytes)?;
        let mut again = kept(MATRICES * laid_out_bytes)?;
        let linear_bytes = stored.len() / MATRICES;
        let matrices = |threads| match threads {
            Threads::One => MATRICES,
            Threads::All => 1,
        };
        let forward = |threads| {
            let n = matrices(threads);
            each(
                laid_out
                    .par_chunks_mut(n * laid_out_bytes)
                    .zip(stored.par_chunks(n * linear_bytes)),
                |(out, bytes)| {
                    let layout_of_source = ScaleLayout::Linear;
                    let scales = Scales {
                        layout: layout_of_source,
                        element,
                        bytes,
                    };
                    permute_scales(layout, stack(n), scales, out)
                },
            )
        };
        let size = format!("{MATRICES} x {}x{}", self.shape.rows, self.shape.cols);
        let bytes = stored.len() + MATRICES * laid_out_bytes;
        bench.measure(Operation {
            name: self.name.to_owned(),
            size: size.clone(),
            bytes,
            bar: Some(BAR),
            run: Box::new(forward),
        })?;
        // Back, in the element of the layout.
        let element = match layout {
            ScaleLayout::DeepGemmPacked => ScaleElement::E8m0Fnu,
            _ => element,
        };
        let linear_bytes = count(self.shape) * element.bytes();
        let backward = |threads| {
            let n = matrices(threads);
            each(
                again[..MATRICES * linear_bytes]
                    .par_chunks_mut(n * linear_bytes)
                    .zip(laid_out.par_chunks(n * laid_out_bytes)),
                |(out, bytes)| {
                    let scales = Scales {
                        layout,
                        element,
                        bytes,
                    };
                    unpermute_scales(stack(n), scales, out)
                },
            )
        };
        bench.measure(Operation {
            name: format!("{}, back", self.name),
            size,
            bytes: MATRICES * (linear_bytes + laid_out_bytes),
            bar: Some(BAR),
            run: Box::new(backward),
        })
    }
}
