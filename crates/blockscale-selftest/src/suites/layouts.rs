//! Orders of runtimes, applied and undone.

use blockscale::layout::{ScaleLayout, Stack};
use blockscale::{ScaleElement, Shape};

use super::CORE;
use crate::engine::{Engine, Plane};
use crate::random::Random;
use crate::report::Report;

const ELEMENTS: [ScaleElement; 5] = [
    ScaleElement::E4m3Fn,
    ScaleElement::E8m0Fnu,
    ScaleElement::F32,
    ScaleElement::Bf16,
    ScaleElement::F16,
];

/// Rows and columns of scales, or of bytes of codes; the first fit every layout.
fn stacks() -> Vec<Stack> {
    let sizes = [
        (1, 128, 4),
        (2, 256, 12),
        (3, 128, 7),
        (1, 384, 130),
        (1, 1, 1),
        (2, 33, 5),
        (1, 130, 3),
        (2, 64, 48),
        (1, 512, 256),
        (1, 0, 4),
        (1, 200, 33),
    ];
    let stack = |(matrices, rows, cols)| Stack::new(matrices, Shape::new(rows, cols));
    sizes.into_iter().map(stack).collect()
}

pub(super) fn run(engine: &dyn Engine, report: &mut Report) {
    let mut random = Random::new(4);
    for layout in ScaleLayout::ALL {
        for stack in stacks() {
            for element in ELEMENTS {
                scales(engine, report, &mut random, layout, stack, element);
            }
            codes(engine, report, &mut random, layout, stack);
        }
    }
    refusals(engine, report);
}

/// Scales that the layout takes; where its type does not fit, both sides have to refuse.
fn scales(
    engine: &dyn Engine,
    report: &mut Report,
    random: &mut Random,
    layout: ScaleLayout,
    stack: Stack,
    element: ScaleElement,
) {
    let linear = layout.linear_shape(stack.shape);
    let count = linear.rows * linear.cols * stack.matrices;
    let bytes: Vec<u8> = match element {
        // Powers of two, which words of exponents can hold.
        ScaleElement::F32 => (0..count)
            .flat_map(|_| ((random.below(250) + 1) as u32 * (1 << 23)).to_le_bytes())
            .collect(),
        // Neither negative nor NaN, which Marlin's numbers cannot hold.
        ScaleElement::E4m3Fn => (0..count).map(|_| random.next() as u8 % 0x7f).collect(),
        other => random.bytes(count * other.bytes()),
    };
    let plane = Plane {
        layout: ScaleLayout::Linear,
        element,
        bytes: &bytes,
    };
    let what = || format!("{layout} {stack:?} {element}");
    let permute = |engine: &dyn Engine| engine.permute_scales(layout, stack, plane);
    let expected = permute(&CORE);
    report
        .group("layouts of scales")
        .compare(what, permute(engine), &expected);
    let Ok(laid_out) = expected else {
        return;
    };
    let plane = Plane {
        layout,
        element,
        bytes: &laid_out,
    };
    let undo = |engine: &dyn Engine| engine.unpermute_scales(stack, plane);
    report
        .group("layouts of scales, undone")
        .compare(what, undo(engine), &undo(&CORE));
}

fn codes(
    engine: &dyn Engine,
    report: &mut Report,
    random: &mut Random,
    layout: ScaleLayout,
    stack: Stack,
) {
    let bytes = random.bytes(stack.matrices * stack.shape.rows * stack.shape.cols);
    let what = || format!("{layout} {stack:?}");
    let permute = |engine: &dyn Engine| engine.permute_codes(layout, stack, &bytes);
    let expected = permute(&CORE);
    report
        .group("layouts of codes")
        .compare(what, permute(engine), &expected);
    let Ok(laid_out) = expected else {
        return;
    };
    let undo = |engine: &dyn Engine| engine.unpermute_codes(layout, stack, &laid_out);
    report
        .group("layouts of codes, undone")
        .compare(what, undo(engine), &undo(&CORE));
}

/// Scales that a layout has no place for: refused in the core's words.
fn refusals(engine: &dyn Engine, report: &mut Report) {
    let group = report.group("layouts, refusals");
    let mut compare = |layout, stack, plane: Plane<'_>| {
        let permute = |engine: &dyn Engine| engine.permute_scales(layout, stack, plane);
        let what = || format!("{layout} {stack:?} {plane:?}");
        group.compare(what, permute(engine), &permute(&CORE));
    };
    let stack = Stack::single(Shape::new(128, 4));
    let mut f32s = vec![1.0_f32; 512];
    f32s[300] = 0.75;
    f32s[400] = -2.0;
    let f32s: Vec<u8> = f32s.iter().flat_map(|x| x.to_le_bytes()).collect();
    for layout in [
        ScaleLayout::DeepGemmPacked,
        ScaleLayout::MegaMoeL1,
        ScaleLayout::MegaMoeL2,
    ] {
        let plane = Plane {
            layout: ScaleLayout::Linear,
            element: ScaleElement::F32,
            bytes: &f32s,
        };
        compare(layout, stack, plane);
    }
    let mut e4m3 = vec![0x38; 512];
    e4m3[77] = 0xb8;
    let plane = Plane {
        layout: ScaleLayout::Linear,
        element: ScaleElement::E4m3Fn,
        bytes: &e4m3,
    };
    compare(ScaleLayout::MarlinNvfp4, stack, plane);
    let tiled = Plane {
        layout: ScaleLayout::Tiles128x4,
        ..plane
    };
    compare(ScaleLayout::Tiles128x4, stack, tiled);

    let blocks = Stack::single(Shape::new(256, 8));
    let layout = ScaleLayout::DeepGemmPackedBlocks;
    let plane = Plane {
        layout: ScaleLayout::Linear,
        element: ScaleElement::E8m0Fnu,
        bytes: &[120; 16],
    };
    if let Ok(mut packed) = CORE.permute_scales(layout, blocks, plane) {
        packed[4 * 131 + 2] ^= 1;
        let plane = Plane {
            layout,
            element: ScaleElement::E8m0Fnu,
            bytes: &packed,
        };
        let undo = |engine: &dyn Engine| engine.unpermute_scales(blocks, plane);
        group.compare(
            || format!("{layout}, unlike rows"),
            undo(engine),
            &undo(&CORE),
        );
    }
}
