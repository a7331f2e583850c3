//! The block format that a set of tensors spells, or why it spells none.

use blockscale::format::{Block, Element, Format, GlobalScale, Packing, ScaleElement, Shape};
use safetensors::Dtype;

use super::problem::ScaleProblem;
use super::weight::Matrices;

/// Block of FP8 weights where the configuration names none.
const DEFAULT_FP8_BLOCK: [usize; 2] = [128, 128];

/// Name, dtype and shape of one tensor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts<'a> {
    pub(super) name: &'a str,
    pub(super) dtype: Dtype,
    pub(super) shape: &'a [usize],
}

/// The second-level scale that stands beside a block scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct GlobalFacts<'a> {
    pub(super) tensor: Facts<'a>,
    pub(super) kind: GlobalScale,
}

/// What stands beside each other in the file.
pub(super) struct Evidence<'a> {
    pub(super) codes: Facts<'a>,
    pub(super) scale: Facts<'a>,
    pub(super) global: Option<GlobalFacts<'a>>,
    /// Names under which a global scale would have been taken.
    pub(super) globals_looked_for: &'a [String],
    /// Whether the dialect writes NVFP4 without a global scale.
    pub(super) global_is_optional: bool,
    /// `weight_block_size` of the config.
    pub(super) config_block: Option<[usize; 2]>,
    /// The 6-bit float that bytes may be codes of.
    pub(super) six_bit: Option<Element>,
    /// How 6-bit codes lie in bytes.
    pub(super) packing: Packing,
    /// Whether the scales lie in tiles of 128 x 4.
    pub(super) tiled: bool,
}

/// Whether codes of this dtype need a scale to have a value.
pub(super) fn needs_scale(dtype: Dtype) -> bool {
    matches!(
        dtype,
        Dtype::F8_E4M3
            | Dtype::F8_E5M2
            | Dtype::F8_E4M3FNUZ
            | Dtype::F6_E2M3
            | Dtype::F6_E3M2
            | Dtype::F4
    )
}

/// Whether a tensor of this dtype can hold codes, given that scales stand beside it.
pub(super) fn may_hold_codes(dtype: Dtype) -> bool {
    needs_scale(dtype) || matches!(dtype, Dtype::U8 | Dtype::I8 | Dtype::U32)
}

/// Settles the format that the evidence spells, and the logical shape of the weight.
pub(super) fn format_of(evidence: &Evidence<'_>) -> Result<(Format, Vec<usize>), ScaleProblem> {
    let candidates = match evidence.codes.dtype {
        Dtype::F8_E4M3 => fp8(Element::E4m3Fn, evidence)?,
        Dtype::F8_E5M2 => fp8(Element::E5m2, evidence)?,
        Dtype::F8_E4M3FNUZ => fp8(Element::E4m3Fnuz, evidence)?,
        Dtype::F6_E2M3 => vec![(Format::MXFP6_E2M3, evidence.codes.shape.to_vec())],
        Dtype::F6_E3M2 => vec![(Format::MXFP6_E3M2, evidence.codes.shape.to_vec())],
        _ => packed(evidence)?,
    };
    let (format, shape) = pick(&candidates, evidence)?;
    match evidence.global {
        Some(global) if format.global == GlobalScale::None => Err(ScaleProblem::UnexpectedGlobal {
            global: global.tensor.name.to_owned(),
            format: format.to_string(),
        }),
        _ => Ok((format, shape)),
    }
}

/// A reading of the codes: a format and the logical shape that it gives the weight.
type Candidate = (Format, Vec<usize>);

fn fp8(element: Element, evidence: &Evidence<'_>) -> Result<Vec<Candidate>, ScaleProblem> {
    let [rows, cols] = evidence.config_block.unwrap_or(DEFAULT_FP8_BLOCK);
    let grid = Block::Grid { rows, cols };
    // The finer reading comes first: where a weight fits in one block, a block
    // scale and a tensor scale are the same numbers.
    let floats = [grid, Block::Row, Block::Tensor];
    let powers_of_two = [grid, Block::Grid { rows: 1, cols: 32 }];
    let (scale, blocks) = match evidence.scale.dtype {
        Dtype::F32 => (ScaleElement::F32, &floats[..]),
        Dtype::BF16 => (ScaleElement::Bf16, &floats[..]),
        Dtype::F16 => (ScaleElement::F16, &floats[..]),
        Dtype::F8_E8M0 | Dtype::U8 => (ScaleElement::E8m0Fnu, &powers_of_two[..]),
        _ => return Err(wrong_dtype(evidence, "F32, BF16, F16, F8_E8M0 or U8")),
    };
    let with = |&block| Format {
        element,
        block,
        scale,
        ..Format::FP8_BLOCK
    };
    let shape = evidence.codes.shape;
    Ok(blocks
        .iter()
        .map(|block| (with(block), shape.to_vec()))
        .collect())
}

/// Codes in bytes or words without a dtype of their own: FP4, or FP8 in MLX.
fn packed(evidence: &Evidence<'_>) -> Result<Vec<Candidate>, ScaleProblem> {
    let (lead, row) = byte_rows(evidence.codes);
    let shape = |cols: usize| [lead.as_slice(), &[cols]].concat();
    let fp4 = shape(row.saturating_mul(2));
    let mlx = evidence.codes.dtype == Dtype::U32;
    let one_level = Format {
        global: GlobalScale::None,
        ..Format::NVFP4
    };
    match evidence.scale.dtype {
        Dtype::F8_E4M3 => {
            let format = match evidence.global {
                Some(global) => {
                    check_global(global.tensor, Matrices::of(&fp4).count)?;
                    Format {
                        global: global.kind,
                        ..Format::NVFP4
                    }
                }
                None if evidence.global_is_optional => one_level,
                None => {
                    return Err(ScaleProblem::MissingGlobal {
                        scale: evidence.scale.name.to_owned(),
                        looked_for: evidence.globals_looked_for.to_vec(),
                    });
                }
            };
            Ok(vec![(format, fp4)])
        }
        // MLX stores scales of either type in bytes; the number of columns tells.
        Dtype::U8 if mlx => Ok(vec![
            (Format::MXFP4, fp4.clone()),
            (one_level, fp4),
            (Format::MXFP8_E4M3, shape(row)),
        ]),
        Dtype::F8_E8M0 | Dtype::U8 => {
            let six_bit = |element| {
                let format = Format {
                    element,
                    ..Format::MXFP4
                };
                let cols = match evidence.packing {
                    Packing::Dense => row / 3 * 4,
                    Packing::Bytes => row,
                };
                (format.packed(evidence.packing), shape(cols))
            };
            let mut candidates = vec![(Format::MXFP4, fp4)];
            if let Some(element) = evidence.six_bit {
                if evidence.packing == Packing::Bytes {
                    // Said of this very weight; under scales in tiles FP4 can have the same shape.
                    candidates.clear();
                }
                candidates.push(six_bit(element));
            } else if pick(&candidates, evidence).is_err()
                && pick(&[six_bit(Element::E2m3)], evidence).is_ok()
            {
                return Err(ScaleProblem::Unsaid {
                    what: "whether its 6-bit codes are E2M3 or E3M2",
                    key: "`fp6_e2m3` or `fp6_e3m2` as `dtype` of the weight",
                });
            }
            Ok(candidates)
        }
        _ => Err(wrong_dtype(
            evidence,
            "F8_E4M3 (NVFP4), F8_E8M0 or U8 (MXFP4)",
        )),
    }
}

fn wrong_dtype(evidence: &Evidence<'_>, expected: &'static str) -> ScaleProblem {
    ScaleProblem::Dtype {
        scale: evidence.scale.name.to_owned(),
        expected,
        found: evidence.scale.dtype,
    }
}

/// Leading axes and bytes a row of packed codes.
///
/// `F4` tensors count elements. gpt-oss keeps the blocks of a row on an axis of
/// their own, sixteen bytes each.
fn byte_rows(codes: Facts<'_>) -> (Vec<usize>, usize) {
    let (lead, row) = match *codes.shape {
        [] => (&[][..], 0),
        [ref lead @ .., blocks, 16] if codes.name.ends_with("blocks") => {
            (lead, blocks.saturating_mul(16))
        }
        [ref lead @ .., cols] => (lead, cols),
    };
    let row = match codes.dtype {
        Dtype::F4 => row.div_ceil(2),
        Dtype::U32 => row.saturating_mul(4),
        _ => row,
    };
    (lead.to_vec(), row)
}

fn check_global(global: Facts<'_>, matrices: usize) -> Result<(), ScaleProblem> {
    if global.dtype != Dtype::F32 {
        return Err(ScaleProblem::Dtype {
            scale: global.name.to_owned(),
            expected: "F32",
            found: global.dtype,
        });
    }
    let values: usize = global.shape.iter().product();
    if values == 1 || values == matrices {
        return Ok(());
    }
    Err(ScaleProblem::Shape {
        scale: global.name.to_owned(),
        expected: vec![vec![], vec![1], vec![matrices]],
        found: global.shape.to_vec(),
    })
}

/// The first candidate whose scale plane has the shape found.
fn pick(candidates: &[Candidate], evidence: &Evidence<'_>) -> Result<Candidate, ScaleProblem> {
    let scale = evidence.scale;
    let scale_shapes = |format: &Format, shape: &[usize]| {
        let mut shapes = scale_shapes(format, shape);
        if evidence.tiled {
            shapes.iter_mut().for_each(|shape| tile(shape));
        }
        shapes
    };
    // Only scales of single rows are kept in tiles.
    let in_rows = |(format, _): &&Candidate| !evidence.tiled || format.block_rows(2) == 1;
    candidates
        .iter()
        .filter(in_rows)
        .find(|(format, shape)| scale_shapes(format, shape).iter().any(|s| s == scale.shape))
        .cloned()
        .ok_or_else(|| ScaleProblem::Shape {
            scale: scale.name.to_owned(),
            expected: candidates
                .iter()
                .filter_map(|(f, s)| scale_shapes(f, s).pop())
                .collect(),
            found: scale.shape.to_vec(),
        })
}

/// The shape that torchao gives a plane of scales in tiles: a tile is 32 rows of 16 bytes.
fn tile(plane: &mut [usize]) {
    if let [.., rows, cols] = plane {
        *rows = rows.div_ceil(128) * 32;
        *cols = cols.div_ceil(4) * 16;
    }
}

/// Every shape in which tools write the scale plane of `format`; the usual one last.
fn scale_shapes(format: &Format, weight: &[usize]) -> Vec<Vec<usize>> {
    let matrices = Matrices::of(weight);
    let Shape { rows, cols } = format.scale_shape(matrices.shape);
    let lead = weight.get(..weight.len().saturating_sub(2)).unwrap_or(&[]);
    let of = |tail: &[usize]| [lead, tail].concat();
    match format.block {
        Block::Tensor => vec![vec![1], vec![1, 1], vec![]],
        Block::Row => vec![of(&[rows]), of(&[rows, 1])],
        Block::Grid { .. } if weight.len() < 2 => vec![vec![rows, cols], vec![cols]],
        Block::Grid { .. } => vec![of(&[rows, cols])],
    }
}
