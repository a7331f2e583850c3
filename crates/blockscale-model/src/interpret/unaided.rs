//! What the bytes of one matrix tell by themselves.

use blockscale::format::{GlobalScale, ScaleElement};

use super::answer::{Answer, Question};
use super::candidates::{has_global, scale_uses, sign_forms};
use super::codes::{Way, change};
use super::levels::{Spread, code_levels};
use super::sample::{Order, Sample};
use super::{GlobalUse, Interpretation, ScaleUse, SignForm};

/// Decimal logarithm of the root mean square of trained weights, and how far it strays: from 1e-4
/// to 1 within three of it.
const USUAL_LEVEL: (f64, f64) = (-1.7, 0.8);

impl Sample {
    /// Ranks the forms of signs: positive and negative numbers are about as frequent as each other,
    /// magnitude by magnitude.
    pub fn sign(&self) -> Answer {
        let bits = self.format.element.bits();
        let mut counts = vec![0_u64; 1 << bits];
        for byte in &self.codes {
            match bits {
                4 => {
                    counts[usize::from(byte & 0xf)] += 1;
                    counts[usize::from(byte >> 4)] += 1;
                }
                8 => counts[usize::from(*byte)] += 1,
                _ => {}
            }
        }
        let half = counts.len() / 2;
        let costs = sign_forms(&self.format).iter().map(|&sign| {
            let mirror = |code: usize| match sign {
                SignForm::Magnitude => half + code,
                SignForm::TwosComplement => 2 * half - code,
            };
            let pairs = (1..half).map(|code| (counts[code], counts[mirror(code)]));
            let reading = Interpretation {
                sign,
                ..Interpretation::AS_STORED
            };
            (reading, pairs.map(|(a, b)| unevenness(a, b)).sum())
        });
        Answer::rank(Question::Sign, costs.collect())
    }

    /// Ranks the orders of scales and rows, and whether scales multiply or divide, by how well the
    /// loudness of blocks fits rows and columns. `sign` is how codes are read.
    pub fn scale_order(&self, sign: SignForm) -> Answer {
        let plane = self.plane();
        if plane.rows < 2 || plane.cols < 2 {
            return Answer::rank(Question::ScaleOrder, vec![(Interpretation::AS_STORED, 0.0)]);
        }
        let levels = self.levels(sign);
        let mut spreads = Vec::new();
        for order in self.orders() {
            for &scale_use in scale_uses(&self.format) {
                let grid = self.decoded_levels(&levels, &order, scale_use);
                let reading = Interpretation {
                    scale_use,
                    ..order.interpretation
                };
                spreads.push((reading, Spread::of(grid, plane.cols)));
            }
        }
        let best = spreads.iter().map(|(_, spread)| *spread);
        let best = best.filter(|spread| spread.mean.is_finite());
        let best = best.reduce(|a, b| if b.mean < a.mean { b } else { a });
        let cost = |spread: &Spread| match best {
            Some(best) if spread.mean.is_finite() => best.nats_over(spread),
            Some(_) => f64::INFINITY,
            None => 0.0,
        };
        let costs = spreads
            .iter()
            .map(|(reading, spread)| (*reading, cost(spread)));
        Answer::rank(Question::ScaleOrder, costs.collect())
    }

    /// Ranks what the second-level scale can be by how large the numbers come out. `None` where
    /// there is none, or no number other than zero.
    pub fn global_use(&self, order: &Interpretation) -> Option<Answer> {
        if !has_global(&self.format) {
            return None;
        }
        let level = self.loudness(order)?;
        let stored = libm::log10(f64::from(self.global).abs());
        let applied = match self.format.global {
            GlobalScale::Divisor => -stored,
            _ => stored,
        };
        let uses = [
            (GlobalUse::AsStored, applied),
            (GlobalUse::Inverted, -applied),
        ];
        let costs = uses.into_iter().map(|(global, factor)| {
            let (usual, strays) = USUAL_LEVEL;
            let away = (level + factor - usual) / strays;
            let cost = if away.is_finite() {
                away * away / 2.0
            } else {
                f64::MAX
            };
            let reading = Interpretation {
                global,
                ..Interpretation::AS_STORED
            };
            (reading, cost)
        });
        Some(Answer::rank(Question::GlobalScale, costs.collect()))
    }

    /// Decimal logarithm of the root mean square of codes times block scales.
    fn loudness(&self, reading: &Interpretation) -> Option<f64> {
        let order = Order::new(*reading, self).ok()?;
        let levels = self.levels(reading.sign);
        let grid = self.decoded_levels(&levels, &order, ScaleUse::Multiplies);
        let squares = grid.iter().filter(|level| level.is_finite());
        let (sum, count) = squares.fold((0.0, 0.0), |(sum, count), level| {
            (sum + libm::exp(2.0 * level), count + 1.0)
        });
        (sum > 0.0).then(|| 0.5 * libm::log10(sum / count))
    }

    fn levels(&self, sign: SignForm) -> Vec<f64> {
        let reading = Interpretation {
            sign,
            ..Interpretation::AS_STORED
        };
        let mut codes = self.codes.clone();
        change(
            &reading,
            &self.format,
            self.row_bytes(),
            &mut codes,
            Way::Restore,
        );
        code_levels(&self.format, self.shape, self.height(), &codes)
    }

    /// Levels of blocks with their scales, one row for each block of stored rows.
    fn decoded_levels(&self, levels: &[f64], order: &Order, scale_use: ScaleUse) -> Vec<f64> {
        let cols = self.plane().cols;
        let element = self.format.scale;
        let sign = match scale_use {
            ScaleUse::Multiplies => 1.0,
            ScaleUse::Divides => -1.0,
        };
        let blocks: Vec<usize> = self.rows.iter().copied().step_by(self.height()).collect();
        let rows = order.rows_at(&blocks);
        let mut grid = Vec::with_capacity(levels.len());
        for (row, levels) in rows.iter().zip(levels.chunks_exact(cols.max(1))) {
            let width = cols * element.bytes();
            let scales =
                order.scales[row / self.height() * width..][..width].chunks_exact(element.bytes());
            let decoded = levels.iter().zip(scales);
            grid.extend(decoded.map(|(level, scale)| level + sign * log_scale(element, scale)));
        }
        grid
    }
}

/// Natural logarithm of a scale; NaN where it is not a positive number.
fn log_scale(element: ScaleElement, bytes: &[u8]) -> f64 {
    match element.decode(bytes) {
        scale if scale > 0.0 && scale.is_finite() => libm::log(f64::from(scale)),
        _ => f64::NAN,
    }
}

/// Nats by which two counts are less likely under even odds than under their own.
fn unevenness(a: u64, b: u64) -> f64 {
    let even = (a + b) as f64 / 2.0;
    let term = |n: u64| match n {
        0 => 0.0,
        n => n as f64 * libm::log(n as f64 / even),
    };
    term(a) + term(b)
}
