//! Codes to numbers by widening and multiplying, for outputs that tables are too small for.

use core::marker::PhantomData;

use super::decode::Decoding;
use super::{Minifloat, Stores, Vector};
use crate::Real;

/// Codes of any width.
pub(super) struct Product<E>(PhantomData<E>);

impl<V: Vector, E: Minifloat, T: Real> Decoding<V, T> for Product<E> {
    type Table = f32;
    type Loaded = V::Scales;

    #[inline(always)]
    fn table(_: V, scale: f32) -> f32 {
        scale
    }

    #[inline(always)]
    fn is_usable(scale: &f32) -> bool {
        // NaN is for the definition.
        scale.is_finite()
    }

    #[inline(always)]
    fn load_one(v: V, scale: &f32) -> V::Scales {
        v.scales(*scale, *scale)
    }

    #[inline(always)]
    fn load_two(v: V, first: &f32, second: &f32) -> V::Scales {
        v.scales(*first, *second)
    }

    #[inline(always)]
    fn step<S: Stores>(v: V, codes: V::Bytes, scales: V::Scales, out: &mut [T; 32]) -> bool {
        if let Some(special) = E::not_finite(v, codes)
            && v.any(special)
        {
            return false;
        }
        let aligned = match E::WIDTH {
            4 => v.shift_up::<4>(codes),
            6 => v.shift_up::<2>(codes),
            _ => codes,
        };
        v.store_products::<E, T, S>(aligned, scales, out);
        true
    }
}
