//! One block format to another.

use blockscale::layout::Stack;
use blockscale::{Block, Element, Format, ScaleElement, Shape};

use super::CORE;
use crate::cases;
use crate::engine::{Engine, Rows};
use crate::random::Random;
use crate::report::Report;

pub(super) fn run(engine: &dyn Engine, report: &mut Report) {
    let mut random = Random::new(3);
    let group = report.group("transcode NVFP4 to FP8 128x128 UE8M0");
    for from in [
        Format::NVFP4,
        Format::NVFP4_DIVISOR,
        Format::NVFP4_ONE_LEVEL,
    ] {
        for stack in stacks() {
            let rows = cases::rows(&from, stack, &mut random);
            let transcode = |engine: &dyn Engine| engine.nvfp4_to_fp8_block(&from, stack, &rows);
            let what = || format!("{from} {stack:?}");
            group.compare(what, transcode(engine), &transcode(&CORE));
        }
    }
    round_scales_up(engine, report, &mut random);
    from_mxfp4(engine, report, &mut random);
}

fn stacks() -> Vec<Stack> {
    cases::stacks()
        .into_iter()
        .chain([cases::LARGE, Stack::new(2, Shape::new(300, 352))])
        .collect()
}

fn round_scales_up(engine: &dyn Engine, report: &mut Report, random: &mut Random) {
    let group = report.group("round scales up to powers of two");
    let to_f32 = |format: Format| (format, format);
    let pairs = [
        (Format::FP8_BLOCK, Format::FP8_BLOCK_UE8M0),
        to_f32(Format::FP8_BLOCK),
        to_f32(Format::FP8_CHANNEL),
        to_f32(Format::FP8_TENSOR),
        (Format::FP8_TOKEN, Format::FP8_TOKEN_UE8M0),
        (
            Format {
                element: Element::E5m2,
                scale: ScaleElement::Bf16,
                block: Block::Grid { rows: 3, cols: 40 },
                ..Format::FP8_BLOCK
            },
            Format {
                element: Element::E5m2,
                block: Block::Grid { rows: 3, cols: 40 },
                ..Format::FP8_BLOCK_UE8M0
            },
        ),
        // Refused.
        (Format::NVFP4, Format::FP8_BLOCK_UE8M0),
    ];
    for (from, to) in pairs {
        for stack in stacks() {
            let rows = positive(&from, cases::rows(&from, stack, random), random);
            let round = |engine: &dyn Engine| engine.round_scales_up(&from, &to, stack, &rows);
            let what = || format!("{from} to {to} {stack:?}");
            group.compare(what, round(engine), &round(&CORE));
        }
    }
    for bad in [-1.0, f32::NAN, f32::INFINITY] {
        let stack = Stack::single(Shape::new(256, 256));
        let (from, to) = (Format::FP8_BLOCK, Format::FP8_BLOCK_UE8M0);
        let scales = [1.0, 0.75, bad, bad].map(f32::to_le_bytes);
        let rows = Rows {
            scales: scales.as_flattened().to_vec(),
            ..cases::rows(&from, stack, random)
        };
        let round = |engine: &dyn Engine| engine.round_scales_up(&from, &to, stack, &rows);
        group.compare(|| format!("a scale of {bad}"), round(engine), &round(&CORE));
    }
}

/// The same rows with scales that have no sign and are finite; some are powers of two or zero.
fn positive(format: &Format, rows: Rows, random: &mut Random) -> Rows {
    let scales = rows.scales.chunks(format.scale.bytes()).flat_map(|_| {
        let value = match random.below(8) {
            0 => 0.0,
            1 | 2 => (random.below(40) as f32 - 20.0).exp2(),
            3 => f32::from_bits(random.next() as u32 & 0x007f_ffff),
            _ => (random.unit() * 20.0).exp2(),
        };
        match format.scale {
            ScaleElement::Bf16 => blockscale::bf16::from_f32(value).to_le_bytes().to_vec(),
            ScaleElement::F32 => value.to_le_bytes().to_vec(),
            _ => vec![0x38; format.scale.bytes()],
        }
    });
    Rows {
        scales: scales.collect(),
        ..rows
    }
}

fn from_mxfp4(engine: &dyn Engine, report: &mut Report, random: &mut Random) {
    let from = Format::MXFP4;
    for spread in [4, 16, 30, 255] {
        for stack in stacks() {
            let mut rows = cases::rows(&from, stack, random);
            for scale in &mut rows.scales {
                let near = 120 - random.below(spread.min(120)) as u8;
                *scale = if spread == 255 { *scale } else { near };
            }
            let what = || format!("{stack:?}, scales over {spread} binades");
            let group = report.group("transcode MXFP4 to NVFP4");
            let transcode = |engine: &dyn Engine| engine.mxfp4_to_nvfp4(stack, &rows);
            if stack.shape.rows > 0 {
                group.compare(what, transcode(engine), &transcode(&CORE));
            }
            let group = report.group("transcode MXFP4 to FP8 128x128 UE8M0");
            let transcode = |engine: &dyn Engine| engine.mxfp4_to_fp8_block(stack, &rows);
            group.compare(what, transcode(engine), &transcode(&CORE));
        }
    }
}
