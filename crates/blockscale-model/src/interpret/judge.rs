//! Every question asked of one matrix.

use super::Interpretation;
use super::answer::{Answer, Certainty};
use super::sample::Sample;

/// Magnitudes of what the columns and the rows of a matrix may be the channels of: each entry one
/// number a column, or a row.
#[derive(Clone, Debug, Default)]
pub struct Channels {
    /// Of the columns.
    pub columns: Vec<Vec<f64>>,
    /// Of the rows.
    pub rows: Vec<Vec<f64>>,
}

impl Sample {
    /// Asks every question of this matrix, one after the other, each on the decided answers of
    /// those before it.
    pub fn judge(&self, channels: &Channels) -> (Interpretation, Vec<Answer>) {
        let decided = |answer: &&Answer| answer.certainty() == Certainty::Decided;
        let mut found = Interpretation::AS_STORED;
        let sign = self.sign();
        if decided(&&sign) {
            found.sign = sign.best().sign;
        }
        let order = self.scale_order(found.sign);
        let mut rows = None;
        if decided(&&order) {
            let equals: Vec<_> = [order.best()].into_iter().chain(order.equals()).collect();
            rows = self.row_order(&equals, &channels.rows);
            let best = rows.as_ref().filter(decided).unwrap_or(&order).best();
            found.scales = best.scales;
            found.code_rows = best.code_rows;
            found.scale_use = best.scale_use;
        }
        let global = self.global_use(&found);
        if let Some(answer) = global.as_ref().filter(decided) {
            found.global = answer.best().global;
        }
        let nibbles = self.nibble_order(&found, &channels.columns);
        if let Some(answer) = nibbles.as_ref().filter(decided) {
            found.nibbles = answer.best().nibbles;
        }
        let answers = [Some(sign), Some(order), rows, global, nibbles];
        (found, answers.into_iter().flatten().collect())
    }
}
