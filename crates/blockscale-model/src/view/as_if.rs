//! Reading bytes another way than the file says.

use blockscale::GlobalScale;
use blockscale::format::Format;
use blockscale::layout::ScaleLayout;

use super::{View, ViewError};
use crate::catalog::Encoding;
use crate::interpret::{GlobalUse, Interpretation, ScaleOrder, elements, orders, scale_uses};

/// How the bytes of a weight are read. The default is as the file says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AsIf {
    /// The layout that the scales are taken to be stated in; `None` for the one that the file states.
    pub stated: Option<ScaleLayout>,
    /// What the bytes are meant as beyond that.
    pub reading: Interpretation,
}

impl AsIf {
    /// The bytes mean what the file says.
    pub const AS_STORED: Self = Self {
        stated: None,
        reading: Interpretation::AS_STORED,
    };
}

impl View<'_> {
    /// What the bytes are taken to be meant as.
    pub fn reading(&self) -> Interpretation {
        self.as_if.reading
    }

    /// Whether the bytes of the rows follow each other in the file, as the view takes it.
    pub fn has_codes_in_rows(&self) -> bool {
        let rows_moved = self.as_if.reading.code_rows.is_some();
        let in_groups = matches!(self.weight.encoding, Encoding::Grouped(_));
        self.weight.layout == ScaleLayout::Linear && !rows_moved && !in_groups
    }

    /// Whether scales and rows lie where a file without a layout has them.
    pub(super) fn is_in_rows(&self) -> bool {
        self.weight.layout == ScaleLayout::Linear && self.stated() == ScaleLayout::Linear
    }

    /// Whether the scales of the rows follow each other in the file, as the view takes it.
    pub fn has_scales_in_rows(&self) -> bool {
        self.is_in_rows() && self.as_if.reading.scales == ScaleOrder::Linear
    }

    /// The layout that the scales are taken to be stated in.
    pub(super) fn stated(&self) -> ScaleLayout {
        self.as_if.stated.unwrap_or(self.weight.layout)
    }

    /// The format as the view takes it, and the second-level scale.
    pub(super) fn read_as(&self, format: &Format, global: f32) -> (Format, f32) {
        let reading = self.as_if.reading;
        // A divisor is applied as one, not as a reciprocal that was rounded.
        let use_of_global = match (reading.global, format.global) {
            (GlobalUse::Unused, _) => GlobalScale::None,
            (GlobalUse::Inverted, GlobalScale::Multiplier) => GlobalScale::Divisor,
            (GlobalUse::Inverted, GlobalScale::Divisor) => GlobalScale::Multiplier,
            (_, stored) => stored,
        };
        let global = match reading.global {
            GlobalUse::Times(_) => reading.restore_global(format, global),
            _ => global,
        };
        let format = Format {
            element: reading.element.unwrap_or(format.element),
            global: use_of_global,
            ..*format
        };
        (format, global)
    }

    /// Checks that the format can be meant that way: what could not be shown must not look unchanged.
    pub(super) fn check_reading(&self, format: &Format) -> Result<(), ViewError> {
        let reading = self.as_if.reading;
        let shape = self.weight.matrices().shape;
        let has_scale_use = scale_uses(format).contains(&reading.scale_use);
        let has_element = elements(format).contains(&reading.element);
        let order = Interpretation {
            scales: reading.scales,
            code_rows: reading.code_rows,
            ..Interpretation::AS_STORED
        };
        let has_order = order.is_as_stored() || orders(format, shape).contains(&order);
        if has_scale_use && has_element && has_order {
            return Ok(());
        }
        Err(ViewError::Reading {
            tensor: self.weight.name.clone(),
            encoding: self.weight.encoding,
            reading,
        })
    }
}
