//! The result of a comparison.

use serde::Serialize;

use super::Histogram;

/// One of two checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The first.
    A,
    /// The second.
    B,
}

/// How two checkpoints differ.
#[derive(Clone, Debug, Default, Serialize)]
pub struct DiffReport {
    /// Differences that are no numbers.
    pub structure: Vec<StructureDifference>,
    /// Weights whose numbers differ by more than is allowed, the worst first.
    pub weights: Vec<WeightDifference>,
    /// Weights that were compared.
    pub compared: usize,
    /// Weights of which every number is equal.
    pub equal: usize,
    /// All differences between numbers that were compared.
    pub histogram: Histogram,
}

impl DiffReport {
    /// Whether nothing differs by more than is allowed.
    pub fn is_same(&self) -> bool {
        self.structure.is_empty() && self.weights.is_empty()
    }
}

/// A difference that is no number.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum StructureDifference {
    /// A weight that only one checkpoint has.
    OnlyIn {
        /// The one.
        side: Side,
        /// The weight.
        name: String,
    },
    /// A weight that cannot be read.
    Unreadable {
        /// In which checkpoint.
        side: Side,
        /// The tensor of its codes.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A weight of two shapes.
    Shape {
        /// The weight.
        name: String,
        /// Rows and columns in the first.
        a: [usize; 2],
        /// In the second.
        b: [usize; 2],
    },
    /// A weight in two formats.
    Format {
        /// The weight.
        name: String,
        /// The format in the first.
        a: String,
        /// In the second.
        b: String,
    },
    /// A weight in two layouts.
    Layout {
        /// The weight.
        name: String,
        /// The layout in the first.
        a: String,
        /// In the second.
        b: String,
    },
    /// A value of a config.
    Config {
        /// The file.
        file: &'static str,
        /// Keys from the outermost, joined by dots.
        key: String,
        /// The value in the first, if it has one.
        a: Option<serde_json::Value>,
        /// In the second.
        b: Option<serde_json::Value>,
    },
}

/// A weight whose numbers differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WeightDifference {
    /// Its shared name.
    pub name: String,
    /// Format in the first.
    pub a: String,
    /// Format in the second.
    pub b: String,
    /// Rows and columns.
    pub shape: [usize; 2],
    /// Numbers.
    pub count: u64,
    /// Numbers that differ by more than is allowed; of weights that are no numbers, bytes.
    pub differing: u64,
    /// SQNR in dB, the first taken as the signal; absent where there is no number.
    pub sqnr_db: Option<f64>,
    /// Norm of the second over norm of the first.
    pub norm_ratio: Option<f64>,
    /// Cosine of the angle between the two.
    pub cosine: Option<f64>,
    /// Largest difference.
    pub max_abs: f64,
    /// NaN or infinite on one side only.
    pub special: u64,
}

impl WeightDifference {
    /// SQNR to sort by: weights without one come first.
    pub(super) fn sqnr_or_worst(&self) -> f64 {
        self.sqnr_db.unwrap_or(f64::NEG_INFINITY)
    }
}
