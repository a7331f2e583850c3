//! Codes to numbers.

use std::vec;
use std::vec::Vec;

use super::body::{Placed, Random, same_on_every_level};
use crate::arch::{Kernels, Level};
use crate::decode::Rows;
use crate::format::Packing;
use crate::{Block, Element, Format, GlobalScale, Real, ScaleElement, Shape, bf16, f16};

/// Every element type in every packing, under one E4M3 scale for 16 columns and a multiplier.
const FORMATS: [Format; 9] = [
    nvfp4_like(Element::E2m1, Packing::Dense),
    nvfp4_like(Element::E2m3, Packing::Dense),
    nvfp4_like(Element::E3m2, Packing::Dense),
    nvfp4_like(Element::E2m1, Packing::Bytes),
    nvfp4_like(Element::E2m3, Packing::Bytes),
    nvfp4_like(Element::E3m2, Packing::Bytes),
    nvfp4_like(Element::E4m3Fn, Packing::Dense),
    nvfp4_like(Element::E4m3Fnuz, Packing::Dense),
    nvfp4_like(Element::E5m2, Packing::Dense),
];

const fn nvfp4_like(element: Element, packing: Packing) -> Format {
    Format {
        element,
        packing,
        ..Format::NVFP4
    }
}

/// Blocks that vectors serve, and such as only the definition does.
const BLOCKS: [Block; 10] = [
    Block::Grid { rows: 1, cols: 16 },
    Block::Grid { rows: 1, cols: 32 },
    Block::Grid { rows: 1, cols: 64 },
    Block::Grid { rows: 3, cols: 16 },
    Block::Grid { rows: 4, cols: 128 },
    Block::Grid { rows: 1, cols: 1 },
    Block::Grid { rows: 2, cols: 5 },
    Block::Grid { rows: 1, cols: 48 },
    Block::Row,
    Block::Tensor,
];

const SCALES: [ScaleElement; 5] = [
    ScaleElement::E4m3Fn,
    ScaleElement::E8m0Fnu,
    ScaleElement::F32,
    ScaleElement::Bf16,
    ScaleElement::F16,
];

struct Case {
    format: Format,
    shape: Shape,
    codes: Vec<u8>,
    scales: Vec<u8>,
    global: f32,
}

impl Case {
    fn random(random: &mut Random, format: Format, shape: Shape) -> Self {
        Self {
            format,
            shape,
            codes: random.bytes(format.code_bytes(shape).unwrap()),
            scales: random.bytes(format.scale_bytes(shape).unwrap()),
            global: 1.0 + random.below(1000) as f32 / 777.0,
        }
    }

    /// Compares all levels, with codes and numbers at these offsets.
    fn check_as<T: Real>(&self, code_offset: usize, out_offset: usize) {
        let codes = Placed::new(&self.codes, code_offset, 0xa5);
        let Self { format, shape, .. } = *self;
        let case = (format, shape, self.global, code_offset, out_offset);
        same_on_every_level(case, |level: Level| {
            let len = shape.len().unwrap();
            let mut out = Placed::filled(len, out_offset, T::from_f32(0.75));
            let rows = Rows {
                codes: codes.get(),
                scales: &self.scales,
                global: self.global,
            };
            Kernels::<T>::of(level).decode_rows(&format, shape, rows, out.get_mut());
            bits(&out.into_vec())
        });
    }

    fn check(&self, code_offset: usize, out_offset: usize) {
        self.check_as::<f32>(code_offset, out_offset);
        self.check_as::<bf16>(code_offset, out_offset);
        self.check_as::<f16>(code_offset, out_offset);
    }
}

fn bits<T: Real>(numbers: &[T]) -> Vec<u32> {
    let bytes: &[u8] = bytemuck::cast_slice(numbers);
    let of_one = |bytes: &[u8]| {
        bytes
            .iter()
            .rev()
            .fold(0, |bits, &byte| (bits << 8) | u32::from(byte))
    };
    bytes.chunks(size_of::<T>()).map(of_one).collect()
}

/// Scales of all exponents and of every kind.
fn scales_of_all_exponents() -> Vec<f32> {
    let exponents = (0..=255_u32).flat_map(|exponent| {
        let fractions = [0, 1, 0x2a_aaaa, 0x40_0000, 0x7f_ffff];
        fractions.map(|fraction| f32::from_bits((exponent << 23) | fraction))
    });
    exponents.flat_map(|scale| [scale, -scale]).collect()
}

/// All codes of a type, in dense or loose bytes.
fn all_codes(format: &Format) -> (usize, Vec<u8>) {
    match (format.element.bits(), format.packing) {
        // Every pair of codes.
        (4, Packing::Dense) => (512, (0..=255).collect()),
        (6, Packing::Dense) => {
            // Four codes in three bytes, every code in every place.
            let words = (0..64_u32)
                .map(|code| code | ((63 - code) << 6) | ((code ^ 21) << 12) | ((code ^ 42) << 18));
            (
                256,
                words
                    .flat_map(|word| word.to_le_bytes().into_iter().take(3))
                    .collect(),
            )
        }
        _ => (256, (0..=255).collect()),
    }
}

#[test]
fn every_code_under_every_scale_code() {
    let globals = [
        1.0,
        0.37e-3,
        -2.5,
        0.0,
        1e-38,
        3e38,
        f32::INFINITY,
        f32::NAN,
    ];
    for format in FORMATS {
        for (scale, block) in [
            (ScaleElement::E4m3Fn, BLOCKS[0]),
            (ScaleElement::E8m0Fnu, BLOCKS[1]),
            (ScaleElement::E4m3Fn, Block::Row),
            (ScaleElement::E8m0Fnu, Block::Row),
        ] {
            let format = Format {
                scale,
                block,
                ..format
            };
            let (cols, row) = all_codes(&format);
            let shape = Shape::new(256, cols);
            let scale_cols = format.scale_shape(shape).cols;
            let scales = (0..=255_u8)
                .flat_map(|code| vec![code; scale_cols])
                .collect();
            let mut case = Case {
                format,
                shape,
                codes: row.repeat(256),
                scales,
                global: 1.0,
            };
            for global in globals {
                case.global = global;
                case.check(0, 0);
            }
        }
    }
}

#[test]
fn every_code_under_scales_of_all_exponents() {
    let scales = scales_of_all_exponents();
    let bytes: Vec<u8> = scales
        .iter()
        .flat_map(|scale| scale.to_le_bytes())
        .collect();
    for format in FORMATS {
        let format = Format {
            scale: ScaleElement::F32,
            block: Block::Row,
            global: GlobalScale::None,
            ..format
        };
        let (cols, row) = all_codes(&format);
        let shape = Shape::new(scales.len(), cols);
        let codes = row.repeat(scales.len());
        Case {
            format,
            shape,
            codes,
            scales: bytes.clone(),
            global: 1.0,
        }
        .check(0, 0);
    }
}

#[test]
fn every_length() {
    let mut random = Random(1);
    for format in FORMATS {
        for block in BLOCKS {
            let format = Format { block, ..format };
            for cols in 0..=150 {
                let rows = 1 + random.below(3);
                let case = Case::random(&mut random, format, Shape::new(rows, cols));
                case.check(random.below(70), random.below(70));
            }
        }
    }
}

#[test]
fn every_alignment() {
    let mut random = Random(2);
    for format in FORMATS {
        let case = Case::random(&mut random, format, Shape::new(2, 96));
        for offset in 0..64 {
            case.check(offset, 0);
            case.check(0, offset);
        }
    }
}

#[test]
fn every_kind_of_scale() {
    let mut random = Random(3);
    for format in FORMATS {
        for scale in SCALES {
            for block in BLOCKS {
                for global in [
                    GlobalScale::None,
                    GlobalScale::Multiplier,
                    GlobalScale::Divisor,
                ] {
                    let format = Format {
                        scale,
                        block,
                        global,
                        ..format
                    };
                    let shape = Shape::new(1 + random.below(9), random.below(400));
                    Case::random(&mut random, format, shape).check(0, 0);
                }
            }
        }
    }
}

#[test]
fn runs_with_a_table_for_each_scale_code() {
    let mut random = Random(4);
    for format in FORMATS {
        for (cols, rows) in [(31, 300), (32, 600), (33, 300), (1000, 30), (1040, 31)] {
            Case::random(&mut random, format, Shape::new(rows, cols)).check(0, 0);
            let mx = Format {
                scale: ScaleElement::E8m0Fnu,
                block: BLOCKS[1],
                global: GlobalScale::None,
                ..format
            };
            Case::random(&mut random, mx, Shape::new(rows * 2, cols)).check(0, 0);
        }
    }
}

#[test]
fn more_blocks_beside_each_other_than_tables_are_kept() {
    let mut random = Random(5);
    for format in FORMATS {
        for block in [
            Block::Grid { rows: 3, cols: 32 },
            Block::Grid { rows: 2, cols: 16 },
        ] {
            let format = Format {
                block,
                scale: ScaleElement::Bf16,
                ..format
            };
            Case::random(&mut random, format, Shape::new(7, 4500)).check(3, 5);
        }
    }
}

#[test]
fn outputs_that_are_written_around_the_caches() {
    let mut random = Random(6);
    for format in [
        Format::NVFP4,
        Format::MXFP8_E4M3,
        Format::FP8_BLOCK,
        Format::MXFP6_E3M2,
    ] {
        let case = Case::random(&mut random, format, Shape::new(1030, 4096));
        case.check_as::<bf16>(0, 0);
        case.check_as::<f16>(0, 1);
        let case = Case::random(&mut random, format, Shape::new(515, 4096));
        case.check_as::<f32>(0, 0);
    }
}
