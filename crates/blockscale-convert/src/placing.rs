//! Where the bytes of a run go in its shard, in rows or in a runtime's layout.

use std::ops::Range;

use blockscale::format::Format;
use blockscale::layout::{
    Codes, ScaleLayout, Scales, permute_codes, permute_scales, unpermute_codes, unpermute_scales,
};
use blockscale_model::catalog::{Encoding, Matrices, PartRole, Weight};
use blockscale_model::plan::{Origin, PlannedWeight};

use crate::ConvertError;
use crate::jobs::OutRows;
use crate::transform::Transformed;
use crate::weights::scale_range;

/// Bytes for one place of a shard.
pub(crate) struct Chunk {
    pub(crate) offset: u64,
    pub(crate) bytes: Vec<u8>,
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

/// The chunks of a transformed run, row by row.
pub(crate) fn place(
    weight: &PlannedWeight,
    from: &Encoding,
    placed: &Placed<'_>,
    done: Transformed,
) -> Vec<Chunk> {
    let out = placed.out;
    let mut chunks = Vec::with_capacity(3);
    if let Some(start) = start(weight, PartRole::Codes) {
        let row = done.codes.len() / out.rows.len().max(1);
        let offset = start + rows_of(weight, out) as u64 * row as u64;
        chunks.push(Chunk {
            offset,
            bytes: done.codes,
        });
    }
    if let (Some(start), Encoding::Block(format)) = (
        start(weight, PartRole::BlockScale),
        weight.step.result(from),
    ) {
        let offset = start + scale_place(weight, &format, out).start as u64;
        chunks.push(Chunk {
            offset,
            bytes: done.scales,
        });
    }
    chunks.extend(global_chunk(weight, placed));
    chunks
}

fn global_chunk(weight: &PlannedWeight, placed: &Placed<'_>) -> Option<Chunk> {
    let offset = start(weight, PartRole::GlobalScale)?;
    placed.last.then(|| Chunk {
        offset,
        bytes: placed.global.to_le_bytes().to_vec(),
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
        let row = done.codes.len() / out.rows.len().max(1);
        put(&mut self.codes, rows_of(weight, out) * row, &done.codes);
        if let Encoding::Block(format) = weight.step.result(from) {
            put(
                &mut self.scales,
                scale_place(weight, &format, out).start,
                &done.scales,
            );
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
                    bytes,
                })
            })
            .collect();
        chunks.extend(global_chunk(weight, placed));
        Ok(chunks)
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
