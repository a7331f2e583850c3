//! Weights and activations as a checkpoint holds them, and their products.

use blockscale::decode::{Rows, decode_rows};
use blockscale::layout::{LayoutError, Stack};
use blockscale::runtime::{Kernel, Operand, Source, product_at};
use blockscale::{Block, Format, ScaleElement, Shape};

use crate::common::{Random, permute};

/// A weight or activations as a checkpoint would hold them.
#[derive(Clone)]
pub(crate) struct Plain {
    pub(crate) format: Format,
    pub(crate) matrices: usize,
    pub(crate) shape: Shape,
    pub(crate) codes: Vec<u8>,
    pub(crate) scales: Vec<u8>,
    pub(crate) globals: Vec<f32>,
}

impl Plain {
    /// Ordinary codes, and scales over four octaves so that a misplaced one shows.
    pub(crate) fn random(format: Format, matrices: usize, shape: Shape, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let codes = (0..matrices * format.code_bytes(shape).unwrap())
            .map(|_| match format.element.bits() {
                4 => random.next() as u8,
                // Magnitudes below 2, no NaN.
                _ => random.next() as u8 & 0xbf,
            })
            .collect();
        let scale_count = format.scale_shape(shape).len().unwrap() * matrices;
        let scales = (0..scale_count)
            .flat_map(|_| {
                let octave = random.below(5);
                match format.scale {
                    ScaleElement::E4m3Fn => vec![(octave * 8 + 0x20 + random.below(8)) as u8],
                    ScaleElement::E8m0Fnu => vec![118 + octave as u8],
                    _ => {
                        let mantissa = 1.0 + random.below(1000) as f32 / 1000.0;
                        (mantissa * 2_f32.powi(octave as i32 - 9))
                            .to_le_bytes()
                            .to_vec()
                    }
                }
            })
            .collect();
        let globals = match format.element.bits() {
            4 => (0..matrices).map(|i| 0.003 * (i + 1) as f32).collect(),
            _ => vec![],
        };
        Self {
            format,
            matrices,
            shape,
            codes,
            scales,
            globals,
        }
    }

    /// All values, matrix by matrix.
    pub(crate) fn decode(&self) -> Vec<Vec<f32>> {
        let code_bytes = self.format.code_bytes(self.shape).unwrap();
        let scale_bytes = self.format.scale_bytes(self.shape).unwrap();
        let decode = |i: usize| {
            let mut values = vec![0.0; self.shape.len().unwrap()];
            let rows = Rows {
                codes: &self.codes[i * code_bytes..][..code_bytes],
                scales: &self.scales[i * scale_bytes..][..scale_bytes],
                global: self.globals.get(i).copied().unwrap_or(1.0),
            };
            decode_rows(&self.format, self.shape, rows, &mut values).unwrap();
            values
        };
        (0..self.matrices).map(decode).collect()
    }

    pub(crate) fn bake(&self, kernel: Kernel) -> Result<Baked, LayoutError> {
        let (matrices, shape) = (self.matrices, self.shape);
        let mut codes = vec![0xa5; kernel.baked_code_bytes(matrices, shape)?];
        let mut scales = vec![0xa5; kernel.baked_scale_bytes(matrices, shape)?];
        let source = Source {
            codes: &self.codes,
            element: self.format.scale,
            scales: &self.scales,
        };
        kernel.bake(matrices, shape, source, &mut codes, &mut scales)?;
        Ok(Baked { codes, scales })
    }
}

pub(crate) struct Baked {
    pub(crate) codes: Vec<u8>,
    pub(crate) scales: Vec<u8>,
}

impl Baked {
    pub(crate) fn weight<'a>(&'a self, kernel: Kernel, plain: &'a Plain) -> Operand<'a> {
        let Plain {
            matrices,
            shape,
            globals,
            ..
        } = plain;
        Operand::weight(
            kernel,
            *matrices,
            *shape,
            &self.codes,
            &self.scales,
            globals,
        )
        .unwrap()
    }
}

/// Activations with their scales in the order that `kernel` reads.
pub(crate) fn activation_scales(kernel: Kernel, plain: &Plain) -> Vec<u8> {
    let scale_shape = plain.format.scale_shape(plain.shape);
    let stack = Stack::new(plain.matrices, scale_shape);
    permute(
        kernel.activation_layout(),
        stack,
        plain.format.scale,
        &plain.scales,
    )
    .unwrap()
}

pub(crate) fn activation_format(kernel: Kernel) -> Format {
    let weight = kernel.format();
    match weight.block {
        Block::Grid { rows: 128, cols } => Format {
            block: Block::Grid { rows: 1, cols },
            ..weight
        },
        _ => weight,
    }
}

/// Every product of the kernel, matrix by matrix, token by token.
pub(crate) fn products(
    activations: &Operand<'_>,
    weight: &Operand<'_>,
    sizes: [usize; 3],
) -> Vec<f64> {
    let [matrices, tokens, rows] = sizes;
    (0..matrices * tokens * rows)
        .map(|i| {
            let (matrix, token, row) = (i / rows / tokens, i / rows % tokens, i % rows);
            product_at(activations, weight, matrix, token, row).unwrap()
        })
        .collect()
}

/// The same from plain values.
pub(crate) fn plain_products(activations: &Plain, weight: &Plain) -> Vec<f64> {
    let cols = weight.shape.cols;
    let mut out = Vec::new();
    for (a, b) in activations.decode().iter().zip(&weight.decode()) {
        for a in a.chunks_exact(cols) {
            for b in b.chunks_exact(cols) {
                let pairs = a.iter().zip(b);
                out.push(pairs.fold(0.0, |sum, (&a, &b)| sum + f64::from(a) * f64::from(b)));
            }
        }
    }
    out
}

pub(crate) fn relative_error(found: &[f64], expected: &[f64]) -> f64 {
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|x| x * x).sum::<f64>().sqrt();
    let difference = norm(&mut found.iter().zip(expected).map(|(a, b)| a - b));
    difference / norm(&mut expected.iter().copied())
}

pub(crate) fn weight_shape(kernel: Kernel) -> Shape {
    match kernel {
        Kernel::DeepGemmSm90 | Kernel::DeepGemmSm100 => Shape::new(130, 700),
        Kernel::Cutlass => Shape::new(133, 80),
        _ => Shape::new(256, 80),
    }
}
