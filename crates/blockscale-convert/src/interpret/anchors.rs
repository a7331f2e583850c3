//! Tensors whose channels are those of a weight's columns.

use blockscale::format::{Block, Shape};
use blockscale_model::catalog::{Encoding, PartRole, Weight};

use crate::ConvertError;
use crate::weights::{Run, Weights, decode};

/// Vectors that are read for one weight, nearest names first.
const VECTORS: usize = 24;
/// Matrices that are read for one weight.
const MATRICES: usize = 8;
/// Rows that are read of a table.
const TABLE_ROWS: usize = 64;

/// Magnitudes of channels that the columns of a weight may be, one set for each tensor found.
///
/// What counts is only the number of channels: vectors of that length, tables with so many columns,
/// block-scaled matrices with so many rows. None of them is changed by an order of nibbles.
pub(super) fn of_columns(
    weights: Weights<'_>,
    weight: &Weight,
    matrix_bytes: u64,
) -> Result<Vec<Vec<f64>>, ConvertError> {
    let cols = weight.matrices().shape.cols;
    let found = near(weights, weight, cols, |_| true);
    channels(weights, &found, matrix_bytes)
}

/// Magnitudes of channels that the rows of a weight may be. Other block-scaled weights are left out:
/// their rows may have been moved in the same way.
pub(super) fn of_rows(
    weights: Weights<'_>,
    weight: &Weight,
    matrix_bytes: u64,
) -> Result<Vec<Vec<f64>>, ConvertError> {
    let rows = weight.matrices().shape.rows;
    let found = near(weights, weight, rows, |anchor| anchor != Anchor::Writer);
    channels(weights, &found, matrix_bytes)
}

/// Length of the name in common, kind, and index of each tensor with so many channels, nearest
/// first.
fn near(
    weights: Weights<'_>,
    weight: &Weight,
    count: usize,
    taken: impl Fn(Anchor) -> bool,
) -> Vec<(usize, Anchor, usize)> {
    let mut found: Vec<(usize, Anchor, usize)> = Vec::new();
    for (index, other) in weights.catalog.weights.iter().enumerate() {
        if let Some(anchor) = Anchor::of(other, count).filter(|anchor| taken(*anchor)) {
            found.push((common_prefix(&weight.name, &other.name), anchor, index));
        }
    }
    found.sort_by(|a, b| b.0.cmp(&a.0).then(a.2.cmp(&b.2)));
    found
}

fn channels(
    weights: Weights<'_>,
    found: &[(usize, Anchor, usize)],
    matrix_bytes: u64,
) -> Result<Vec<Vec<f64>>, ConvertError> {
    let taken = within_limits(weights, found, matrix_bytes).into_iter();
    taken
        .map(|(anchor, index)| anchor.magnitudes(weights, index))
        .collect()
}

/// As many of the nearest as may be read.
fn within_limits(
    weights: Weights<'_>,
    found: &[(usize, Anchor, usize)],
    matrix_bytes: u64,
) -> Vec<(Anchor, usize)> {
    let (mut vectors, mut matrices, mut bytes) = (VECTORS, MATRICES, matrix_bytes);
    let mut taken = Vec::new();
    for &(_, anchor, index) in found {
        let cost = anchor.bytes(&weights.catalog.weights[index]);
        let room = match anchor {
            Anchor::Vector => vectors > 0,
            Anchor::Table | Anchor::Writer => matrices > 0 && cost <= bytes,
        };
        if room {
            match anchor {
                Anchor::Vector => vectors -= 1,
                Anchor::Table | Anchor::Writer => {
                    (matrices, bytes) = (matrices - 1, bytes - cost);
                }
            }
            taken.push((anchor, index));
        }
    }
    taken
}

/// The most that anchors of one weight take.
pub(super) fn most_bytes(weight: &Weight, matrix_bytes: u64) -> u64 {
    let shape = weight.matrices().shape;
    matrix_bytes + (VECTORS * 4 * (shape.rows + shape.cols)) as u64
}

/// How the channels of a tensor show.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Anchor {
    /// One number a channel: the gain of a norm, a bias.
    Vector,
    /// Plain numbers, a column a channel: embeddings, a router.
    Table,
    /// Scales, a row a channel: the matrix that writes these channels.
    Writer,
}

impl Anchor {
    fn of(weight: &Weight, channels: usize) -> Option<Self> {
        let shape = weight.matrices().shape;
        match (&weight.encoding, weight.shape.len()) {
            (encoding, 1) if encoding.is_plain_float() && shape.cols == channels => {
                Some(Self::Vector)
            }
            (encoding, 2) if encoding.is_plain_float() && shape.cols == channels => {
                Some(Self::Table)
            }
            (Encoding::Block(format), 2)
                if matches!(format.block, Block::Grid { rows: 0 | 1, .. })
                    && shape.rows == channels =>
            {
                Some(Self::Writer)
            }
            _ => None,
        }
    }

    /// Bytes that are read of a matrix.
    fn bytes(self, weight: &Weight) -> u64 {
        let shape = weight.matrices().shape;
        match (self, &weight.encoding) {
            (Self::Writer, Encoding::Block(format)) => {
                format.scale_bytes(shape).unwrap_or(usize::MAX) as u64
            }
            _ => (TABLE_ROWS * 4 * shape.cols) as u64,
        }
    }

    fn magnitudes(self, weights: Weights<'_>, index: usize) -> Result<Vec<f64>, ConvertError> {
        let weight = &weights.catalog.weights[index];
        let shape = weight.matrices().shape;
        match self {
            Self::Vector => {
                let values = rows(weights, index, 0..1)?;
                Ok(values.iter().map(|x| f64::from(x.abs())).collect())
            }
            Self::Table => {
                let step = (shape.rows / TABLE_ROWS).max(1);
                let mut squares = vec![0.0; shape.cols];
                for row in (0..shape.rows).step_by(step).take(TABLE_ROWS) {
                    let values = rows(weights, index, row..row + 1)?;
                    for (sum, value) in squares.iter_mut().zip(values) {
                        *sum += f64::from(value).powi(2);
                    }
                }
                Ok(squares.into_iter().map(f64::sqrt).collect())
            }
            Self::Writer => row_scales(weights, weight, shape),
        }
    }
}

fn rows(
    weights: Weights<'_>,
    index: usize,
    rows: std::ops::Range<usize>,
) -> Result<Vec<f32>, ConvertError> {
    let run = Run {
        weight: index,
        matrix: 0,
        rows,
    };
    let bytes = weights.read(&run)?;
    decode(weights.weight(&run), weights.shape(&run), &bytes)
}

/// Mean block scale of each row: where codes fill their range, the row's loudness.
fn row_scales(
    weights: Weights<'_>,
    weight: &Weight,
    shape: Shape,
) -> Result<Vec<f64>, ConvertError> {
    let (Encoding::Block(format), Some(tensor)) =
        (weight.encoding, weight.part(PartRole::BlockScale))
    else {
        return Ok(Vec::new());
    };
    let plane = format.scale_shape(shape);
    let mut scales = vec![0; weights.tensor_len(tensor)];
    weights.read_tensor(tensor, 0, &mut scales)?;
    let width = format.scale.bytes();
    let rows = scales.chunks_exact((plane.cols * width).max(1));
    Ok(rows
        .map(|row| {
            let scales = row
                .chunks_exact(width)
                .map(|s| f64::from(format.scale.decode(s)));
            scales.sum::<f64>() / plane.cols as f64
        })
        .collect())
}

fn common_prefix(a: &str, b: &str) -> usize {
    a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count()
}
