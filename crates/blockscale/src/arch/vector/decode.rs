//! Rows of codes to numbers: which loop for which format.

use super::lookup::{Nibble, Octet, Sextet};
use super::product::Product;
use super::rows::Call;
use super::{Minifloat, STEP, Stores, Vector};
use crate::arch::scalar;
use crate::decode::Rows;
use crate::element::{E2m1, E2m3, E3m2, E4m3Fn, E4m3Fnuz, E5m2};
use crate::format::Packing;
use crate::real::sealed::Kind;
use crate::{Element, Format, Real, Shape};

/// A way to decode 32 columns.
pub(super) trait Decoding<V: Vector, T: Real> {
    /// What is made of the scale of a block.
    type Table: Copy;
    /// The same in registers, for one block or two halves.
    type Loaded: Copy;

    fn table(v: V, scale: f32) -> Self::Table;

    /// Whether the table gives what the definition does; if not, the definition decodes the block.
    fn is_usable(table: &Self::Table) -> bool;

    fn load_one(v: V, table: &Self::Table) -> Self::Loaded;

    fn load_two(v: V, first: &Self::Table, second: &Self::Table) -> Self::Loaded;

    /// `false`, with `out` as it was, where codes are among these that only the definition decodes.
    fn step<S: Stores>(v: V, codes: V::Bytes, table: Self::Loaded, out: &mut [T; STEP]) -> bool;
}

/// How `N` bytes hold the codes of 32 columns.
pub(super) trait Codes<const N: usize> {
    fn load<V: Vector>(v: V, from: &[u8; N]) -> V::Bytes;
}

struct Nibbles;
struct Sextets;
/// One code a byte, of so many bits.
struct Bytes<const WIDTH: u32>;

impl Codes<16> for Nibbles {
    #[inline(always)]
    fn load<V: Vector>(v: V, from: &[u8; 16]) -> V::Bytes {
        v.nibbles(from)
    }
}

impl Codes<24> for Sextets {
    #[inline(always)]
    fn load<V: Vector>(v: V, from: &[u8; 24]) -> V::Bytes {
        v.sextets(from)
    }
}

impl<const WIDTH: u32> Codes<32> for Bytes<WIDTH> {
    #[inline(always)]
    fn load<V: Vector>(v: V, from: &[u8; 32]) -> V::Bytes {
        let bytes = v.bytes(from);
        if WIDTH == 8 {
            return bytes;
        }
        v.and(bytes, v.splat(u8::MAX >> (8 - WIDTH)))
    }
}

/// Decodes a run of rows with the instructions of `v`.
#[inline(always)]
pub(in crate::arch) fn decode_rows<V: Vector, T: Real>(
    v: V,
    format: &Format,
    shape: Shape,
    rows: Rows<'_>,
    out: &mut [T],
) {
    let call = Call::new(v, format, shape, rows);
    if !call.has_whole_steps() {
        return scalar::decode::decode_rows(format, shape, rows, out);
    }
    match (format.element, format.packing) {
        (Element::E2m1, Packing::Dense) => {
            narrow::<_, T, E2m1, Nibbles, Nibble<E2m1>, 16>(call, out);
        }
        (Element::E2m3, Packing::Dense) => {
            narrow::<_, T, E2m3, Sextets, Sextet<E2m3>, 24>(call, out);
        }
        (Element::E3m2, Packing::Dense) => {
            narrow::<_, T, E3m2, Sextets, Sextet<E3m2>, 24>(call, out);
        }
        (Element::E2m1, Packing::Bytes) => {
            narrow::<_, T, E2m1, Bytes<4>, Nibble<E2m1>, 32>(call, out);
        }
        (Element::E2m3, Packing::Bytes) => {
            narrow::<_, T, E2m3, Bytes<6>, Sextet<E2m3>, 32>(call, out);
        }
        (Element::E3m2, Packing::Bytes) => {
            narrow::<_, T, E3m2, Bytes<6>, Sextet<E3m2>, 32>(call, out);
        }
        (Element::E4m3Fn, _) => octets::<_, T, E4m3Fn>(call, out),
        (Element::E4m3Fnuz, _) => octets::<_, T, E4m3Fnuz>(call, out),
        (Element::E5m2, _) => octets::<_, T, E5m2>(call, out),
    }
}

/// Types of four and six bits: tables of all they can be, in 16 bits.
#[inline(always)]
fn narrow<V, T, E, C, D, const N: usize>(call: Call<'_, V>, out: &mut [T])
where
    V: Vector,
    T: Real,
    E: Minifloat,
    C: Codes<N>,
    D: Decoding<V, T>,
{
    match T::KIND {
        Kind::F32 => call.decode::<T, E, C, Product<E>, N>(out),
        Kind::Bf16 | Kind::F16 => call.decode::<T, E, C, D, N>(out),
    }
}

/// Types of eight bits. An F16 has not the exponents that tables by exponent need.
#[inline(always)]
fn octets<V: Vector, T: Real, E: Minifloat>(call: Call<'_, V>, out: &mut [T]) {
    match T::KIND {
        Kind::F32 | Kind::F16 => call.decode::<T, E, Bytes<8>, Product<E>, 32>(out),
        Kind::Bf16 => call.decode::<T, E, Bytes<8>, Octet<E>, 32>(out),
    }
}
