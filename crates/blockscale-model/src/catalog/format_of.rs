//! The block format that a set of tensors spells, or why it spells none.

use blockscale::format::{Block, Element, Format, GlobalScale, ScaleElement, Shape};
use safetensors::Dtype;

use super::weight::Matrices;

/// Block of FP8 weights where the configuration names none.
const DEFAULT_FP8_BLOCK: [usize; 2] = [128, 128];

/// Why the scales of a weight cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScaleProblem {
    /// Codes without any scale.
    #[error(
        "{dtype} codes without a scale (looked for {}); without its scale the weight has no \
         value: restore the scale tensor, or export the checkpoint again",
        list(looked_for)
    )]
    Missing {
        /// Dtype of the codes.
        dtype: Dtype,
        /// Names that would have been taken.
        looked_for: Vec<String>,
    },
    /// More than one tensor claims to be the block scale.
    #[error("{} all claim to be its scale; remove the wrong ones", list(scales))]
    Contradicting {
        /// The claimants.
        scales: Vec<String>,
    },
    /// An NVFP4 weight without its second-level scale.
    #[error(
        "NVFP4 block scale `{scale}` without a global scale (looked for {})",
        list(looked_for)
    )]
    MissingGlobal {
        /// The block scale that is there.
        scale: String,
        /// Names that would have been taken.
        looked_for: Vec<String>,
    },
    /// A second-level scale beside codes whose format has none.
    #[error(
        "global scale `{global}` beside {format} codes, which have none; \
         remove it, or the block scale that makes them {format}"
    )]
    UnexpectedGlobal {
        /// The global scale.
        global: String,
        /// The format that codes and block scale spell.
        format: String,
    },
    /// A scale plane whose shape belongs to no known format of this weight.
    #[error("scale `{scale}` has shape {found:?}, expected {}", shapes(expected))]
    Shape {
        /// The scale tensor.
        scale: String,
        /// Shapes that would be right.
        expected: Vec<Vec<usize>>,
        /// Its shape.
        found: Vec<usize>,
    },
    /// A scale of a dtype that this weight's format does not use.
    #[error("scale `{scale}` is {found}, expected {expected}")]
    Dtype {
        /// The scale tensor.
        scale: String,
        /// Dtypes that would be right.
        expected: &'static str,
        /// Its dtype.
        found: Dtype,
    },
}

fn list(names: &[String]) -> String {
    names
        .iter()
        .map(|n| format!("`{n}`"))
        .collect::<Vec<_>>()
        .join(", ")
}

fn shapes(all: &[Vec<usize>]) -> String {
    all.iter()
        .map(|s| format!("{s:?}"))
        .collect::<Vec<_>>()
        .join(" or ")
}

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

/// Whether codes of this dtype need a scale to have a value.
pub(super) fn needs_scale(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F8_E4M3 | Dtype::F8_E5M2 | Dtype::F4)
}

/// Whether a tensor of this dtype can hold codes, given that scales stand beside it.
pub(super) fn may_hold_codes(dtype: Dtype) -> bool {
    needs_scale(dtype) || matches!(dtype, Dtype::U8 | Dtype::I8)
}

/// Settles the format of `codes` with block scale `scale`.
///
/// Returns the format and the logical shape of the weight.
pub(super) fn format_of(
    codes: Facts<'_>,
    scale: Facts<'_>,
    global: Option<GlobalFacts<'_>>,
    globals_looked_for: &[String],
    config_block: Option<[usize; 2]>,
) -> Result<(Format, Vec<usize>), ScaleProblem> {
    let (format, shape) = match codes.dtype {
        Dtype::F8_E4M3 | Dtype::F8_E5M2 => {
            fp8(codes, scale, config_block).map(|f| (f, codes.shape.to_vec()))
        }
        _ => fp4(codes, scale, global, globals_looked_for),
    }?;
    match global {
        Some(global) if format.global == GlobalScale::None => Err(ScaleProblem::UnexpectedGlobal {
            global: global.tensor.name.to_owned(),
            format: format.to_string(),
        }),
        _ => Ok((format, shape)),
    }
}

fn fp8(
    codes: Facts<'_>,
    scale: Facts<'_>,
    config_block: Option<[usize; 2]>,
) -> Result<Format, ScaleProblem> {
    let element = if codes.dtype == Dtype::F8_E5M2 {
        Element::E5m2
    } else {
        Element::E4m3Fn
    };
    let [rows, cols] = config_block.unwrap_or(DEFAULT_FP8_BLOCK);
    let grid = Block::Grid { rows, cols };
    let with = |block, scale| Format {
        element,
        block,
        scale,
        global: GlobalScale::None,
    };
    let candidates = match scale.dtype {
        Dtype::F32 => float_candidates(with, grid, ScaleElement::F32),
        Dtype::BF16 => float_candidates(with, grid, ScaleElement::Bf16),
        Dtype::F16 => float_candidates(with, grid, ScaleElement::F16),
        Dtype::F8_E8M0 | Dtype::U8 => vec![
            with(grid, ScaleElement::E8m0Fnu),
            with(Block::Grid { rows: 1, cols: 32 }, ScaleElement::E8m0Fnu),
        ],
        found => {
            return Err(ScaleProblem::Dtype {
                scale: scale.name.to_owned(),
                expected: "F32, BF16, F16, F8_E8M0 or U8",
                found,
            });
        }
    };
    pick(&candidates, codes.shape, scale)
}

/// Formats with float scales, the finer reading first: where a weight fits in
/// one block, a block scale and a tensor scale are the same numbers.
fn float_candidates(
    with: impl Fn(Block, ScaleElement) -> Format,
    grid: Block,
    scale: ScaleElement,
) -> Vec<Format> {
    vec![
        with(grid, scale),
        with(Block::Row, scale),
        with(Block::Tensor, scale),
    ]
}

fn fp4(
    codes: Facts<'_>,
    scale: Facts<'_>,
    global: Option<GlobalFacts<'_>>,
    globals_looked_for: &[String],
) -> Result<(Format, Vec<usize>), ScaleProblem> {
    let shape = unpacked(codes);
    let format = match (scale.dtype, global) {
        (Dtype::F8_E4M3, Some(global)) => {
            check_global(global.tensor, Matrices::of(&shape).count)?;
            Format {
                global: global.kind,
                ..Format::NVFP4
            }
        }
        (Dtype::F8_E4M3, None) => {
            return Err(ScaleProblem::MissingGlobal {
                scale: scale.name.to_owned(),
                looked_for: globals_looked_for.to_vec(),
            });
        }
        (Dtype::F8_E8M0 | Dtype::U8, _) => Format::MXFP4,
        (found, _) => {
            return Err(ScaleProblem::Dtype {
                scale: scale.name.to_owned(),
                expected: "F8_E4M3 (NVFP4), F8_E8M0 or U8 (MXFP4)",
                found,
            });
        }
    };
    pick(&[format], &shape, scale).map(|f| (f, shape))
}

/// Shape in elements of two-per-byte codes. `F4` tensors already count elements.
fn unpacked(codes: Facts<'_>) -> Vec<usize> {
    let mut shape = codes.shape.to_vec();
    if codes.dtype != Dtype::F4
        && let Some(last) = shape.last_mut()
    {
        *last = last.saturating_mul(2);
    }
    shape
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
fn pick(candidates: &[Format], weight: &[usize], scale: Facts<'_>) -> Result<Format, ScaleProblem> {
    candidates
        .iter()
        .find(|format| {
            scale_shapes(format, weight)
                .iter()
                .any(|s| s == scale.shape)
        })
        .copied()
        .ok_or_else(|| ScaleProblem::Shape {
            scale: scale.name.to_owned(),
            expected: candidates
                .iter()
                .filter_map(|f| scale_shapes(f, weight).pop())
                .collect(),
            found: scale.shape.to_vec(),
        })
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
