//! One block format to another on the codes.

use blockscale::Format;
use blockscale::decode::{Rows, decode_rows};
use blockscale::transcode::{
    Mxfp4ToFp8, Mxfp4ToNvfp4, invert_global_scale, mxfp4_to_fp8_block, narrow_scales_to_e8m0,
    repack_codes, round_scales_up_to_pow2, spread_tensor_scale, widen_scales,
};

use crate::input::Input;

/// One of the steps, with any lengths.
pub(super) fn transcode(data: &[u8]) {
    let mut input = Input::new(data);
    match input.below(5) {
        0 => cast_to_nvfp4(&mut input),
        1 => cast_to_fp8(&mut input),
        2 => powers_of_two(&mut input),
        3 => scales_alone(&mut input),
        _ => repack(&mut input),
    }
}

fn cast_to_nvfp4(input: &mut Input<'_>) {
    let (from, to, shape) = (Format::MXFP4, Format::NVFP4, input.shape());
    let codes = input.buffer(from.code_bytes(shape));
    let scales = input.buffer(from.scale_bytes(shape));
    let mut new_codes = vec![0; input.length(to.code_bytes(shape))];
    let mut new_scales = vec![0; input.length(to.scale_bytes(shape))];
    let way = Mxfp4ToNvfp4::of_scales(&scales);
    let rows = Rows {
        codes: &codes,
        scales: &scales,
        global: 1.0,
    };
    let done = way.rows(shape, rows, &mut new_codes, &mut new_scales, |_, _| ());
    let Ok(counts) = done else {
        return;
    };
    // Where no block had to be encoded anew, the numbers are the same.
    if counts.reencoded == 0 && counts.nan == 0 {
        let len = shape.len().expect("its codes fit");
        let (mut before, mut after) = (vec![0.0_f32; len], vec![0.0_f32; len]);
        decode_rows(&from, shape, rows, &mut before).expect("fits");
        let rows = Rows {
            codes: &new_codes,
            scales: &new_scales,
            global: way.global(),
        };
        decode_rows(&to, shape, rows, &mut after).expect("fits");
        assert!(before == after, "{shape:?}");
    }
}

fn cast_to_fp8(input: &mut Input<'_>) {
    let (from, to, shape) = (Format::MXFP4, Format::FP8_BLOCK_UE8M0, input.shape());
    let codes = input.buffer(from.code_bytes(shape));
    let scales = input.buffer(from.scale_bytes(shape));
    let mut new_codes = vec![0; input.length(to.code_bytes(shape))];
    let mut new_scales = vec![0; input.length(to.scale_bytes(shape))];
    let _ = Mxfp4ToFp8::of_scales(shape, &scales);
    let rows = Rows {
        codes: &codes,
        scales: &scales,
        global: 1.0,
    };
    let _ = mxfp4_to_fp8_block(shape, rows, &mut new_codes, &mut new_scales, |_, _| ());
}

fn powers_of_two(input: &mut Input<'_>) {
    let from = match input.below(2) {
        0 => input.format(),
        _ => Format::FP8_BLOCK,
    };
    let to = Format {
        scale: input.scale_element(),
        ..from
    };
    let shape = input.shape();
    let codes = input.buffer(from.code_bytes(shape));
    let scales = input.buffer(from.scale_bytes(shape));
    let mut new_codes = vec![0; input.length(to.code_bytes(shape))];
    let mut new_scales = vec![0; input.length(to.scale_bytes(shape))];
    let rows = Rows {
        codes: &codes,
        scales: &scales,
        global: 1.0,
    };
    let done = round_scales_up_to_pow2(&from, &to, shape, rows, &mut new_codes, &mut new_scales);
    if done == Ok(0) {
        assert!(codes == new_codes, "no scale changed, and codes did");
    }
}

fn scales_alone(input: &mut Input<'_>) {
    let element = input.scale_element();
    let stored = input.buffer(Some(element.bytes() * 9));
    let mut wide = vec![0; input.length(Some(stored.len() / element.bytes() * 4))];
    let _ = widen_scales(element, &stored, &mut wide);
    let mut narrow = vec![0; input.length(Some(stored.len() / element.bytes()))];
    let _ = narrow_scales_to_e8m0(element, &stored, &mut narrow);
    let _ = invert_global_scale(input.float());

    let (format, shape) = (input.format(), input.shape());
    let scale = input.buffer(Some(format.scale.bytes()));
    let mut grid = vec![0; input.length(format.scale_bytes(shape))];
    let _ = spread_tensor_scale(&format, shape, &scale, &mut grid);
}

/// There and back is where it was, but for bits that no code has.
fn repack(input: &mut Input<'_>) {
    use blockscale::format::Packing;
    let dense = Format {
        packing: Packing::Dense,
        ..input.format()
    };
    let bytes = dense.packed(Packing::Bytes);
    let shape = input.shape();
    let codes = input.buffer(dense.code_bytes(shape));
    let mut wide = vec![0; input.length(bytes.code_bytes(shape))];
    if repack_codes(&dense, &bytes, shape, &codes, &mut wide).is_err() {
        return;
    }
    let mut back = vec![0; codes.len()];
    repack_codes(&bytes, &dense, shape, &wide, &mut back).expect("it came from there");
    let mut again = vec![0; wide.len()];
    repack_codes(&dense, &bytes, shape, &back, &mut again).expect("it came from there");
    assert!(wide == again, "{dense:?} {shape:?}");
}
