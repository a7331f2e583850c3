//! Codes and scales on every level.

use core::fmt::Debug;
use std::prelude::v1::*;

use super::body::{Placed, Random, same_on_every_level};
use crate::arch::Kernels;
use crate::encode::{ScaleRule, Scheme};
use crate::format::Packing;
use crate::{Block, Element, Format, GlobalScale, Real, ScaleElement, Shape, bf16, f16};

const FORMATS: [Format; 15] = [
    Format::NVFP4,
    Format::NVFP4_DIVISOR,
    Format::NVFP4_ONE_LEVEL,
    Format::MXFP4,
    Format::MXFP6_E2M3,
    Format::MXFP6_E3M2,
    Format::MXFP6_E3M2.packed(Packing::Bytes),
    Format::MXFP8_E4M3,
    Format::MXFP8_E5M2,
    Format::FP8_BLOCK,
    Format::FP8_BLOCK_UE8M0,
    Format::FP8_TOKEN,
    Format::FP8_CHANNEL,
    Format::FP8_TENSOR,
    Format {
        element: Element::E4m3Fnuz,
        scale: ScaleElement::Bf16,
        ..Format::FP8_CHANNEL
    },
];

/// Numbers as weights have them, and some that no weight should have.
fn numbers<T: Real>(random: &mut Random, len: usize) -> Vec<T> {
    let odd = [
        0.0,
        -0.0,
        f32::NAN,
        -f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::MAX,
        1e-40,
        -1e-5,
    ];
    let number = |random: &mut Random| match random.below(200) {
        i if i < odd.len() => odd[i],
        _ => (random.bits() as i32) as f32 * 2.0_f32.powi(-35 - random.below(8) as i32),
    };
    (0..len).map(|_| T::from_f32(number(random))).collect()
}

/// Scales with codes or bits of every kind, most of them ordinary.
fn scales(random: &mut Random, format: &Format, len: usize) -> Vec<u8> {
    let of_one = |random: &mut Random| {
        let any = random.bits();
        match (format.scale, random.below(30)) {
            (ScaleElement::E4m3Fn | ScaleElement::E8m0Fnu, 0) => vec![any as u8],
            (ScaleElement::E4m3Fn, _) => vec![0x20 + any as u8 % 0x40],
            (ScaleElement::E8m0Fnu, _) => vec![112 + any as u8 % 16],
            (ScaleElement::F32, 0) => (any as u32).to_le_bytes().to_vec(),
            (ScaleElement::F32, _) => (0x3a00_0000 | any as u32 >> 7).to_le_bytes().to_vec(),
            (_, 0) => (any as u16).to_le_bytes().to_vec(),
            _ => (0x3a00 | any as u16 >> 7).to_le_bytes().to_vec(),
        }
    };
    (0..len / format.scale.bytes())
        .flat_map(|_| of_one(random))
        .collect()
}

fn codes_of<T: Real>(format: &Format, shape: Shape, offset: usize, seed: u64) {
    let random = &mut Random(seed);
    let values = Placed::new(
        &numbers::<T>(random, shape.len().unwrap()),
        offset,
        T::zeroed(),
    );
    let scales = scales(random, format, format.scale_bytes(shape).unwrap());
    let bytes = format.code_bytes(shape).unwrap();
    same_on_every_level((format, shape, offset), |level| {
        let mut codes = Placed::filled(bytes, offset, 0xa5);
        Kernels::<T>::of(level).encode_codes(
            format,
            &Scheme::DEFAULT,
            shape,
            values.get(),
            &scales,
            0.03,
            codes.get_mut(),
        );
        codes.into_vec()
    });
}

#[test]
fn codes_are_the_same_for_every_length_and_place() {
    for format in &FORMATS {
        for cols in (0..=70).chain([127, 128, 129, 160, 255, 256, 300]) {
            let shape = Shape::new(1 + cols % 3, cols);
            codes_of::<bf16>(format, shape, cols % 33, 1);
            codes_of::<f16>(format, shape, cols % 17, 2);
            codes_of::<f32>(format, shape, cols % 9, 3);
        }
    }
}

#[test]
fn codes_of_matrices_that_are_worth_tables_are_the_same() {
    for format in &FORMATS {
        for shape in [
            Shape::new(260, 264),
            Shape::new(129, 200),
            Shape::new(3, 8200),
        ] {
            codes_of::<bf16>(format, shape, 5, 4);
            codes_of::<f32>(format, shape, 5, 5);
        }
    }
}

#[test]
fn blocks_that_no_vector_fits_are_the_same() {
    for block_cols in [1, 3, 8, 12, 24, 40] {
        let block = Block::Grid {
            rows: 2,
            cols: block_cols,
        };
        for format in [Format::NVFP4, Format::MXFP6_E2M3, Format::FP8_BLOCK] {
            codes_of::<f32>(&Format { block, ..format }, Shape::new(3, 101), 1, 6);
            codes_of::<bf16>(&Format { block, ..format }, Shape::new(3, 101), 1, 7);
        }
    }
}

/// Every BF16 number.
fn all_of_bf16() -> Vec<bf16> {
    (0..=u16::MAX).map(bf16::from_bits).collect()
}

fn every_bf16_under(format: &Format, scale: &[u8], global: f32, values: &[bf16]) {
    let shape = Shape::new(1, values.len());
    let scales = scale.repeat(format.scale_bytes(shape).unwrap() / scale.len());
    let bytes = format.code_bytes(shape).unwrap();
    same_on_every_level((format, scale, global), |level| {
        let mut codes = vec![0; bytes];
        let scheme = Scheme::DEFAULT;
        Kernels::of(level)
            .encode_codes(format, &scheme, shape, values, &scales, global, &mut codes);
        codes
    });
}

#[test]
fn every_bf16_is_the_same_under_every_scale_code() {
    let values = all_of_bf16();
    for scale in 0..=u8::MAX {
        every_bf16_under(&Format::MXFP4, &[scale], 1.0, &values);
        every_bf16_under(&Format::MXFP8_E4M3, &[scale], 1.0, &values);
        every_bf16_under(&Format::MXFP8_E5M2, &[scale], 1.0, &values);
        every_bf16_under(&Format::NVFP4_ONE_LEVEL, &[scale], 1.0, &values);
        every_bf16_under(&Format::NVFP4, &[scale], 0.000_558_035_7, &values);
        every_bf16_under(&Format::NVFP4_DIVISOR, &[scale], 1792.3, &values);
    }
}

#[test]
fn every_bf16_is_the_same_under_scales_of_every_kind() {
    let values = all_of_bf16();
    let random = &mut Random(8);
    let near_powers = [1.0_f32, 1.5, 1.75, 1.25].map(f32::to_bits);
    let near_powers = near_powers.into_iter().flat_map(|bits| bits - 2..=bits + 2);
    let special = [
        0.0,
        -0.0,
        -1.5,
        f32::NAN,
        f32::INFINITY,
        1e-39,
        1e-30,
        3e38,
        1e25,
        7e-29,
    ];
    let scales = near_powers
        .chain(special.map(f32::to_bits))
        .chain((0..40).map(|_| 0x3800_0000 | random.bits() as u32 >> 5))
        .chain((0..=8).map(|i| (31 + i) << 23 | 0x12345))
        .chain((0..=8).map(|i| (220 + i) << 23 | 0x54321));
    for scale in scales {
        let scale = scale.to_le_bytes();
        every_bf16_under(&Format::FP8_TENSOR, &scale, 1.0, &values);
        let e5m2 = Format {
            element: Element::E5m2,
            ..Format::FP8_TENSOR
        };
        every_bf16_under(&e5m2, &scale, 1.0, &values);
    }
}

/// Under each scale the middles between neighbouring values, and the F32 next to them.
#[test]
fn what_lies_next_to_a_middle_is_the_same() {
    let elements = [
        Element::E2m1,
        Element::E2m3,
        Element::E3m2,
        Element::E4m3Fn,
        Element::E4m3Fnuz,
        Element::E5m2,
    ];
    let random = &mut Random(9);
    for element in elements {
        let magnitudes = (0..1_u8 << (element.bits() - 1)).map(|code| element.decode(code));
        let magnitudes: Vec<f32> = magnitudes.filter(|x| x.is_finite()).collect();
        let middles: Vec<f32> = magnitudes.windows(2).map(|w| (w[0] + w[1]) / 2.0).collect();
        for _ in 0..200 {
            let scale = f32::from_bits(0x3000_0000 | random.bits() as u32 >> 4);
            let near = |middle: f32| {
                let bits = (middle * scale).to_bits();
                (bits - 3..=bits + 3).flat_map(|bits| [f32::from_bits(bits), -f32::from_bits(bits)])
            };
            let values: Vec<f32> = middles.iter().flat_map(|&middle| near(middle)).collect();
            let format = Format {
                element,
                ..Format::FP8_TENSOR
            };
            let shape = Shape::new(1, values.len());
            same_on_every_level((element, scale), |level| {
                let mut codes = vec![0; format.code_bytes(shape).unwrap()];
                let scale = scale.to_le_bytes();
                let scheme = Scheme::DEFAULT;
                Kernels::of(level)
                    .encode_codes(&format, &scheme, shape, &values, &scale, 1.0, &mut codes);
                codes
            });
        }
    }
}

fn scales_of<T: Real>(format: &Format, scheme: &Scheme, shape: Shape, values: &[T], global: f32) {
    same_on_every_level((format, scheme, shape, global), |level| {
        let mut scales = Placed::filled(format.scale_bytes(shape).unwrap(), 3, 0xa5);
        Kernels::of(level).choose_scales(format, scheme, shape, values, global, scales.get_mut());
        scales.into_vec()
    });
}

#[test]
fn scales_are_the_same_by_every_rule() {
    let random = &mut Random(10);
    for format in &FORMATS {
        for &rule in ScaleRule::ALL {
            for shape in [Shape::new(3, 250), Shape::new(130, 136)] {
                let len = shape.len().unwrap();
                let values = numbers::<bf16>(random, len);
                scales_of(format, &rule.into(), shape, &values, 0.003);
                let values = numbers::<f32>(random, len);
                scales_of(format, &rule.into(), shape, &values, 300.0);
            }
        }
    }
}

#[test]
fn scales_are_the_same_by_every_scheme() {
    let random = &mut Random(11);
    for format in &FORMATS {
        for named in Scheme::NAMED {
            let values = numbers::<f16>(random, 20 * 330);
            scales_of(format, &named.scheme, Shape::new(20, 330), &values, 0.01);
        }
    }
}

/// One number a block and zeros, so that every magnitude of BF16 decides on a scale.
#[test]
fn the_scale_of_every_bf16_is_the_same() {
    let mut values = vec![bf16::ZERO; 16 << 16];
    for bits in 0..=u16::MAX {
        values[usize::from(bits) * 16 + usize::from(bits % 16)] = bf16::from_bits(bits);
    }
    let shape = Shape::new(1, values.len());
    for global in [1.0, 0.000_558, 2.0e-38, 1e30, 0.0, f32::NAN, -1.0] {
        for format in [
            Format::NVFP4,
            Format::NVFP4_DIVISOR,
            Format::NVFP4_ONE_LEVEL,
        ] {
            for scheme in [Scheme::DEFAULT, Scheme::TORCHAO_NVFP4] {
                scales_of(&format, &scheme, shape, &values, global);
            }
        }
    }
    for rule in [ScaleRule::Rceil, ScaleRule::RceilMin1e4] {
        scales_of(&Format::MXFP8_E4M3, &rule.into(), shape, &values, 1.0);
        scales_of(&Format::MXFP8_E5M2, &rule.into(), shape, &values, 1.0);
        scales_of(&Format::MXFP4, &rule.into(), shape, &values, 1.0);
    }
}

fn largest_of<T: Real + Debug>(values: &[T], offset: usize) {
    let values = Placed::new(values, offset, T::from_f32(f32::MAX));
    same_on_every_level((values.get().len(), offset), |level| {
        vec![Kernels::<T>::of(level).amax(values.get()).to_bits()]
    });
}

#[test]
fn largest_magnitudes_are_the_same() {
    let random = &mut Random(12);
    for len in (0..=200).chain([1000]) {
        largest_of(&numbers::<bf16>(random, len), len % 33);
        largest_of(&numbers::<f16>(random, len), len % 17);
        largest_of(&numbers::<f32>(random, len), len % 9);
    }
}

#[test]
fn scales_and_codes_at_once_are_those_one_after_the_other() {
    let random = &mut Random(13);
    let shapes = [
        Shape::new(0, 32),
        Shape::new(5, 72),
        Shape::new(131, 392),
        Shape::new(4, 9000),
    ];
    for format in &FORMATS {
        for rule in [format.default_rule(), ScaleRule::MseSearch] {
            if !rule.fits(format)
                || (rule == ScaleRule::MseSearch && format.global == GlobalScale::None)
            {
                continue;
            }
            for shape in shapes {
                let values = numbers::<bf16>(random, shape.len().unwrap());
                let scheme = Scheme::from(rule);
                same_on_every_level((format, rule, shape), |level| {
                    let kernels = Kernels::of(level);
                    let mut codes = vec![0xa5; format.code_bytes(shape).unwrap()];
                    let mut scales = vec![0xa5; format.scale_bytes(shape).unwrap()];
                    kernels.encode_rows(
                        format,
                        &scheme,
                        shape,
                        &values,
                        0.02,
                        &mut codes,
                        &mut scales,
                    );
                    [codes, scales].concat()
                });
            }
        }
    }
}
