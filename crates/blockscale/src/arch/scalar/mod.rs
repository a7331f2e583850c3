//! The definition of every operation, in portable code.

pub(crate) mod convert;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod layout;
mod policy;
pub(crate) mod scales;
mod search;
pub(crate) mod stats;
pub(crate) mod transcode;

use crate::element::{E2m1, E2m3, E3m2, E4m3Fn, E4m3Fnuz, E5m2};

/// An element type, for loops that are compiled for each.
pub(super) trait ElementType {
    fn widen(code: u8) -> f32;
    fn round(value: f32) -> u8;
}

macro_rules! element_types {
    ($($name:ident)*) => {$(
        impl ElementType for $name {
            fn widen(code: u8) -> f32 {
                Self::from_bits(code).to_f32()
            }

            fn round(value: f32) -> u8 {
                Self::from_f32(value).to_bits()
            }
        }
    )*};
}

element_types! { E2m1 E2m3 E3m2 E4m3Fn E4m3Fnuz E5m2 }
