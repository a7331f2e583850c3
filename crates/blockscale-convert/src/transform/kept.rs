//! Steps that leave the codes as they are: they move, and only scales are restated.

use blockscale::format::{Format, Shape};
use blockscale::stats::ErrorStats;
use blockscale::transcode;
use blockscale_model::catalog::Weight;
use blockscale_model::plan::Step;
use rayon::prelude::*;

use super::check::{Checked, nan_positions};
use super::{
    Planes, TensorScales, Transformed, decoder, output_block, output_decoder, parts, source_block,
};
use crate::ConvertError;
use crate::backend::Task;
use crate::memory::Buffer;
use crate::weights::{RunBytes, Stored, group_rows, scale_range};

pub(super) fn apply(task: Task, tensor: TensorScales) -> Result<Transformed, ConvertError> {
    let shape = task.shape();
    let scales = match task.step {
        Step::WidenScales { to } => Some(widen(&task.weight, &to, &task.bytes)?),
        Step::SpreadScale { to } => Some(spread(&to, shape, &task.bytes)?),
        _ => None,
    };
    let source = Stored::from(&task.bytes);
    let output = Stored {
        scales: scales.as_ref().unwrap_or(&task.bytes.scales),
        global: tensor.global,
        ..source
    };
    let Checked { stats, nans } = check(&task, shape, source, output)?;
    let RunBytes {
        codes,
        scales: old,
        zeros,
        ..
    } = task.bytes;
    Ok(Transformed {
        planes: Planes {
            codes,
            scales: scales.unwrap_or(old),
            zeros,
        },
        stats,
        nans,
        blocks: None,
    })
}

fn check(
    task: &Task,
    shape: Shape,
    source: Stored<'_>,
    output: Stored<'_>,
) -> Result<Checked, ConvertError> {
    let (from, to) = (decoder(task), output_decoder(task));
    to.check(shape, output)?;
    let blocks = [source_block(task), output_block(&to.encoding, shape)];
    let step = group_rows(&blocks, shape.cols);
    let ranges = parts::ranges(shape, step);
    let checked: Vec<Result<(usize, Checked), ConvertError>> = ranges
        .into_par_iter()
        .map(|rows| {
            let bytes = 4 * rows.len() * shape.cols;
            let (mut values, mut again) = (task.buffers.get(bytes), task.buffers.get(bytes));
            let values: &mut [f32] = bytemuck::cast_slice_mut(&mut values);
            let again: &mut [f32] = bytemuck::cast_slice_mut(&mut again);
            from.rows(shape, rows.clone(), source, values)?;
            to.rows(shape, rows.clone(), output, again)?;
            let mut stats = vec![ErrorStats::new(); rows.len()];
            ErrorStats::of_rows(shape.cols, values, again, &mut stats)?;
            let nans = nan_positions(values, shape.cols, &stats);
            Ok((rows.start, Checked { stats, nans }))
        })
        .collect();
    // The first error of the run, whichever thread was the first to meet one.
    let checked = checked.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(Checked::join(checked))
}

fn widen(weight: &Weight, to: &Format, source: &RunBytes) -> Result<Buffer, ConvertError> {
    let from = weight.encoding.format().unwrap_or(to).scale;
    let mut scales = vec![0; source.scales.len() / from.bytes() * to.scale.bytes()];
    transcode::widen_scales(from, &source.scales, &mut scales)?;
    Ok(scales.into())
}

fn spread(to: &Format, shape: Shape, source: &RunBytes) -> Result<Buffer, ConvertError> {
    let mut scales = vec![0; scale_range(to, shape, 0, &(0..shape.rows)).len()];
    transcode::spread_tensor_scale(to, shape, &source.scales, &mut scales)?;
    Ok(scales.into())
}
