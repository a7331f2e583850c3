//! The weights of a checkpoint in columns, for lists of a hundred thousand.

use std::collections::HashMap;

use blockscale_model::Checkpoint;
use blockscale_model::catalog::Catalog;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::checkpoint::shape_of;

/// The weights in columns: entry `i` of each is weight `i`.
#[wasm_bindgen]
#[derive(Debug, PartialEq)]
pub struct WeightTable {
    names: String,
    formats: Words,
    layouts: Words,
    matrices: Vec<f64>,
    rows: Vec<f64>,
    cols: Vec<f64>,
    bytes: Vec<f64>,
}

/// A column of words of which there are few.
#[derive(Debug, Default, PartialEq)]
struct Words {
    words: Vec<String>,
    ids: Vec<u32>,
    known: HashMap<String, u32>,
}

impl Words {
    fn push(&mut self, word: String) {
        let next = self.words.len() as u32;
        let id = *self.known.entry(word).or_insert_with_key(|word| {
            self.words.push(word.clone());
            next
        });
        self.ids.push(id);
    }
}

impl WeightTable {
    pub(crate) fn of(checkpoint: &Checkpoint, catalog: &Catalog) -> Self {
        let weights = &catalog.weights;
        let mut table = Self {
            names: String::new(),
            formats: Words::default(),
            layouts: Words::default(),
            matrices: Vec::with_capacity(weights.len()),
            rows: Vec::with_capacity(weights.len()),
            cols: Vec::with_capacity(weights.len()),
            bytes: Vec::with_capacity(weights.len()),
        };
        for (index, weight) in weights.iter().enumerate() {
            if index > 0 {
                table.names.push('\n');
            }
            // A name may hold anything; a line break in it must not look like two names.
            table.names.push_str(&weight.name.replace('\n', "\u{2424}"));
            table.formats.push(weight.encoding.to_string());
            table.layouts.push(weight.layout.name().to_owned());
            let (matrices, shape) = shape_of(weight);
            table.matrices.push(matrices as f64);
            table.rows.push(shape.rows as f64);
            table.cols.push(shape.cols as f64);
            let parts = weight.parts.iter();
            let bytes: u64 = parts
                .map(|part| checkpoint.tensors[part.tensor].bytes())
                .sum();
            table.bytes.push(bytes as f64);
        }
        table
    }
}

#[wasm_bindgen]
impl WeightTable {
    /// How many weights there are.
    #[wasm_bindgen(getter)]
    pub fn length(&self) -> usize {
        self.rows.len()
    }

    /// All names, with a line break between two.
    pub fn names(&self) -> String {
        self.names.clone()
    }

    /// The names of formats that `formatIds` counts.
    pub fn formats(&self) -> Vec<String> {
        self.formats.words.clone()
    }

    /// The format of each weight.
    #[wasm_bindgen(js_name = formatIds)]
    pub fn format_ids(&self) -> Vec<u32> {
        self.formats.ids.clone()
    }

    /// The names of layouts that `layoutIds` counts.
    pub fn layouts(&self) -> Vec<String> {
        self.layouts.words.clone()
    }

    /// The layout of each weight.
    #[wasm_bindgen(js_name = layoutIds)]
    pub fn layout_ids(&self) -> Vec<u32> {
        self.layouts.ids.clone()
    }

    /// How many matrices are stacked in each weight.
    pub fn matrices(&self) -> Vec<f64> {
        self.matrices.clone()
    }

    /// Rows of each matrix.
    pub fn rows(&self) -> Vec<f64> {
        self.rows.clone()
    }

    /// Columns of each matrix.
    pub fn cols(&self) -> Vec<f64> {
        self.cols.clone()
    }

    /// Stored bytes of each weight, scales included.
    pub fn bytes(&self) -> Vec<f64> {
        self.bytes.clone()
    }
}
