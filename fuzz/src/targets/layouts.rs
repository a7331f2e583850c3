//! Runtimes' orders of scales and codes.

use blockscale::Shape;
use blockscale::layout::transform_sf::{
    Arch, Operand, Recipe, Request, ScaleTensor, SfDtype, Ue8m0Cast, plan,
};
use blockscale::layout::{
    Codes, ScaleLayout, Scales, Stack, k_grouped_bytes, pack_k_grouped, permute_codes,
    permute_scales, unpack_k_grouped, unpermute_codes, unpermute_scales,
};

use crate::input::Input;

/// Any stack into any layout; what went in comes out again.
pub(super) fn layouts(data: &[u8]) {
    let mut input = Input::new(data);
    let layout = input.pick(&ScaleLayout::ALL);
    let matrices = match input.below(3) {
        0 => input.size(),
        _ => 1,
    };
    let stack = Stack::new(matrices, input.shape());
    scales_there_and_back(layout, stack, &mut input);
    codes_there_and_back(layout, stack, &mut input);
}

fn scales_there_and_back(layout: ScaleLayout, stack: Stack, input: &mut Input<'_>) {
    let element = input.scale_element();
    let asked = layout.linear_shape(stack.shape).len().and_then(|len| {
        len.checked_mul(stack.matrices)?
            .checked_mul(element.bytes())
    });
    let linear = input.buffer(asked);
    let mut out = vec![0; input.length(layout.scale_bytes(stack, element).ok())];
    let scales = Scales {
        layout: ScaleLayout::Linear,
        element,
        bytes: &linear,
    };
    let laid_out = permute_scales(layout, stack, scales, &mut out);
    let _ = layout.scale_memory(stack, element);
    let (row, col) = (input.size(), input.size());
    if let Some(offset) = layout.offset(stack, element, input.below(3), row, col) {
        assert!(Ok(offset) < layout.scale_bytes(stack, element).map_err(|_| ()));
    }
    let mut back = vec![0; linear.len()];
    let scales = Scales {
        layout,
        element,
        bytes: &out,
    };
    let taken = unpermute_scales(stack, scales, &mut back);
    if laid_out.is_ok() {
        assert_eq!(taken, Ok(()), "{layout:?} {stack:?}");
        // Marlin's scales lose what it has no code for.
        if layout != ScaleLayout::MarlinNvfp4 {
            assert!(back == linear, "{layout:?} {stack:?}");
        }
    }
}

fn codes_there_and_back(layout: ScaleLayout, stack: Stack, input: &mut Input<'_>) {
    let asked = stack
        .shape
        .len()
        .and_then(|len| len.checked_mul(stack.matrices));
    let linear = input.buffer(asked);
    let mut out = vec![0; input.length(layout.code_bytes(stack).ok())];
    let codes = Codes {
        layout: ScaleLayout::Linear,
        bytes: &linear,
    };
    let _ = layout.code_memory(stack);
    if permute_codes(layout, stack, codes, &mut out).is_ok() {
        let mut back = vec![0; linear.len()];
        let codes = Codes {
            layout,
            bytes: &out,
        };
        unpermute_codes(stack, codes, &mut back).expect("it came from there");
        assert!(back == linear, "{layout:?} {stack:?}");
    }
}

/// DeepGEMM's choice, for any request.
pub(super) fn transform_sf(data: &[u8]) {
    let mut input = Input::new(data);
    let dtype = input.pick(&[SfDtype::F32, SfDtype::I32, SfDtype::Bf16, SfDtype::E8m0Fnu]);
    let (rows, cols) = (input.size(), input.size());
    let recipe = match input.below(3) {
        0 => Recipe::Operand {
            rows: input.size(),
            cols: input.size(),
        },
        1 => Recipe::Product {
            a_rows: input.size(),
            b_rows: input.size(),
            cols: input.size(),
        },
        _ => Recipe::Operand {
            rows: input.pick(&[1, 128]),
            cols: input.pick(&[32, 128]),
        },
    };
    let request = Request {
        rows,
        cols,
        recipe,
        groups: match input.below(3) {
            0 => Some(input.size()),
            _ => None,
        },
        operand: input.pick(&[None, Some(Operand::A), Some(Operand::B)]),
        arch: input.pick(&[Arch::Sm90, Arch::Sm100]),
        ue8m0_cast: input.pick(&[Ue8m0Cast::Enabled, Ue8m0Cast::Disabled]),
    };
    let fitting = |input: &mut Input<'_>| match recipe {
        Recipe::Operand { rows: r, cols: c } if input.below(4) > 0 => {
            let words = if dtype == SfDtype::I32 {
                c.saturating_mul(4)
            } else {
                c
            };
            let shape = Shape::new(rows.div_ceil(r.max(1)), cols.div_ceil(words.max(1)));
            let groups = request.groups;
            let strides = match input.below(2) {
                0 => [shape.cols, 1],
                _ => [1, shape.rows.saturating_add(3) / 4 * 4],
            };
            let sizes: Vec<usize> = groups.into_iter().chain([shape.rows, shape.cols]).collect();
            let matrix = strides[0]
                .saturating_mul(shape.rows)
                .max(strides[1].saturating_mul(shape.cols));
            let strides = groups.map(|_| matrix).into_iter().chain(strides).collect();
            (sizes, strides)
        }
        _ => {
            let dims = input.below(4);
            let sizes: Vec<usize> = (0..dims).map(|_| input.size()).collect();
            let strides = (0..dims).map(|_| input.size()).collect();
            (sizes, strides)
        }
    };
    let (shape, strides): (Vec<usize>, Vec<usize>) = fitting(&mut input);
    let scales = ScaleTensor {
        dtype,
        shape: &shape,
        strides: &strides,
    };
    let Ok(transform) = plan(&scales, &request) else {
        return;
    };
    let source = input.buffer(
        shape
            .iter()
            .try_fold(4_usize, |len, &dim| len.checked_mul(dim)),
    );
    let mut out = vec![0; input.length(transform.memory_bytes())];
    let _ = transform.execute(&source, &mut out);
}

/// Groups of columns, packed and unpacked.
pub(super) fn k_grouped(data: &[u8]) {
    let mut input = Input::new(data);
    let rows = match input.below(2) {
        0 => input.size(),
        _ => input.below(16) * 4,
    };
    let groups = input.below(5);
    let cols: Vec<usize> = (0..groups).map(|_| input.size()).collect();
    let linear = cols
        .iter()
        .try_fold(0_usize, |sum, &cols| sum.checked_add(cols))
        .and_then(|cols| cols.checked_mul(rows));
    let scales = input.buffer(linear);
    let mut words = vec![0; input.length(k_grouped_bytes(rows, &cols).ok())];
    if pack_k_grouped(rows, &cols, &scales, &mut words).is_ok() {
        let mut back = vec![0; scales.len()];
        unpack_k_grouped(rows, &cols, &words, &mut back).expect("it came from there");
        assert!(back == scales, "{rows} {cols:?}");
    }
}
