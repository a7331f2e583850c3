//! A checkpoint: what is in it, what is wrong with it, and where the bytes of a weight lie.

use blockscale::Shape;
use blockscale_model::catalog::{Catalog, PartRole, Weight};
use blockscale_model::doctor::Evidence;
use blockscale_model::view::{Piece, Surveyed, View};
use js_sys::Uint8Array;
use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use crate::js::to_js;
use crate::sight::Place;
use crate::{Region, Sight, WeightTable};

/// A checkpoint that was opened.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Checkpoint {
    pub(crate) checkpoint: blockscale_model::Checkpoint,
    pub(crate) catalog: Catalog,
}

#[derive(Serialize)]
pub(crate) struct PieceJson<'a> {
    role: PartRole,
    file: &'a str,
    start: u64,
    end: u64,
}

#[wasm_bindgen]
impl Checkpoint {
    /// Model, shards, sizes and configs.
    ///
    /// # Errors
    /// None that a caller can bring about.
    #[wasm_bindgen(unchecked_return_type = "Summary")]
    pub fn summary(&self) -> Result<JsValue, JsError> {
        to_js(&self.summary_json())
    }

    /// All weights, in columns.
    #[wasm_bindgen(js_name = weights)]
    pub fn weight_table(&self) -> WeightTable {
        WeightTable::of(&self.checkpoint, &self.catalog)
    }

    /// One weight with its parts and where they lie.
    ///
    /// # Errors
    /// Where there is no weight of that index.
    #[wasm_bindgen(unchecked_return_type = "WeightDetails")]
    pub fn weight(&self, index: usize) -> Result<JsValue, JsError> {
        to_js(&self.weight_json(index).ok_or_else(|| no_weight(index))?)
    }

    /// What is odd and what is wrong, as far as names, shapes and configs tell; the worst first.
    ///
    /// # Errors
    /// None that a caller can bring about.
    #[wasm_bindgen(unchecked_return_type = "FoundFault[]")]
    pub fn findings(&self) -> Result<JsValue, JsError> {
        to_js(&self.findings_with(self.no_evidence()))
    }

    /// How many findings there are of each weight.
    #[wasm_bindgen(js_name = findingCounts)]
    pub fn finding_counts(&self) -> Vec<u32> {
        self.finding_counts_of(&self.findings_with(self.no_evidence()))
    }

    /// The ranges that hold the scales of a region.
    ///
    /// # Errors
    /// Where there is no such region, or it has no plane of scales.
    #[wasm_bindgen(js_name = scalePieces, unchecked_return_type = "Piece[]")]
    pub fn scale_pieces(&self, region: &Region) -> Result<JsValue, JsError> {
        to_js(&self.pieces_json(&self.view(region)?.scale_pieces()?))
    }

    /// The ranges that hold all of a region.
    ///
    /// # Errors
    /// Where there is no such region.
    #[wasm_bindgen(unchecked_return_type = "Piece[]")]
    pub fn pieces(&self, region: &Region) -> Result<JsValue, JsError> {
        to_js(&self.pieces_json(&self.view(region)?.pieces()?))
    }

    /// The scales of a region, from the bytes of `scalePieces` in that order.
    ///
    /// # Errors
    /// Where the bytes are others than were asked for, or in no such layout.
    pub fn scales(&self, region: &Region, bytes: Vec<Uint8Array>) -> Result<Sight, JsError> {
        let view = self.view(region)?;
        let pieces = view.scale_pieces()?;
        let bytes = copied(bytes);
        let plane = view.scales(&slices(&bytes))?;
        Ok(Sight::of_scales(&view, plane, self.places(&view, &pieces))?)
    }

    /// All of a region, from the bytes of `pieces` in that order.
    ///
    /// # Errors
    /// Where the bytes are others than were asked for, do not fit, or are no numbers.
    pub fn see(&self, region: &Region, bytes: Vec<Uint8Array>) -> Result<Sight, JsError> {
        let view = self.view(region)?;
        let pieces = view.pieces()?;
        let bytes = copied(bytes);
        let seen = view.see(&slices(&bytes))?;
        Ok(Sight::of_numbers(&view, seen, self.places(&view, &pieces))?)
    }
}

/// JavaScript's bytes in the module's memory.
pub(crate) fn copied(bytes: Vec<Uint8Array>) -> Vec<Vec<u8>> {
    bytes.into_iter().map(|bytes| bytes.to_vec()).collect()
}

pub(crate) fn slices(bytes: &[Vec<u8>]) -> Vec<&[u8]> {
    bytes.iter().map(Vec::as_slice).collect()
}

fn no_weight(index: usize) -> JsError {
    JsError::new(&format!("there is no weight {index}"))
}

/// The shape and format of a weight as a page shows them.
pub(crate) fn shape_of(weight: &Weight) -> (usize, Shape) {
    let matrices = weight.matrices();
    (matrices.count, matrices.shape)
}

impl Checkpoint {
    /// What [`Opening`](crate::Opening) ends with.
    pub fn of(checkpoint: blockscale_model::Checkpoint) -> Self {
        let catalog = Catalog::of(&checkpoint);
        Self {
            checkpoint,
            catalog,
        }
    }

    pub(crate) fn get(&self, weight: usize) -> Result<&Weight, JsError> {
        let found = self.catalog.weights.get(weight);
        found.ok_or_else(|| no_weight(weight))
    }

    fn view(&self, region: &Region) -> Result<View<'_>, JsError> {
        let weight = self.get(region.weight)?;
        let (rows, as_if) = (region.rows.clone(), region.as_if(weight));
        Ok(View::of(&self.checkpoint, weight, rows, as_if)?)
    }

    /// Where codes and scales of a view start, as far as they lie row by row.
    fn places(&self, view: &View<'_>, pieces: &[Piece]) -> Vec<Place> {
        let in_rows = |role| match role {
            PartRole::Codes => view.has_codes_in_rows(),
            PartRole::BlockScale => view.has_scales_in_rows(),
            _ => false,
        };
        let pieces = pieces.iter().filter(|piece| in_rows(piece.role));
        pieces
            .map(|piece| Place {
                role: piece.role,
                file: self.checkpoint.shards[piece.shard].name.as_str().to_owned(),
                start: piece.range.start,
            })
            .collect()
    }

    pub(crate) fn pieces_json(&self, pieces: &[Piece]) -> Vec<PieceJson<'_>> {
        let piece = |piece: &Piece| PieceJson {
            role: piece.role,
            file: self.checkpoint.shards[piece.shard].name.as_str(),
            start: piece.range.start,
            end: piece.range.end,
        };
        pieces.iter().map(piece).collect()
    }

    pub(crate) fn no_evidence(&self) -> Vec<Option<Evidence>> {
        vec![None; self.catalog.weights.len()]
    }

    pub(crate) fn surveyed(&self, weight: usize) -> Result<Surveyed<'_>, JsError> {
        Ok(Surveyed::of(&self.checkpoint, self.get(weight)?)?)
    }
}
