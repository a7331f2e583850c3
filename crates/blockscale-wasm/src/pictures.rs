//! What is drawn: cells of heat maps and bins of histograms, as typed arrays.

use blockscale_wgpu::{Cell, Window};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::js::counts;

/// Which numbers of a [`Sight`](crate::Sight) are meant.
#[wasm_bindgen]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The numbers that the weight stands for.
    Values,
    /// The scale of each block, both levels as one.
    Scales,
    /// The values without their sign.
    Magnitudes,
}

/// A rectangle of values or of scales, counted from the first row of the sight.
#[wasm_bindgen]
#[derive(Clone, Debug)]
pub struct Rect {
    pub(crate) window: Window,
}

#[wasm_bindgen]
impl Rect {
    /// Rows `row` to `row_end` and columns `col` to `col_end`, the ends not included.
    #[wasm_bindgen(constructor)]
    pub fn new(row: usize, row_end: usize, col: usize, col_end: usize) -> Self {
        Self {
            window: Window::new(row..row_end, col..col_end),
        }
    }
}

/// Extremes and means in the cells of a grid, row by row.
#[wasm_bindgen]
#[derive(Debug, PartialEq)]
pub struct HeatMap {
    pub(crate) map: blockscale_wgpu::HeatMap,
}

impl HeatMap {
    fn each<T>(&self, field: impl Fn(&Cell) -> T) -> Vec<T> {
        self.map.cells.iter().map(field).collect()
    }
}

#[wasm_bindgen]
impl HeatMap {
    /// Rows of cells.
    #[wasm_bindgen(getter)]
    pub fn rows(&self) -> usize {
        self.map.shape.rows
    }

    /// Columns of cells.
    #[wasm_bindgen(getter)]
    pub fn cols(&self) -> usize {
        self.map.shape.cols
    }

    /// The largest number of each cell, NaN where there is none.
    pub fn max(&self) -> Vec<f32> {
        self.each(|cell| cell.max)
    }

    /// The smallest number of each cell, NaN where there is none.
    pub fn min(&self) -> Vec<f32> {
        self.each(|cell| cell.min)
    }

    /// The mean of the finite numbers of each cell, NaN where there is none.
    pub fn mean(&self) -> Vec<f32> {
        self.each(|cell| cell.mean)
    }

    /// How many numbers of each cell are NaN.
    pub fn nan(&self) -> Vec<f64> {
        self.each(|cell| cell.nan as f64)
    }

    /// How many numbers of each cell are infinite.
    pub fn infinite(&self) -> Vec<f64> {
        self.each(|cell| cell.infinite as f64)
    }
}

/// How many numbers lie between which edges.
#[wasm_bindgen]
#[derive(Debug, PartialEq)]
pub struct Histogram {
    pub(crate) histogram: blockscale_wgpu::Histogram,
    pub(crate) edges: Vec<f32>,
}

#[wasm_bindgen]
impl Histogram {
    /// Where bins start and end.
    pub fn edges(&self) -> Vec<f32> {
        self.edges.clone()
    }

    /// Numbers below the first edge, between each two, and from the last up.
    pub fn counts(&self) -> Vec<f64> {
        counts(&self.histogram.counts)
    }

    /// NaN.
    #[wasm_bindgen(getter)]
    pub fn nan(&self) -> f64 {
        self.histogram.nan as f64
    }
}
