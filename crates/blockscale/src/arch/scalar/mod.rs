//! The definition of every operation, in portable code.

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod transcode;

use crate::element::{E4m3Fn, E5m2};

/// An element type whose codes are whole bytes.
trait ByteElement {
    fn widen(code: u8) -> f32;
    fn round(value: f32) -> u8;
}

impl ByteElement for E4m3Fn {
    fn widen(code: u8) -> f32 {
        Self::from_bits(code).to_f32()
    }

    fn round(value: f32) -> u8 {
        Self::from_f32(value).to_bits()
    }
}

impl ByteElement for E5m2 {
    fn widen(code: u8) -> f32 {
        Self::from_bits(code).to_f32()
    }

    fn round(value: f32) -> u8 {
        Self::from_f32(value).to_bits()
    }
}
