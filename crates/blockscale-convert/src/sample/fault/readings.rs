//! Bytes that are meant otherwise than the file says, and look as good as right ones.

use blockscale::Format;
use blockscale::layout::{RowShuffle, ScaleLayout};
use blockscale_model::Dtype;

use super::super::tensors::Tensor;
use super::recode::{WQ_B, change, find, matrix, recode};
use super::{Fault, How};
use crate::interpret::{Interpretation, NibbleOrder, ScaleOrder, ScaleUse, SignForm};

const STORED: Interpretation = Interpretation::AS_STORED;
const TILES: ScaleLayout = ScaleLayout::Tiles128x4;
const SHUFFLED: ScaleLayout = ScaleLayout::TrtllmLinear(RowShuffle::By32);

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        name: "scales-tiled",
        rule: "BS060",
        how: &[How::Tensors(|tensors| {
            order_scales(tensors, ScaleOrder::In(TILES))
        })],
    },
    Fault {
        name: "rows-shuffled",
        rule: "BS060",
        how: &[How::Tensors(|tensors| {
            let meant = Interpretation {
                code_rows: Some(SHUFFLED),
                scales: ScaleOrder::In(SHUFFLED),
                ..STORED
            };
            damage(tensors, &Format::NVFP4, &meant)
        })],
    },
    Fault {
        name: "scales-tiled-twice",
        rule: "BS061",
        how: &[How::Tensors(|tensors| {
            order_scales(tensors, ScaleOrder::Twice(TILES))
        })],
    },
    Fault {
        name: "scales-untiled",
        rule: "BS061",
        how: &[How::Tensors(|tensors| {
            order_scales(tensors, ScaleOrder::Undone(TILES))
        })],
    },
    Fault {
        name: "scales-by-column",
        rule: "BS062",
        how: &[How::Tensors(|tensors| {
            order_scales(tensors, ScaleOrder::Transposed)
        })],
    },
    Fault {
        name: "nibbles-swapped",
        rule: "BS063",
        how: &[How::Tensors(|tensors| {
            order_nibbles(tensors, NibbleOrder::Swapped)
        })],
    },
    Fault {
        name: "nibbles-in-halves",
        rule: "BS063",
        how: &[How::Tensors(|tensors| {
            order_nibbles(tensors, NibbleOrder::Halves)
        })],
    },
    Fault {
        name: "twos-complement",
        rule: "BS064",
        how: &[How::Tensors(|tensors| {
            let meant = Interpretation {
                sign: SignForm::TwosComplement,
                ..STORED
            };
            damage(tensors, &Format::NVFP4, &meant)
        })],
    },
    Fault {
        name: "scales-divide",
        rule: "BS065",
        how: &[How::Tensors(|tensors| {
            let meant = Interpretation {
                scale_use: ScaleUse::Divides,
                ..STORED
            };
            let format = Format::MXFP8_E4M3;
            recode(tensors, WQ_B, &format, ".weight_scale") && damage(tensors, &format, &meant)
        })],
    },
    Fault {
        name: "codes-shuffled",
        rule: "BS066",
        how: &[How::Tensors(|tensors| {
            let meant = Interpretation {
                code_rows: Some(SHUFFLED),
                ..STORED
            };
            damage(tensors, &Format::NVFP4, &meant)
        })],
    },
    Fault {
        name: "other-element",
        rule: "BS067",
        how: &[How::Tensors(|tensors| {
            recode(tensors, WQ_B, &Format::MXFP8_E5M2, ".weight_scale")
                && change(tensors, WQ_B, ".weight", |codes| {
                    codes.entry.dtype = Dtype::F8_E4M3;
                })
        })],
    },
    Fault {
        name: "factor-lost",
        rule: "BS068",
        how: &[How::Tensors(|tensors| {
            change(tensors, WQ_B, ".weight_scale_2", |global| {
                for bytes in global.bytes.as_chunks_mut::<4>().0 {
                    *bytes = (f32::from_le_bytes(*bytes) / 8.0).to_le_bytes();
                }
            })
        })],
    },
    Fault {
        name: "upside-down",
        rule: "BS069",
        how: &[How::Tensors(|tensors| {
            [".weight", ".weight_scale"]
                .into_iter()
                .all(|suffix| change(tensors, WQ_B, suffix, turn_upside_down))
        })],
    },
];

fn order_scales(tensors: &mut [Tensor], scales: ScaleOrder) -> bool {
    damage(
        tensors,
        &Format::NVFP4,
        &Interpretation { scales, ..STORED },
    )
}

fn order_nibbles(tensors: &mut [Tensor], nibbles: NibbleOrder) -> bool {
    damage(
        tensors,
        &Format::NVFP4,
        &Interpretation { nibbles, ..STORED },
    )
}

/// Stores a weight as a writer would who means it so. False where it is not among the tensors.
fn damage(tensors: &mut [Tensor], format: &Format, meant: &Interpretation) -> bool {
    let Some(codes) = find(tensors, WQ_B, ".weight") else {
        return false;
    };
    let packed = matrix(codes);
    let per_byte = 8 / format.element.bits();
    let shape = blockscale::Shape::new(packed.rows, packed.cols * per_byte);
    let Ok(damaged) = meant.damage_codes(format, shape, codes.bytes.clone()) else {
        return false;
    };
    codes.bytes = damaged;
    let Some(plane) = find(tensors, WQ_B, ".weight_scale") else {
        return false;
    };
    let Ok(damaged) = meant.damage_scales(format, shape, plane.bytes.clone()) else {
        return false;
    };
    plane.bytes = damaged;
    true
}

/// The last row first.
fn turn_upside_down(tensor: &mut Tensor) {
    let row = matrix(tensor).cols.max(1);
    let rows = tensor.bytes.chunks(row).rev();
    tensor.bytes = rows.flatten().copied().collect();
}
