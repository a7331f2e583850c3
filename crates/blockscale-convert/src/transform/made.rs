//! Steps that make new codes or plain numbers, part by part.

use std::ops::Range;

use blockscale::decode::Rows;
use blockscale::format::{Block, Format, Shape};
use blockscale::int::{self, IntPartsMut, IntRule};
use blockscale::transcode;
use blockscale_model::catalog::Encoding;
use blockscale_model::plan::Step;
use rayon::prelude::*;

use super::check::{Checked, check};
use super::parts::{self, PartMut, Zeros};
use super::{
    CastBlocks, TensorScales, Transformed, decoder, output_block, output_decoder, source_block,
};
use crate::ConvertError;
use crate::backend::Task;
use crate::encoding;
use crate::weights::{Stored, codes_of, has_global, plain_row_bytes, scale_range};

pub(super) fn apply(task: &Task, tensor: TensorScales) -> Result<Transformed, ConvertError> {
    let shape = task.shape();
    let result = task.step.result(&task.weight.encoding);
    let zeros = match task.step {
        Step::EncodeInt {
            rule: IntRule::Affine,
            ..
        } => Zeros::Present,
        _ => Zeros::Absent,
    };
    let mut planes = parts::planes(&result, shape, zeros, &task.buffers);
    let shared = match task.step {
        Step::Encode { to, by } if to.block == Block::Tensor => {
            encoding::one_scale(&to, &by.scheme(&to), &task.weight.encoding, tensor)?
        }
        _ => Vec::new(),
    };
    let blocks = (source_block(task), output_block(&result, shape));
    let step = parts::whole_rows(blocks.0, blocks.1, shape.cols);
    let maker = Maker {
        task,
        shape,
        tensor,
        shared: &shared,
    };
    let made: Vec<Result<(usize, Made), ConvertError>> =
        parts::split(&result, shape, step, &mut planes)
            .into_par_iter()
            .map(|mut part| {
                let first = part.rows.start;
                maker.part(&mut part).map(|made| (first, made))
            })
            .collect();
    // The first error of the run, whichever thread was the first to meet one.
    let made = made.into_iter().collect::<Result<Vec<_>, _>>()?;
    if !shared.is_empty() {
        planes.scales.copy_from_slice(&shared);
    }
    let mut blocks = matches!(task.step, Step::CastMxfp4 { .. }).then(CastBlocks::default);
    let checked = made.into_iter().map(|(first, made)| {
        if let Some(blocks) = &mut blocks {
            blocks.add(made.blocks);
        }
        (first, made.checked)
    });
    let Checked { stats, nans } = Checked::join(checked.collect::<Vec<_>>());
    Ok(Transformed {
        planes,
        stats,
        nans,
        blocks,
    })
}

/// What came of a part, beside its bytes.
struct Made {
    checked: Checked,
    blocks: CastBlocks,
}

/// What all parts of a run have in common.
struct Maker<'a> {
    task: &'a Task,
    shape: Shape,
    tensor: TensorScales,
    /// The scale of all of the weight, where the format has only one.
    shared: &'a [u8],
}

impl Maker<'_> {
    fn part(&self, part: &mut PartMut<'_>) -> Result<Made, ConvertError> {
        let Self { task, shape, .. } = *self;
        let source = Stored::from(&task.bytes);
        let rows = Shape::new(part.rows.len(), shape.cols);
        let mut values = task.buffers.get(4 * rows.rows * rows.cols);
        let values: &mut [f32] = bytemuck::cast_slice_mut(&mut values);
        decoder(task).rows(shape, part.rows.clone(), source, values)?;
        let blocks = self.make(part, rows, values)?;
        let output = output_decoder(task);
        let stored = Stored {
            codes: part.codes,
            scales: match self.shared {
                [] => part.scales,
                shared => shared,
            },
            zeros: part.zeros.as_deref(),
            groups: None,
            global: self.tensor.global,
        };
        Ok(Made {
            checked: check(output, rows, stored, values, &task.buffers)?,
            blocks,
        })
    }

    fn make(
        &self,
        part: &mut PartMut<'_>,
        shape: Shape,
        values: &[f32],
    ) -> Result<CastBlocks, ConvertError> {
        let Self { task, tensor, .. } = *self;
        match task.step {
            Step::Decode(dtype) => encoding::plain(dtype, values, part.codes)?,
            Step::Encode { to, by } => {
                let (scheme, from) = (by.scheme(&to), &task.weight.encoding);
                let scales = match self.shared {
                    [] => encoding::Scales::Own(part.scales),
                    shared => encoding::Scales::Shared(shared),
                };
                let numbers = encoding::Numbers {
                    from,
                    shape,
                    values,
                    stored: self.stored_rows(&part.rows),
                };
                let global = tensor.global;
                encoding::blocks(&to, &scheme, numbers, global, part.codes, scales)?;
            }
            Step::EncodeInt { to, rule } => {
                let parts = IntPartsMut {
                    codes: part.codes,
                    scales: part.scales,
                    zeros: part.zeros.as_deref_mut(),
                };
                int::encode(&to, rule, shape, values, parts).map_err(|problem| {
                    ConvertError::Integers {
                        tensor: task.weight.name.clone(),
                        problem,
                    }
                })?;
            }
            Step::RoundScalesUp { to } => self.round_scales_up(&to, part, shape)?,
            Step::CastMxfp4 { to } => return self.cast(&to, part, shape),
            // They keep their codes.
            Step::Copy
            | Step::RestateGlobal { .. }
            | Step::WidenScales { .. }
            | Step::SpreadScale { .. } => {}
        }
        Ok(CastBlocks::default())
    }

    /// The bytes of rows of plain numbers, none of others.
    fn stored_rows(&self, rows: &Range<usize>) -> &[u8] {
        let Encoding::Plain(dtype) = self.task.weight.encoding else {
            return &[];
        };
        let row = plain_row_bytes(dtype, self.shape.cols);
        &self.task.bytes.codes[rows.start * row..rows.end * row]
    }

    /// The stored bytes of a part, which begins with a block of the source.
    fn source_rows<'a>(&'a self, format: &Format, part: &PartMut<'_>) -> Rows<'a> {
        let bytes = &self.task.bytes;
        Rows {
            codes: &bytes.codes[codes_of(format, self.shape.cols, &part.rows)],
            scales: &bytes.scales[scale_range(format, self.shape, 0, &part.rows)],
            global: bytes.global,
        }
    }

    fn round_scales_up(
        &self,
        to: &Format,
        part: &mut PartMut<'_>,
        shape: Shape,
    ) -> Result<(), ConvertError> {
        let from = self.task.weight.encoding.format().unwrap_or(to);
        let rows = self.source_rows(from, part);
        transcode::round_scales_up_to_pow2(from, to, shape, rows, part.codes, part.scales)
            .map(drop)
            .map_err(|problem| ConvertError::Scale {
                tensor: self.task.weight.name.clone(),
                first_row: self.task.run.rows.start + part.rows.start,
                problem,
            })
    }

    fn cast(
        &self,
        to: &Format,
        part: &mut PartMut<'_>,
        shape: Shape,
    ) -> Result<CastBlocks, ConvertError> {
        let mut counts = CastBlocks::default();
        let mut count = |_, lossless| {
            let slot = if lossless {
                &mut counts.lossless
            } else {
                &mut counts.rounded
            };
            *slot += 1;
        };
        let rows = match self.task.weight.encoding {
            Encoding::Block(format) => self.source_rows(&format, part),
            // Only MXFP4 is cast.
            _ => return Ok(counts),
        };
        if has_global(to) {
            let way = self.tensor.cast;
            way.rows(shape, rows, part.codes, part.scales, &mut count)?;
        } else {
            transcode::mxfp4_to_fp8_block(shape, rows, part.codes, part.scales, &mut count)?;
        }
        Ok(counts)
    }
}
