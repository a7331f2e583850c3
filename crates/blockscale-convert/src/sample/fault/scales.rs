//! Block scales that are missing, misshapen or wrong.

use blockscale::{Format, Shape};
use blockscale_model::Dtype;
use blockscale_model::deepseek_v4::{Layer, NativeName, Part};
use serde_json::json;

use super::super::tensors::Tensor;
use super::config::edit;
use super::recode::{WQ_B, change, find, matrix, part, recode, renamed, to_fp8};
use super::{Fault, How};

const SCALE: &str = ".weight_scale";

/// Four rows, so that its scales fill no tile.
const WEIGHTS_PROJ: NativeName = NativeName {
    layer: Layer::Main(2),
    expert: 0,
    part: Part::IndexerWeightsProj,
};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "scale-missing",
        rule: "BS011",
        how: &[How::Tensors(|tensors| {
            let before = tensors.len();
            tensors.retain(|t| t.weight != WQ_B || !t.entry.name.ends_with(SCALE));
            tensors.len() < before
        })],
    },
    Fault {
        name: "scale-doubled",
        rule: "BS012",
        how: &[How::Tensors(|tensors| {
            add_scale(tensors, WQ_B, SCALE, ".scale")
        })],
    },
    Fault {
        name: "scale-orphan",
        rule: "BS013",
        how: &[How::Tensors(|tensors| {
            add_scale(tensors, part(Part::QNorm), ".weight", SCALE)
        })],
    },
    Fault {
        name: "scale-shape",
        rule: "BS014",
        how: &[How::Tensors(|tensors| {
            change(tensors, WQ_B, SCALE, |plane| {
                let shape = matrix(plane);
                plane.bytes.truncate((shape.rows - 1) * shape.cols);
                plane.entry.shape = vec![shape.rows - 1, shape.cols];
            })
        })],
    },
    Fault {
        name: "scale-transposed",
        rule: "BS015",
        how: &[How::Tensors(|tensors| {
            change(tensors, WQ_B, SCALE, transpose)
        })],
    },
    Fault {
        name: "scale-per-tensor",
        rule: "BS016",
        how: &[
            How::Tensors(|tensors| recode(tensors, WQ_B, &Format::FP8_TENSOR, SCALE)),
            How::Documents(|documents| {
                edit(documents, |config| {
                    config["quantization_config"]["weight_block_size"] = json!([128, 128]);
                })
            }),
        ],
    },
    Fault {
        name: "scale-dtype",
        rule: "BS017",
        how: &[How::Tensors(|tensors| {
            change(tensors, WQ_B, SCALE, |plane| {
                plane.entry.dtype = Dtype::F32;
                plane.bytes = plane
                    .bytes
                    .iter()
                    .flat_map(|&b| f32::from(b).to_le_bytes())
                    .collect();
            })
        })],
    },
    Fault {
        name: "scale-padded",
        rule: "BS018",
        how: &[How::Tensors(|tensors| {
            change(tensors, WEIGHTS_PROJ, SCALE, |plane| {
                let cols = matrix(plane).cols;
                plane.bytes.resize(128 * cols, 0);
                plane.entry.shape = vec![128, cols];
            })
        })],
    },
    Fault {
        name: "scale-ones",
        rule: "BS021",
        how: &[How::Tensors(|tensors| fill(tensors, 0x38))],
    },
    Fault {
        name: "scale-constant",
        rule: "BS022",
        how: &[How::Tensors(|tensors| fill(tensors, 0x70))],
    },
    Fault {
        name: "scale-zero",
        rule: "BS023",
        how: &[How::Tensors(|tensors| fill(tensors, 0))],
    },
    Fault {
        name: "scale-not-power-of-two",
        rule: "BS024",
        how: &[
            How::Tensors(|tensors| to_fp8(tensors, WQ_B)),
            How::Documents(|documents| {
                edit(documents, |config| {
                    config["quantization_config"]["scale_fmt"] = json!("ue8m0");
                })
            }),
        ],
    },
    Fault {
        name: "exponents-as-numbers",
        rule: "BS025",
        how: &[How::Tensors(|tensors| {
            recode(tensors, WQ_B, &Format::FP8_BLOCK_UE8M0, ".weight_scale_inv")
                && change(tensors, WQ_B, ".weight_scale_inv", |plane| {
                    plane.entry.dtype = Dtype::F32;
                    plane.bytes = plane
                        .bytes
                        .iter()
                        .flat_map(|&b| f32::from(b).to_le_bytes())
                        .collect();
                })
        })],
    },
    Fault {
        name: "numbers-as-exponents",
        rule: "BS026",
        how: &[How::Tensors(|tensors| {
            recode(tensors, WQ_B, &Format::FP8_BLOCK_UE8M0, ".weight_scale_inv")
                && change(tensors, WQ_B, ".weight_scale_inv", |plane| {
                    plane.bytes.fill(0);
                })
        })],
    },
    Fault {
        name: "scale-sign",
        rule: "BS027",
        how: &[How::Tensors(|tensors| {
            change(tensors, WQ_B, SCALE, |plane| {
                plane.bytes.iter_mut().for_each(|byte| *byte |= 0x80);
            })
        })],
    },
    Fault {
        name: "scale-nan",
        rule: "BS028",
        how: &[How::Tensors(|tensors| {
            change(tensors, WQ_B, SCALE, |plane| plane.bytes[0] = 0x7f)
        })],
    },
];

fn fill(tensors: &mut [Tensor], byte: u8) -> bool {
    change(tensors, WQ_B, SCALE, |plane| plane.bytes.fill(byte))
}

/// A copy of one tensor of a weight, whose name ends otherwise.
fn add_scale(tensors: &mut Vec<Tensor>, weight: NativeName, of: &str, suffix: &str) -> bool {
    let Some(tensor) = find(tensors, weight, of) else {
        return false;
    };
    let module = tensor.entry.name.trim_end_matches(of);
    let copy = renamed(tensor, format!("{module}{suffix}"));
    tensors.push(copy);
    true
}

fn transpose(plane: &mut Tensor) {
    let Shape { rows, cols } = matrix(plane);
    let at = |i: usize| plane.bytes[i % rows * cols + i / rows];
    plane.bytes = (0..rows * cols).map(at).collect();
    plane.entry.shape = vec![cols, rows];
}
