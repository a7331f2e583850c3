//! One block format to another on every level.

use std::prelude::v1::*;

use super::body::{Placed, Random, same_on_every_level};
use crate::arch::{ByteKernels, Kernels, Level};
use crate::decode::Rows;
use crate::encode::Scheme;
use crate::{Format, Shape};

/// A kind of scale codes: of any value, as calibrated ones are, as ones without a six are.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Any,
    Calibrated,
    WithoutSixes,
}

fn nvfp4(random: &mut Random, shape: Shape, kind: Kind) -> (Vec<u8>, Vec<u8>) {
    let format = Format::NVFP4;
    let mut codes = random.bytes(format.code_bytes(shape).unwrap());
    let mut scales = random.bytes(format.scale_bytes(shape).unwrap());
    match kind {
        Kind::Any => {}
        Kind::Calibrated => scales
            .iter_mut()
            .for_each(|scale| *scale = 0x30 + *scale % 0x4f),
        Kind::WithoutSixes => {
            scales.iter_mut().for_each(|scale| *scale %= 0x7f);
            codes.iter_mut().for_each(|code| *code &= 0xee);
        }
    }
    (codes, scales)
}

fn both(level: Level, from: &Format, shape: Shape, rows: Rows<'_>) -> Vec<u8> {
    let to = Format::FP8_BLOCK_UE8M0;
    let mut codes = Placed::filled(to.code_bytes(shape).unwrap(), shape.cols % 32, 0xa5);
    let mut scales = Placed::filled(to.scale_bytes(shape).unwrap(), 1, 0xa5);
    let kernels = ByteKernels::of(level);
    kernels.nvfp4_to_fp8_block_ue8m0(from, shape, rows, codes.get_mut(), scales.get_mut());
    [codes.into_vec(), scales.into_vec()].concat()
}

/// Through all numbers, by the functions that define it.
fn by_numbers(from: &Format, shape: Shape, rows: Rows<'_>) -> Vec<u8> {
    let to = Format::FP8_BLOCK_UE8M0;
    let kernels = Kernels::<f32>::of(Level::Scalar);
    let mut numbers = vec![0.0; shape.len().unwrap()];
    kernels.decode_rows(from, shape, rows, &mut numbers);
    let mut codes = vec![0; to.code_bytes(shape).unwrap()];
    let mut scales = vec![0; to.scale_bytes(shape).unwrap()];
    let scheme = Scheme::from(to.default_rule());
    kernels.encode_rows(&to, &scheme, shape, &numbers, 1.0, &mut codes, &mut scales);
    [codes, scales].concat()
}

#[test]
fn nvfp4_becomes_what_decoding_and_encoding_make_of_it() {
    let random = &mut Random(30);
    let shapes = [
        Shape::new(0, 128),
        Shape::new(1, 1),
        Shape::new(3, 130),
        Shape::new(127, 129),
        Shape::new(128, 128),
        Shape::new(130, 384),
        Shape::new(2, 16 << 9),
        Shape::new(5, 66 << 7),
    ];
    let globals = [
        1.0,
        0.000_558_035_7,
        3.1e-41,
        2e36,
        0.0,
        -0.5,
        f32::NAN,
        f32::INFINITY,
    ];
    for shape in shapes {
        for from in [
            Format::NVFP4,
            Format::NVFP4_DIVISOR,
            Format::NVFP4_ONE_LEVEL,
        ] {
            for kind in [Kind::Any, Kind::Calibrated, Kind::WithoutSixes] {
                for global in globals {
                    let (codes, scales) = nvfp4(random, shape, kind);
                    let rows = Rows {
                        codes: &codes,
                        scales: &scales,
                        global,
                    };
                    same_on_every_level((from, shape, kind, global), |level| {
                        both(level, &from, shape, rows)
                    });
                    assert_eq!(
                        both(Level::Scalar, &from, shape, rows),
                        by_numbers(&from, shape, rows)
                    );
                }
            }
        }
    }
}
