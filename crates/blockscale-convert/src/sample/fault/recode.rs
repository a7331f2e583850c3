//! Finding the tensors of one weight of the sample, and storing it in another format.

use blockscale::decode::{Rows, decode_rows};
use blockscale::encode::{amax, encode_rows, global_scale};
use blockscale::format::{GlobalScale, ScaleElement};
use blockscale::{Element, Format, Shape};
use blockscale_model::deepseek_v4::{Layer, NativeName, Part};
use blockscale_model::{Dtype, NewTensor};

use super::super::tensors::Tensor;

/// A weight of layer 0 that lies in one shard with its scales.
pub(super) const WQ_B: NativeName = NativeName {
    layer: Layer::Main(0),
    expert: 0,
    part: Part::WqB,
};

/// Another part of the same layer.
pub(super) const fn part(part: Part) -> NativeName {
    NativeName { part, ..WQ_B }
}

/// The tensor of a weight whose name ends so.
pub(super) fn find<'a>(
    tensors: &'a mut [Tensor],
    weight: NativeName,
    suffix: &str,
) -> Option<&'a mut Tensor> {
    tensors
        .iter_mut()
        .find(|tensor| tensor.weight == weight && tensor.entry.name.ends_with(suffix))
}

/// Changes the tensor of a weight whose name ends so; false where it is not there.
pub(super) fn change(
    tensors: &mut [Tensor],
    weight: NativeName,
    suffix: &str,
    change: impl FnOnce(&mut Tensor),
) -> bool {
    find(tensors, weight, suffix).map(change).is_some()
}

/// Rows and columns of a matrix that is stored so.
pub(super) fn matrix(tensor: &Tensor) -> Shape {
    match *tensor.entry.shape {
        [rows, cols] => Shape::new(rows, cols),
        _ => Shape::new(1, tensor.bytes.len()),
    }
}

/// A copy of a tensor under another name.
pub(super) fn renamed(tensor: &Tensor, name: String) -> Tensor {
    Tensor {
        weight: tensor.weight,
        is_scale: tensor.is_scale,
        entry: NewTensor {
            name,
            ..tensor.entry.clone()
        },
        bytes: tensor.bytes.clone(),
    }
}

/// Stores an NVFP4 weight in another format: codes in `.weight`, scales under `scale`. False where
/// the weight is not among the tensors.
pub(super) fn recode(
    tensors: &mut Vec<Tensor>,
    weight: NativeName,
    format: &Format,
    scale: &str,
) -> bool {
    let Some((name, shape, values)) = values(tensors, weight) else {
        return false;
    };
    let global = global_scale(format, amax(&values));
    let mut codes = vec![0; format.code_bytes(shape).unwrap_or(0)];
    let mut scales = vec![0; format.scale_bytes(shape).unwrap_or(0)];
    let rule = format.default_rule();
    if encode_rows(
        format,
        rule,
        shape,
        &values,
        global,
        &mut codes,
        &mut scales,
    )
    .is_err()
    {
        return false;
    }
    tensors.retain(|tensor| tensor.weight != weight);
    let module = name.trim_end_matches(".weight").to_owned();
    let plane = format.scale_shape(shape);
    let mut put = |suffix: &str, dtype, shape, bytes| {
        tensors.push(Tensor {
            weight,
            is_scale: suffix != ".weight",
            entry: NewTensor {
                name: format!("{module}{suffix}"),
                dtype,
                shape,
            },
            bytes,
        });
    };
    let plane = match (plane.rows, plane.cols) {
        (1, 1) => Vec::new(),
        (rows, cols) => vec![rows, cols],
    };
    put(scale, scale_dtype(format), plane, scales);
    if format.global == GlobalScale::Multiplier {
        let bytes = global.to_le_bytes().to_vec();
        put(".weight_scale_2", Dtype::F32, Vec::new(), bytes);
    }
    let row = vec![shape.rows, format.row_bytes(shape.cols)];
    put(".weight", code_dtype(format), row, codes);
    true
}

/// Name, shape and numbers of an NVFP4 weight.
pub(super) fn values(
    tensors: &mut [Tensor],
    weight: NativeName,
) -> Option<(String, Shape, Vec<f32>)> {
    let scales = find(tensors, weight, ".weight_scale")?.bytes.clone();
    let global = find(tensors, weight, ".weight_scale_2")?.bytes.clone();
    let codes = find(tensors, weight, ".weight")?;
    let packed = matrix(codes);
    let shape = Shape::new(packed.rows, packed.cols * 2);
    let mut values = vec![0.0; shape.len()?];
    let rows = Rows {
        codes: &codes.bytes,
        scales: &scales,
        global: f32::from_le_bytes(*global.first_chunk()?),
    };
    decode_rows(&Format::NVFP4, shape, rows, &mut values).ok()?;
    Some((codes.entry.name.clone(), shape, values))
}

fn code_dtype(format: &Format) -> Dtype {
    match format.element {
        Element::E4m3Fn => Dtype::F8_E4M3,
        Element::E5m2 => Dtype::F8_E5M2,
        _ => Dtype::U8,
    }
}

fn scale_dtype(format: &Format) -> Dtype {
    match format.scale {
        ScaleElement::E4m3Fn => Dtype::F8_E4M3,
        ScaleElement::E8m0Fnu => Dtype::F8_E8M0,
        ScaleElement::Bf16 => Dtype::BF16,
        ScaleElement::F16 => Dtype::F16,
        _ => Dtype::F32,
    }
}

/// Changes every FP8 code of a weight by its value, and every F32 scale.
pub(super) fn rescale(
    tensors: &mut [Tensor],
    weight: NativeName,
    code: impl Fn(f32) -> f32,
    scale: impl Fn(f32) -> f32,
) -> bool {
    let element = Element::E4m3Fn;
    let codes = change(tensors, weight, ".weight", |tensor| {
        for byte in &mut tensor.bytes {
            *byte = element.encode(code(element.decode(*byte)));
        }
    });
    let scales = change(tensors, weight, ".weight_scale_inv", |tensor| {
        for bytes in tensor.bytes.as_chunks_mut::<4>().0 {
            *bytes = scale(f32::from_le_bytes(*bytes)).to_le_bytes();
        }
    });
    codes && scales
}

/// Stores a weight as FP8 with F32 scales for blocks of 128 x 128.
pub(super) fn to_fp8(tensors: &mut Vec<Tensor>, weight: NativeName) -> bool {
    recode(tensors, weight, &Format::FP8_BLOCK, ".weight_scale_inv")
}
