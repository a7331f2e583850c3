//! Formats, schemes, shapes and contents that suites go through.

use blockscale::element::{EncodePolicy, NanCode, Overflow, Ties, ZeroSign};
use blockscale::encode::{ErrorMeasure, ScaleRule, Scheme};
use blockscale::format::Packing;
use blockscale::layout::Stack;
use blockscale::{Block, Element, Format, GlobalScale, ScaleElement, Shape};

use crate::engine::Rows;
use crate::numbers::{Kind, Numbers};
use crate::random::Random;

/// Every named format, and others so that each element, packing, scale type and kind of block occurs.
pub(crate) fn formats() -> Vec<Format> {
    let named = [
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
    ];
    let others = [
        Format::MXFP4.packed(Packing::Bytes),
        Format::MXFP6_E2M3.packed(Packing::Bytes),
        Format::MXFP6_E3M2.packed(Packing::Bytes),
        with(Element::E4m3Fn, (128, 128), ScaleElement::Bf16),
        with(Element::E5m2, (64, 48), ScaleElement::F16),
        with(Element::E4m3Fnuz, (1, 64), ScaleElement::F32),
        with(Element::E3m2, (3, 5), ScaleElement::E4m3Fn),
        Format {
            global: GlobalScale::Divisor,
            ..with(Element::E2m1, (2, 7), ScaleElement::F16)
        },
        Format {
            element: Element::E5m2,
            block: Block::Row,
            global: GlobalScale::Multiplier,
            ..Format::FP8_CHANNEL
        },
    ];
    named.into_iter().chain(others).collect()
}

fn with(element: Element, (rows, cols): (usize, usize), scale: ScaleElement) -> Format {
    Format {
        element,
        packing: Packing::Dense,
        block: Block::Grid { rows, cols },
        scale,
        global: GlobalScale::None,
    }
}

/// Rules and named schemes; each format takes every one.
pub(crate) fn schemes() -> Vec<Scheme> {
    let rules = [
        ScaleRule::Amax,
        ScaleRule::AmaxReciprocal,
        ScaleRule::AmaxMin1e4,
        ScaleRule::Floor,
        ScaleRule::Ceil,
        ScaleRule::Rceil,
        ScaleRule::RceilMin1e4,
        ScaleRule::Even,
        ScaleRule::EvenAt { mantissa_bits: 1 },
        ScaleRule::Nearest,
        ScaleRule::FourOverSix(ErrorMeasure::Absolute),
        ScaleRule::FourOverSix(ErrorMeasure::Squared),
        ScaleRule::MseSearch,
    ];
    let named = [
        Scheme::MODELOPT_NVFP4,
        Scheme::COMPRESSED_TENSORS_NVFP4,
        Scheme::TORCHAO_NVFP4,
        Scheme::TORCHAO_MX_FLOOR,
        Scheme::TORCHAO_MX_CEIL,
        Scheme::TORCHAO_MX_EVEN,
        Scheme::TORCHAO_MX_RCEIL,
        Scheme::COMPRESSED_TENSORS_MXFP4,
        Scheme::COMPRESSED_TENSORS_MXFP6,
        Scheme::COMPRESSED_TENSORS_MXFP8,
        Scheme::MODELOPT_MXFP4,
        Scheme::MODELOPT_MXFP8,
        Scheme::DEEPGEMM_FP4,
        Scheme::TILEKERNELS_FP4,
        Scheme::GGML_MXFP4,
        Scheme::DEEPGEMM_FP8,
        Scheme::DEEPGEMM_FP8_UE8M0,
        Scheme::COMPRESSED_TENSORS_FP8,
        Scheme::MODELOPT_FP8,
        Scheme::MODELOPT_FOUR_OVER_SIX,
        Scheme::TORCHAO_FP8,
        Scheme {
            policy: EncodePolicy {
                ties: Ties::Away,
                overflow: Overflow::Special,
                zero: ZeroSign::Keep,
                nan: NanCode::Payload,
            },
            ..Scheme::DEFAULT
        },
        Scheme {
            policy: EncodePolicy {
                nan: NanCode::Opposite(0),
                ..EncodePolicy::DEFAULT
            },
            ..Scheme::DEFAULT
        },
    ];
    rules.into_iter().map(Scheme::from).chain(named).collect()
}

/// Stacks of whole blocks, of ragged ones, of single elements and of nothing.
pub(crate) fn stacks() -> Vec<Stack> {
    let sizes = [
        (1, 1, 1),
        (1, 1, 7),
        (1, 3, 32),
        (2, 5, 64),
        (3, 2, 33),
        (1, 130, 140),
        (2, 129, 160),
        (1, 256, 512),
        (3, 128, 128),
        (1, 0, 32),
    ];
    let stack = |(matrices, rows, cols)| Stack::new(matrices, Shape::new(rows, cols));
    sizes.into_iter().map(stack).collect()
}

/// Large enough that a grid has many blocks and threads take several items.
pub(crate) const LARGE: Stack = Stack::new(1, Shape::new(1024, 2048));

/// Random codes under random scales: most of them usual, some at the edges of their type.
pub(crate) fn rows(format: &Format, stack: Stack, random: &mut Random) -> Rows {
    let code_bytes = format.code_bytes(stack.shape).unwrap_or(0) * stack.matrices;
    let scale_bytes = format.scale_bytes(stack.shape).unwrap_or(0) * stack.matrices;
    let mut codes = random.bytes(code_bytes);
    if format.packing == Packing::Bytes {
        let mask = u8::MAX >> (8 - format.element.bits());
        codes.iter_mut().for_each(|code| *code &= mask);
    }
    let mut scales = Vec::with_capacity(scale_bytes);
    while scales.len() < scale_bytes {
        scales.extend(scale(format.scale, random));
    }
    let globals = [1.0, 0.000_558, 3.7e-38, 2.5e30, 0.75];
    Rows {
        codes,
        scales,
        globals: (0..stack.matrices).map(|_| random.pick(&globals)).collect(),
    }
}

fn scale(element: ScaleElement, random: &mut Random) -> Vec<u8> {
    let usual = random.below(16) != 0;
    let value = (random.unit() * 20.0).exp2();
    match element {
        ScaleElement::E4m3Fn if usual => vec![random.next() as u8 & 0x7e],
        ScaleElement::E8m0Fnu if usual => vec![100 + random.below(50) as u8],
        ScaleElement::F32 if usual => value.to_le_bytes().to_vec(),
        ScaleElement::Bf16 if usual => blockscale::bf16::from_f32(value).to_le_bytes().to_vec(),
        ScaleElement::F16 if usual => blockscale::f16::from_f32(value).to_le_bytes().to_vec(),
        // Any bits: zeros, subnormals, infinities and NaN among them.
        other => random.bytes(other.bytes()),
    }
}

/// What tensors are filled with before they are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Like a weight.
    Usual,
    /// Any finite magnitude.
    Wide,
    /// Points of a coarse grid and their midpoints, so that quotients tie.
    Ties,
    /// Blocks of zeros of either sign, with few others.
    Sparse,
    /// Infinities, NaN, subnormals and the largest numbers between usual ones.
    Special,
}

impl Content {
    pub(crate) const ALL: [Self; 5] = [
        Self::Usual,
        Self::Wide,
        Self::Ties,
        Self::Sparse,
        Self::Special,
    ];

    pub(crate) fn numbers(self, kind: Kind, len: usize, random: &mut Random) -> Numbers {
        let values: Vec<f32> = (0..len).map(|_| self.value(random)).collect();
        Numbers::rounded(kind, &values)
    }

    fn value(self, random: &mut Random) -> f32 {
        match self {
            Self::Usual => random.normal() * 0.02,
            Self::Wide => (random.unit() * 126.0).exp2() * random.unit().signum(),
            Self::Ties => (random.below(129) as f32 - 64.0) * 0.125,
            Self::Sparse => match random.below(97) {
                0 => random.normal(),
                odd if odd % 2 == 1 => -0.0,
                _ => 0.0,
            },
            Self::Special => match random.below(24) {
                0 => f32::from_bits(random.next() as u32),
                1 => f32::from_bits(random.next() as u32 & 0x807f_ffff),
                2 => random.pick(&[f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN]),
                3 => random.pick(&[f32::NAN, -f32::NAN]),
                _ => random.normal() * 3.0,
            },
        }
    }
}

/// All 65,536 numbers of a 16-bit type, as a matrix of 256 x 256.
pub(crate) fn every_number(kind: Kind) -> Option<Numbers> {
    use blockscale::{bf16, f16};
    Some(match kind {
        Kind::Bf16 => Numbers::Bf16((0..=u16::MAX).map(bf16::from_bits).collect()),
        Kind::F16 => Numbers::F16((0..=u16::MAX).map(f16::from_bits).collect()),
        Kind::F32 => return None,
    })
}

/// F32 around every midpoint of an element's values: the midpoint, and the numbers beside it.
pub(crate) fn midpoints(element: Element) -> Vec<f32> {
    let mut values: Vec<f32> = (0..=u8::MAX >> (8 - element.bits()))
        .map(|code| element.decode(code))
        .filter(|value| value.is_finite())
        .collect();
    values.sort_by(f32::total_cmp);
    values.push(element.max_finite() * 1.5);
    let pairs = values.windows(2);
    pairs
        .flat_map(|pair| {
            let middle = pair[0].midpoint(pair[1]);
            [pair[0], middle.next_down(), middle, middle.next_up()]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_format_occurs() {
        let formats = formats();
        let elements = [
            Element::E2m1,
            Element::E2m3,
            Element::E3m2,
            Element::E4m3Fn,
            Element::E4m3Fnuz,
            Element::E5m2,
        ];
        assert!(
            elements
                .iter()
                .all(|e| formats.iter().any(|f| f.element == *e))
        );
        let scales = [
            ScaleElement::E4m3Fn,
            ScaleElement::E8m0Fnu,
            ScaleElement::F32,
            ScaleElement::Bf16,
            ScaleElement::F16,
        ];
        assert!(scales.iter().all(|s| formats.iter().any(|f| f.scale == *s)));
        let globals = [
            GlobalScale::None,
            GlobalScale::Multiplier,
            GlobalScale::Divisor,
        ];
        assert!(
            globals
                .iter()
                .all(|g| formats.iter().any(|f| f.global == *g))
        );
    }

    #[test]
    fn midpoints_of_e2m1_hold_its_ties_and_their_neighbours() {
        let points = midpoints(Element::E2m1);
        for tie in [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 7.5, -0.25] {
            assert!(points.contains(&tie), "{tie}");
        }
        assert!(points.contains(&2.5_f32.next_up()));
    }
}
