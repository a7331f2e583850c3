//! Codes multiplied with a reference once, for every order and factor of their scales.

use std::collections::BTreeMap;

use blockscale::explain::code_at;
use blockscale::format::{Format, GlobalScale, ScaleElement};
use blockscale_model::interpret::{
    GlobalUse, Interpretation, Order, Sample, ScaleUse, block_width, has_global,
};

use super::reference::{CLEAR_DB, Ranked};

/// Products of codes with the reference and with themselves, by row and block of columns. What a
/// scale does to them is one multiplication.
pub(super) struct Products {
    /// Row, then for each block of it code x reference and code x code.
    rows: Vec<(usize, Vec<[f64; 2]>)>,
}

impl Products {
    pub(super) fn new(
        variant: &Interpretation,
        sample: &Sample,
        order: &Order,
        stored: &BTreeMap<usize, Vec<u8>>,
        right: &BTreeMap<usize, Vec<f32>>,
    ) -> Self {
        let format = Format {
            element: variant.element.unwrap_or(sample.format.element),
            ..sample.format
        };
        let values: Vec<f32> = (0..=u8::MAX)
            .map(|code| match format.element.decode(code) {
                value if value.is_finite() => value,
                _ => 0.0,
            })
            .collect();
        let cols = sample.shape.cols;
        let width = block_width(&format, cols);
        let rows = right.iter().filter_map(|(&row, right)| {
            let mut codes = stored.get(&order.place_of(row))?.clone();
            let row_bytes = codes.len();
            variant.restore_in_rows(&format, row_bytes, &mut codes);
            let mut blocks = vec![[0.0; 2]; cols.div_ceil(width)];
            for (col, &right) in right.iter().enumerate() {
                let code = code_at(&format, &codes, col)?;
                let value = f64::from(values[usize::from(code)]);
                let [with_right, with_self] = &mut blocks[col / width];
                *with_right += value * f64::from(right);
                *with_self += value * value;
            }
            Some((row, blocks))
        });
        Self {
            rows: rows.collect(),
        }
    }

    pub(super) fn sums(
        &self,
        sample: &Sample,
        order: &Order,
        scale_use: ScaleUse,
        signal: f64,
    ) -> Sums {
        let element = sample.format.scale;
        let cols = sample.plane().cols;
        let mut sums = Sums {
            signal,
            dot: 0.0,
            power: 0.0,
        };
        for (row, blocks) in &self.rows {
            let first = row / sample.height() * cols;
            for (col, [with_right, with_self]) in blocks.iter().enumerate() {
                let at = match order.scales.len() == element.bytes() {
                    true => 0,
                    false => (first + col) * element.bytes(),
                };
                let scale = f64::from(element.decode(&order.scales[at..][..element.bytes()]));
                let scale = match scale_use {
                    ScaleUse::Multiplies => scale,
                    ScaleUse::Divides => 1.0 / scale,
                };
                if scale.is_finite() {
                    sums.dot += scale * with_right;
                    sums.power += scale * scale * with_self;
                }
            }
        }
        sums
    }
}

/// Sums over all rows compared, from which the SQNR under any factor follows.
pub(super) struct Sums {
    /// Reference squared.
    signal: f64,
    /// Reference x output, where the second-level scale is 1.
    dot: f64,
    /// Output squared, likewise.
    power: f64,
}

impl Sums {
    /// SQNR where the output is `factor` times as large.
    fn sqnr_db(&self, factor: f64) -> f64 {
        let error = self.signal - 2.0 * factor * self.dot + factor * factor * self.power;
        // Rounding can leave less than nothing of an error that is nothing.
        let error = error.max(self.signal * 1e-13);
        10.0 * libm::log10(self.signal / error)
    }

    /// What the second-level scale can be, and how near each comes.
    pub(super) fn under_globals(
        &self,
        reading: Interpretation,
        format: &Format,
        stored: f32,
    ) -> Vec<Ranked> {
        let stored = f64::from(stored);
        let factor = match format.global {
            GlobalScale::Divisor => 1.0 / stored,
            _ => stored,
        };
        let mut uses = vec![(GlobalUse::AsStored, factor)];
        if has_global(format) {
            uses.push((GlobalUse::Inverted, 1.0 / factor));
            uses.push((GlobalUse::Unused, 1.0));
        }
        let ranked = |(global, factor): (GlobalUse, f64)| Ranked {
            interpretation: Interpretation { global, ..reading },
            sqnr_db: match self.sqnr_db(factor) {
                db if db.is_nan() => f64::NEG_INFINITY,
                db => db,
            },
        };
        let mut all: Vec<Ranked> = uses.into_iter().map(ranked).collect();
        let best = all
            .iter()
            .map(|r| r.sqnr_db)
            .fold(f64::NEG_INFINITY, f64::max);
        let fitted = self.dot / self.power;
        let repairable = has_global(format) || format.scale == ScaleElement::F32;
        if repairable && fitted > 0.0 && self.sqnr_db(fitted) > best + CLEAR_DB {
            let times = GlobalUse::Times((fitted / factor) as f32);
            all.push(ranked((times, fitted)));
        }
        all
    }
}
