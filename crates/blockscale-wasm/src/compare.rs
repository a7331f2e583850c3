//! Two weights side by side.

use blockscale::Shape;
use blockscale::stats::ErrorStats;
use blockscale_wgpu::cpu;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use crate::js::{SightError, to_js};
use crate::stats::error_stats_json;
use crate::{Rect, Sight};

/// How far one weight is from another, in the cells of a grid.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Comparison {
    cells: Vec<ErrorStats>,
}

impl Comparison {
    pub(crate) fn of(
        reference: &Sight,
        output: &Sight,
        rect: &Rect,
        cells: Shape,
    ) -> Result<Self, SightError> {
        let (reference, output) = (reference.values()?, output.values()?);
        let cells = cpu::compare(reference, output, &rect.window, cells)?;
        Ok(Self { cells })
    }

    pub(crate) fn total_of(&self) -> ErrorStats {
        let mut total = ErrorStats::new();
        self.cells.iter().for_each(|cell| total.merge(cell));
        total
    }
}

#[wasm_bindgen]
impl Comparison {
    /// Holds `output` against `reference` over a rectangle of their values.
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
    ) -> Result<Self, JsError> {
        let cells = Shape::new(cell_rows, cell_cols);
        Ok(Self::of(reference, output, rect, cells)?)
    }

    /// All cells together.
    ///
    /// # Errors
    /// None that a caller can bring about.
    #[wasm_bindgen(unchecked_return_type = "ErrorStats")]
    pub fn total(&self) -> Result<JsValue, JsError> {
        to_js(&error_stats_json(&self.total_of()))
    }

    /// The signal-to-noise ratio of each cell in dB, row by row; infinite where all is equal.
    pub fn sqnr(&self) -> Vec<f64> {
        self.cells.iter().map(ErrorStats::sqnr_db).collect()
    }

    /// The largest error of each cell.
    #[wasm_bindgen(js_name = maxAbsError)]
    pub fn max_abs_error(&self) -> Vec<f64> {
        self.cells.iter().map(|cell| cell.max_abs_err).collect()
    }

    /// How many numbers of each cell differ.
    pub fn differing(&self) -> Vec<f64> {
        self.cells
            .iter()
            .map(|cell| cell.differing as f64)
            .collect()
    }
}
