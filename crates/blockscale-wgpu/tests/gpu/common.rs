//! Adapters and weights that the tests share.

use std::sync::OnceLock;

use blockscale::decode::Rows;
use blockscale::format::Packing;
use blockscale::{Block, Element, Format, GlobalScale, ScaleElement, Shape};
use blockscale_wgpu::{Gpu, GpuError, Kind, Number, Options, Stored};

pub(crate) use pollster::block_on;

pub(crate) const ELEMENTS: [Element; 6] = [
    Element::E2m1,
    Element::E2m3,
    Element::E3m2,
    Element::E4m3Fn,
    Element::E4m3Fnuz,
    Element::E5m2,
];

/// Adapters that work in the usual parts, and in parts so small that everything is cut; none where
/// there is no adapter, which is said.
pub(crate) fn gpus() -> Vec<&'static Gpu> {
    type Opened = OnceLock<Result<Gpu, GpuError>>;
    static USUAL: Opened = OnceLock::new();
    static SMALL: Opened = OnceLock::new();
    let of_parts = |part_bytes| Options {
        part_bytes,
        ..Options::default()
    };
    let usual = USUAL.get_or_init(|| block_on(Gpu::new(&Options::default())));
    let small = SMALL.get_or_init(|| block_on(Gpu::new(&of_parts(600))));
    [usual, small]
        .into_iter()
        .filter_map(|opened| opened.as_ref().map_err(say_skipped).ok())
        .collect()
}

/// The adapter that works in the usual parts.
pub(crate) fn gpu() -> Option<&'static Gpu> {
    gpus().first().copied()
}

/// An adapter of the test's own.
pub(crate) fn open(options: &Options) -> Option<Gpu> {
    block_on(Gpu::new(options))
        .map_err(|error| say_skipped(&error))
        .ok()
}

fn say_skipped(error: &GpuError) {
    println!("skipped: {error}");
}

/// Every named format, and the parts that none of them has.
pub(crate) fn formats() -> Vec<Format> {
    let grid = |rows, cols| Block::Grid { rows, cols };
    vec![
        Format::NVFP4,
        Format::NVFP4_DIVISOR,
        Format::NVFP4_ONE_LEVEL,
        Format::MXFP4,
        Format::MXFP6_E2M3,
        Format::MXFP6_E3M2,
        Format::MXFP8_E4M3,
        Format::MXFP8_E5M2,
        Format::FP8_BLOCK,
        Format::FP8_BLOCK_UE8M0,
        Format::FP8_TOKEN,
        Format::FP8_TOKEN_UE8M0,
        Format::FP8_CHANNEL,
        Format::FP8_TENSOR,
        Format::NVFP4.packed(Packing::Bytes),
        Format::MXFP6_E2M3.packed(Packing::Bytes),
        Format {
            block: grid(3, 5),
            ..Format::MXFP6_E3M2
        },
        Format {
            element: Element::E4m3Fnuz,
            block: grid(1, 1),
            scale: ScaleElement::F16,
            global: GlobalScale::Divisor,
            ..Format::FP8_BLOCK
        },
        Format {
            element: Element::E5m2,
            block: grid(2, 7),
            scale: ScaleElement::Bf16,
            global: GlobalScale::Multiplier,
            ..Format::FP8_BLOCK
        },
        Format {
            block: Block::Tensor,
            ..Format::NVFP4_DIVISOR
        },
    ]
}

/// Shapes whose sides are no multiples of anything, and empty ones.
pub(crate) const SHAPES: [Shape; 6] = [
    Shape::new(1, 1),
    Shape::new(3, 33),
    Shape::new(2, 701),
    Shape::new(131, 135),
    Shape::new(0, 5),
    Shape::new(4, 0),
];

/// Bytes of a weight.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) kind: Kind,
    pub(crate) shape: Shape,
    pub(crate) codes: Vec<u8>,
    pub(crate) scales: Vec<u8>,
    pub(crate) global: f32,
}

impl Sample {
    /// Any codes and any scales: NaN, infinities, subnormals and all.
    pub(crate) fn wild(format: &Format, shape: Shape, seed: u64) -> Self {
        let mut random = Random(seed);
        Self {
            kind: Kind::Blocks(*format),
            shape,
            codes: random.bytes(format.code_bytes(shape).unwrap()),
            scales: random.bytes(format.scale_bytes(shape).unwrap()),
            global: 0.3,
        }
    }

    /// Any codes, and scales near 1.
    pub(crate) fn tame(format: &Format, shape: Shape, seed: u64) -> Self {
        let mut sample = Self::wild(format, shape, seed);
        let mut random = Random(seed + 1);
        let width = format.scale.bytes();
        for scale in sample.scales.chunks_exact_mut(width) {
            let number = 0.5 + (random.next() % 1024) as f32 / 1024.0;
            match format.scale {
                ScaleElement::E8m0Fnu => scale[0] = 120 + (random.next() % 16) as u8,
                ScaleElement::E4m3Fn => scale[0] = 0x30 + (random.next() % 16) as u8,
                ScaleElement::F32 => scale.copy_from_slice(&number.to_le_bytes()),
                ScaleElement::Bf16 => {
                    scale.copy_from_slice(&blockscale::bf16::from_f32(number).to_le_bytes());
                }
                _ => scale.copy_from_slice(&blockscale::f16::from_f32(number).to_le_bytes()),
            }
        }
        sample
    }

    pub(crate) fn numbers(shape: Shape, numbers: &[f32]) -> Self {
        Self {
            kind: Kind::Numbers(Number::F32),
            shape,
            codes: numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
            scales: Vec::new(),
            global: 1.0,
        }
    }

    pub(crate) fn rows(&self) -> Rows<'_> {
        Rows {
            codes: &self.codes,
            scales: &self.scales,
            global: self.global,
        }
    }

    pub(crate) fn stored(&self) -> Stored<'_> {
        match self.kind {
            Kind::Blocks(format) => Stored::blocks(&format, self.shape, self.rows()).unwrap(),
            Kind::Numbers(number) => Stored::numbers(number, self.shape, &self.codes).unwrap(),
        }
    }
}

/// A generator that is the same everywhere (SplitMix64).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Vec<u8> {
        (0..len).map(|_| self.next() as u8).collect()
    }
}

#[track_caller]
pub(crate) fn assert_same(found: &[f32], expected: &[f32], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let same = found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan();
        assert!(
            same,
            "{what}: number {index} is {found:e}, not {expected:e}"
        );
    }
}
