//! The core, which is the definition, and the core in pieces, as a conversion cuts its work.

mod rows;

use blockscale::decode;
use blockscale::encode::{self, Scheme};
use blockscale::layout::{self, ScaleLayout, Stack};
use blockscale::stats::ErrorStats;
use blockscale::transcode::{self, Mxfp4ToNvfp4};
use blockscale::{Format, Real, ScaleElement, Shape, bf16, f16};

pub(crate) use self::rows::Cut;
use self::rows::{codes_under, decoded, encoded, size};
use super::{Encoded, Engine, Outcome, Plane, Rows, Transcoded, parts};
use crate::numbers::{Kind, Numbers, with_numbers};

/// The core, each matrix of a stack by itself.
pub(crate) struct Cpu {
    pub(crate) cut: Cut,
}

impl Engine for Cpu {
    fn name(&self) -> String {
        "CPU".to_owned()
    }

    fn decode(&self, format: &Format, stack: Stack, rows: &Rows, to: Kind) -> Outcome<Numbers> {
        let cut = self.cut;
        Ok(match to {
            Kind::Bf16 => Numbers::Bf16(decoded(format, stack, rows, bf16::ZERO, cut)?),
            Kind::F16 => Numbers::F16(decoded(format, stack, rows, f16::ZERO, cut)?),
            Kind::F32 => Numbers::F32(decoded(format, stack, rows, 0.0, cut)?),
        })
    }

    fn amax(&self, stack: Stack, values: &Numbers) -> Outcome<Vec<f32>> {
        fn largest<T: Real>(stack: Stack, values: &[T]) -> Vec<f32> {
            let one = values.len() / stack.matrices.max(1);
            (0..stack.matrices)
                .map(|i| encode::amax(&values[i * one..][..one]))
                .collect()
        }
        Ok(with_numbers!(values, values => largest(stack, values)))
    }

    fn globals(
        &self,
        format: &Format,
        scheme: &Scheme,
        of: Kind,
        amax: &[f32],
    ) -> Outcome<Vec<f32>> {
        let of_one = |&amax: &f32| match of {
            Kind::Bf16 => encode::global_scale_with(format, scheme, bf16::from_f32(amax)),
            Kind::F16 => encode::global_scale_with(format, scheme, f16::from_f32(amax)),
            Kind::F32 => encode::global_scale_with(format, scheme, amax),
        };
        Ok(amax.iter().map(of_one).collect())
    }

    fn encode(
        &self,
        format: &Format,
        scheme: &Scheme,
        stack: Stack,
        values: &Numbers,
        globals: &[f32],
    ) -> Outcome<Encoded> {
        let cut = self.cut;
        with_numbers!(values, values => encoded(format, scheme, stack, values, globals, cut))
    }

    fn encode_codes(
        &self,
        format: &Format,
        scheme: &Scheme,
        stack: Stack,
        values: &Numbers,
        scales: &[u8],
        globals: &[f32],
    ) -> Outcome<Vec<u8>> {
        with_numbers!(values, values => {
            codes_under(format, scheme, stack, values, scales, globals)
        })
    }

    fn nvfp4_to_fp8_block(&self, from: &Format, stack: Stack, rows: &Rows) -> Outcome<Encoded> {
        let to = Format::FP8_BLOCK_UE8M0;
        let values = self.decode(from, stack, rows, Kind::F32)?;
        self.encode(&to, &to.default_rule().into(), stack, &values, &[])
    }

    fn round_scales_up(
        &self,
        from: &Format,
        to: &Format,
        stack: Stack,
        rows: &Rows,
    ) -> Outcome<Transcoded> {
        let Stack { matrices, shape } = stack;
        let mut all = Transcoded::nothing(1);
        let planes = parts(&rows.codes, matrices)
            .into_iter()
            .zip(parts(&rows.scales, matrices));
        for (codes, scales) in planes {
            let rows = decode::Rows {
                codes,
                scales,
                global: 1.0,
            };
            let mut codes = vec![0; size(to.code_bytes(shape))?];
            let mut scales = vec![0; size(to.scale_bytes(shape))?];
            let changed =
                transcode::round_scales_up_to_pow2(from, to, shape, rows, &mut codes, &mut scales)?;
            all.add(codes, scales, &[changed]);
        }
        Ok(all)
    }

    fn mxfp4_to_nvfp4(&self, stack: Stack, rows: &Rows) -> Outcome<Transcoded> {
        let way = Mxfp4ToNvfp4::of_scales(&rows.scales);
        let shape = Shape::new(stack.matrices * stack.shape.rows, stack.shape.cols);
        let mut all = Transcoded::nothing(3);
        let mut codes = vec![0; size(Format::NVFP4.code_bytes(shape))?];
        let mut scales = vec![0; size(Format::NVFP4.scale_bytes(shape))?];
        let rows = decode::Rows {
            codes: &rows.codes,
            scales: &rows.scales,
            global: 1.0,
        };
        let blocks = way.rows(shape, rows, &mut codes, &mut scales, |_, _| ())?;
        all.add(
            codes,
            scales,
            &[blocks.lossless, blocks.reencoded, blocks.nan],
        );
        all.global = Some(way.global());
        Ok(all)
    }

    fn mxfp4_to_fp8_block(&self, stack: Stack, rows: &Rows) -> Outcome<Transcoded> {
        let Stack { matrices, shape } = stack;
        let to = Format::FP8_BLOCK_UE8M0;
        let mut all = Transcoded::nothing(3);
        let planes = parts(&rows.codes, matrices)
            .into_iter()
            .zip(parts(&rows.scales, matrices));
        for (codes, scales) in planes {
            let rows = decode::Rows {
                codes,
                scales,
                global: 1.0,
            };
            let mut codes = vec![0; size(to.code_bytes(shape))?];
            let mut scales = vec![0; size(to.scale_bytes(shape))?];
            let blocks =
                transcode::mxfp4_to_fp8_block(shape, rows, &mut codes, &mut scales, |_, _| ())?;
            all.add(
                codes,
                scales,
                &[blocks.lossless, blocks.rounded, blocks.nan],
            );
        }
        Ok(all)
    }

    fn permute_scales(
        &self,
        layout: ScaleLayout,
        stack: Stack,
        scales: Plane<'_>,
    ) -> Outcome<Vec<u8>> {
        let mut out = vec![0; layout.scale_bytes(stack, scales.element)?];
        layout::permute_scales(layout, stack, scales.into(), &mut out)?;
        Ok(out)
    }

    fn unpermute_scales(&self, stack: Stack, scales: Plane<'_>) -> Outcome<Vec<u8>> {
        let linear = scales.layout.linear_shape(stack.shape);
        let mut out = vec![0; linear_bytes(stack, linear, scales.element)];
        layout::unpermute_scales(stack, scales.into(), &mut out)?;
        Ok(out)
    }

    fn permute_codes(&self, layout: ScaleLayout, stack: Stack, codes: &[u8]) -> Outcome<Vec<u8>> {
        let mut out = vec![0; layout.code_bytes(stack)?];
        let linear = layout::Codes {
            layout: ScaleLayout::Linear,
            bytes: codes,
        };
        layout::permute_codes(layout, stack, linear, &mut out)?;
        Ok(out)
    }

    fn unpermute_codes(&self, layout: ScaleLayout, stack: Stack, codes: &[u8]) -> Outcome<Vec<u8>> {
        let mut out = vec![0; stack.matrices * stack.shape.rows * stack.shape.cols];
        let bytes = layout::Codes {
            layout,
            bytes: codes,
        };
        layout::unpermute_codes(stack, bytes, &mut out)?;
        Ok(out)
    }

    fn error_stats(
        &self,
        shape: Shape,
        reference: &[f32],
        output: &[f32],
    ) -> Outcome<Vec<ErrorStats>> {
        let cols = shape.cols.max(1);
        let rows = reference.chunks(cols).zip(output.chunks(cols));
        Ok(rows
            .map(|(reference, output)| ErrorStats::of_row(reference, output))
            .collect::<Result<_, _>>()?)
    }

    fn histogram_codes(&self, format: &Format, stack: Stack, codes: &[u8]) -> Outcome<Vec<u64>> {
        let bits = format.element.bits();
        let cols = stack.shape.cols;
        let mut bins = vec![0; 1 << bits];
        for row in codes.chunks(format.row_bytes(cols).max(1)) {
            for col in 0..cols {
                let (byte, shift) = (col * bits / 8, col * bits % 8);
                let next = row.get(byte + 1).copied().unwrap_or(0);
                let pair = u16::from_le_bytes([row[byte], next]);
                bins[usize::from(pair >> shift) & ((1 << bits) - 1)] += 1;
            }
        }
        Ok(bins)
    }

    fn histogram_exponents(&self, values: &Numbers) -> Outcome<Vec<u64>> {
        let mut bins = vec![0; 256];
        for value in values.widened() {
            bins[(value.to_bits() >> 23 & 0xff) as usize] += 1;
        }
        Ok(bins)
    }

    fn widen(&self, values: &Numbers) -> Outcome<Vec<f32>> {
        Ok(values.widened())
    }

    fn narrow(&self, values: &[f32], to: Kind) -> Outcome<Numbers> {
        Ok(Numbers::rounded(to, values))
    }
}

impl Transcoded {
    fn nothing(counts: usize) -> Self {
        Self {
            encoded: Encoded {
                codes: Vec::new(),
                scales: Vec::new(),
            },
            global: None,
            counts: vec![0; counts],
        }
    }

    fn add(&mut self, codes: Vec<u8>, scales: Vec<u8>, counts: &[usize]) {
        self.encoded.codes.extend(codes);
        self.encoded.scales.extend(scales);
        for (sum, count) in self.counts.iter_mut().zip(counts) {
            *sum += count;
        }
    }
}

impl<'a> From<Plane<'a>> for layout::Scales<'a> {
    fn from(plane: Plane<'a>) -> Self {
        Self {
            layout: plane.layout,
            element: plane.element,
            bytes: plane.bytes,
        }
    }
}

pub(super) fn linear_bytes(stack: Stack, linear: Shape, element: ScaleElement) -> usize {
    stack.matrices * linear.rows * linear.cols * element.bytes()
}
