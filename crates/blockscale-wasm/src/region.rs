//! Which rows of a weight, and how they are read.

use blockscale::GlobalScale;
use blockscale::layout::ScaleLayout;
use blockscale_model::view::{AsIf, NibbleOrder, Region as Rows};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

/// Rows of one matrix of a weight, read as the file says unless told otherwise.
#[wasm_bindgen]
#[derive(Clone, Debug)]
pub struct Region {
    pub(crate) weight: usize,
    pub(crate) rows: Rows,
    pub(crate) as_if: AsIf,
}

#[wasm_bindgen]
impl Region {
    /// Rows `first` to `end`, that one not included, of matrix `matrix` of weight `weight`.
    #[wasm_bindgen(constructor)]
    pub fn new(weight: usize, matrix: usize, first: usize, end: usize) -> Self {
        let rows = first..end;
        Self {
            weight,
            rows: Rows { matrix, rows },
            as_if: AsIf::AS_STORED,
        }
    }

    /// Takes the even column to be in the low (`low-first`) or the high half (`high-first`) of a
    /// byte.
    ///
    /// # Errors
    /// For any other word.
    #[wasm_bindgen(js_name = withNibbles)]
    pub fn with_nibbles(
        mut self,
        #[wasm_bindgen(unchecked_param_type = "NibbleOrder")] order: &str,
    ) -> Result<Self, JsError> {
        self.as_if.nibbles = nibbles(order).ok_or_else(|| unknown(order, "an order of nibbles"))?;
        Ok(self)
    }

    /// Takes the scales to be in the layout of that name.
    ///
    /// # Errors
    /// For a name that is not one of `layoutNames()`.
    #[wasm_bindgen(js_name = withScaleLayout)]
    pub fn with_scale_layout(mut self, name: &str) -> Result<Self, JsError> {
        let layout = ScaleLayout::from_name(name);
        self.as_if.scales = Some(layout.ok_or_else(|| unknown(name, "a layout"))?);
        Ok(self)
    }

    /// Takes the global scale to be a multiplier or a divisor, or leaves it out.
    ///
    /// # Errors
    /// For any other word than `multiplier`, `divisor` and `none`.
    #[wasm_bindgen(js_name = withGlobalScale)]
    pub fn with_global_scale(
        mut self,
        #[wasm_bindgen(unchecked_param_type = "GlobalScaleUse")] direction: &str,
    ) -> Result<Self, JsError> {
        let global = global(direction).ok_or_else(|| unknown(direction, "a use of the scale"))?;
        self.as_if.global = Some(global);
        Ok(self)
    }
}

fn nibbles(word: &str) -> Option<NibbleOrder> {
    match word {
        "low-first" => Some(NibbleOrder::LowFirst),
        "high-first" => Some(NibbleOrder::HighFirst),
        _ => None,
    }
}

fn global(word: &str) -> Option<GlobalScale> {
    match word {
        "none" => Some(GlobalScale::None),
        "multiplier" => Some(GlobalScale::Multiplier),
        "divisor" => Some(GlobalScale::Divisor),
        _ => None,
    }
}

fn unknown(word: &str, what: &str) -> JsError {
    JsError::new(&format!("`{word}` is not {what}"))
}
