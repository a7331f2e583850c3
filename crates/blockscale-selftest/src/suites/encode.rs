//! Numbers to codes: every format under every scheme, every rounding.

use blockscale::encode::Scheme;
use blockscale::layout::Stack;
use blockscale::{Element, Format, Shape};

use super::CORE;
use crate::cases::{self, Content};
use crate::engine::Engine;
use crate::numbers::{Kind, Numbers};
use crate::random::Random;
use crate::report::Report;

pub(super) fn run(engine: &dyn Engine, report: &mut Report) {
    let mut random = Random::new(2);
    by_the_usual_rule(engine, report, &mut random);
    under_every_scheme(engine, report, &mut random);
    every_rounding(engine, report);
    scales_of_tensors(engine, report, &mut random);
}

fn globals(format: &Format, stack: Stack, values: &Numbers) -> Vec<f32> {
    let scheme = Scheme::from(format.default_rule());
    CORE.amax(stack, values)
        .and_then(|amax| CORE.globals(format, &scheme, Kind::F32, &amax))
        .unwrap_or_default()
}

fn by_the_usual_rule(engine: &dyn Engine, report: &mut Report, random: &mut Random) {
    let group = report.group("encode");
    for format in cases::formats() {
        let scheme = Scheme::from(format.default_rule());
        let each = |stack| Content::ALL.map(|content| (stack, content));
        let small = cases::stacks().into_iter().flat_map(each);
        let large = std::iter::once((cases::LARGE, Content::Usual));
        for (stack, content) in small.chain(large) {
            let kind = random.pick(&Kind::ALL);
            let len = stack.matrices * stack.shape.rows * stack.shape.cols;
            let values = content.numbers(kind, len, random);
            let globals = globals(&format, stack, &values);
            let what = || format!("{} {content:?} {stack:?} to {format}", kind.name());
            let expected = CORE.encode(&format, &scheme, stack, &values, &globals);
            let found = engine.encode(&format, &scheme, stack, &values, &globals);
            group.compare(what, found, &expected);
        }
    }
}

fn under_every_scheme(engine: &dyn Engine, report: &mut Report, random: &mut Random) {
    let group = report.group("encode, every scheme");
    let stacks = [
        Stack::single(Shape::new(48, 96)),
        Stack::new(2, Shape::new(17, 131)),
    ];
    for format in cases::formats() {
        for scheme in cases::schemes() {
            for content in Content::ALL {
                let kind = random.pick(&Kind::ALL);
                let stack = random.pick(&stacks);
                let len = stack.matrices * stack.shape.rows * stack.shape.cols;
                let values = content.numbers(kind, len, random);
                let globals = globals(&format, stack, &values);
                let what = || {
                    let kind = kind.name();
                    format!("{kind} {content:?} {stack:?} to {format}, {scheme:?}")
                };
                let expected = CORE.encode(&format, &scheme, stack, &values, &globals);
                let found = engine.encode(&format, &scheme, stack, &values, &globals);
                group.compare(what, found, &expected);
            }
        }
    }
}

/// All 16-bit numbers, and F32 around each midpoint, to each element under scales of 1 and others.
fn every_rounding(engine: &dyn Engine, report: &mut Report) {
    let group = report.group("encode, every rounding");
    let elements = [
        Element::E2m1,
        Element::E2m3,
        Element::E3m2,
        Element::E4m3Fn,
        Element::E4m3Fnuz,
        Element::E5m2,
    ];
    for element in elements {
        let format = Format {
            element,
            ..Format::FP8_TENSOR
        };
        let midpoints = cases::midpoints(element);
        for scale in [1.0_f32, 0.5, 3.0, 1.0 / 3.0, 1e-30] {
            let under = |x: &f32| x * scale;
            let f32s = Numbers::F32(midpoints.iter().map(under).collect());
            let every = [Kind::Bf16, Kind::F16]
                .into_iter()
                .filter_map(cases::every_number);
            for values in every.chain([f32s]) {
                let stack = Stack::single(Shape::new(1, values.len()));
                let scales = scale.to_le_bytes();
                let scheme = Scheme::DEFAULT;
                let encode = |engine: &dyn Engine| {
                    engine.encode_codes(&format, &scheme, stack, &values, &scales, &[])
                };
                let what = || format!("{} to {element} under {scale}", values.kind().name());
                group.compare(what, encode(engine), &encode(&CORE));
            }
        }
    }
    let group = report.group("encode, every number in blocks");
    for format in cases::formats() {
        let scheme = Scheme::from(format.default_rule());
        for kind in [Kind::Bf16, Kind::F16] {
            let Some(values) = cases::every_number(kind) else {
                continue;
            };
            let stack = Stack::single(Shape::new(256, 256));
            let encode =
                |engine: &dyn Engine| engine.encode(&format, &scheme, stack, &values, &[0.01]);
            let what = || format!("{} to {format}", kind.name());
            group.compare(what, encode(engine), &encode(&CORE));
        }
    }
}

fn scales_of_tensors(engine: &dyn Engine, report: &mut Report, random: &mut Random) {
    let group = report.group("amax and global scales");
    for kind in Kind::ALL {
        for content in Content::ALL {
            for stack in [cases::LARGE, Stack::new(5, Shape::new(3, 77))] {
                let len = stack.matrices * stack.shape.rows * stack.shape.cols;
                let values = content.numbers(kind, len, random);
                let what = || format!("amax of {} {content:?} {stack:?}", kind.name());
                group.compare(
                    what,
                    engine.amax(stack, &values),
                    &CORE.amax(stack, &values),
                );
            }
        }
    }
    let amax: Vec<f32> = (0..4096)
        .map(|_| f32::from_bits(random.next() as u32 & 0x7f7f_ffff))
        .chain([
            0.0,
            f32::MIN_POSITIVE,
            f32::from_bits(1),
            f32::MAX,
            6.0,
            2688.0,
        ])
        .collect();
    for format in cases::formats() {
        for scheme in [
            Scheme::DEFAULT,
            Scheme::COMPRESSED_TENSORS_NVFP4,
            Scheme::FOUR_OVER_SIX,
        ] {
            let scales = |engine: &dyn Engine| engine.globals(&format, &scheme, Kind::F32, &amax);
            let what = || format!("global scales of {format}");
            group.compare(what, scales(engine), &scales(&CORE));
        }
    }
}
