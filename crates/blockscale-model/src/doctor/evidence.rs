//! What was measured of a weight.

use blockscale::stats::{BlockStats, ValueStats};

/// Places that are remembered where something is wrong with single numbers.
pub const PLACES: usize = 8;

/// Counts over those rows of a weight that were read; plain data, filled where the bytes are.
///
/// ```
/// use blockscale::stats::ValueStats;
/// use blockscale_model::doctor::Evidence;
///
/// let part = |values: &[f32]| Evidence { values: ValueStats::of_row(values), ..Evidence::default() };
/// let mut all = part(&[1.0, -2.0]);
/// all.merge(&part(&[0.0]));
/// assert_eq!((all.values.count, all.values.zeros), (3, 1));
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Codes and scales, of a weight in a block format.
    pub blocks: Option<Box<BlockStats>>,
    /// The decoded numbers.
    pub values: ValueStats,
    /// Second-level scales as stored: one, or one a matrix.
    pub globals: Vec<f32>,
    /// Activation scales as stored.
    pub inputs: Vec<f32>,
    /// Row, counted over all matrices, and column of the first NaN and infinities.
    pub not_finite_at: Vec<[usize; 2]>,
    /// The first decoded numbers of one row. Which row depends on the shape alone, so that weights of
    /// one shape can be compared.
    pub sketch: Vec<f32>,
    /// Rows read.
    pub rows: usize,
}

impl Evidence {
    /// Adds what was found in later rows.
    pub fn merge(&mut self, later: &Self) {
        match (&mut self.blocks, &later.blocks) {
            (Some(ours), Some(theirs)) => ours.merge(theirs),
            (ours @ None, Some(theirs)) => *ours = Some(theirs.clone()),
            (_, None) => {}
        }
        self.values.merge(&later.values);
        if self.globals.is_empty() {
            self.globals.clone_from(&later.globals);
        }
        if self.inputs.is_empty() {
            self.inputs.clone_from(&later.inputs);
        }
        if self.sketch.is_empty() {
            self.sketch.clone_from(&later.sketch);
        }
        let free = PLACES.saturating_sub(self.not_finite_at.len());
        let places = later.not_finite_at.iter().take(free);
        self.not_finite_at.extend(places);
        self.rows += later.rows;
    }
}
