//! Scales of whole tensors.

use blockscale::Format;
use blockscale_model::deepseek_v4::Part;

use super::super::tensors::Tensor;
use super::recode::{WQ_B, change, find, part, recode, renamed};
use super::{Fault, How};

const GLOBAL: &str = ".weight_scale_2";

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "global-missing",
        rule: "BS019",
        how: &[How::Tensors(|tensors| {
            let before = tensors.len();
            tensors.retain(|t| t.weight != WQ_B || !t.entry.name.ends_with(GLOBAL));
            tensors.len() < before
        })],
    },
    Fault {
        name: "global-unexpected",
        rule: "BS020",
        how: &[How::Tensors(global_beside_mxfp4)],
    },
    Fault {
        name: "global-inverted",
        rule: "BS029",
        how: &[How::Tensors(|tensors| {
            global(tensors, Part::WqB, f32::recip)
        })],
    },
    Fault {
        name: "global-lost",
        rule: "BS030",
        how: &[How::Tensors(|tensors| global(tensors, Part::WqB, |_| 1.0))],
    },
    Fault {
        name: "globals-unequal",
        rule: "BS031",
        how: &[How::Tensors(|tensors| {
            global(tensors, Part::ExpertW3, |scale| 2.0 * scale)
        })],
    },
    Fault {
        name: "input-scale-zero",
        rule: "BS032",
        how: &[How::Tensors(|tensors| {
            set(tensors, Part::WqB, ".input_scale", |_| 0.0)
        })],
    },
];

fn global(tensors: &mut [Tensor], of: Part, new: impl Fn(f32) -> f32) -> bool {
    set(tensors, of, GLOBAL, new)
}

/// Changes a number that is an F32 tensor.
fn set(tensors: &mut [Tensor], of: Part, suffix: &str, new: impl Fn(f32) -> f32) -> bool {
    change(tensors, part(of), suffix, |tensor| {
        for bytes in tensor.bytes.as_chunks_mut::<4>().0 {
            *bytes = new(f32::from_le_bytes(*bytes)).to_le_bytes();
        }
    })
}

fn global_beside_mxfp4(tensors: &mut Vec<Tensor>) -> bool {
    let Some(global) = find(tensors, WQ_B, GLOBAL) else {
        return false;
    };
    let global = renamed(global, global.entry.name.clone());
    let recoded = recode(tensors, WQ_B, &Format::MXFP4, ".weight_scale");
    tensors.push(global);
    recoded
}
