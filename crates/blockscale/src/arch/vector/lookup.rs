//! Codes to numbers of 16 bits by lookup.

use super::decode::Decoding;
use super::table::{NibbleTable, OctetTable, SextetTable, Sixteen};
use super::{Minifloat, Stores, Vector};
use crate::Real;
use core::marker::PhantomData;

/// Codes of four bits: one lookup for each byte of the number.
pub(super) struct Nibble<E>(PhantomData<E>);

/// Codes of six bits: one of two lookups, and the sign.
pub(super) struct Sextet<E>(PhantomData<E>);

/// Codes of eight bits to BF16: a lookup of the lower four bits, a sum of exponents.
pub(super) struct Octet<E>(PhantomData<E>);

/// A [`Sixteen`] in registers.
pub(super) struct Loaded<V: Vector> {
    low: V::Bytes,
    high: V::Bytes,
}

impl<V: Vector> Clone for Loaded<V> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<V: Vector> Copy for Loaded<V> {}

impl<V: Vector> Loaded<V> {
    #[inline(always)]
    fn one(v: V, table: &Sixteen) -> Self {
        Self {
            low: v.table(&table.low),
            high: v.table(&table.high),
        }
    }

    #[inline(always)]
    fn two(v: V, first: &Sixteen, second: &Sixteen) -> Self {
        Self {
            low: v.tables(&first.low, &second.low),
            high: v.tables(&first.high, &second.high),
        }
    }

    #[inline(always)]
    fn get(self, v: V, index: V::Bytes) -> [V::Bytes; 2] {
        [v.lookup(self.low, index), v.lookup(self.high, index)]
    }
}

#[inline(always)]
fn store<V: Vector, T: Real, S: Stores>(v: V, [low, high]: [V::Bytes; 2], out: &mut [T; 32]) {
    // `T` has 16 bits, as the choice of the loop has it.
    if let Ok(out) = <&mut [u16; 32]>::try_from(bytemuck::cast_slice_mut::<T, u16>(out)) {
        v.store_halves::<S>(low, high, out);
    }
}

impl<V: Vector, E: Minifloat, T: Real> Decoding<V, T> for Nibble<E> {
    type Table = NibbleTable;
    type Loaded = Loaded<V>;

    #[inline(always)]
    fn table(v: V, scale: f32) -> NibbleTable {
        NibbleTable::new::<V, E, T>(v, scale)
    }

    #[inline(always)]
    fn is_usable(_: &NibbleTable) -> bool {
        true
    }

    #[inline(always)]
    fn load_one(v: V, table: &NibbleTable) -> Loaded<V> {
        Loaded::one(v, &table.0)
    }

    #[inline(always)]
    fn load_two(v: V, first: &NibbleTable, second: &NibbleTable) -> Loaded<V> {
        Loaded::two(v, &first.0, &second.0)
    }

    #[inline(always)]
    fn step<S: Stores>(v: V, codes: V::Bytes, table: Loaded<V>, out: &mut [T; 32]) -> bool {
        store::<V, T, S>(v, table.get(v, codes), out);
        true
    }
}

impl<V: Vector, E: Minifloat, T: Real> Decoding<V, T> for Sextet<E> {
    type Table = SextetTable;
    type Loaded = [Loaded<V>; 2];

    #[inline(always)]
    fn table(v: V, scale: f32) -> SextetTable {
        SextetTable::new::<V, E, T>(v, scale)
    }

    #[inline(always)]
    fn is_usable(table: &SextetTable) -> bool {
        table.usable
    }

    #[inline(always)]
    fn load_one(v: V, table: &SextetTable) -> Self::Loaded {
        [Loaded::one(v, &table.lower), Loaded::one(v, &table.upper)]
    }

    #[inline(always)]
    fn load_two(v: V, first: &SextetTable, second: &SextetTable) -> Self::Loaded {
        [
            Loaded::two(v, &first.lower, &second.lower),
            Loaded::two(v, &first.upper, &second.upper),
        ]
    }

    #[inline(always)]
    fn step<S: Stores>(v: V, codes: V::Bytes, table: Self::Loaded, out: &mut [T; 32]) -> bool {
        let within = v.and(codes, v.splat(0x0f));
        let above = v.eq(v.and(codes, v.splat(0x10)), v.splat(0x10));
        let [lower, upper] = table.map(|table| table.get(v, within));
        let low = v.select(above, upper[0], lower[0]);
        let high = v.select(above, upper[1], lower[1]);
        let sign = v.shift_up::<2>(v.and(codes, v.splat(0x20)));
        store::<V, T, S>(v, [low, v.xor(high, sign)], out);
        true
    }
}

impl<V: Vector, E: Minifloat, T: Real> Decoding<V, T> for Octet<E> {
    type Table = OctetTable;
    type Loaded = [Loaded<V>; 2];

    #[inline(always)]
    fn table(v: V, scale: f32) -> OctetTable {
        OctetTable::new::<V, E, T>(v, scale)
    }

    #[inline(always)]
    fn is_usable(table: &OctetTable) -> bool {
        table.usable
    }

    #[inline(always)]
    fn load_one(v: V, table: &OctetTable) -> Self::Loaded {
        [
            Loaded::one(v, &table.normal),
            Loaded::one(v, &table.special),
        ]
    }

    #[inline(always)]
    fn load_two(v: V, first: &OctetTable, second: &OctetTable) -> Self::Loaded {
        [
            Loaded::two(v, &first.normal, &second.normal),
            Loaded::two(v, &first.special, &second.special),
        ]
    }

    #[inline(always)]
    fn step<S: Stores>(v: V, codes: V::Bytes, table: Self::Loaded, out: &mut [T; 32]) -> bool {
        // The NaN of E4M3FNUZ has the magnitude of zero.
        if E::SPECIAL_FROM == 0x80
            && let Some(nan) = E::not_finite(v, codes)
            && v.any(nan)
        {
            return false;
        }
        let lower = v.and(codes, v.splat(0x0f));
        let exponents = v.table(&OctetTable::exponents::<E>());
        let exponent = v.lookup(exponents, v.high_nibbles(codes));

        let first = OctetTable::first_normal::<E>();
        let above = v.add(v.and(codes, v.splat(0x7f)), v.splat(first.wrapping_neg()));
        let special = v.eq(v.max(above, v.splat(E::SPECIAL_FROM - first)), above);

        let [normal, other] = table.map(|table| table.get(v, lower));
        let low = v.select(special, other[0], normal[0]);
        let high = v.select(special, other[1], normal[1]);
        store::<V, T, S>(v, [low, v.add(high, exponent)], out);
        true
    }
}
