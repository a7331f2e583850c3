//! The bindings of [`Sight`].

use blockscale::Shape;
use serde_json::json;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use blockscale_model::interpret::LevelsOf;
use blockscale_wgpu::cpu;

use crate::block::{Block, Scale};
use crate::js::{Number, counts, to_js};
use crate::stats::{block_stats_json, scale_stats_json, value_stats_json};
use crate::{HeatMap, Histogram, Layer, Rect, Sight};

#[wasm_bindgen]
impl Sight {
    /// The row of the matrix that is row 0 here: regions are widened to whole blocks.
    #[wasm_bindgen(getter, js_name = firstRow)]
    pub fn first_row(&self) -> usize {
        self.first_row
    }

    /// Rows of values.
    #[wasm_bindgen(getter)]
    pub fn rows(&self) -> usize {
        self.shape.rows
    }

    /// Columns of values.
    #[wasm_bindgen(getter)]
    pub fn cols(&self) -> usize {
        self.shape.cols
    }

    /// Rows of scales, 0 where there are none.
    #[wasm_bindgen(getter, js_name = scaleRows)]
    pub fn scale_rows(&self) -> usize {
        self.scales.as_ref().map_or(0, |s| s.shape.rows)
    }

    /// Columns of scales, 0 where there are none.
    #[wasm_bindgen(getter, js_name = scaleCols)]
    pub fn scale_cols(&self) -> usize {
        self.scales.as_ref().map_or(0, |s| s.shape.cols)
    }

    /// Bytes of one scale, 0 where there are none.
    #[wasm_bindgen(getter, js_name = scaleSize)]
    pub fn scale_size(&self) -> usize {
        self.scales.as_ref().map_or(0, |s| s.size)
    }

    /// Extremes and means in `cell_rows` x `cell_cols` cells over a rectangle. One column of cells
    /// is a row profile, one row of them a column profile.
    ///
    /// # Errors
    /// Where the rectangle lies outside, or there are more cells than numbers one way.
    #[wasm_bindgen(js_name = heatMap)]
    pub fn heat_map(
        &self,
        layer: Layer,
        rect: &Rect,
        cell_rows: usize,
        cell_cols: usize,
    ) -> Result<HeatMap, JsError> {
        let cells = Shape::new(cell_rows, cell_cols);
        Ok(self.heat_map_of(layer, &rect.window, cells)?)
    }

    /// Numbers between edges that rise; one on an edge belongs to the bin above.
    ///
    /// # Errors
    /// Where the rectangle lies outside or the edges do not rise.
    pub fn histogram(
        &self,
        layer: Layer,
        rect: &Rect,
        edges: Vec<f32>,
    ) -> Result<Histogram, JsError> {
        Ok(self.histogram_of(layer, &rect.window, edges)?)
    }

    /// The numbers in a rectangle, row by row.
    ///
    /// # Errors
    /// Where it lies outside.
    pub fn numbers(&self, layer: Layer, rect: &Rect) -> Result<Vec<f32>, JsError> {
        Ok(self.numbers_of(layer, &rect.window)?)
    }

    /// The numbers below which those shares (0 to 1) of all finite ones lie.
    ///
    /// # Errors
    /// Where the rectangle lies outside or a share is none.
    pub fn quantiles(
        &self,
        layer: Layer,
        rect: &Rect,
        shares: &[f64],
    ) -> Result<Vec<f32>, JsError> {
        Ok(self.quantiles_of(layer, &rect.window, shares)?)
    }

    /// How often each code occurs in a rectangle of values: 16, 64 or 256 counts.
    ///
    /// # Errors
    /// Where it lies outside or there are no codes.
    #[wasm_bindgen(js_name = codeCounts)]
    pub fn code_counts(&self, rect: &Rect) -> Result<Vec<f64>, JsError> {
        let found = cpu::code_counts(self.values()?, &rect.window)?;
        Ok(counts(&found))
    }

    /// Counts and extremes of all values.
    ///
    /// # Errors
    /// Where only scales were read.
    #[wasm_bindgen(js_name = valueStats, unchecked_return_type = "ValueStats")]
    pub fn value_stats(&self) -> Result<JsValue, JsError> {
        to_js(&value_stats_json(&self.value_stats_of(&self.whole())?))
    }

    /// Counts and extremes of the values in a rectangle.
    ///
    /// # Errors
    /// Where it lies outside or only scales were read.
    #[wasm_bindgen(js_name = valueStatsIn, unchecked_return_type = "ValueStats")]
    pub fn value_stats_in(&self, rect: &Rect) -> Result<JsValue, JsError> {
        to_js(&value_stats_json(&self.value_stats_of(&rect.window)?))
    }

    /// How heavy the tails of the values in a rectangle are.
    ///
    /// # Errors
    /// Where it lies outside or only scales were read.
    #[wasm_bindgen(unchecked_return_type = "Tails")]
    pub fn tails(&self, rect: &Rect) -> Result<JsValue, JsError> {
        let tails = self.tails_of(&rect.window)?;
        let count = tails.count.max(1) as f64;
        to_js(&json!({
            "count": tails.count,
            "outliers": tails.outliers,
            "outlierShare": tails.outliers as f64 / count,
            "kurtosis": Number(tails.kurtosis),
        }))
    }

    /// Counts over all scales, by byte or by exponent.
    ///
    /// # Errors
    /// Where there are none.
    #[wasm_bindgen(js_name = scaleStats, unchecked_return_type = "ScaleStats")]
    pub fn scale_stats(&self) -> Result<JsValue, JsError> {
        let stats = self.scale_stats_of()?;
        let scales = self.scales()?;
        to_js(&scale_stats_json(&stats, scales.name, scales.counted_as()))
    }

    /// What all blocks are like: codes, zeros, saturation.
    ///
    /// # Errors
    /// Where there are no blocks.
    #[wasm_bindgen(js_name = blockStats, unchecked_return_type = "BlockStats")]
    pub fn block_stats(&self) -> Result<JsValue, JsError> {
        let stats = self.block_stats_of()?;
        to_js(&block_stats_json(&stats, self.format()?.0))
    }

    /// How well the bytes fit the way in which they are read.
    ///
    /// # Errors
    /// Where there are no scales.
    #[wasm_bindgen(unchecked_return_type = "Score")]
    pub fn score(&self) -> Result<JsValue, JsError> {
        let found = self.structure_of()?;
        let of_blocks = self.block_stats_of().ok().zip(self.format().ok());
        let maximum = of_blocks.and_then(|(stats, (format, _))| {
            let most = format.element.max_finite();
            let (all, at_most) = stats.blocks_where(format.element, |value| value == most);
            (all > 0).then(|| at_most as f64 / all as f64)
        });
        to_js(&json!({
            "of": match found.of {
                LevelsOf::Numbers => "numbers",
                LevelsOf::Scales => "scales",
            },
            "left": Number(found.left),
            "explained": Number(found.explained),
            "free": Number(found.free),
            "blockMaximum": maximum,
        }))
    }

    /// One row of a block, every step of its arithmetic; `block` counts scales along the row, or
    /// sixteen columns of plain numbers.
    ///
    /// # Errors
    /// Where there is no such block.
    #[wasm_bindgen(unchecked_return_type = "BlockSteps")]
    pub fn block(&self, row: usize, block: usize) -> Result<JsValue, JsError> {
        to_js(&Block::of(self, row, block)?)
    }

    /// One scale, every step of its arithmetic, by its row and column in the plane of scales.
    ///
    /// # Errors
    /// Where there is no such scale.
    #[wasm_bindgen(unchecked_return_type = "ScaleOfBlock")]
    pub fn scale(&self, row: usize, col: usize) -> Result<JsValue, JsError> {
        to_js(&Scale::of(self, row, col)?)
    }

    /// The bytes of the scales in a rectangle of the plane, `scaleSize` for each, row by row.
    ///
    /// # Errors
    /// Where it lies outside or there are no scales.
    #[wasm_bindgen(js_name = scaleBytes)]
    pub fn scale_bytes(&self, rect: &Rect) -> Result<Vec<u8>, JsError> {
        let (scales, window) = (self.scales()?, &rect.window);
        let mut bytes = Vec::new();
        for row in window.rows.clone() {
            for col in window.cols.clone() {
                let missing = crate::js::SightError::NoScale { row, col };
                bytes.extend_from_slice(scales.at(row, col).ok_or(missing)?);
            }
        }
        Ok(bytes)
    }
}
