//! What an adapter has to prove before it is used.

use blockscale::decode::Rows;
use blockscale::{Block, Element, Format, ScaleElement, Shape};

use super::{FloatSubnormals, Gpu};
use crate::kernel::{Kernel, Launch};
use crate::{GpuError, Source, Stored, Window, cpu};

/// Scales whose products round, carry, overflow, underflow and tie.
const SCALES: [u32; 16] = [
    0x0000_0000, // zero
    0x0000_0001, // the smallest subnormal
    0x007f_ffff, // the largest subnormal
    0x0080_0000, // the smallest normal number
    0x0040_0000, // 2^-127
    0x00c0_0001,
    0x3f80_0000, // 1
    0x3f80_0001,
    0x3faa_aaab, // 4/3
    0x3fff_ffff,
    0xbe99_999a, // -0.3
    0x7f00_0000, // 2^127
    0x7f7f_ffff, // the largest number
    0x7f80_0000, // infinity
    0x7fc0_0000, // NaN
    0x8000_0000, // -0
];

impl Gpu {
    /// Compares products of all codes and these scales, and their differences, with the core's.
    pub(super) async fn check(&self) -> Result<(), GpuError> {
        let format = |element| Format {
            element,
            block: Block::Row,
            scale: ScaleElement::F32,
            ..Format::FP8_CHANNEL
        };
        let shape = Shape::new(SCALES.len(), 256);
        let codes: Vec<u8> = (0..shape.rows).flat_map(|_| 0..=u8::MAX).collect();
        let scales: Vec<u8> = SCALES
            .iter()
            .flat_map(|scale| scale.to_le_bytes())
            .collect();
        let rows = Rows {
            codes: &codes,
            scales: &scales,
            global: 1.0,
        };
        let e4m3 = Stored::blocks(&format(Element::E4m3Fn), shape, rows)?;
        let e5m2 = Stored::blocks(&format(Element::E5m2), shape, rows)?;
        let resident = [self.upload(&e4m3).await?, self.upload(&e5m2).await?];
        for (source, on_gpu) in [
            (Source::Values(&e4m3), Source::Values(&resident[0])),
            (Source::Values(&e5m2), Source::Values(&resident[1])),
            (
                Source::Difference(&e4m3, &e5m2),
                Source::Difference(&resident[0], &resident[1]),
            ),
        ] {
            let window = Window::whole(shape);
            let expected = cpu::tile(source, &window)?;
            let found = self.tile(on_gpu, &window).await?;
            self.same(&expected, &found, |index| {
                let (row, code) = (index / shape.cols, index % shape.cols);
                let what = match source {
                    Source::Difference(..) => "E4M3 less E5M2",
                    Source::Values(weight) if *weight == e5m2 => "E5M2",
                    _ => "E4M3",
                };
                format!("{what} of code {code:#04x}, scale {:#010x}", SCALES[row])
            })?;
        }
        Ok(())
    }

    fn same(
        &self,
        expected: &[f32],
        found: &[f32],
        what: impl Fn(usize) -> String,
    ) -> Result<(), GpuError> {
        for (index, (expected, found)) in expected.iter().zip(found).enumerate() {
            let both_nan = expected.is_nan() && found.is_nan();
            if !both_nan && expected.to_bits() != found.to_bits() {
                return Err(GpuError::WrongResult {
                    adapter: self.report.adapter.clone(),
                    what: what(index),
                    expected: expected.to_bits(),
                    found: found.to_bits(),
                });
            }
        }
        Ok(())
    }

    /// Multiplies two numbers to a subnormal, and a subnormal by 1.
    pub(super) async fn float_subnormals(&self) -> Result<FloatSubnormals, GpuError> {
        let subnormal = f32::MIN_POSITIVE / 2.0;
        let factors = [f32::MIN_POSITIVE, 0.5, subnormal, 1.0];
        let launch = Launch {
            kernel: Kernel::FloatSubnormals,
            parameters: &[],
            input: bytemuck::cast_slice(&factors),
            weights: &[],
            workgroups: 1,
            output_words: 2,
        };
        let products = self.kernels.run(&self.handle, &launch).await?;
        Ok(
            match products.iter().all(|&bits| bits == subnormal.to_bits()) {
                true => FloatSubnormals::Kept,
                false => FloatSubnormals::Flushed,
            },
        )
    }
}
