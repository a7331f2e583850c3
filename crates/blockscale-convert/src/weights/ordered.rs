//! Runs whose rows lie elsewhere in the file than they are counted.

use std::ops::Range;

use blockscale::format::Block;
use blockscale_model::catalog::{Axes, Encoding, RowOrder, Weight};

use super::{Run, RunBytes, Weights, alignment, plain_row_bytes};
use crate::ConvertError;
use crate::memory::Buffers;

impl Weights<'_> {
    /// Reads the bytes of a run whose rows are counted in an order of gate and up; `None`: as stored.
    /// In a bias the order is that of its last axis.
    ///
    /// The order says nothing where the weight does not hold both, or nothing tells its own.
    ///
    /// # Errors
    /// What the source says, and rows that are to be moved without others that share their scales.
    pub fn read_in(&self, run: &Run, order: Option<RowOrder>) -> Result<RunBytes, ConvertError> {
        self.read_into(run, order, &Buffers::NONE)
    }

    /// [`read_in`](Self::read_in), into buffers that are used again.
    pub(crate) fn read_into(
        &self,
        run: &Run,
        order: Option<RowOrder>,
        buffers: &Buffers,
    ) -> Result<RunBytes, ConvertError> {
        let weight = self.weight(run);
        let stored = weight.gate_up.order();
        let moved = order
            .zip(stored)
            .filter(|(wanted, stored)| wanted != stored);
        match (moved, weight.axes) {
            (None, Axes::OutIn) => self.read_stored(run, buffers),
            (Some((wanted, stored)), Axes::OutIn) if weight.is_bias() => {
                let mut bytes = self.read_stored(run, buffers)?;
                bytes.codes = reordered_cols(weight, wanted, stored, &bytes.codes).into();
                Ok(bytes)
            }
            (moved, axes) => {
                let rows = weight.matrices().shape.rows;
                let places: Vec<usize> = match moved {
                    None => run.rows.clone().collect(),
                    Some((wanted, stored)) => {
                        wanted.rows_of(stored, rows, run.rows.clone()).collect()
                    }
                };
                match axes {
                    Axes::OutIn => self.read_rows(weight, run, &places),
                    Axes::InOut => self.read_cols(weight, run, &places),
                }
            }
        }
    }

    /// Rows of a matrix that lie at `places`, each with its own scales.
    fn read_rows(
        &self,
        weight: &Weight,
        run: &Run,
        places: &[usize],
    ) -> Result<RunBytes, ConvertError> {
        let block = alignment(&weight.encoding, weight.matrices().shape.rows);
        if block > 1 {
            return Err(ConvertError::InsideBlock {
                tensor: weight.name.clone(),
                row: run.rows.start,
                block,
            });
        }
        let one_scale = weight
            .encoding
            .format()
            .is_some_and(|format| format.block == Block::Tensor);
        let (mut codes, mut scales) = (Vec::new(), Vec::new());
        let mut global = 0.0;
        for span in spans(places) {
            let run = Run {
                rows: span.clone(),
                ..run.clone()
            };
            let read = self.read_stored(&run, &Buffers::NONE)?;
            let code_row = read.codes.len() / span.len();
            let scale_row = read.scales.len() / span.len();
            codes.resize(places.len() * code_row, 0);
            if one_scale {
                scales = read.scales.to_vec();
            } else {
                scales.resize(places.len() * scale_row, 0);
            }
            for (to, &place) in places.iter().enumerate() {
                if !span.contains(&place) {
                    continue;
                }
                let from = place - span.start;
                copy_row(&mut codes, to, &read.codes, from, code_row);
                if !one_scale {
                    copy_row(&mut scales, to, &read.scales, from, scale_row);
                }
            }
            global = read.global;
        }
        Ok(RunBytes {
            codes: codes.into(),
            scales: scales.into(),
            global,
            ..RunBytes::default()
        })
    }

    /// Outputs `places` of a matrix of plain numbers that is stored inputs before outputs.
    fn read_cols(
        &self,
        weight: &Weight,
        run: &Run,
        places: &[usize],
    ) -> Result<RunBytes, ConvertError> {
        let Encoding::Plain(dtype) = weight.encoding else {
            return self.read_rows(weight, run, places);
        };
        let size = plain_row_bytes(dtype, 1);
        let shape = weight.matrices().shape;
        let low = places.iter().copied().min().unwrap_or(0);
        let high = places.iter().copied().max().map_or(0, |place| place + 1);
        let mut line = vec![0; (high - low) * size];
        let mut codes = vec![0; places.len() * shape.cols * size];
        for input in 0..shape.cols {
            let first = (run.matrix * shape.cols + input) * shape.rows + low;
            self.read_tensor(weight.codes(), first as u64 * size as u64, &mut line)?;
            for (row, &place) in places.iter().enumerate() {
                let to = row * shape.cols + input;
                copy_row(&mut codes, to, &line, place - low, size);
            }
        }
        Ok(RunBytes {
            codes: codes.into(),
            global: 1.0,
            ..RunBytes::default()
        })
    }
}

fn copy_row(to: &mut [u8], to_row: usize, from: &[u8], from_row: usize, row: usize) {
    to[to_row * row..][..row].copy_from_slice(&from[from_row * row..][..row]);
}

/// The rows of a bias with their values in another order.
fn reordered_cols(weight: &Weight, wanted: RowOrder, stored: RowOrder, bytes: &[u8]) -> Vec<u8> {
    let Encoding::Plain(dtype) = weight.encoding else {
        return bytes.to_vec();
    };
    let (cols, size) = (weight.outputs(), plain_row_bytes(dtype, 1));
    let mut out = Vec::with_capacity(bytes.len());
    for row in bytes.chunks_exact((cols * size).max(1)) {
        for place in wanted.rows_of(stored, cols, 0..cols) {
            out.extend_from_slice(&row[place * size..][..size]);
        }
    }
    out
}

/// Ranges that hold all of `places`, with no gap of more than a row in any.
fn spans(places: &[usize]) -> Vec<Range<usize>> {
    let mut sorted = places.to_vec();
    sorted.sort_unstable();
    let mut spans: Vec<Range<usize>> = Vec::new();
    for place in sorted {
        match spans.last_mut() {
            Some(span) if place <= span.end + 1 => span.end = span.end.max(place + 1),
            _ => spans.push(place..place + 1),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_in_turn_are_one_span_and_halves_are_two() {
        let gate: Vec<usize> = (0..8).map(|i| 2 * i).collect();
        assert_eq!(spans(&gate), vec![0..15; 1]);
        assert_eq!(spans(&[0, 8, 1, 9, 2, 10]), [0..3, 8..11]);
        assert!(spans(&[]).is_empty());
    }
}
