//! Codes and numbers that no export should hold.

use blockscale::Format;
use blockscale_model::deepseek_v4::{NativeName, Part};

use super::super::tensors::Tensor;
use super::recode::{WQ_B, change, part, recode, renamed, rescale, to_fp8};
use super::{Fault, How};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "nan-codes",
        rule: "BS040",
        how: &[How::Tensors(|tensors| {
            to_fp8(tensors, WQ_B)
                && change(tensors, WQ_B, ".weight", |codes| {
                    codes.bytes[1] = 0x7f;
                    codes.bytes[3] = 0xff;
                })
        })],
    },
    Fault {
        name: "nan-values",
        rule: "BS041",
        how: &[How::Tensors(|tensors| {
            change(tensors, part(Part::Gate), ".weight", |numbers| {
                numbers.bytes[..2].copy_from_slice(&0x7fc0_u16.to_le_bytes());
            })
        })],
    },
    Fault {
        name: "saturated",
        rule: "BS042",
        how: &[How::Tensors(|tensors| {
            to_fp8(tensors, WQ_B) && rescale(tensors, WQ_B, |code| code * 8.0, |s| s / 8.0)
        })],
    },
    Fault {
        name: "underflow",
        rule: "BS043",
        how: &[How::Tensors(|tensors| {
            let factor = 2_f32.powi(-13);
            to_fp8(tensors, WQ_B) && rescale(tensors, WQ_B, |c| c * factor, |s| s / factor)
        })],
    },
    Fault {
        name: "codes-of-other-scales",
        rule: "BS044",
        how: &[How::Tensors(|tensors| {
            to_fp8(tensors, WQ_B) && rescale(tensors, WQ_B, |code| code / 4.0, |s| s)
        })],
    },
    Fault {
        name: "cast-as-integers",
        rule: "BS045",
        how: &[How::Tensors(|tensors| {
            to_fp8(tensors, WQ_B) && rescale(tensors, WQ_B, f32::trunc, |s| s)
        })],
    },
    Fault {
        name: "cast-without-scale",
        rule: "BS046",
        how: &[How::Tensors(cast_without_scale)],
    },
    Fault {
        name: "zeros",
        rule: "BS047",
        how: &[How::Tensors(|tensors| {
            change(tensors, WQ_B, ".weight", |codes| codes.bytes.fill(0))
        })],
    },
    Fault {
        name: "expert-copied",
        rule: "BS048",
        how: &[How::Tensors(copy_expert)],
    },
    Fault {
        name: "cast-with-loss",
        rule: "BS049",
        how: &[How::Tensors(cast_with_loss)],
    },
];

/// FP8 that holds the weights as they are.
fn cast_without_scale(tensors: &mut Vec<Tensor>) -> bool {
    if !recode(tensors, WQ_B, &Format::FP8_BLOCK, ".weight_scale_inv") {
        return false;
    }
    let mut first = 1.0;
    change(tensors, WQ_B, ".weight_scale_inv", |plane| {
        if let Some(bytes) = plane.bytes.first_chunk() {
            first = f32::from_le_bytes(*bytes);
        }
    });
    rescale(tensors, WQ_B, |code| code * first, |_| 1.0)
}

/// Gate and up of the first expert in place of the second's.
fn copy_expert(tensors: &mut Vec<Tensor>) -> bool {
    let parts = [Part::ExpertW1, Part::ExpertW3];
    let is_part = |tensor: &Tensor, expert| {
        let name = tensor.weight;
        name.layer == WQ_B.layer && name.expert == expert && parts.contains(&name.part)
    };
    let copies: Vec<Tensor> = tensors
        .iter()
        .filter(|tensor| is_part(tensor, 0))
        .map(|tensor| {
            let name = tensor.entry.name.replace(".experts.0.", ".experts.1.");
            let weight = NativeName {
                expert: 1,
                ..tensor.weight
            };
            Tensor {
                weight,
                ..renamed(tensor, name)
            }
        })
        .collect();
    if copies.is_empty() {
        return false;
    }
    tensors.retain(|tensor| !is_part(tensor, 1));
    tensors.extend(copies);
    true
}

/// MXFP4 turned into NVFP4 under a global scale that is no power of two.
fn cast_with_loss(tensors: &mut Vec<Tensor>) -> bool {
    if !recode(tensors, WQ_B, &Format::MXFP4, ".weight_scale") {
        return false;
    }
    let mut global = None;
    let plane = change(tensors, WQ_B, ".weight_scale", |plane| {
        let largest = plane.bytes.iter().copied().max().unwrap_or(127);
        // The largest scale becomes 2^8; E4M3 has the bias 7 and three bits of fraction.
        let code = |byte: u8| (15 - largest.saturating_sub(byte).min(14)) << 3;
        plane.bytes = plane.bytes.iter().flat_map(|&b| [code(b); 2]).collect();
        plane.entry.dtype = blockscale_model::Dtype::F8_E4M3;
        plane.entry.shape[1] *= 2;
        let mut copy = renamed(plane, format!("{}_2", plane.entry.name));
        copy.entry.dtype = blockscale_model::Dtype::F32;
        copy.entry.shape = Vec::new();
        let scale = 2_f32.powi(i32::from(largest) - 127 - 8) * 1.1;
        copy.bytes = scale.to_le_bytes().to_vec();
        global = Some(copy);
    });
    tensors.extend(global);
    plane
}
