//! Two weights side by side.

use blockscale::Shape;
use blockscale::stats::ErrorStats;
use blockscale_wgpu::{Edges, Source, cpu};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use crate::js::{SightError, to_js};
use crate::stats::{error_stats_json, rms_error};
use crate::{Layer, Rect, Sight};

/// How far one weight is from another, in the cells of a grid.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Comparison {
    cells: Vec<ErrorStats>,
    pub(crate) total: ErrorStats,
}

impl Comparison {
    pub(crate) fn of(
        [reference, output]: [&Sight; 2],
        layer: Layer,
        rect: &Rect,
        cells: Shape,
    ) -> Result<Self, SightError> {
        let (reference, output) = (reference.matrix(layer)?, output.matrix(layer)?);
        let cells = cpu::compare(reference, output, &rect.window, cells)?;
        let mut total = ErrorStats::new();
        cells.iter().for_each(|cell| total.merge(cell));
        Ok(Self { cells, total })
    }

    fn each(&self, of: impl Fn(&ErrorStats) -> f64) -> Vec<f64> {
        self.cells.iter().map(of).collect()
    }
}

#[wasm_bindgen]
impl Comparison {
    /// Holds `output` against `reference` over a rectangle of their values, or of their scales.
    ///
    /// # Errors
    /// Where they are not equally large, or the rectangle lies outside.
    #[wasm_bindgen(constructor)]
    pub fn new(
        reference: &Sight,
        output: &Sight,
        rect: &Rect,
        cell_rows: usize,
        cell_cols: usize,
        layer: Option<Layer>,
    ) -> Result<Self, JsError> {
        let cells = Shape::new(cell_rows, cell_cols);
        let layer = layer.unwrap_or(Layer::Values);
        Ok(Self::of([reference, output], layer, rect, cells)?)
    }

    /// Adds the total of another rectangle to this one's; cells stay as they are.
    pub fn add(&mut self, later: &Comparison) {
        self.total.merge(&later.total);
    }

    /// All that was compared, added rectangles too.
    ///
    /// # Errors
    /// None that a caller can bring about.
    #[wasm_bindgen(unchecked_return_type = "ErrorStats")]
    pub fn total(&self) -> Result<JsValue, JsError> {
        to_js(&error_stats_json(&self.total))
    }

    /// The signal-to-noise ratio of each cell in dB, row by row; infinite where all is equal.
    pub fn sqnr(&self) -> Vec<f64> {
        self.each(ErrorStats::sqnr_db)
    }

    /// The largest error of each cell.
    #[wasm_bindgen(js_name = maxAbsError)]
    pub fn max_abs_error(&self) -> Vec<f64> {
        self.each(|cell| cell.max_abs_err)
    }

    /// The root mean square of the errors of each cell, NaN where no pair is finite.
    #[wasm_bindgen(js_name = rmsError)]
    pub fn rms_error(&self) -> Vec<f64> {
        self.each(rms_error)
    }

    /// How many numbers of each cell differ.
    pub fn differing(&self) -> Vec<f64> {
        self.each(|cell| cell.differing as f64)
    }
}

/// How often scales of two sights occur in pairs: entry `i * (n + 1) + j` counts those of which the
/// first's lies below edge `i` and the second's below edge `j`, `n` edges that rise; NaN is left out.
///
/// # Errors
/// Where the planes are not equally large, the rectangle lies outside, or the edges do not rise.
#[wasm_bindgen]
pub fn scatter(
    reference: &Sight,
    output: &Sight,
    rect: &Rect,
    edges: Vec<f32>,
) -> Result<Vec<f64>, JsError> {
    Ok(scatter_of([reference, output], rect, edges)?)
}

pub(crate) fn scatter_of(
    pair: [&Sight; 2],
    rect: &Rect,
    edges: Vec<f32>,
) -> Result<Vec<f64>, SightError> {
    let edges = Edges::new(edges)?;
    let side = edges.as_slice().len() + 1;
    let bin = |number: f32| edges.as_slice().partition_point(|&edge| edge <= number);
    let [first, second] = [pair[0].scales()?, pair[1].scales()?];
    if first.shape != second.shape {
        return Err(SightError::OtherPlane {
            first: first.shape,
            second: second.shape,
        });
    }
    let first = cpu::tile(Source::Values(&first.numbers), &rect.window)?;
    let second = cpu::tile(Source::Values(&second.numbers), &rect.window)?;
    let mut found = vec![0.0; side * side];
    for (first, second) in first.iter().zip(&second) {
        if !first.is_nan() && !second.is_nan() {
            found[bin(*first) * side + bin(*second)] += 1.0;
        }
    }
    Ok(found)
}
