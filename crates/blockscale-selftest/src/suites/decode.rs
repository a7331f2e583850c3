//! Codes to numbers: every format, in every shape, to every type.

use blockscale::layout::Stack;
use blockscale::{Format, Shape};

use super::CORE;
use crate::cases;
use crate::engine::{Engine, Rows};
use crate::numbers::Kind;
use crate::random::Random;
use crate::report::Report;

pub(super) fn run(engine: &dyn Engine, report: &mut Report) {
    let group = report.group("decode");
    let mut random = Random::new(1);
    for format in cases::formats() {
        let large = std::iter::once(cases::LARGE);
        for stack in cases::stacks().into_iter().chain(large) {
            let rows = cases::rows(&format, stack, &mut random);
            for to in Kind::ALL {
                let what = || format!("{format} {stack:?} to {}", to.name());
                let expected = CORE.decode(&format, stack, &rows, to);
                let found = engine.decode(&format, stack, &rows, to);
                group.compare(what, found, &expected);
            }
        }
    }
    let group = report.group("decode, one global for a stack");
    for format in [Format::NVFP4, Format::NVFP4_DIVISOR] {
        for cols in [64, 33] {
            let stack = Stack::new(3, Shape::new(5, cols));
            let rows = Rows {
                globals: vec![0.37],
                ..cases::rows(&format, stack, &mut random)
            };
            let expected = CORE.decode(&format, stack, &rows, Kind::Bf16);
            let found = engine.decode(&format, stack, &rows, Kind::Bf16);
            group.compare(|| format!("{format} {stack:?}"), found, &expected);
        }
    }
    every_code_under_every_scale(engine, report);
}

/// All codes of an element with all scales of a byte: the whole domain of the product, in blocks of 16
/// and 32 columns.
fn every_code_under_every_scale(engine: &dyn Engine, report: &mut Report) {
    let group = report.group("decode, every code and scale");
    let formats = [
        Format::NVFP4,
        Format::NVFP4_DIVISOR,
        Format::NVFP4_ONE_LEVEL,
        Format::MXFP4,
        Format::MXFP8_E4M3,
        Format::MXFP8_E5M2,
        Format::MXFP6_E2M3,
        Format::MXFP6_E3M2,
    ];
    for format in formats {
        let stack = Stack::single(Shape::new(256, 256));
        let row: Vec<u8> = match format.element.bits() {
            4 => (0..128)
                .map(|i| (2 * i % 16) | ((2 * i + 1) % 16) << 4)
                .collect(),
            6 => (0..64_u32)
                .flat_map(|i| {
                    let codes = [0, 1, 2, 3].map(|j| (4 * i + j) % 64);
                    let word = codes[0] | codes[1] << 6 | codes[2] << 12 | codes[3] << 18;
                    word.to_le_bytes()[..3].to_vec()
                })
                .collect(),
            _ => (0..=u8::MAX).collect(),
        };
        let of_row = format.scale_shape(Shape::new(1, 256)).cols;
        let rows = Rows {
            codes: row.repeat(256),
            scales: (0..=u8::MAX)
                .flat_map(|scale| vec![scale; of_row])
                .collect(),
            globals: vec![0.013_7],
        };
        for to in Kind::ALL {
            let expected = CORE.decode(&format, stack, &rows, to);
            let found = engine.decode(&format, stack, &rows, to);
            group.compare(|| format!("{format} to {}", to.name()), found, &expected);
        }
    }
}
