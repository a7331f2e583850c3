//! What vector loops know of element types.

use super::Vector;
use crate::arch::scalar::ElementType;
use crate::element::{E2m1, E2m3, E3m2, E4m3Fn, E4m3Fnuz, E5m2};

/// The parts of an element type.
pub(in crate::arch) trait Minifloat: ElementType {
    /// Bits of a code.
    const WIDTH: u32;
    const EXPONENT_BITS: u32;
    const BIAS: u32;

    /// Magnitude codes from this one on are infinity and NaN.
    const SPECIAL_FROM: u8 = 0x80;

    /// Which codes are NaN or infinite, where any can be.
    fn not_finite<V: Vector>(v: V, codes: V::Bytes) -> Option<V::Bytes>;
}

/// Codes of which none is NaN.
macro_rules! without_nan {
    ($($name:ident: $width:literal $exponent:literal $bias:literal;)*) => {$(
        impl Minifloat for $name {
            const WIDTH: u32 = $width;
            const EXPONENT_BITS: u32 = $exponent;
            const BIAS: u32 = $bias;

            #[inline(always)]
            fn not_finite<V: Vector>(_: V, _: V::Bytes) -> Option<V::Bytes> {
                None
            }
        }
    )*};
}

without_nan! {
    E2m1: 4 2 1;
    E2m3: 6 2 1;
    E3m2: 6 3 3;
}

impl Minifloat for E4m3Fn {
    const WIDTH: u32 = 8;
    const EXPONENT_BITS: u32 = 4;
    const BIAS: u32 = 7;
    const SPECIAL_FROM: u8 = 0x7f;

    #[inline(always)]
    fn not_finite<V: Vector>(v: V, codes: V::Bytes) -> Option<V::Bytes> {
        let magnitudes = v.and(codes, v.splat(0x7f));
        Some(v.eq(magnitudes, v.splat(0x7f)))
    }
}

impl Minifloat for E4m3Fnuz {
    const WIDTH: u32 = 8;
    const EXPONENT_BITS: u32 = 4;
    const BIAS: u32 = 8;

    #[inline(always)]
    fn not_finite<V: Vector>(v: V, codes: V::Bytes) -> Option<V::Bytes> {
        Some(v.eq(codes, v.splat(0x80)))
    }
}

impl Minifloat for E5m2 {
    const WIDTH: u32 = 8;
    const EXPONENT_BITS: u32 = 5;
    const BIAS: u32 = 15;
    const SPECIAL_FROM: u8 = 0x7c;

    #[inline(always)]
    fn not_finite<V: Vector>(v: V, codes: V::Bytes) -> Option<V::Bytes> {
        let magnitudes = v.and(codes, v.splat(0x7f));
        Some(v.eq(v.max(magnitudes, v.splat(0x7c)), magnitudes))
    }
}
