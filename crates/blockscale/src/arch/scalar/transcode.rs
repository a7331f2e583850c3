//! Codes under one scale to codes under another.

use crate::Element;

/// Rewrites codes, one a byte, so that they mean under `new` what they meant under `old`.
pub(crate) fn rescale(element: Element, codes: &mut [u8], old: f32, new: f32) {
    for code in codes {
        *code = element.encode(element.decode(*code) * old / new);
    }
}
