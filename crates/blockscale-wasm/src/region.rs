//! Which rows of a weight, and how they are read.

use blockscale::GlobalScale;
use blockscale::layout::ScaleLayout;
use blockscale_model::catalog::Weight;
use blockscale_model::interpret::{
    GlobalUse, Interpretation, NibbleOrder, ScaleOrder, ScaleUse, SignForm,
};
use blockscale_model::view::{AsIf, Region as Rows};
use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

/// Rows of one matrix of a weight, read as the file says unless told otherwise.
#[wasm_bindgen]
#[derive(Clone, Debug)]
pub struct Region {
    pub(crate) weight: usize,
    pub(crate) rows: Rows,
    as_if: AsIf,
    global: Option<GlobalScale>,
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
            global: None,
        }
    }

    /// Takes the even column to be in the low (`low-first`) or the high half (`high-first`) of a
    /// byte, or the first half of a block in the low halves of its bytes (`halves`).
    ///
    /// # Errors
    /// For any other word.
    #[wasm_bindgen(js_name = withNibbles)]
    pub fn with_nibbles(
        mut self,
        #[wasm_bindgen(unchecked_param_type = "NibbleOrder")] order: &str,
    ) -> Result<Self, JsError> {
        let found = NIBBLES.iter().find(|(word, _)| *word == order);
        let (_, nibbles) = found.ok_or_else(|| unknown(order, "an order of nibbles"))?;
        self.as_if.reading.nibbles = *nibbles;
        Ok(self)
    }

    /// Takes the scales to be in the layout of that name, or in one of the orders that
    /// `Checkpoint.ordersOf` names.
    ///
    /// # Errors
    /// For any other word.
    #[wasm_bindgen(js_name = withScaleLayout)]
    pub fn with_scale_layout(mut self, name: &str) -> Result<Self, JsError> {
        match order_of(name).ok_or_else(|| unknown(name, "a layout"))? {
            Order::Stated(layout) => self.as_if.stated = Some(layout),
            Order::Moved(order) => self.as_if.reading.scales = order,
        }
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
        let found = GLOBALS.iter().find(|(word, _)| *word == direction);
        let (_, global) = found.ok_or_else(|| unknown(direction, "a use of the scale"))?;
        self.global = Some(*global);
        Ok(self)
    }

    /// Takes block scales to multiply (`multiplies`) or to divide (`divides`).
    ///
    /// # Errors
    /// For any other word.
    #[wasm_bindgen(js_name = withScaleUse)]
    pub fn with_scale_use(
        mut self,
        #[wasm_bindgen(unchecked_param_type = "ScaleUse")] word: &str,
    ) -> Result<Self, JsError> {
        self.as_if.reading.scale_use = match word {
            "multiplies" => ScaleUse::Multiplies,
            "divides" => ScaleUse::Divides,
            _ => return Err(unknown(word, "a use of scales")),
        };
        Ok(self)
    }

    /// Takes codes to be in sign and magnitude (`magnitude`) or in two's complement
    /// (`twos-complement`).
    ///
    /// # Errors
    /// For any other word.
    #[wasm_bindgen(js_name = withSign)]
    pub fn with_sign(
        mut self,
        #[wasm_bindgen(unchecked_param_type = "SignForm")] word: &str,
    ) -> Result<Self, JsError> {
        self.as_if.reading.sign = match word {
            "magnitude" => SignForm::Magnitude,
            "twos-complement" => SignForm::TwosComplement,
            _ => return Err(unknown(word, "a form of signs")),
        };
        Ok(self)
    }
}

impl Region {
    /// How `weight` is read.
    pub(crate) fn as_if(&self, weight: &Weight) -> AsIf {
        let stated = weight.encoding.format().map(|format| format.global);
        let global = match (self.global, stated) {
            (Some(GlobalScale::None), _) => GlobalUse::Unused,
            (Some(asked), Some(stated)) if asked != stated && stated != GlobalScale::None => {
                GlobalUse::Inverted
            }
            _ => GlobalUse::AsStored,
        };
        AsIf {
            reading: Interpretation {
                global,
                ..self.as_if.reading
            },
            ..self.as_if
        }
    }
}

const NIBBLES: [(&str, NibbleOrder); 3] = [
    ("low-first", NibbleOrder::Pairs),
    ("high-first", NibbleOrder::Swapped),
    ("halves", NibbleOrder::Halves),
];

const GLOBALS: [(&str, GlobalScale); 3] = [
    ("none", GlobalScale::None),
    ("multiplier", GlobalScale::Multiplier),
    ("divisor", GlobalScale::Divisor),
];

/// The word for a use of the second level.
pub(crate) fn global_word(global: GlobalScale) -> &'static str {
    let found = GLOBALS.iter().find(|(_, known)| *known == global);
    found.map_or("none", |(word, _)| word)
}

/// The word for an order of nibbles.
pub(crate) fn nibble_word(order: NibbleOrder) -> &'static str {
    let found = NIBBLES.iter().find(|(_, known)| *known == order);
    found.map_or("low-first", |(word, _)| word)
}

/// What a word for an order of scales means.
#[derive(Debug, PartialEq)]
enum Order {
    /// The layout that the file should have named.
    Stated(ScaleLayout),
    /// Something that no file names.
    Moved(ScaleOrder),
}

fn order_of(word: &str) -> Option<Order> {
    let layout = ScaleLayout::from_name;
    Some(match word.rsplit_once(' ') {
        Some((name, "twice")) => Order::Moved(ScaleOrder::Twice(layout(name)?)),
        Some((name, "undone")) => Order::Moved(ScaleOrder::Undone(layout(name)?)),
        _ if word == "transposed" => Order::Moved(ScaleOrder::Transposed),
        _ => Order::Stated(layout(word)?),
    })
}

/// The word for an order of scales.
pub(crate) fn order_word(order: ScaleOrder) -> String {
    match order {
        ScaleOrder::Linear => ScaleLayout::Linear.name().to_owned(),
        ScaleOrder::Transposed => "transposed".to_owned(),
        ScaleOrder::In(layout) => layout.name().to_owned(),
        ScaleOrder::Twice(layout) => format!("{layout} twice"),
        ScaleOrder::Undone(layout) => format!("{layout} undone"),
    }
}

fn unknown(word: &str, what: &str) -> JsError {
    JsError::new(&format!("`{word}` is not {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_has_a_word_that_means_it() {
        for layout in ScaleLayout::ALL {
            assert_eq!(order_of(layout.name()), Some(Order::Stated(layout)));
            for order in [ScaleOrder::Twice(layout), ScaleOrder::Undone(layout)] {
                assert_eq!(order_of(&order_word(order)), Some(Order::Moved(order)));
            }
        }
        let transposed = order_word(ScaleOrder::Transposed);
        assert_eq!(
            order_of(&transposed),
            Some(Order::Moved(ScaleOrder::Transposed))
        );
        assert_eq!(order_of("tiles-128x4 thrice"), None);
    }
}
