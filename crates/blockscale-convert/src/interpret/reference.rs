//! Interpretations ranked by SQNR against the same weights read from elsewhere.

use std::collections::{BTreeMap, BTreeSet};

use blockscale::format::Format;
use blockscale_model::catalog::{Encoding, Weight};
use blockscale_model::interpret::{
    Interpretation, Order, Sample, elements, nibble_orders, orders, scale_uses, sign_forms,
};
use blockscale_model::plan::Expectation;
use rayon::prelude::*;

use super::counterpart::Counterparts;
use super::examine::{chosen, spread_out};
use super::products::Products;
use super::reading::{read_rows, read_sample};
use crate::ConvertError;
use crate::sample::random::Stream;
use crate::weights::Weights;

/// Interpretations that are kept of a weight.
const KEPT: usize = 6;

/// An interpretation has to be better by so many dB to be believed over another.
pub(super) const CLEAR_DB: f64 = 3.0;

/// How much is compared.
#[derive(Clone, Copy, Debug)]
pub struct CompareOptions {
    /// Chooses rows and matrices.
    pub seed: u64,
    /// Rows that are compared of a matrix.
    pub rows: usize,
    /// Bytes of the checkpoint that may be read; weights are compared in an order that the seed sets
    /// until they are spent. At least one weight is.
    pub max_bytes: u64,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            rows: 32,
            max_bytes: u64::MAX,
        }
    }
}

/// An interpretation and how near it comes to the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranked {
    /// The interpretation.
    pub interpretation: Interpretation,
    /// Signal to noise of the rows compared, in dB.
    pub sqnr_db: f64,
}

/// What a reference says of one weight.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// Index into [`Catalog::weights`](blockscale_model::catalog::Catalog::weights).
    pub weight: usize,
    /// Its name.
    pub name: String,
    /// The matrix of a stack that was compared.
    pub matrix: usize,
    /// The format that the file states.
    pub format: Format,
    /// SQNR of the numbers as every reader takes them.
    pub as_stored_db: f64,
    /// The SQNR that a weight of this format surely has where it is read rightly.
    pub bound_db: f64,
    /// Interpretations, best first; of equals the simplest first.
    pub ranking: Vec<Ranked>,
}

impl Explained {
    /// The interpretation that the reference says is right: as stored, unless another is clearly
    /// better than that and all others. `None` where none is good enough.
    pub fn interpretation(&self) -> Option<Interpretation> {
        let best = self.ranking.first()?;
        if self.as_stored_db >= best.sqnr_db - CLEAR_DB {
            return (self.as_stored_db >= self.bound_db).then_some(Interpretation::AS_STORED);
        }
        let clear = best.sqnr_db >= self.bound_db && self.margin_db() >= CLEAR_DB;
        clear.then_some(best.interpretation)
    }

    /// How much better the best is than the next that differs, in dB.
    pub fn margin_db(&self) -> f64 {
        let Some(best) = self.ranking.first() else {
            return 0.0;
        };
        let next = self.ranking.iter().find(|r| r.sqnr_db < best.sqnr_db);
        next.map_or(f64::INFINITY, |next| best.sqnr_db - next.sqnr_db)
    }
}

/// Compares the block-scaled weights of a checkpoint with those of `reference`, under every
/// interpretation of their bytes.
///
/// Counterparts are found by name as [`verify`](crate::verify()) finds them, whatever their formats
/// and dialects; weights that the reference lacks are left out. Weights come in the order of the
/// catalog.
///
/// # Errors
/// What the sources say.
pub fn compare(
    weights: Weights<'_>,
    reference: Weights<'_>,
    options: &CompareOptions,
) -> Result<Vec<Explained>, ConvertError> {
    let counterparts = Counterparts::of(weights, reference);
    let cost = |weight: &Weight, format: &Format| cost(weight, format, options);
    let explained: Vec<Option<Explained>> = chosen(weights, options.seed, options.max_bytes, cost)
        .into_par_iter()
        .map(|(index, format)| Comparing::of(weights, index, format, options).rank(&counterparts))
        .collect::<Result<_, ConvertError>>()?;
    Ok(explained.into_iter().flatten().collect())
}

/// The most that comparing a weight reads of the checkpoint.
fn cost(weight: &Weight, format: &Format, options: &CompareOptions) -> u64 {
    let shape = weight.matrices().shape;
    let orders = orders(format, shape).len();
    let codes = options
        .rows
        .saturating_mul(format.row_bytes(shape.cols) * orders);
    codes.saturating_add(format.scale_bytes(shape).unwrap_or(usize::MAX)) as u64
}

/// One weight on its way.
struct Comparing<'a> {
    weights: Weights<'a>,
    index: usize,
    weight: &'a Weight,
    format: Format,
    matrix: usize,
    rows: Vec<usize>,
}

impl<'a> Comparing<'a> {
    fn of(weights: Weights<'a>, index: usize, format: Format, options: &CompareOptions) -> Self {
        let weight = &weights.catalog.weights[index];
        let matrices = weight.matrices();
        let mut stream = Stream::new(options.seed, &weight.name);
        let matrix = stream.below(matrices.count);
        Self {
            weights,
            index,
            weight,
            format,
            matrix,
            rows: spread_out(&mut stream, options.rows, matrices.shape.rows),
        }
    }

    fn rank(&self, counterparts: &Counterparts<'_>) -> Result<Option<Explained>, ConvertError> {
        let first = self.matrix * self.weight.matrices().shape.rows;
        let mut right = BTreeMap::new();
        let mut encoding = None;
        for &row in &self.rows {
            if let Some((values, of)) = counterparts.row(self.index, first + row)? {
                right.insert(row, values);
                encoding.get_or_insert(of);
            }
        }
        let Some(encoding) = encoding else {
            return Ok(None);
        };
        let scales = read_sample(self.weights, self.weight, &self.format, self.matrix, &[])?;
        let ranking = self.ranking(&scales, &right)?;
        let as_stored = ranking.iter().find(|r| r.interpretation.is_as_stored());
        let as_stored_db = as_stored.map_or(f64::NEG_INFINITY, |r| r.sqnr_db);
        let own = Encoding::Block(self.format);
        Ok(Some(Explained {
            weight: self.index,
            name: self.weight.name.clone(),
            matrix: self.matrix,
            format: self.format,
            as_stored_db,
            bound_db: bound(&encoding, &own),
            ranking: ranking.into_iter().take(KEPT).collect(),
        }))
    }

    /// Every interpretation with its SQNR, best first.
    fn ranking(
        &self,
        scales: &Sample,
        right: &BTreeMap<usize, Vec<f32>>,
    ) -> Result<Vec<Ranked>, ConvertError> {
        let orders = scales.orders();
        let stored = self.stored_codes(&orders, right)?;
        let signal = right
            .values()
            .flatten()
            .map(|&x| f64::from(x).powi(2))
            .sum();
        let mut all = Vec::new();
        for variant in variants(&self.format) {
            let mut products: Vec<(&Option<Vec<usize>>, Products)> = Vec::new();
            for order in &orders {
                let known = products.iter().position(|(rows, _)| **rows == order.rows);
                let known = known.unwrap_or_else(|| {
                    let product = Products::new(&variant, scales, order, &stored, right);
                    products.push((&order.rows, product));
                    products.len() - 1
                });
                for &scale_use in scale_uses(&self.format) {
                    let reading = Interpretation {
                        scale_use,
                        scales: order.interpretation.scales,
                        code_rows: order.interpretation.code_rows,
                        ..variant
                    };
                    let sums = products[known].1.sums(scales, order, scale_use, signal);
                    all.extend(sums.under_globals(reading, &self.format, scales.global));
                }
            }
        }
        all.sort_by(|a, b| {
            let simpler = || {
                a.interpretation
                    .departures()
                    .cmp(&b.interpretation.departures())
            };
            b.sqnr_db.total_cmp(&a.sqnr_db).then_with(simpler)
        });
        Ok(all)
    }

    /// Stored codes of all places that some order keeps a compared row at.
    fn stored_codes(
        &self,
        orders: &[Order],
        right: &BTreeMap<usize, Vec<f32>>,
    ) -> Result<BTreeMap<usize, Vec<u8>>, ConvertError> {
        let row_bytes = self.format.row_bytes(self.weight.matrices().shape.cols);
        let places: BTreeSet<usize> = orders
            .iter()
            .flat_map(|order| right.keys().map(|&row| order.place_of(row)))
            .collect();
        places
            .into_iter()
            .map(|place| {
                let rows = place..place + 1;
                let codes = read_rows(self.weights, self.weight, self.matrix, &rows, row_bytes)?;
                Ok((place, codes))
            })
            .collect()
    }
}

/// Every way to read codes, apart from where their rows lie.
fn variants(format: &Format) -> Vec<Interpretation> {
    let mut variants = Vec::new();
    for element in elements(format) {
        for &sign in sign_forms(format) {
            for &nibbles in nibble_orders(format) {
                variants.push(Interpretation {
                    nibbles,
                    sign,
                    element,
                    ..Interpretation::AS_STORED
                });
            }
        }
    }
    variants
}

/// The SQNR that a weight surely reaches against a reference of another encoding, where it is read
/// rightly: other quantisers than ours may be a little worse.
fn bound(reference: &Encoding, own: &Encoding) -> f64 {
    const EXACT: f64 = 60.0;
    match Expectation::between(reference, own) {
        Expectation::AtLeastDb(db) => db - CLEAR_DB,
        Expectation::Exact => EXACT,
    }
}
