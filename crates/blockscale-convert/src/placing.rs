//! Where the bytes of a run go in its shard, in rows or in a runtime's layout.

mod scattered;

use std::ops::Range;

use blockscale::format::{Format, Shape};
use blockscale::layout::{
    Codes, ScaleLayout, Scales, permute_codes, permute_scales, unpermute_codes, unpermute_scales,
};
use blockscale_model::catalog::{Axes, Encoding, Matrices, PartRole, Weight};
use blockscale_model::plan::{Origin, PlannedWeight};

use crate::ConvertError;
use crate::encoding::IntPlaneSizes;
use crate::jobs::OutRows;
use crate::memory::Buffer;
use crate::transform::{Planes, Transformed};
use crate::weights::scale_range;

/// Bytes for one place of a shard.
pub(crate) struct Chunk {
    pub(crate) offset: u64,
    pub(crate) bytes: Buffer,
}

/// A run's place in its weight.
pub(crate) struct Placed<'a> {
    pub(crate) out: &'a OutRows,
    /// Whether it is the weight's last.
    pub(crate) last: bool,
    /// The second-level scale, written with the last run.
    pub(crate) global: f32,
}

/// Where a computed tensor of that role begins.
fn start(weight: &PlannedWeight, role: PartRole) -> Option<u64> {
    let tensor = weight
        .tensor(role)
        .filter(|t| t.origin == Origin::Computed)?;
    Some(tensor.range.start)
}

/// The rows of a run, counted through all matrices.
fn rows_of(weight: &PlannedWeight, out: &OutRows) -> usize {
    out.matrix * Matrices::of(&weight.shape).shape.rows + out.rows.start
}

fn scale_place(weight: &PlannedWeight, format: &Format, out: &OutRows) -> Range<usize> {
    scale_range(
        format,
        Matrices::of(&weight.shape).shape,
        out.matrix,
        &out.rows,
    )
}

/// The chunks of a transformed run.
pub(crate) fn place(
    weight: &PlannedWeight,
    from: &Encoding,
    placed: &Placed<'_>,
    done: Transformed,
) -> Vec<Chunk> {
    let out = placed.out;
    let Planes {
        codes,
        scales,
        zeros,
    } = done.planes;
    let first = rows_of(weight, out);
    let code_row = codes.len() / out.rows.len().max(1);
    let scale_row = scales.len() / out.rows.len().max(1);
    let at = match weight.step.result(from) {
        Encoding::Block(format) => IntPlaneSizes {
            codes: first * code_row,
            scales: scale_place(weight, &format, out).start,
            zeros: 0,
        },
        Encoding::Grouped(format) => {
            let cols = Matrices::of(&weight.shape).shape.cols;
            IntPlaneSizes::of(&format, Shape::new(first, cols))
        }
        Encoding::Plain(_) | Encoding::Ggml(_) => IntPlaneSizes {
            codes: first * code_row,
            scales: 0,
            zeros: 0,
        },
    };
    let planes = [
        (PartRole::Codes, at.codes, code_row, Some(codes)),
        (PartRole::BlockScale, at.scales, scale_row, Some(scales)),
        (PartRole::ZeroPoint, at.zeros, 0, zeros),
    ];
    let mut chunks = Vec::with_capacity(planes.len() + 1);
    for (role, at, row, bytes) in planes {
        let (Some(start), Some(bytes)) = (start(weight, role), bytes) else {
            continue;
        };
        match weight.axes {
            Axes::InOut => chunks.extend(scattered::columns(weight, out, start, &bytes)),
            Axes::OutIn if weight.in_turn => {
                chunks.extend(scattered::in_turn(weight, out, start, row, &bytes));
            }
            Axes::OutIn => chunks.push(Chunk {
                offset: start + at as u64,
                bytes,
            }),
        }
    }
    chunks.extend(global_chunk(weight, placed));
    chunks
}

fn global_chunk(weight: &PlannedWeight, placed: &Placed<'_>) -> Option<Chunk> {
    let offset = start(weight, PartRole::GlobalScale)?;
    placed.last.then(|| Chunk {
        offset,
        bytes: placed.global.to_le_bytes().to_vec().into(),
    })
}

/// The planes of a weight in rows, until all of it is there to be laid out.
#[derive(Default)]
pub(crate) struct Gathered {
    codes: Vec<u8>,
    scales: Vec<u8>,
}

impl Gathered {
    /// Adds a run.
    pub(crate) fn add(
        &mut self,
        weight: &PlannedWeight,
        from: &Encoding,
        out: &OutRows,
        done: &Transformed,
    ) {
        let Planes { codes, scales, .. } = &done.planes;
        let count = out.rows.len().max(1);
        let (code_row, scale_row) = (codes.len() / count, scales.len() / count);
        let first = rows_of(weight, out) * code_row;
        gather(&mut self.codes, weight, out, first, code_row, codes);
        if let Encoding::Block(format) = weight.step.result(from) {
            let first = scale_place(weight, &format, out).start;
            gather(&mut self.scales, weight, out, first, scale_row, scales);
        }
    }

    /// Brings both planes into the weight's layout, and proves it by undoing it.
    pub(crate) fn lay_out(
        self,
        weight: &PlannedWeight,
        from: &Encoding,
        placed: &Placed<'_>,
    ) -> Result<Vec<Chunk>, ConvertError> {
        let Encoding::Block(format) = weight.step.result(from) else {
            return Ok(Vec::new());
        };
        let laid_out = Weight {
            name: weight.name.clone(),
            shape: weight.shape.clone(),
            encoding: Encoding::Block(format),
            parts: Vec::new(),
            layout: weight.layout,
            gate_up: weight.gate_up,
            axes: weight.axes,
            members: weight.members.clone(),
        };
        let (codes, scales) = permute(&laid_out, &format, &self.codes, &self.scales)?;
        let (codes_again, scales_again) = unpermute(&laid_out, &format, &codes, &scales)?;
        if codes_again != self.codes || scales_again != self.scales {
            return Err(ConvertError::LayoutLoses {
                tensor: weight.name.clone(),
                layout: weight.layout,
            });
        }
        let planes = [(PartRole::Codes, codes), (PartRole::BlockScale, scales)];
        let mut chunks: Vec<Chunk> = planes
            .into_iter()
            .filter_map(|(role, bytes)| {
                Some(Chunk {
                    offset: start(weight, role)?,
                    bytes: bytes.into(),
                })
            })
            .collect();
        chunks.extend(global_chunk(weight, placed));
        Ok(chunks)
    }
}

/// Puts the rows of a run, of `row` bytes each, to their places in a plane.
fn gather(
    plane: &mut Vec<u8>,
    weight: &PlannedWeight,
    out: &OutRows,
    first: usize,
    row: usize,
    bytes: &[u8],
) {
    if !weight.in_turn {
        return put(plane, first, bytes);
    }
    for chunk in scattered::in_turn(weight, out, 0, row, bytes) {
        put(plane, chunk.offset as usize, &chunk.bytes);
    }
}

fn put(plane: &mut Vec<u8>, at: usize, bytes: &[u8]) {
    if plane.len() < at + bytes.len() {
        plane.resize(at + bytes.len(), 0);
    }
    plane[at..][..bytes.len()].copy_from_slice(bytes);
}

fn permute(
    weight: &Weight,
    format: &Format,
    codes: &[u8],
    scales: &[u8],
) -> Result<(Vec<u8>, Vec<u8>), ConvertError> {
    let said = |problem| ConvertError::Layout {
        tensor: weight.name.clone(),
        problem,
    };
    let (layout, linear) = (weight.layout, ScaleLayout::Linear);
    let code_stack = weight.code_stack(format);
    let mut out_codes = vec![0; layout.code_bytes(code_stack).map_err(said)?];
    let stored = Codes {
        layout: linear,
        bytes: codes,
    };
    permute_codes(layout, code_stack, stored, &mut out_codes).map_err(said)?;
    let scale_stack = weight.scale_stack(format);
    let mut out_scales = vec![
        0;
        layout
            .scale_bytes(scale_stack, format.scale)
            .map_err(said)?
    ];
    let stored = Scales {
        layout: linear,
        element: format.scale,
        bytes: scales,
    };
    permute_scales(layout, scale_stack, stored, &mut out_scales).map_err(said)?;
    Ok((out_codes, out_scales))
}

/// Codes and scales of a weight put back into rows.
pub(crate) fn unpermute(
    weight: &Weight,
    format: &Format,
    codes: &[u8],
    scales: &[u8],
) -> Result<(Vec<u8>, Vec<u8>), ConvertError> {
    let said = |problem| ConvertError::Layout {
        tensor: weight.name.clone(),
        problem,
    };
    let layout = weight.layout;
    let Matrices { count, shape } = weight.matrices();
    let code_stack = weight.code_stack(format);
    let mut out_codes = vec![0; count * shape.rows * format.row_bytes(shape.cols)];
    unpermute_codes(
        code_stack,
        Codes {
            layout,
            bytes: codes,
        },
        &mut out_codes,
    )
    .map_err(said)?;
    let plane = format.scale_shape(shape);
    let mut out_scales = vec![0; count * plane.rows * plane.cols * format.scale.bytes()];
    let stored = Scales {
        layout,
        element: format.scale,
        bytes: scales,
    };
    unpermute_scales(weight.scale_stack(format), stored, &mut out_scales).map_err(said)?;
    Ok((out_codes, out_scales))
}
