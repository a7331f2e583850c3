//! The kernels' integers against the processor's floats.

use blockscale::{Block, Element, Format, GlobalScale, ScaleElement, Shape};
use blockscale_wgpu::{Kind, Number, Source, Window};

use crate::common::{ELEMENTS, Random, Sample, assert_same, block_on, gpu};

fn assert_decodes(sample: &Sample, what: &str) {
    let Some(gpu) = gpu() else { return };
    let Kind::Blocks(format) = sample.kind else {
        unreachable!("blocks only")
    };
    let mut expected = vec![0.0_f32; sample.shape.len().unwrap()];
    blockscale::decode::decode_rows(&format, sample.shape, sample.rows(), &mut expected).unwrap();
    let resident = block_on(gpu.upload(&sample.stored())).unwrap();
    let window = Window::whole(sample.shape);
    let found = block_on(gpu.tile(Source::Values(&resident), &window)).unwrap();
    assert_same(&found, &expected, what);
}

#[test]
fn every_code_times_every_scale_byte_is_the_cores_product() {
    let shape = Shape::new(256, 256);
    for element in ELEMENTS {
        for scale in [ScaleElement::E4m3Fn, ScaleElement::E8m0Fnu] {
            for (global, factor) in [
                (GlobalScale::None, 1.0),
                (GlobalScale::Multiplier, 0.3),
                (GlobalScale::Divisor, 3e30),
            ] {
                let format = Format {
                    element,
                    packing: blockscale::format::Packing::Bytes,
                    block: Block::Row,
                    scale,
                    global,
                };
                let sample = Sample {
                    kind: Kind::Blocks(format),
                    shape,
                    codes: (0..256).flat_map(|_| 0..=u8::MAX).collect(),
                    scales: (0..=u8::MAX).collect(),
                    global: factor,
                };
                assert_decodes(&sample, &format.to_string());
            }
        }
    }
}

#[test]
fn any_f32_scale_is_rounded_as_the_core_rounds() {
    let shape = Shape::new(64, 4096);
    for element in [Element::E4m3Fn, Element::E5m2, Element::E2m3] {
        let format = Format {
            element,
            block: Block::Grid { rows: 1, cols: 1 },
            ..Format::FP8_BLOCK
        };
        assert_decodes(&Sample::wild(&format, shape, 1), &format.to_string());
    }
}

/// Scales whose products with small elements lie about the smallest normal number and below.
#[test]
fn subnormal_products_are_rounded_and_kept() {
    let format = Format {
        block: Block::Grid { rows: 1, cols: 1 },
        ..Format::FP8_BLOCK
    };
    let shape = Shape::new(64, 1024);
    let mut sample = Sample::wild(&format, shape, 2);
    let mut random = Random(3);
    for scale in sample.scales.chunks_exact_mut(4) {
        let bits = (random.next() as u32) & 0x87ff_ffff;
        scale.copy_from_slice(&bits.to_le_bytes());
    }
    assert_decodes(&sample, "subnormal");
}

#[test]
fn every_half_and_every_bf16_widens_exactly() {
    let Some(gpu) = gpu() else { return };
    let shape = Shape::new(256, 256);
    for number in [Number::F16, Number::Bf16] {
        let sample = Sample {
            kind: Kind::Numbers(number),
            codes: (0..=u16::MAX).flat_map(u16::to_le_bytes).collect(),
            ..Sample::numbers(shape, &[])
        };
        let widen = |bits| match number {
            Number::F16 => blockscale::f16::from_bits(bits).to_f32(),
            _ => blockscale::bf16::from_bits(bits).to_f32(),
        };
        let expected: Vec<_> = (0..=u16::MAX).map(widen).collect();
        let resident = block_on(gpu.upload(&sample.stored())).unwrap();
        let window = Window::whole(shape);
        let found = block_on(gpu.tile(Source::Values(&resident), &window)).unwrap();
        assert_same(&found, &expected, "widened");
    }
}

/// Any numbers, pairs that nearly cancel, pairs far apart, and special ones.
#[test]
fn a_difference_is_rounded_once() {
    let Some(gpu) = gpu() else { return };
    let shape = Shape::new(64, 2048);
    let mut random = Random(4);
    let specials = [
        0,
        1 << 31,
        1,
        0x7f80_0000,
        0xff80_0000,
        0x7fc0_0000,
        0x7f7f_ffff,
        0x0080_0000,
    ];
    let pair = |index: usize, random: &mut Random| {
        let x = random.next() as u32;
        let y = match index % 5 {
            0 => random.next() as u32,
            1 => x.wrapping_add(random.below(9) as u32),
            2 => x ^ (1 << 31) ^ (1 << random.below(26)),
            3 => x.wrapping_sub((random.below(60) as u32) << 22),
            _ => specials[random.below(8)],
        };
        let x = if index.is_multiple_of(7) {
            specials[random.below(8)]
        } else {
            x
        };
        (f32::from_bits(x), f32::from_bits(y))
    };
    let (x, y): (Vec<f32>, Vec<f32>) = (0..shape.rows * shape.cols)
        .map(|index| pair(index, &mut random))
        .unzip();
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| x - y).collect();
    let first = block_on(gpu.upload(&Sample::numbers(shape, &x).stored())).unwrap();
    let second = block_on(gpu.upload(&Sample::numbers(shape, &y).stored())).unwrap();
    let source = Source::Difference(&first, &second);
    let found = block_on(gpu.tile(source, &Window::whole(shape))).unwrap();
    assert_same(&found, &expected, "difference");
}
