//! Rows of a weight in memory, to be looked at.

use blockscale::decode::Rows;
use blockscale::stats::{BlockStats, ScaleStats, ValueStats};
use blockscale::{Format, Shape};
use blockscale_model::Dtype;
use blockscale_model::view::{ScalePlane, Seen, View};
use blockscale_wgpu::{Edges, Measure, Number, RequestError, Source, Stored, Window, cpu};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use crate::block::Block;
use crate::js::{SightError, counts, to_js};
use crate::stats::{block_stats_json, scale_stats_json, value_stats_json};
use crate::{HeatMap, Histogram, Layer, Rect};

/// Some rows of a weight, or only their scales.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Sight {
    pub(crate) first_row: usize,
    pub(crate) shape: Shape,
    pub(crate) values: Option<Stored<'static>>,
    pub(crate) scales: Option<Scales>,
    /// The codes, where there are any beside the scales.
    pub(crate) codes: Vec<u8>,
}

/// The scales as they lie in the file, and as numbers.
#[derive(Debug)]
pub(crate) struct Scales {
    pub(crate) plane: ScalePlane,
    numbers: Stored<'static>,
}

impl Scales {
    fn of(plane: ScalePlane) -> Result<Self, RequestError> {
        let numbers = floats(&plane.values(), plane.shape)?;
        Ok(Self { plane, numbers })
    }
}

fn floats(values: &[f32], shape: Shape) -> Result<Stored<'static>, RequestError> {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    Ok(Stored::numbers(Number::F32, shape, &bytes)?.into_owned())
}

impl Sight {
    pub(crate) fn of_scales(view: &View<'_>, plane: ScalePlane) -> Result<Self, SightError> {
        Ok(Self {
            first_row: view.region().rows.start,
            shape: view.shape(),
            values: None,
            scales: Some(Scales::of(plane)?),
            codes: Vec::new(),
        })
    }

    pub(crate) fn of_numbers(view: &View<'_>, seen: Seen) -> Result<Self, SightError> {
        let shape = view.shape();
        let mut sight = Self {
            first_row: view.region().rows.start,
            shape,
            values: None,
            scales: None,
            codes: Vec::new(),
        };
        match seen {
            Seen::Blocks { scales, codes } => {
                let rows = Rows {
                    codes: &codes,
                    scales: &scales.bytes,
                    global: scales.global,
                };
                let stored = Stored::blocks(&scales.format, shape, rows)?;
                sight.values = Some(stored.into_owned());
                sight.scales = Some(Scales::of(scales)?);
                sight.codes = codes;
            }
            Seen::Floats { dtype, bytes } => {
                let number = match dtype {
                    Dtype::BF16 => Number::Bf16,
                    Dtype::F16 => Number::F16,
                    _ => Number::F32,
                };
                sight.values = Some(Stored::numbers(number, shape, &bytes)?.into_owned());
            }
            Seen::Decoded(values) => sight.values = Some(floats(&values, shape)?),
        }
        Ok(sight)
    }

    pub(crate) fn values(&self) -> Result<&Stored<'static>, SightError> {
        self.values.as_ref().ok_or(SightError::NoNumbers)
    }

    pub(crate) fn scales(&self) -> Result<&Scales, SightError> {
        self.scales.as_ref().ok_or(SightError::NoScales)
    }

    pub(crate) fn format(&self) -> Result<&Format, SightError> {
        Ok(&self.scales()?.plane.format)
    }

    fn layer(&self, layer: Layer) -> Result<(Source<&Stored<'static>>, Measure), SightError> {
        Ok(match layer {
            Layer::Values => (Source::Values(self.values()?), Measure::Signed),
            Layer::Magnitudes => (Source::Values(self.values()?), Measure::Magnitude),
            Layer::Scales => (Source::Values(&self.scales()?.numbers), Measure::Signed),
        })
    }

    pub(crate) fn heat_map_of(
        &self,
        layer: Layer,
        window: &Window,
        cells: Shape,
    ) -> Result<HeatMap, SightError> {
        let (source, measure) = self.layer(layer)?;
        let map = cpu::heat_map(source, window, cells, measure)?;
        Ok(HeatMap { map })
    }

    pub(crate) fn histogram_of(
        &self,
        layer: Layer,
        window: &Window,
        edges: Vec<f32>,
    ) -> Result<Histogram, SightError> {
        let (source, measure) = self.layer(layer)?;
        let edges = Edges::new(edges)?;
        let histogram = cpu::histogram(source, window, measure, &edges)?;
        let edges = edges.as_slice().to_vec();
        Ok(Histogram { histogram, edges })
    }

    pub(crate) fn numbers_of(&self, layer: Layer, at: &Window) -> Result<Vec<f32>, SightError> {
        Ok(cpu::tile(self.layer(layer)?.0, at)?)
    }

    pub(crate) fn quantiles_of(
        &self,
        layer: Layer,
        window: &Window,
        shares: &[f64],
    ) -> Result<Vec<f32>, SightError> {
        let (source, measure) = self.layer(layer)?;
        Ok(cpu::quantiles(source, window, measure, shares)?)
    }

    pub(crate) fn value_stats_of(&self) -> Result<ValueStats, SightError> {
        let values = self.values()?;
        let mut stats = ValueStats::default();
        for row in 0..self.shape.rows {
            let window = Window::new(row..row + 1, 0..self.shape.cols);
            let numbers = cpu::tile(Source::Values(values), &window)?;
            stats.merge(&ValueStats::of_row(&numbers));
        }
        Ok(stats)
    }

    pub(crate) fn scale_stats_of(&self) -> Result<ScaleStats, SightError> {
        let plane = &self.scales()?.plane;
        Ok(ScaleStats::of_rows(
            plane.format.scale,
            plane.shape,
            &plane.bytes,
        ))
    }

    pub(crate) fn block_stats_of(&self) -> Result<BlockStats, SightError> {
        self.values()?;
        let plane = &self.scales()?.plane;
        let rows = Rows {
            codes: &self.codes,
            scales: &plane.bytes,
            global: plane.global,
        };
        let stats = BlockStats::of_rows(&plane.format, self.shape, rows);
        Ok(stats.map_err(RequestError::from)?)
    }
}

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
        self.scales.as_ref().map_or(0, |s| s.plane.shape.rows)
    }

    /// Columns of scales, 0 where there are none.
    #[wasm_bindgen(getter, js_name = scaleCols)]
    pub fn scale_cols(&self) -> usize {
        self.scales.as_ref().map_or(0, |s| s.plane.shape.cols)
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
        to_js(&value_stats_json(&self.value_stats_of()?))
    }

    /// Counts over all scales, by byte or by exponent.
    ///
    /// # Errors
    /// Where there are none.
    #[wasm_bindgen(js_name = scaleStats, unchecked_return_type = "ScaleStats")]
    pub fn scale_stats(&self) -> Result<JsValue, JsError> {
        let stats = self.scale_stats_of()?;
        to_js(&scale_stats_json(&stats, self.format()?))
    }

    /// What all blocks are like: codes, zeros, saturation.
    ///
    /// # Errors
    /// Where there are no blocks.
    #[wasm_bindgen(js_name = blockStats, unchecked_return_type = "BlockStats")]
    pub fn block_stats(&self) -> Result<JsValue, JsError> {
        let stats = self.block_stats_of()?;
        to_js(&block_stats_json(&stats, self.format()?))
    }

    /// One row of a block, every step of its arithmetic; `block` counts scales along the row.
    ///
    /// # Errors
    /// Where there is no such block.
    #[wasm_bindgen(unchecked_return_type = "BlockSteps")]
    pub fn block(&self, row: usize, block: usize) -> Result<JsValue, JsError> {
        to_js(&Block::of(self, row, block)?)
    }
}
