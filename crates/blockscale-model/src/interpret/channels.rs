//! Orders of columns and rows by the loudness of channels.
//!
//! Another order of nibbles only exchanges columns, and to a matrix by itself every order of its
//! columns is as good as another. But its columns are the channels of what comes before: the gain
//! of the norm, the rows of the matrix that writes them, the table of embeddings. Channels that are
//! loud there are loud or quiet here, in the right order only. Rows are the channels of what comes
//! after, and of their bias.

use blockscale::format::Format;

use super::answer::{Answer, Question};
use super::candidates::nibble_orders;
use super::codes::{code_at, nibble_block};
use super::sample::{Order, Sample, block_width};
use super::{Interpretation, NibbleOrder, SignForm};

/// Rows near each other are alike, in a head above all: only how they differ from those around them
/// is compared.
const NEAR: usize = 32;

/// One number a channel, whose pattern within blocks of columns is compared.
#[derive(Clone, Debug)]
pub(super) struct Profile(Vec<f64>);

impl Profile {
    /// Logarithms of magnitudes, without what whole blocks of `block` columns have in common.
    /// `None` where all that is left is nothing, or a magnitude is no number.
    fn new(magnitudes: &[f64], block: usize) -> Option<Self> {
        let mut levels: Vec<f64> = magnitudes.iter().map(|x| libm::log(x + 1e-12)).collect();
        for block in levels.chunks_mut(block) {
            let mean = block.iter().sum::<f64>() / block.len() as f64;
            block.iter_mut().for_each(|level| *level -= mean);
        }
        let power: f64 = levels.iter().map(|level| level * level).sum();
        (power.is_finite() && power > 1e-9).then_some(Self(levels))
    }

    /// Nats by which a linear relation explains the two better than none.
    fn nats_with(&self, other: &Self) -> f64 {
        let dot = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        let (a, b) = (&self.0, &other.0);
        let shared = dot(a, b).powi(2) / (dot(a, a) * dot(b, b));
        -0.5 * a.len() as f64 * libm::log1p(-shared.min(1.0 - 1e-12))
    }

    /// The most that one of `others` explains.
    fn nats_with_any(&self, others: &[Self]) -> f64 {
        let nats = others.iter().map(|other| self.nats_with(other));
        nats.fold(0.0, f64::max)
    }

    /// The profile with its columns where `order` says they belong.
    fn restored(&self, order: NibbleOrder, block: usize) -> Self {
        let stored = |at: usize| match order {
            NibbleOrder::Pairs => at,
            NibbleOrder::Swapped => at ^ 1,
            NibbleOrder::Halves => {
                let (first, within) = (at / block * block, at % block);
                match within < block / 2 {
                    true => first + 2 * within,
                    false => first + 2 * within - block + 1,
                }
            }
        };
        let level = |at| self.0.get(stored(at)).copied().unwrap_or(0.0);
        Self((0..self.0.len()).map(level).collect())
    }
}

impl Sample {
    /// Ranks nibble orders by how the loudness of columns goes with that of `channels`, each of
    /// them one magnitude a column. `None` where the format has no nibbles, or nothing to compare.
    pub fn nibble_order(&self, reading: &Interpretation, channels: &[Vec<f64>]) -> Option<Answer> {
        let block = 2 * nibble_block(&self.format)?;
        let cols = self.shape.cols;
        if !cols.is_multiple_of(block) {
            return None;
        }
        let own = Profile::new(&self.column_magnitudes(reading)?, block)?;
        let known = channels.iter().filter(|channel| channel.len() == cols);
        let known: Vec<Profile> = known.filter_map(|c| Profile::new(c, block)).collect();
        if known.is_empty() {
            return None;
        }
        let costs = nibble_orders(&self.format).iter().map(|&nibbles| {
            let reading = Interpretation {
                nibbles,
                ..Interpretation::AS_STORED
            };
            (reading, -own.restored(nibbles, block).nats_with_any(&known))
        });
        Some(Answer::rank(Question::NibbleOrder, costs.collect()))
    }

    /// Ranks orders of rows that explain the loudness of blocks equally well by how the loudness of
    /// rows goes with that of `channels`. `None` where there is nothing to rank or to compare.
    pub fn row_order(&self, orders: &[Interpretation], channels: &[Vec<f64>]) -> Option<Answer> {
        let rows = self.shape.rows;
        let known = channels.iter().filter(|channel| channel.len() == rows);
        let known: Vec<Profile> = known.filter_map(|c| Profile::new(c, NEAR)).collect();
        if known.is_empty() || orders.len() < 2 || self.height() > 1 {
            return None;
        }
        let costs = orders.iter().map(|&reading| {
            let own = Profile::new(&self.row_magnitudes(&reading)?, NEAR)?;
            Some((reading, -own.nats_with_any(&known)))
        });
        Some(Answer::rank(
            Question::RowOrder,
            costs.collect::<Option<_>>()?,
        ))
    }

    /// Mean scale of each row: where codes fill their range, its loudness.
    fn row_magnitudes(&self, reading: &Interpretation) -> Option<Vec<f64>> {
        let order = Order::new(*reading, self).ok()?;
        let element = self.format.scale;
        let cols = self.plane().cols;
        let rows = order.scales.chunks_exact((cols * element.bytes()).max(1));
        let mean = |row: &[u8]| {
            let scales = row.chunks_exact(element.bytes());
            let sum: f64 = scales.map(|scale| f64::from(element.decode(scale))).sum();
            sum / cols as f64
        };
        Some(rows.map(mean).collect())
    }

    /// Root mean square of each column, in the order in which nibbles are stored as pairs.
    fn column_magnitudes(&self, reading: &Interpretation) -> Option<Vec<f64>> {
        let order = Order::new(*reading, self).ok()?;
        let plane = self.plane();
        let width = block_width(&self.format, self.shape.cols);
        let element = self.format.scale;
        let squares = squares(&self.format, reading);
        let places = order.rows_at(&self.rows);
        let mut sums = vec![0.0; self.shape.cols];
        let rows = self.codes.chunks_exact(self.row_bytes().max(1));
        for (row, codes) in places.iter().zip(rows) {
            let first = row / self.height() * plane.cols;
            for (col, sum) in sums.iter_mut().enumerate() {
                let at = (first + col / width) * element.bytes();
                let scale = f64::from(element.decode(&order.scales[at..][..element.bytes()]));
                let code = code_at(&self.format, codes, col);
                *sum += squares[usize::from(code)] * scale * scale;
            }
        }
        Some(sums.into_iter().map(f64::sqrt).collect())
    }
}

/// Squares of codes of four bits.
fn squares(format: &Format, reading: &Interpretation) -> [f64; 16] {
    std::array::from_fn(|code| {
        let turned = match reading.sign {
            SignForm::TwosComplement if code > 8 => 24 - code,
            _ => code,
        };
        f64::from(format.element.decode(turned as u8)).powi(2)
    })
}
