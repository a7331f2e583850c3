//! Rows of one checkpoint that are rows of another.

use std::collections::HashMap;
use std::ops::Range;

use blockscale_model::catalog::{Encoding, RowOrder};
use blockscale_model::comparables;

use crate::ConvertError;
use crate::weights::{Run, Weights, decode};

/// Where the rows of a checkpoint's weights are found in another.
pub(super) struct Counterparts<'a> {
    reference: Weights<'a>,
    /// For each weight, ranges of its rows and where they begin in a weight of the reference.
    pieces: Vec<Vec<Piece>>,
}

struct Piece {
    rows: Range<usize>,
    /// The order of gate and up in which these rows are counted, and that in which they lie.
    order: Option<(RowOrder, RowOrder)>,
    matrix_rows: usize,
    weight: usize,
    first: usize,
    /// The order in which the reference's rows are counted.
    their_order: Option<RowOrder>,
}

impl Piece {
    /// The number, in the order in which they are counted, of a row that lies at `place`.
    fn counted(&self, place: usize) -> usize {
        let (rows, first) = (
            self.matrix_rows,
            place / self.matrix_rows * self.matrix_rows,
        );
        match self.order {
            Some((counted, stored)) => {
                first + counted.place(rows, stored.source(rows, place - first))
            }
            None => place,
        }
    }
}

impl<'a> Counterparts<'a> {
    pub(super) fn of(weights: Weights<'_>, reference: Weights<'a>) -> Self {
        let theirs = comparables(reference.checkpoint, reference.catalog);
        let theirs: HashMap<&str, _> = theirs.iter().map(|c| (c.name.as_str(), c)).collect();
        let mut pieces: Vec<Vec<Piece>> = Vec::new();
        pieces.resize_with(weights.catalog.weights.len(), Vec::new);
        for ours in comparables(weights.checkpoint, weights.catalog) {
            let Some(found) = theirs.get(ours.name.as_str()) else {
                continue;
            };
            let cols = |weights: Weights<'_>, index: usize| {
                weights.catalog.weights[index].matrices().shape.cols
            };
            let same = found.rows.len() == ours.rows.len()
                && cols(weights, ours.weight) == cols(reference, found.weight);
            if same && reference.catalog.weights[found.weight].encoding.is_number() {
                let weight = &weights.catalog.weights[ours.weight];
                pieces[ours.weight].push(Piece {
                    rows: ours.rows,
                    order: ours.order.zip(weight.gate_up.order()),
                    matrix_rows: weight.matrices().shape.rows.max(1),
                    weight: found.weight,
                    first: found.rows.start,
                    their_order: found.order,
                });
            }
        }
        Self { reference, pieces }
    }

    /// The numbers of a row where it is stored, counted through all matrices of a weight, and how the reference stores
    /// them. `None` where it has no such row.
    pub(super) fn row(
        &self,
        weight: usize,
        row: usize,
    ) -> Result<Option<(Vec<f32>, Encoding)>, ConvertError> {
        let mut pieces = self.pieces[weight].iter();
        let Some(piece) = pieces.find(|piece| piece.rows.contains(&piece.counted(row))) else {
            return Ok(None);
        };
        let found = &self.reference.catalog.weights[piece.weight];
        let shape = found.matrices().shape;
        let row = piece.first + piece.counted(row) - piece.rows.start;
        let (matrix, row) = (row / shape.rows, row % shape.rows);
        // A read begins where a scale block does.
        let first = row - row % self.reference.run_alignment(piece.weight);
        let run = Run {
            weight: piece.weight,
            matrix,
            rows: first..row + 1,
        };
        let bytes = self.reference.read_in(&run, piece.their_order)?;
        let mut values = decode(found, self.reference.shape(&run), &bytes)?;
        Ok(Some((
            values.split_off((row - first) * shape.cols),
            found.encoding,
        )))
    }
}
