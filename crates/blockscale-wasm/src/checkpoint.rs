//! A checkpoint: what is in it, what is wrong with it, and where the bytes of a weight lie.

use blockscale::Shape;
use blockscale_model::Finding;
use blockscale_model::catalog::{Catalog, Weight};
use blockscale_model::dialect::Dialect;
use blockscale_model::doctor::{Doctor, Subject};
use blockscale_model::view::{Piece, View, ViewError};
use js_sys::Uint8Array;
use serde::Serialize;
use serde_json::{Value, json};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use crate::js::to_js;
use crate::{Region, Sight, WeightTable};

/// A checkpoint that was opened.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Checkpoint {
    checkpoint: blockscale_model::Checkpoint,
    catalog: Catalog,
}

#[derive(Serialize)]
struct PieceJson<'a> {
    role: blockscale_model::catalog::PartRole,
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
        to_js(&self.findings_json())
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
        let bytes = copied(bytes);
        let bytes: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
        Ok(Sight::of_scales(&view, view.scales(&bytes)?)?)
    }

    /// All of a region, from the bytes of `pieces` in that order.
    ///
    /// # Errors
    /// Where the bytes are others than were asked for, do not fit, or are no numbers.
    pub fn see(&self, region: &Region, bytes: Vec<Uint8Array>) -> Result<Sight, JsError> {
        let view = self.view(region)?;
        let bytes = copied(bytes);
        let bytes: Vec<&[u8]> = bytes.iter().map(Vec::as_slice).collect();
        Ok(Sight::of_numbers(&view, view.see(&bytes)?)?)
    }
}

/// JavaScript's bytes in the module's memory.
fn copied(bytes: Vec<Uint8Array>) -> Vec<Vec<u8>> {
    bytes.into_iter().map(|bytes| bytes.to_vec()).collect()
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

    fn view(&self, region: &Region) -> Result<View<'_>, JsError> {
        let weight = self.catalog.weights.get(region.weight);
        let weight = weight.ok_or_else(|| no_weight(region.weight))?;
        self.view_of(weight, region).map_err(JsError::from)
    }

    fn view_of<'a>(&'a self, weight: &'a Weight, region: &Region) -> Result<View<'a>, ViewError> {
        View::of(&self.checkpoint, weight, region.rows.clone(), region.as_if)
    }

    fn pieces_json(&self, pieces: &[Piece]) -> Vec<PieceJson<'_>> {
        let piece = |piece: &Piece| PieceJson {
            role: piece.role,
            file: self.checkpoint.shards[piece.shard].name.as_str(),
            start: piece.range.start,
            end: piece.range.end,
        };
        pieces.iter().map(piece).collect()
    }

    pub(crate) fn summary_json(&self) -> Value {
        let shards = self.checkpoint.shards.iter();
        let shards: Vec<Value> = shards
            .map(|shard| json!({ "name": shard.name.as_str(), "bytes": shard.len }))
            .collect();
        json!({
            "modelType": self.checkpoint.model_type(),
            "dialect": Dialect::announced(&self.checkpoint).map(Dialect::name),
            "shards": shards,
            "tensors": self.checkpoint.tensors.len(),
            "tensorBytes": self.checkpoint.total_bytes(),
            "weights": self.catalog.weights.len(),
            "refusals": self.catalog.refusals.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "config": self.checkpoint.config,
            "hfQuantConfig": self.checkpoint.hf_quant_config,
        })
    }

    pub(crate) fn weight_json(&self, index: usize) -> Option<Value> {
        let weight = self.catalog.weights.get(index)?;
        let parts = weight.parts.iter().map(|part| {
            let raw = &self.checkpoint.tensors[part.tensor];
            json!({
                "role": part.role,
                "name": raw.name,
                "dtype": raw.dtype.to_string(),
                "shape": raw.shape,
                "file": self.checkpoint.shards[raw.shard].name.as_str(),
                "start": raw.range.start,
                "end": raw.range.end,
            })
        });
        let (matrices, shape) = shape_of(weight);
        let format = weight.encoding.format();
        let plane = format.map(|format| {
            let plane = format.scale_shape(shape);
            json!({
                "rows": plane.rows,
                "cols": plane.cols,
                "element": format.scale.name(),
                "blockRows": format.block_rows(shape.rows),
                "blockCols": format.block_cols(shape.cols),
            })
        });
        Some(json!({
            "name": weight.name,
            "format": weight.encoding.to_string(),
            "element": format.map(|format| format.element.name()),
            "layout": weight.layout.name(),
            "shape": weight.shape,
            "matrices": matrices,
            "rows": shape.rows,
            "cols": shape.cols,
            "scalePlane": plane,
            "parts": parts.collect::<Vec<_>>(),
        }))
    }

    fn findings_json(&self) -> Vec<Value> {
        let plain = |finding: &Finding| {
            json!({
                "severity": finding.severity,
                "code": finding.code,
                "file": finding.file,
                "tensor": finding.tensor,
                "message": finding.message,
                "fix": Value::Null,
            })
        };
        let diagnosed = Doctor::default().examine(&Subject::new(&self.checkpoint, &self.catalog));
        let diagnosed = diagnosed.iter().map(|diagnosis| {
            json!({
                "severity": diagnosis.severity,
                "code": diagnosis.rule.code,
                "file": diagnosis.file,
                "tensor": diagnosis.tensor,
                "message": diagnosis.message,
                "fix": diagnosis.fix("PATH"),
            })
        });
        // What a rule is about is said by its diagnosis.
        let findings = self
            .checkpoint
            .findings
            .iter()
            .chain(&self.catalog.findings);
        let unruled = findings
            .filter(|finding| finding.rule().is_none())
            .map(plain);
        diagnosed.chain(unruled).collect()
    }
}
