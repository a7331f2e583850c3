//! Orders of scales and rows, and what is said of them.

use std::collections::BTreeMap;

use blockscale::layout::{ScaleLayout, Scales, Stack, permute_scales};
use blockscale::{Format, ScaleElement};
use blockscale_model::catalog::{BAKED_KEY, BakedWeight, PartRole, ROWS_KEY};
use blockscale_model::deepseek_v4::Part;

use super::super::tensors::Tensor;
use super::recode::{WQ_B, find, matrix, part, recode};
use super::{Fault, How, Metadata};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "layout-named",
        rule: "BS050",
        how: &[How::Shard(|tensors, metadata| tile(tensors, metadata))],
    },
    Fault {
        name: "siblings-exchanged",
        rule: "BS051",
        how: &[How::Tensors(|tensors| exchange_halves(tensors))],
    },
    Fault {
        name: "layout-misfit",
        rule: "BS052",
        how: &[How::Shard(|tensors, metadata| {
            state_wrong_layout(tensors, metadata)
        })],
    },
    Fault {
        name: "six-bit-unsaid",
        rule: "BS053",
        how: &[How::Tensors(|tensors| {
            recode(tensors, WQ_B, &Format::MXFP6_E2M3, ".weight_scale")
        })],
    },
    Fault {
        name: "rows-misstated",
        rule: "BS055",
        how: &[How::Shard(|tensors, metadata| {
            let Some(codes) = find(tensors, WQ_B, ".weight") else {
                return false;
            };
            let members = r#"{ "members": [{ "name": "a", "rows": 1 }] }"#;
            let rows = format!("{{ \"{}\": {members} }}", codes.entry.name);
            metadata.insert(ROWS_KEY.to_owned(), rows);
            true
        })],
    },
    Fault {
        name: "rows-garbled",
        rule: "BS056",
        how: &[How::Shard(|_, metadata| {
            metadata.insert(ROWS_KEY.to_owned(), "gate first".to_owned());
            true
        })],
    },
];

/// Gate and up of an expert, each with the bytes of the other.
fn exchange_halves(tensors: &mut [Tensor]) -> bool {
    let (gate, up) = (part(Part::ExpertW1), part(Part::ExpertW3));
    let mut exchanged = false;
    for suffix in [".weight", ".weight_scale"] {
        let Some(of_gate) = find(tensors, gate, suffix).map(|t| t.bytes.clone()) else {
            continue;
        };
        if let Some(up) = find(tensors, up, suffix) {
            let of_up = std::mem::replace(&mut up.bytes, of_gate);
            exchanged = true;
            if let Some(gate) = find(tensors, gate, suffix) {
                gate.bytes = of_up;
            }
        }
    }
    exchanged
}

/// Scales in tiles, as the metadata says.
fn tile(tensors: &mut [Tensor], metadata: &mut Metadata) -> bool {
    let Some(plane) = find(tensors, WQ_B, ".weight_scale") else {
        return false;
    };
    let layout = ScaleLayout::Tiles128x4;
    let stack = Stack::single(matrix(plane));
    let linear = Scales {
        layout: ScaleLayout::Linear,
        element: ScaleElement::E4m3Fn,
        bytes: &plane.bytes,
    };
    let mut tiled = vec![0; plane.bytes.len()];
    if permute_scales(layout, stack, linear, &mut tiled).is_err() {
        return false;
    }
    plane.bytes = tiled;
    state_layout(tensors, metadata, layout.name())
}

fn state_wrong_layout(tensors: &mut [Tensor], metadata: &mut Metadata) -> bool {
    state_layout(tensors, metadata, "diagonal")
}

/// Says in the metadata that a weight is in a layout.
fn state_layout(tensors: &mut [Tensor], metadata: &mut Metadata, layout: &str) -> bool {
    let roles = [
        (PartRole::Codes, ".weight"),
        (PartRole::BlockScale, ".weight_scale"),
        (PartRole::GlobalScale, ".weight_scale_2"),
    ];
    let mut parts = Vec::new();
    let mut shape = Vec::new();
    for (role, suffix) in roles {
        let Some(tensor) = find(tensors, WQ_B, suffix) else {
            return false;
        };
        if role == PartRole::Codes {
            let packed = matrix(tensor);
            shape = vec![packed.rows, packed.cols * 2];
        }
        parts.push((role, tensor.entry.name.clone()));
    }
    let name = parts[0].1.clone();
    let baked = BakedWeight {
        layout: layout.to_owned(),
        format: Format::NVFP4.to_string(),
        shape,
        tensors: parts,
    };
    let Ok(text) = serde_json::to_string(&BTreeMap::from([(name, baked)])) else {
        return false;
    };
    metadata.insert(BAKED_KEY.to_owned(), text);
    true
}
