//! How the bytes of a weight may be meant, other than as the file says.

use std::fmt;

use blockscale::Element;
use blockscale::layout::ScaleLayout;

/// Which code of a byte comes first, for codes of four bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NibbleOrder {
    /// The even column in the low half: every checkpoint.
    #[default]
    Pairs,
    /// The even column in the high half.
    Swapped,
    /// The first half of a scale block in the low halves, the second in the high ones: ggml.
    Halves,
}

/// What the highest bit of a code says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SignForm {
    /// Negative, the other bits being the magnitude: every float.
    #[default]
    Magnitude,
    /// Two's complement, as for integers.
    TwosComplement,
}

/// The order of a scale plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ScaleOrder {
    /// Row by row.
    #[default]
    Linear,
    /// Column by column, whatever the shape says.
    Transposed,
    /// In a runtime's layout.
    In(ScaleLayout),
    /// In it twice: laid out by a tool, and again by a loader.
    Twice(ScaleLayout),
    /// Taken out of it without having been in it.
    Undone(ScaleLayout),
}

/// How a block scale is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ScaleUse {
    /// It multiplies: every checkpoint.
    #[default]
    Multiplies,
    /// It divides.
    Divides,
}

/// What the second-level scale is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum GlobalUse {
    /// What the file says.
    #[default]
    AsStored,
    /// The reciprocal of what it should be.
    Inverted,
    /// There, and not part of the weight.
    Unused,
    /// Wrong by this factor: multiplied by it, the numbers are right.
    Times(f32),
}

/// One way to read the bytes of a weight. The default is as the file says.
///
/// ```
/// use blockscale::layout::ScaleLayout;
/// use blockscale_model::interpret::{Interpretation, NibbleOrder, ScaleOrder};
///
/// let found = Interpretation {
///     scales: ScaleOrder::In(ScaleLayout::Tiles128x4),
///     nibbles: NibbleOrder::Swapped,
///     ..Interpretation::AS_STORED
/// };
/// assert_eq!(found.to_string(), "nibbles swapped; scales in tiles-128x4");
/// assert_eq!(Interpretation::AS_STORED.to_string(), "as stored");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Interpretation {
    /// Which code of a byte comes first.
    pub nibbles: NibbleOrder,
    /// What the highest bit of a code says.
    pub sign: SignForm,
    /// The type of the codes, where it is not the one that the file states.
    pub element: Option<Element>,
    /// The layout that the rows of codes are in, where they were moved.
    pub code_rows: Option<ScaleLayout>,
    /// The order of the scales.
    pub scales: ScaleOrder,
    /// How a block scale is applied.
    pub scale_use: ScaleUse,
    /// What the second-level scale is.
    pub global: GlobalUse,
}

impl Interpretation {
    /// The bytes mean what the file says.
    pub const AS_STORED: Self = Self {
        nibbles: NibbleOrder::Pairs,
        sign: SignForm::Magnitude,
        element: None,
        code_rows: None,
        scales: ScaleOrder::Linear,
        scale_use: ScaleUse::Multiplies,
        global: GlobalUse::AsStored,
    };

    /// Whether it is what the file says.
    pub fn is_as_stored(&self) -> bool {
        *self == Self::AS_STORED
    }

    /// In how many ways it differs from what the file says: of two that explain the bytes alike,
    /// the one with fewer is believed.
    pub fn departures(&self) -> usize {
        let stored = Self::AS_STORED;
        let twice = matches!(self.scales, ScaleOrder::Twice(_) | ScaleOrder::Undone(_));
        [
            self.nibbles != stored.nibbles,
            self.sign != stored.sign,
            self.element != stored.element,
            self.code_rows != stored.code_rows,
            self.scales != stored.scales,
            twice,
            self.scale_use != stored.scale_use,
            self.global != stored.global,
        ]
        .into_iter()
        .filter(|&departs| departs)
        .count()
    }

    /// What is unusual about it, one phrase each.
    fn phrases(&self) -> Vec<String> {
        let mut phrases = Vec::new();
        match self.nibbles {
            NibbleOrder::Pairs => {}
            NibbleOrder::Swapped => phrases.push("nibbles swapped".to_owned()),
            NibbleOrder::Halves => phrases.push("nibbles in halves of a block".to_owned()),
        }
        if self.sign == SignForm::TwosComplement {
            phrases.push("codes in two's complement".to_owned());
        }
        if let Some(element) = self.element {
            phrases.push(format!("codes are {element}"));
        }
        if let Some(layout) = self.code_rows {
            phrases.push(format!("rows of codes in {layout}"));
        }
        match self.scales {
            ScaleOrder::Linear => {}
            ScaleOrder::Transposed => phrases.push("scales transposed".to_owned()),
            ScaleOrder::In(layout) => phrases.push(format!("scales in {layout}")),
            ScaleOrder::Twice(layout) => phrases.push(format!("scales in {layout} twice")),
            ScaleOrder::Undone(layout) => {
                phrases.push(format!("scales taken out of {layout} once too often"));
            }
        }
        if self.scale_use == ScaleUse::Divides {
            phrases.push("block scales divide".to_owned());
        }
        match self.global {
            GlobalUse::AsStored => {}
            GlobalUse::Inverted => phrases.push("global scale inverted".to_owned()),
            GlobalUse::Unused => phrases.push("global scale not used".to_owned()),
            GlobalUse::Times(factor) => phrases.push(format!("off by a factor of {factor:.6e}")),
        }
        phrases
    }
}

impl fmt::Display for Interpretation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phrases = self.phrases();
        if phrases.is_empty() {
            return f.pad("as stored");
        }
        f.pad(&phrases.join("; "))
    }
}
