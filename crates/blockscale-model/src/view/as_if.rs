//! Reading bytes another way than the file says.

use blockscale::GlobalScale;
use blockscale::format::{Element, Format, Packing};
use blockscale::layout::ScaleLayout;

/// Which code of a byte comes first, for codes of four bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum NibbleOrder {
    /// The even column in the low half: every checkpoint of safetensors.
    #[default]
    LowFirst,
    /// The even column in the high half.
    HighFirst,
}

/// How the bytes of a weight are read. The default is as the file says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AsIf {
    /// Which code of a byte comes first.
    pub nibbles: NibbleOrder,
    /// The layout that the scales are taken to be in; `None` for the one that the file states.
    pub scales: Option<ScaleLayout>,
    /// How the second-level scale is applied; `None` for what the file states.
    pub global: Option<GlobalScale>,
}

impl AsIf {
    /// The bytes mean what the file says.
    pub const AS_STORED: Self = Self {
        nibbles: NibbleOrder::LowFirst,
        scales: None,
        global: None,
    };

    /// Brings codes into the order that decoding expects.
    pub(super) fn order_nibbles(&self, format: &Format, codes: &mut [u8]) {
        let in_nibbles = format.element == Element::E2m1 && format.packing == Packing::Dense;
        if in_nibbles && self.nibbles == NibbleOrder::HighFirst {
            codes
                .iter_mut()
                .for_each(|byte| *byte = byte.rotate_left(4));
        }
    }
}
