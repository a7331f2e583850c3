//! Loops written once for every instruction set that looks up bytes in a table of 16.
//!
//! A level implements [`Vector`] for a value that proves its instructions to be there. Everything in
//! here is inlined into a function that is compiled for them.

pub(super) mod decode;
mod element;
mod lookup;
mod product;
mod rows;
mod steps;
mod table;

pub(super) use element::Minifloat;

use crate::Real;

/// Columns of one step.
pub(super) const STEP: usize = 32;

/// What an instruction set does with 32 bytes.
///
/// A value of the type that implements it exists only where its instructions do.
pub(super) trait Vector: Copy {
    /// 32 bytes, or masks of bytes that are all ones or all zeros.
    type Bytes: Copy;
    /// The scales of 32 columns: one, or one for each half.
    type Scales: Copy;
    /// Whether there are stores around the caches.
    const STREAMS: bool;

    fn bytes(self, from: &[u8; 32]) -> Self::Bytes;

    /// 32 codes of four bits, each into a byte.
    fn nibbles(self, from: &[u8; 16]) -> Self::Bytes;

    /// 32 codes of six bits, each into a byte.
    fn sextets(self, from: &[u8; 24]) -> Self::Bytes;

    fn to_array(self, bytes: Self::Bytes) -> [u8; 32];

    fn splat(self, byte: u8) -> Self::Bytes;

    /// A table for the first 16 columns and one for the others.
    fn tables(self, first: &[u8; 16], second: &[u8; 16]) -> Self::Bytes;

    /// One table for all columns.
    fn table(self, both: &[u8; 16]) -> Self::Bytes;

    /// `table[index]` for each byte; indices are below 16.
    fn lookup(self, table: Self::Bytes, index: Self::Bytes) -> Self::Bytes;

    fn and(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes;
    fn xor(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes;
    /// Wraps.
    fn add(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes;
    /// Of unsigned bytes.
    fn max(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes;
    fn eq(self, a: Self::Bytes, b: Self::Bytes) -> Self::Bytes;
    /// The upper four bits, moved down.
    fn high_nibbles(self, bytes: Self::Bytes) -> Self::Bytes;
    /// Moves bits up within each byte.
    fn shift_up<const BITS: i32>(self, bytes: Self::Bytes) -> Self::Bytes;
    fn select(self, mask: Self::Bytes, yes: Self::Bytes, no: Self::Bytes) -> Self::Bytes;
    fn any(self, mask: Self::Bytes) -> bool;

    /// Writes 16-bit numbers from their low and high bytes; `Stores::Streaming` needs `out` at a
    /// multiple of 32 bytes.
    fn store_halves<S: Stores>(self, low: Self::Bytes, high: Self::Bytes, out: &mut [u16; 32]);

    fn scales(self, first: f32, second: f32) -> Self::Scales;

    /// Widens codes, multiplies, rounds to `T` and writes; no code is NaN. As for
    /// [`store_halves`](Self::store_halves), `out` may have to be aligned.
    ///
    /// The sign of a code is its highest bit, whatever bits are left over are zeros at its end.
    fn store_products<E: Minifloat, T: Real, S: Stores>(
        self,
        codes: Self::Bytes,
        scales: Self::Scales,
        out: &mut [T; 32],
    );

    /// The bits of products, rounded to `T`, a type of 16 bits. `scale` is finite; of zero and
    /// infinity comes some NaN.
    fn scaled8<T: Real>(self, values: [f32; 8], scale: f32) -> [u16; 8];

    /// Comes after the last streaming store, before other threads may see what was written.
    fn fence(self);
}

/// Rounds to BF16, without branches: to nearest, ties to even; NaN stays NaN and becomes quiet.
#[inline(always)]
pub(super) const fn bf16_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let odd = (bits >> 16) & 1;
    let rounded = bits.wrapping_add(0x7fff + odd) >> 16;
    let quiet = (bits >> 16) | 0x40;
    if value.is_nan() {
        quiet as u16
    } else {
        rounded as u16
    }
}

/// How outputs are written.
pub(super) trait Stores {
    /// Around the caches.
    #[cfg_attr(
        not(target_arch = "x86_64"),
        expect(dead_code, reason = "there are no such stores")
    )]
    const STREAMING: bool;
}

/// Into the caches.
pub(super) enum Cached {}

/// Around the caches: for outputs that are much larger than they are.
pub(super) enum Streaming {}

impl Stores for Cached {
    const STREAMING: bool = false;
}

impl Stores for Streaming {
    const STREAMING: bool = true;
}
