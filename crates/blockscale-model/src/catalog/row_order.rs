//! The order of gate and up in a weight that holds both.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An order of the rows of gate and up in one matrix. Each is half of its rows.
///
/// Bytes do not show it: every order is a good matrix of the same shape, and the wrong one puts the
/// activation on the wrong rows. It is settled from what the file, its names or its config say.
///
/// ```
/// use blockscale_model::catalog::RowOrder;
///
/// // Eight rows: gpt-oss has gate, up, gate, up, ... on disk.
/// let rows: Vec<usize> = RowOrder::GateFirst.rows_of(RowOrder::Interleaved, 8, 0..8).collect();
/// assert_eq!(rows, [0, 2, 4, 6, 1, 3, 5, 7]);
/// let back: Vec<usize> = RowOrder::Interleaved.rows_of(RowOrder::GateFirst, 8, 0..8).collect();
/// assert_eq!(back, [0, 4, 1, 5, 2, 6, 3, 7]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowOrder {
    /// All rows of the gate, then those of up: transformers' stacked experts, vLLM's `w13`.
    GateFirst,
    /// All rows of up, then those of the gate.
    UpFirst,
    /// A row of the gate and a row of up in turn: gpt-oss. Source: gpt_oss `torch/model.py`, `swiglu`.
    Interleaved,
}

impl RowOrder {
    /// Every order.
    pub const ALL: [Self; 3] = [Self::GateFirst, Self::UpFirst, Self::Interleaved];

    /// The name on the command line and in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GateFirst => "gate-first",
            Self::UpFirst => "up-first",
            Self::Interleaved => "interleaved",
        }
    }

    /// Where row `row` of a matrix in gate-first order lies in this order.
    ///
    /// `rows`, the rows of both halves, is even.
    pub const fn place(self, rows: usize, row: usize) -> usize {
        let half = rows / 2;
        match self {
            Self::GateFirst => row,
            Self::UpFirst if row < half => row + half,
            Self::UpFirst => row - half,
            Self::Interleaved if row < half => 2 * row,
            Self::Interleaved => 2 * (row - half) + 1,
        }
    }

    /// The row in gate-first order that lies at `place` in this order: the inverse of
    /// [`place`](Self::place).
    pub const fn source(self, rows: usize, place: usize) -> usize {
        match self {
            Self::GateFirst => place,
            Self::UpFirst => Self::UpFirst.place(rows, place),
            Self::Interleaved => place / 2 + place % 2 * (rows / 2),
        }
    }

    /// Where the rows `wanted` of this order lie in a matrix that is in the order `stored`.
    pub fn rows_of(
        self,
        stored: Self,
        rows: usize,
        wanted: Range<usize>,
    ) -> impl Iterator<Item = usize> {
        wanted.map(move |row| stored.place(rows, self.source(rows, row)))
    }
}

impl fmt::Display for RowOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no order of gate and up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no order of gate and up; there are gate-first, up-first and interleaved")]
pub struct UnknownRowOrder(pub String);

impl FromStr for RowOrder {
    type Err = UnknownRowOrder;

    fn from_str(text: &str) -> Result<Self, UnknownRowOrder> {
        let known = Self::ALL.into_iter().find(|order| order.name() == text);
        known.ok_or_else(|| UnknownRowOrder(text.to_owned()))
    }
}

/// Whether a weight holds gate and up in one, and in which order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GateUp {
    /// It holds not both.
    #[default]
    Apart,
    /// It holds both, and nothing says in which order.
    Unknown,
    /// It holds both, in this order.
    Ordered(RowOrder),
}

impl GateUp {
    /// The order, where it is known.
    pub const fn order(self) -> Option<RowOrder> {
        match self {
            Self::Ordered(order) => Some(order),
            _ => None,
        }
    }
}

impl fmt::Display for GateUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apart => f.pad("apart"),
            Self::Unknown => f.pad("unknown"),
            Self::Ordered(order) => order.fmt(f),
        }
    }
}

/// The axes of stored matrices. A weight's shape is always `[.., outputs, inputs]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Axes {
    /// `[.., outputs, inputs]`: a row holds the inputs of one output. All block formats.
    #[default]
    OutIn,
    /// `[.., inputs, outputs]`: the plain numbers of gpt-oss' and Llama 4's stacked experts.
    InOut,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_and_source_are_inverses_in_every_order_and_size() {
        for order in RowOrder::ALL {
            for rows in (0..130).step_by(2) {
                let mut places: Vec<usize> = (0..rows).map(|row| order.place(rows, row)).collect();
                for (row, &place) in places.iter().enumerate() {
                    assert_eq!(order.source(rows, place), row, "{order} of {rows}");
                }
                places.sort_unstable();
                assert!(places.into_iter().eq(0..rows), "{order} of {rows}");
            }
        }
    }

    #[test]
    fn an_order_of_its_own_order_moves_nothing() {
        for order in RowOrder::ALL {
            assert!(order.rows_of(order, 12, 3..9).eq(3..9));
        }
    }

    #[test]
    fn names_come_back() {
        for order in RowOrder::ALL {
            assert_eq!(order.name().parse(), Ok(order));
            let json = serde_json::to_string(&order).unwrap();
            assert_eq!(json, format!("\"{order}\""));
        }
        assert!("stacked".parse::<RowOrder>().is_err());
    }
}
