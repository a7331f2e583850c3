//! What the bytes of a matrix may be meant as, and what they say of it.

use blockscale_model::catalog::{Encoding, Weight};
use blockscale_model::interpret::{Channels, Interpretation, Sample, orders};
use blockscale_model::view::Judged;
use js_sys::Uint8Array;
use serde_json::{Value, json};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use crate::Checkpoint;
use crate::checkpoint::{copied, slices};
use crate::js::{Number, to_js};
use crate::region::{nibble_word, order_word};

#[wasm_bindgen]
impl Checkpoint {
    /// The words that `Region.withScaleLayout` takes and that can be meant of a weight: orders in
    /// which its plane of scales is as long as it is.
    ///
    /// # Errors
    /// Where there is no weight of that index.
    #[wasm_bindgen(js_name = ordersOf)]
    pub fn orders_of(&self, weight: usize) -> Result<Vec<String>, JsError> {
        Ok(orders_of(self.get(weight)?))
    }

    /// The ranges that `judge` takes: all scales of a matrix and some of its rows.
    ///
    /// # Errors
    /// For a weight that is not in a block format, or whose layout the file names.
    #[wasm_bindgen(js_name = judgePieces, unchecked_return_type = "Piece[]")]
    pub fn judge_pieces(&self, weight: usize, matrix: usize) -> Result<JsValue, JsError> {
        let judged = Judged::of(&self.checkpoint, self.get(weight)?, matrix)?;
        to_js(&self.pieces_json(&judged.pieces()?))
    }

    /// What the bytes of a matrix say of how they are meant, from those of `judgePieces` in that
    /// order.
    ///
    /// # Errors
    /// Where the bytes are others than were asked for.
    #[wasm_bindgen(unchecked_return_type = "Judgement")]
    pub fn judge(
        &self,
        weight: usize,
        matrix: usize,
        bytes: Vec<Uint8Array>,
    ) -> Result<JsValue, JsError> {
        let judged = Judged::of(&self.checkpoint, self.get(weight)?, matrix)?;
        let bytes = copied(bytes);
        to_js(&judgement(&judged.sample(&slices(&bytes))?))
    }
}

/// The words for the orders that the scales of a weight can be in.
pub(crate) fn orders_of(weight: &Weight) -> Vec<String> {
    let Encoding::Block(format) = weight.encoding else {
        return Vec::new();
    };
    let orders = orders(&format, weight.matrices().shape).into_iter();
    let of_scales = orders.filter(|order| order.code_rows.is_none());
    of_scales.map(|order| order_word(order.scales)).collect()
}

/// All answers to what the bytes of a matrix are meant as.
pub(crate) fn judgement(sample: &Sample) -> Value {
    let (found, answers) = sample.judge(&Channels::default());
    let reading = |reading: &Interpretation| {
        json!({
            "text": reading.to_string(),
            "scaleLayout": order_word(reading.scales),
            "nibbles": nibble_word(reading.nibbles),
        })
    };
    let answers = answers.iter().map(|answer| {
        let candidates = answer.candidates.iter().map(|candidate| {
            json!({
                "reading": reading(&candidate.interpretation),
                "behind": Number(candidate.behind),
            })
        });
        json!({
            "question": answer.question,
            "certainty": answer.certainty(),
            "confidence": answer.confidence(),
            "margin": Number(answer.margin()),
            "candidates": candidates.collect::<Vec<_>>(),
        })
    });
    json!({
        "asStored": found.is_as_stored(),
        "reading": reading(&found),
        "answers": answers.collect::<Vec<_>>(),
    })
}
