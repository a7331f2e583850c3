//! Rows through the core, whole or cut.

use std::ops::Range;

use blockscale::decode::{self, decode_rows};
use blockscale::encode::{self, Scheme};
use blockscale::layout::Stack;
use blockscale::{Format, Real, Shape};

use crate::engine::{Encoded, Failure, Outcome, Rows, global, parts};

/// How the core is given a matrix.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Cut {
    /// By one call: the definition of every operation.
    Whole,
    /// In as few rows at a time as the format allows, which must make no difference.
    Rows,
}

pub(super) fn size(bytes: Option<usize>) -> Outcome<usize> {
    bytes.ok_or_else(|| Failure::Failed("the size overflows".to_owned()))
}

impl Cut {
    /// The runs of rows that a matrix is cut into.
    fn runs(self, format: &Format, shape: Shape) -> impl Iterator<Item = Range<usize>> {
        let step = match self {
            Self::Whole => shape.rows.max(1),
            Self::Rows => format.block_rows(shape.rows),
        };
        let rows = shape.rows;
        (0..rows.max(1))
            .step_by(step)
            .map(move |first| first..rows.min(first + step))
    }
}

/// Where the codes and the scales of a run lie in those of its matrix.
fn places(
    format: &Format,
    shape: Shape,
    run: &Range<usize>,
) -> Outcome<(Range<usize>, Range<usize>)> {
    let before = Shape::new(run.start, shape.cols);
    let part = Shape::new(run.len(), shape.cols);
    let scales_before = match run.start {
        0 => 0,
        _ => size(format.scale_bytes(before))?,
    };
    let codes_before = size(format.code_bytes(before))?;
    Ok((
        codes_before..codes_before + size(format.code_bytes(part))?,
        scales_before..scales_before + size(format.scale_bytes(part))?,
    ))
}

pub(super) fn decoded<T: Real>(
    format: &Format,
    stack: Stack,
    rows: &Rows,
    zero: T,
    cut: Cut,
) -> Outcome<Vec<T>> {
    let Stack { matrices, shape } = stack;
    let one = size(shape.len())?;
    let mut out = vec![zero; one * matrices];
    let codes = parts(&rows.codes, matrices);
    let scales = parts(&rows.scales, matrices);
    for index in 0..matrices {
        let out = &mut out[index * one..][..one];
        for run in cut.runs(format, shape) {
            let (code_place, scale_place) = places(format, shape, &run)?;
            let rows = decode::Rows {
                codes: &codes[index][code_place],
                scales: &scales[index][scale_place],
                global: global(&rows.globals, index),
            };
            let out = &mut out[run.start * shape.cols..run.end * shape.cols];
            decode_rows(format, Shape::new(run.len(), shape.cols), rows, out)?;
        }
    }
    Ok(out)
}

pub(super) fn encoded<T: Real>(
    format: &Format,
    scheme: &Scheme,
    stack: Stack,
    values: &[T],
    globals: &[f32],
    cut: Cut,
) -> Outcome<Encoded> {
    let Stack { matrices, shape } = stack;
    let one = size(shape.len())?;
    let mut all = Encoded {
        codes: Vec::new(),
        scales: Vec::new(),
    };
    for index in 0..matrices {
        let values = &values[index * one..][..one];
        let mut codes = vec![0; size(format.code_bytes(shape))?];
        let mut scales = vec![0; size(format.scale_bytes(shape))?];
        for run in cut.runs(format, shape) {
            let (code_place, scale_place) = places(format, shape, &run)?;
            encode::encode_rows_with(
                format,
                scheme,
                Shape::new(run.len(), shape.cols),
                &values[run.start * shape.cols..run.end * shape.cols],
                global(globals, index),
                &mut codes[code_place],
                &mut scales[scale_place],
            )?;
        }
        all.codes.extend(codes);
        all.scales.extend(scales);
    }
    Ok(all)
}

pub(super) fn codes_under<T: Real>(
    format: &Format,
    scheme: &Scheme,
    stack: Stack,
    values: &[T],
    scales: &[u8],
    globals: &[f32],
) -> Outcome<Vec<u8>> {
    let Stack { matrices, shape } = stack;
    let one = size(shape.len())?;
    let scales = parts(scales, matrices);
    let mut all = Vec::new();
    for (index, scales) in scales.into_iter().enumerate() {
        let mut codes = vec![0; size(format.code_bytes(shape))?];
        let values = &values[index * one..][..one];
        let global = global(globals, index);
        encode::encode_codes_with(format, scheme, shape, values, scales, global, &mut codes)?;
        all.extend(codes);
    }
    Ok(all)
}
