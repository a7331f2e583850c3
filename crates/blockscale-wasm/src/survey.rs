//! A few rows of each weight, for columns of a list and for what the doctor finds.

use blockscale::Format;
use blockscale::stats::BlockStats;
use blockscale_model::doctor::Evidence;
use js_sys::Uint8Array;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use crate::Checkpoint;
use crate::checkpoint::{copied, slices};
use crate::js::to_js;

/// What was counted over some rows of each weight that was surveyed.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Survey {
    evidence: Vec<Option<Evidence>>,
    formats: Vec<Option<Format>>,
}

impl Survey {
    pub(crate) fn put(&mut self, weight: usize, evidence: Evidence) {
        if let Some(place) = self.evidence.get_mut(weight) {
            *place = Some(evidence);
        }
    }

    /// One number of each weight, NaN where it was not surveyed.
    fn column(&self, of: impl Fn(&Evidence) -> Option<f64>) -> Vec<f64> {
        let number = |evidence: &Option<Evidence>| evidence.as_ref().and_then(&of);
        let numbers = self.evidence.iter().map(number);
        numbers.map(|number| number.unwrap_or(f64::NAN)).collect()
    }

    /// One number of each weight in blocks.
    fn blocks(&self, of: impl Fn(&Format, &BlockStats) -> Option<f64>) -> Vec<f64> {
        let weights = self.evidence.iter().zip(&self.formats);
        let number = weights.map(|(evidence, format)| {
            let blocks = evidence.as_ref()?.blocks.as_ref()?;
            of(format.as_ref()?, blocks)
        });
        number.map(|number| number.unwrap_or(f64::NAN)).collect()
    }

    /// The column of that name, `None` where there is none.
    pub(crate) fn column_of(&self, name: &str) -> Option<Vec<f64>> {
        let of_all = |some: u64, all: u64| (all > 0).then(|| some as f64 / all as f64);
        Some(match name {
            "rms" => self.column(|e| Some(e.values.rms())),
            "maxAbs" => self.column(|e| Some(f64::from(e.values.max_abs))),
            "peak" => self.column(|e| Some(f64::from(e.values.max_abs) / e.values.rms())),
            "zeros" => self.column(|e| of_all(e.values.zeros, e.values.count)),
            "notFinite" => self.column(|e| {
                let not_finite = e.values.count - e.values.finite();
                of_all(not_finite, e.values.count)
            }),
            "scaleMin" => self.column(|e| Some(f64::from(e.blocks.as_ref()?.scales.min))),
            "scaleMax" => self.column(|e| Some(f64::from(e.blocks.as_ref()?.scales.max))),
            "scaleOnes" => self.column(|e| {
                let scales = &e.blocks.as_ref()?.scales;
                of_all(scales.ones, scales.count)
            }),
            "scaleMedianLog2" => self.blocks(median_log2),
            "saturated" => self.blocks(|format, blocks| {
                let most = format.element.max_finite();
                let saturated = blocks.count_where(format.element, |value| value.abs() == most);
                of_all(saturated, blocks.count())
            }),
            "blockMaximum" => self.blocks(|format, blocks| {
                let most = format.element.max_finite();
                let (all, at_most) = blocks.blocks_where(format.element, |value| value == most);
                of_all(at_most, all)
            }),
            "globalScale" => self.column(|e| e.globals.first().map(|&g| f64::from(g))),
            _ => return None,
        })
    }
}

/// Binary logarithm of the median block scale; of scales that are no bytes of its power of two.
fn median_log2(format: &Format, blocks: &BlockStats) -> Option<f64> {
    let scales = &blocks.scales;
    let half = scales.count.div_ceil(2);
    let mut seen = 0;
    let median = (0..=u8::MAX).zip(&scales.histogram).find(|(_, count)| {
        seen += **count;
        half > 0 && seen >= half
    });
    let (median, _) = median?;
    Some(match format.scale.bytes() {
        1 => f64::from(format.scale.decode(&[median])).log2(),
        _ => f64::from(median) - 127.0,
    })
}

#[wasm_bindgen]
impl Survey {
    /// Of a checkpoint of which nothing was read yet.
    #[wasm_bindgen(constructor)]
    pub fn new(checkpoint: &Checkpoint) -> Self {
        let weights = checkpoint.catalog.weights.iter();
        Self {
            evidence: checkpoint.no_evidence(),
            formats: weights.map(|w| w.encoding.format().copied()).collect(),
        }
    }

    /// The ranges that surveying a weight takes: about 64 KiB and its single scales.
    ///
    /// # Errors
    /// Where there is no such weight, or it has no numbers.
    #[wasm_bindgen(unchecked_return_type = "Piece[]")]
    pub fn pieces(&self, checkpoint: &Checkpoint, weight: usize) -> Result<JsValue, JsError> {
        to_js(&checkpoint.pieces_json(&checkpoint.surveyed(weight)?.pieces()?))
    }

    /// Counts over the bytes of `pieces` in that order.
    ///
    /// # Errors
    /// Where the bytes are others than were asked for.
    pub fn add(
        &mut self,
        checkpoint: &Checkpoint,
        weight: usize,
        bytes: Vec<Uint8Array>,
    ) -> Result<(), JsError> {
        let bytes = copied(bytes);
        let evidence = checkpoint.surveyed(weight)?.evidence(&slices(&bytes))?;
        self.put(weight, evidence);
        Ok(())
    }

    /// What is wrong with the checkpoint, what was counted included; the worst first.
    ///
    /// # Errors
    /// None that a caller can bring about.
    #[wasm_bindgen(unchecked_return_type = "FoundFault[]")]
    pub fn findings(&self, checkpoint: &Checkpoint) -> Result<JsValue, JsError> {
        to_js(&checkpoint.findings_with(self.evidence.clone()))
    }

    /// How many findings there are of each weight.
    #[wasm_bindgen(js_name = findingCounts)]
    pub fn finding_counts(&self, checkpoint: &Checkpoint) -> Vec<u32> {
        checkpoint.finding_counts_of(&checkpoint.findings_with(self.evidence.clone()))
    }

    /// One number of each weight, NaN where it was not surveyed or has none.
    ///
    /// # Errors
    /// For a word that is no name of a column.
    #[wasm_bindgen(js_name = column)]
    pub fn column_js(
        &self,
        #[wasm_bindgen(unchecked_param_type = "SurveyColumn")] name: &str,
    ) -> Result<Vec<f64>, JsError> {
        let column = self.column_of(name);
        column.ok_or_else(|| JsError::new(&format!("`{name}` is no column")))
    }
}
