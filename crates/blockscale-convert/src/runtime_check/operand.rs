//! Weights that a kernel is given as one operand.

use blockscale::runtime::Kernel;
use blockscale::{Format, Shape};
use blockscale_model::catalog::RowOrder;

use crate::weights::Weights;

/// Weights that a kernel is given as one operand.
pub(super) struct OperandWeights {
    pub(super) kernel: Kernel,
    /// Format of each of the weights.
    pub(super) format: Format,
    /// In each matrix of the operand the rows of the first lie above those of the second.
    pub(super) members: Vec<Member>,
    pub(super) matrices: usize,
    /// Rows and columns of a matrix of the operand.
    pub(super) shape: Shape,
    /// Whether the file holds it as the kernel reads it.
    pub(super) laid_out: bool,
}

/// The part of an operand that one weight is, or half of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Member {
    /// Index into the catalog.
    pub(super) weight: usize,
    /// Which half of each matrix, counted gate first; `None`: all of it.
    pub(super) half: Option<usize>,
}

impl Member {
    pub(super) fn all(weight: usize) -> Self {
        Self { weight, half: None }
    }

    /// The order in which its rows are counted.
    pub(super) fn order(self) -> Option<RowOrder> {
        self.half.map(|_| RowOrder::GateFirst)
    }
}

impl OperandWeights {
    /// Rows that each member has in a matrix of the operand.
    pub(super) fn member_rows(&self) -> usize {
        self.shape.rows / self.members.len()
    }

    /// Matrix and row of a member, from those of its part of the operand.
    ///
    /// They differ for a matrix that the kernel reads as several groups, and for halves of one.
    pub(super) fn row_of_member(
        &self,
        weights: Weights<'_>,
        member: Member,
        matrix: usize,
        row: usize,
    ) -> (usize, usize) {
        if let Some(half) = member.half {
            return (matrix, half * self.member_rows() + row);
        }
        let rows = weights.catalog.weights[member.weight].matrices().shape.rows;
        let row = matrix * self.member_rows() + row;
        (row / rows, row % rows)
    }

    /// The same, as the file has the row.
    pub(super) fn stored_row_of_member(
        &self,
        weights: Weights<'_>,
        member: Member,
        matrix: usize,
        row: usize,
    ) -> (usize, usize) {
        let (matrix, row) = self.row_of_member(weights, member, matrix, row);
        let weight = &weights.catalog.weights[member.weight];
        match (member.half, weight.gate_up.order()) {
            (Some(_), Some(order)) => (matrix, order.place(weight.matrices().shape.rows, row)),
            _ => (matrix, row),
        }
    }

    /// Indexes of its weights.
    fn weights(&self) -> Vec<usize> {
        let mut indexes: Vec<usize> = self.members.iter().map(|m| m.weight).collect();
        indexes.dedup();
        indexes
    }

    pub(super) fn names(&self, weights: Weights<'_>) -> Vec<String> {
        let name = |index: usize| weights.catalog.weights[index].name.clone();
        self.weights().into_iter().map(name).collect()
    }

    /// Bytes of all tensors of its weights.
    pub(super) fn stored_bytes(&self, weights: Weights<'_>) -> u64 {
        let members = self.weights().into_iter();
        members
            .flat_map(|index| &weights.catalog.weights[index].parts)
            .map(|part| weights.checkpoint.tensors[part.tensor].bytes())
            .sum()
    }
}
